// SPDX-License-Identifier: Apache-2.0
#include "core/analysis/step_text.h"

#include "core/base/format.h"

namespace fusescope {

const StepStats* analysedStep(const Analysis& a) noexcept {
    if (!a.trace || a.steps.empty()) return nullptr;
    const auto row = static_cast<std::size_t>(a.step < 0 ? 0 : a.step);
    return row < a.steps.size() ? &a.steps[row] : nullptr;
}

std::string_view spanWord(const Analysis& a) noexcept { return a.trace && a.trace->steps.empty() ? "trace" : "step"; }

std::string stepHeadline(const Analysis& a) {
    const StepStats* step = analysedStep(a);
    if (step == nullptr) return {};
    const std::string measured = formatDuration(step->wall_ns),
                      after = formatDuration(a.plan.predicted_step_ns.expected);
    const bool no_plan = a.plan.findings.empty() || nothingSeen(a.plan);
    const std::string span(spanWord(a));
    if (a.measured_on.empty()) return span + ' ' + measured + (no_plan ? "" : " → " + after);
    return span + ' ' + measured + " on " + a.measured_on + "; on " + a.device.name + " estimated " +
           formatDuration(a.plan.step_ns) + (no_plan ? "" : " → " + after);
}

std::string stepVerdict(const Analysis& a) {
    const StepStats* step = analysedStep(a);
    if (step == nullptr) return {};
    const std::string idle = formatDuration(step->gpu_idle_ns) + " of " + formatDuration(step->wall_ns) + " (" +
                             formatPercent(step->gpu_idle_ns / step->wall_ns) + ")";
    switch (step->bound) {
    case StepBound::Unknown:
        if (step->kernels > 0 && step->gpu_busy_ns > 0)
            return "The trace is cut, and kernels of this step may be missing: what bounds it cannot be told.";
        break;
    case StepBound::Kernels: return "Bound by the GPU's work: it is idle for " + idle + ".";
    case StepBound::Launches:
        return "Bound by the CPU's launches: the GPU is idle for " + idle + ", and for " +
               formatDuration(step->launch_wait_ns) + " of that the next work had not been launched yet. " +
               "CUDA graphs (torch.compile with mode=\"reduce-overhead\"; when decoding, with a static KV cache) "
               "replay "
               "the launches of a step at once; they need fixed shapes, do not shorten other work of the CPU, and no "
               "step gets shorter than the GPU's " +
               formatDuration(step->gpu_busy_ns) + ".";
    case StepBound::Idle:
        return "The GPU is idle for " + idle + ", but for only " + formatDuration(step->launch_wait_ns) +
               " of that because the next work had not been launched: look for synchronisation, copies and "
               "communication on the timeline.";
    }
    return {};
}

std::string otherDeviceNote(const Analysis& a) {
    if (a.measured_on.empty()) return {};
    const StepStats* step = analysedStep(a);
    return "The trace was measured on " + a.measured_on +
           (step != nullptr ? " (step " + formatDuration(step->wall_ns) + ")" : "") +
           "; findings and plan are estimates for " + a.device.name + ", where the same step would take about " +
           formatDuration(a.plan.step_ns) +
           " now: each kernel's time scaled by the two GPUs' rooflines, idle time as "
           "measured (a slower GPU would hide part of it). No speedup may be read from the measured step and the "
           "predicted one. Steps, kernels, operators "
           "and modules are as measured on " +
           a.measured_on + ".";
}

std::string planNote(const Analysis& a) {
    if (a.plan.findings.empty()) return {};
    double listed = 0;
    for (const Finding& finding : a.findings) listed += finding.saving_ns.expected;
    std::string note;
    if (listed > a.plan.saving_ns.expected * 1.005)
        note = "Findings overlap: their savings add up to " + formatDuration(listed) + ", those of the plan to " +
               formatDuration(a.plan.saving_ns.expected) + ".";
    for (const std::string& more : {unseenNote(a.plan), severalGpusNote(a)})
        if (!more.empty()) note += (note.empty() ? "" : " ") + more;
    return note;
}

std::string unseenNote(const Plan& plan) {
    if (!(plan.step_ns > 0) || !(plan.unseen_ns.expected > 0)) return {};
    const std::string what = nothingSeen(plan) ? std::string("Nothing of the plan was seen in the step")
                                               : formatDuration(plan.unseen_ns.expected) +
                                                     " of the plan's savings are of what was not seen in the step";
    return what + ": its kernels were not recorded, or could not be told to be the model's. Such savings are estimates "
                  "from the roofline, and the step's predicted time leaves them out.";
}

std::string severalGpusNote(const Analysis& a) {
    const double step = a.plan.step_ns - a.plan.predicted_step_ns.expected;
    const double seen = a.plan.saving_ns.expected - a.plan.unseen_ns.expected;
    if (!(a.plan.step_ns > 0) || nothingSeen(a.plan) || seen <= step * 1.005) return {};
    return "Savings are time of all kernels together, " + formatDuration(seen) +
           " for the plan; those that run side by side, on several GPUs or in several streams of one, save at the same "
           "time, so the step gets " +
           formatDuration(step) + " of it.";
}

std::string stepScopeNote(const Analysis& a) {
    const StepStats* step = analysedStep(a);
    if (!a.all_steps || step == nullptr || a.steps.size() < 2) return {};
    return "Kernels, operators and modules are sums over all " + std::to_string(a.steps.size()) +
           " steps; findings, plan and the step's figures are of " + step->name + " alone.";
}

} // namespace fusescope
