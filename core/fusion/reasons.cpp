// SPDX-License-Identifier: Apache-2.0
// Thresholds of the verdict, on the expected saving:
//   with a trace   worth it from 1% of the step; marginal from 0.2%; below that, or below 3% of the region's own time,
//                  not beneficial
//   graph alone    worth it from 30% of the region's own (estimated) time; marginal from 10%
#include "core/fusion/reasons.h"

#include "core/base/format.h"

#include <algorithm>
#include <map>

namespace fusescope::fusion {
namespace {

constexpr double kWorthStep = 0.01, kMarginalStep = 0.002, kMarginalOwn = 0.03;
constexpr double kWorthOwn = 0.3, kMarginalOwnEstimated = 0.1;

// own: of what the region takes; of_step: 0 where no step knows it.
Verdict verdictOfShares(double own, double of_step) noexcept {
    if (of_step <= 0) {
        if (own >= kWorthOwn) return Verdict::WorthIt;
        return own >= kMarginalOwnEstimated ? Verdict::Marginal : Verdict::NotBeneficial;
    }
    if (own < kMarginalOwn || of_step < kMarginalStep) return Verdict::NotBeneficial;
    return of_step >= kWorthStep ? Verdict::WorthIt : Verdict::Marginal;
}

std::string savingText(const Finding& finding) {
    return formatDuration(finding.saving_ns.expected) + " (" + formatDuration(finding.saving_ns.low) + " to " +
           formatDuration(finding.saving_ns.high) + ")";
}

std::string rateText(const DeviceSpec& device) {
    return formatBandwidth(device.practicalBandwidth()) + " that a plain copy reaches on " +
           (device.name.empty() ? std::string("this device") : device.name);
}

const char* const kRealised =
    "of the kernel time saved 95% (85-100%) is promised, a share fitted to measured steps of Qwen3-8B on an H200.";

bool hasBackward(const Finding& finding) {
    return std::any_of(finding.instances.begin(), finding.instances.end(),
                       [](const Instance& i) { return !i.backward.empty(); });
}

// Where this project's own kernel was measured: that is what the prediction rests on. "" where it was not.
std::string measuredBasis(const FusionInput& input, const Finding& finding) {
    if (finding.instances.empty()) return "";
    const Instance& first = finding.instances[0];
    const double bytes = first.fused.bytes(), width = std::max(1.0, first.geometry.width);
    const FusedTime time = fusedTime(input.device, idOf(finding.pattern), false, bytes, width);
    if (time.ns <= 0) return "";
    std::string text = "Predicted as the kernel that FuseScope brings was measured ";
    text += "on an " + time.measured_on;
    text += time.borrowed ? ", what lies above a launch scaled by the bandwidths (33% slower to 10% faster); "
                          : " (15% slower to 3% faster); ";
    return text + kRealised;
}

// PyTorch's own kernel for the same, where it is as fast: then nothing of ours is needed.
std::string frameworkText(const FusionInput& input, const Finding& finding) {
    if (finding.pattern != Pattern::RmsNorm || finding.instances.empty()) return "";
    const Instance& first = finding.instances[0];
    const Geometry& g = first.geometry;
    if (!(g.rows > 0) || !(g.width > 0)) return "";
    const double row = g.rows * g.width * sizeOf(g.dtype);
    const FusedTime forward = fusedTime(input.device, idOf(finding.pattern), false, 2 * row, g.width);
    const FusedTime backward = fusedTime(input.device, idOf(finding.pattern), true, 3 * row, g.width);
    const bool training = hasBackward(finding);
    const double ours = forward.ns + (training ? backward.ns : 0);
    const double theirs = forward.framework_ns + (training ? backward.framework_ns : 0);
    if (ours <= 0 || theirs <= 0) return "";
    return "torch.nn.functional.rms_norm was measured there too: " + formatDuration(theirs) + " for one of " +
           first.shape + ", FuseScope's kernel " + formatDuration(ours) + ".";
}

// What the prediction rests on, pattern by pattern. Nothing is said of a backward where none is counted.
std::string basisOf(const FusionInput& input, const Finding& finding) {
    const bool backward = hasBackward(finding);
    if (std::string measured = measuredBasis(input, finding); !measured.empty()) return measured;
    switch (finding.pattern) {
    case Pattern::Attention:
        return std::string("Predicted at 40% of the bf16 tensor peak forward") +
               (backward ? " and 33% backward (27-65% and 25-55%: Flash 2 to FuseScope's own, as measured on an H200)"
                         : " (27-65%: Flash 2 to FuseScope's own, as measured on an H200)") +
               ", half of the products left out as causal where queries and keys are equally many.";
    case Pattern::QkvProjection:
        return std::string("The matmul work stays; one large matmul runs at about the rate of the three now, what goes "
                           "is the second and third read of the input") +
               (backward ? " and the additions of three input gradients." : ".");
    case Pattern::LinearCrossEntropy:
        if (!backward)
            return "The matmul stays; what goes is the f32 copy of the logits and the separate softmax. The low figure "
                   "counts passes of their own for statistics and loss.";
        return "The three matmuls stay; what goes is the f32 copy of the logits, the separate softmax, its zero-filled "
               "and cast gradient. The low figure counts slower chunked matmuls and a weight gradient read and written "
               "for every chunk.";
    case Pattern::RmsNorm:
    case Pattern::AddRmsNorm:
        return (backward ? "Forward predicted" : "Predicted") + std::string(" at 80% (50-100%) of the ") +
               rateText(input.device) +
               (backward ? ", the backward with its weight gradient at 40% (20-90%): ready-made kernels are far from "
                           "the limit there; "
                         : "; ") +
               kRealised;
    case Pattern::Rope:
        return "Predicted at 57% (40-95%) of the " + rateText(input.device) +
               ": heads are read and written in short pieces; " + kRealised;
    default:
        return "Predicted at 97% (75-100%) of the " + rateText(input.device) + ", plus 2 \xC2\xB5s a kernel; " +
               kRealised;
    }
}

// "72.2 ms", or what of it is waiting where the GPU waits for launches.
std::string timeText(const Finding& finding) {
    if (!(finding.idle_ns > 0)) return formatDuration(finding.time_ns) + (finding.time_estimated ? " (estimated)" : "");
    return formatDuration(finding.time_ns) + " (" + formatDuration(finding.time_ns - finding.idle_ns) +
           " of kernels and " + formatDuration(finding.idle_ns) + " of waiting for launches)";
}

std::string withoutShapesText(const Finding& finding) {
    if (finding.pattern == Pattern::LinearCrossEntropy)
        return "Shapes were not recorded (record_shapes=True): the matmul is taken to stay as it is, and one pass over "
               "the logits to take half of the softmax's time (a quarter to all of it).";
    if (finding.pattern == Pattern::QkvProjection)
        return "Shapes were not recorded (record_shapes=True): the matmul work is taken to stay as it is.";
    return "Shapes were not recorded (record_shapes=True): the fused kernel is taken to be as slow as the slowest of "
           "the kernels it replaces.";
}

// Sentences about a fused finding: nothing in them advises what is done already.
std::string fusedText(const Finding& finding) {
    const std::size_t n = finding.instances.size();
    std::string text =
        n == 1 ? "It is fused already" : "All " + formatCount(static_cast<std::int64_t>(n)) + " are fused already";
    return text + (finding.time_estimated ? std::string(".") : ", " + formatDuration(finding.time_ns) + " a step.");
}

} // namespace

std::size_t countWorkingNodes(const FusionInput& input, const Instance& instance) {
    if (input.graph == nullptr) return 0;
    return static_cast<std::size_t>(std::count_if(instance.nodes.begin(), instance.nodes.end(), [&](NodeId node) {
        return costOfNode(input.graph->ops, node).bytes() > 0;
    }));
}

Verdict verdictOf(const Finding& finding) noexcept {
    if (finding.state == FusionState::Fused) return Verdict::AlreadyFused;
    if (finding.pattern == Pattern::Optimizer) return Verdict::Marginal; // worth a try, but nothing is predicted
    return verdictOfShares(finding.time_ns > 0 ? finding.saving_ns.expected / finding.time_ns : 0,
                           finding.time_estimated ? 0 : finding.step_share);
}

std::string unseenBackward(const FusionInput& input, const Finding& finding) {
    if (input.trace == nullptr || input.link == nullptr || finding.time_estimated || hasBackward(finding) ||
        finding.pattern == Pattern::Optimizer)
        return {};
    const TraceStore& trace = *input.trace;
    if (trace.cpu_ops.size() == 0)
        return "The trace has no operators (record ProfilerActivity.CPU), so its backward, if there was one, could not "
               "be told from other kernels: time and saving are those of the forward alone.";
    bool backward = false;
    for (std::size_t k = 0; k < trace.kernels.size() && !backward; ++k)
        backward = input.link->kernels[k].direction == Direction::Backward &&
                   (input.step < 0 || trace.slices.step[trace.kernels.slice[k].index()] == input.step);
    if (!backward) return {};
    return "Its backward could not be told from other kernels (a compiled backward is one autograd node for the whole "
           "graph): the time is that of the forward alone.";
}

std::vector<std::string> reasonsOf(const FusionInput& input, const Finding& finding) {
    std::vector<std::string> out;
    if (finding.instances.empty()) {
        out.push_back(finding.near_misses.size() == 1
                          ? std::string("Nothing matched; one place looks like it.")
                          : "Nothing matched; " + std::to_string(finding.near_misses.size()) + " places look like it.");
        for (const std::string& miss : finding.near_misses) out.push_back("Near miss: " + miss + ".");
        return out;
    }
    std::map<std::string, std::size_t> notes;
    std::size_t fused = 0;
    for (const Instance& instance : finding.instances) {
        if (!instance.note.empty()) ++notes[instance.note];
        if (instance.state == FusionState::Fused) ++fused;
    }
    const auto instances = static_cast<std::int64_t>(finding.instances.size());
    if (finding.state == FusionState::Fused) {
        out.push_back(fusedText(finding));
        if (!finding.headroom.empty()) out.push_back(finding.headroom);
    } else if (finding.pattern == Pattern::Optimizer) {
        out.push_back("Not fused: " + formatAverage(finding.kernels_now, "kernel") + ", " + timeText(finding) +
                      " a step. What a fused one would save is not predicted here; measure it.");
    } else {
        const std::string now = (instances == 1 ? std::string() : formatCounted(instances, "time") + " ") +
                                formatAverage(finding.kernels_now, "kernel");
        if (finding.bytes_now > 0 && finding.bytes_fused > 0)
            out.push_back(now + " move " + formatBytes(finding.bytes_now) + " a step in " + timeText(finding) + "; " +
                          formatAverage(finding.kernels_fused, "kernel") + (instances == 1 ? "" : " each") +
                          " would move " + formatBytes(finding.bytes_fused) + ".");
        else if (!finding.time_estimated)
            out.push_back(now + ", " + timeText(finding) + " a step.");
        if (fused > 0)
            out.push_back(std::to_string(fused) + " of " + std::to_string(finding.instances.size()) +
                          (fused == 1 ? " is" : " are") + " fused already; the saving is that of the others.");
        if (finding.bytes_fused > 0)
            out.push_back(basisOf(input, finding));
        else
            out.push_back(withoutShapesText(finding));
        if (std::string text = frameworkText(input, finding); !text.empty()) out.push_back(std::move(text));
        if (finding.idle_ns > 0)
            out.push_back("Of the waiting, a launch saved counts " + formatDuration(input.device.launch_us * 1e3) +
                          ", never more than the wait itself.");
        if (finding.time_estimated)
            out.push_back(input.trace == nullptr
                              ? "No trace of it: times are estimates from the roofline, forward only."
                              : "Not seen in the step: no kernel of the trace could be told to be of it, so it may run "
                                "in another form, or fused already. Times are estimates from the roofline, forward "
                                "only, and the step's predicted time leaves them out.");
        switch (finding.verdict) {
        case Verdict::WorthIt:
            out.push_back("Worth it: saves " + savingText(finding) +
                          (finding.step_share > 0 ? ", " + formatPercent(finding.step_share) + " of the step." : "."));
            break;
        case Verdict::Marginal:
            out.push_back("Marginal: saves " + savingText(finding) +
                          (finding.step_share > 0
                               ? ", " + formatPercent(finding.step_share) + " of the step (worth it from 1%)."
                               : "."));
            break;
        case Verdict::NotBeneficial:
            out.push_back("Not beneficial here: saves " + savingText(finding) + " of the region's " +
                          formatDuration(finding.time_ns) +
                          (finding.step_share > 0 ? ", " + formatPercent(finding.step_share) + " of the step." : "."));
            break;
        case Verdict::AlreadyFused: break;
        }
    }
    if (const std::string unseen = unseenBackward(input, finding); !unseen.empty()) out.push_back(unseen);
    for (const auto& [note, times] : notes)
        out.push_back((finding.instances.size() == 1 ? "Note" : std::to_string(times) + " x") + ": " + note + ".");
    for (const std::string& miss : finding.near_misses) out.push_back("Near miss: " + miss + ".");
    return out;
}

} // namespace fusescope::fusion

namespace fusescope {

double shareOfSaving(const Finding& finding, double saving_ns, double step_ns) noexcept {
    if (finding.time_estimated || !(saving_ns > 0)) return 0;
    if (finding.step_share > 0 && finding.saving_ns.expected > 0)
        return finding.step_share * saving_ns / finding.saving_ns.expected;
    return step_ns > 0 ? saving_ns / step_ns : 0;
}

Verdict verdictOfSaving(const Finding& finding, double saving_ns, double time_ns, double step_ns) noexcept {
    if (finding.state == FusionState::Fused) return Verdict::AlreadyFused;
    if (!(saving_ns > 0)) return Verdict::NotBeneficial;
    const double own = time_ns > 0 ? saving_ns / time_ns : 1; // of a region whose time is not known: no objection
    return fusion::verdictOfShares(own, shareOfSaving(finding, saving_ns, step_ns));
}

const std::string& changeText(const Finding& finding) {
    static const std::string nothing;
    return finding.state == FusionState::Fused ? nothing : catalogEntry(finding.pattern).change;
}

} // namespace fusescope
