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

std::string savingText(const Finding& finding) {
    return formatDuration(finding.saving_ns.expected) + " (" + formatDuration(finding.saving_ns.low) + " to " +
           formatDuration(finding.saving_ns.high) + ")";
}

std::string rateText(const DeviceSpec& device) {
    return formatBandwidth(device.practicalBandwidth()) + " that a plain copy reaches on " +
           (device.name.empty() ? std::string("this device") : device.name);
}

const char* const kRealised =
    "of the kernel time saved 90% (80-100%) is promised, a share fitted to measured steps of Qwen3-8B on an H200.";

// What the prediction rests on, pattern by pattern.
std::string basisOf(const FusionInput& input, const Finding& finding) {
    switch (finding.pattern) {
    case Pattern::Attention:
        return "Predicted at 40% of the bf16 tensor peak forward and 33% backward (27-54% and 25-42%: Flash 2 to cuDNN "
               "as measured "
               "on an H200), half of the products left out as causal where queries and keys are equally many.";
    case Pattern::QkvProjection:
        return "The matmul work stays; one large matmul runs at about the rate of the three now, what goes is the "
               "second and "
               "third read of the input and the additions of three input gradients.";
    case Pattern::LinearCrossEntropy:
        return "The three matmuls stay; what goes is the f32 copy of the logits, the separate softmax, its zero-filled "
               "and cast "
               "gradient. The low figure counts slower chunked matmuls and a weight gradient read and written for "
               "every chunk.";
    case Pattern::RmsNorm:
    case Pattern::AddRmsNorm:
        return "Forward predicted at 80% (50-100%) of the " + rateText(input.device) +
               ", the backward with its weight gradient at 40% (20-90%): ready-made kernels are far from the limit "
               "there; " +
               kRealised;
    case Pattern::Rope:
        return "Predicted at 57% (40-95%) of the " + rateText(input.device) +
               ": heads are read and written in short pieces; " + kRealised;
    default:
        return "Predicted at 97% (75-100%) of the " + rateText(input.device) + ", plus 2 \xC2\xB5s a kernel; " +
               kRealised;
    }
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
    const double own = finding.time_ns > 0 ? finding.saving_ns.expected / finding.time_ns : 0;
    if (finding.time_estimated || finding.step_share <= 0) {
        if (own >= kWorthOwn) return Verdict::WorthIt;
        return own >= kMarginalOwnEstimated ? Verdict::Marginal : Verdict::NotBeneficial;
    }
    if (own < kMarginalOwn || finding.step_share < kMarginalStep) return Verdict::NotBeneficial;
    return finding.step_share >= kWorthStep ? Verdict::WorthIt : Verdict::Marginal;
}

std::vector<std::string> reasonsOf(const FusionInput& input, const Finding& finding) {
    std::vector<std::string> out;
    if (finding.instances.empty()) {
        out.push_back("Nothing matched; " + std::to_string(finding.near_misses.size()) +
                      " place(s) look like it, see near misses.");
        for (const std::string& miss : finding.near_misses) out.push_back("Near miss: " + miss + ".");
        return out;
    }
    std::map<std::string, std::size_t> notes;
    std::size_t fused = 0;
    for (const Instance& instance : finding.instances) {
        if (!instance.note.empty()) ++notes[instance.note];
        if (instance.state == FusionState::Fused) ++fused;
    }
    if (finding.state == FusionState::Fused) {
        out.push_back(
            "All " + std::to_string(fused) + " are fused already" +
            (finding.time_estimated ? std::string(".") : ", " + formatDuration(finding.time_ns) + " a step."));
    } else {
        if (fused > 0)
            out.push_back(std::to_string(fused) + " of " + std::to_string(finding.instances.size()) +
                          " are fused already; the saving is that of the others.");
        if (finding.bytes_now > 0 && finding.bytes_fused > 0)
            out.push_back(std::to_string(finding.instances.size()) + " times " + formatMean(finding.kernels_now) +
                          " kernels move " + formatBytes(finding.bytes_now) + " a step in " +
                          formatDuration(finding.time_ns) + (finding.time_estimated ? " (estimated)" : "") + "; " +
                          formatMean(finding.kernels_fused) + " each would move " + formatBytes(finding.bytes_fused) +
                          ".");
        if (finding.bytes_fused > 0)
            out.push_back(basisOf(input, finding));
        else
            out.push_back(
                "Shapes were not recorded (record_shapes=True): the fused kernel is taken to be as slow as the slowest "
                "of the kernels it replaces.");
        if (finding.idle_ns > 0)
            out.push_back("The GPU waits " + formatDuration(finding.idle_ns) +
                          " for launches between these kernels; a launch saved "
                          "counts " +
                          formatDuration(input.device.launch_us * 1e3) + ", never more than the wait.");
        if (finding.time_estimated)
            out.push_back("No trace of it: times are estimates from the roofline, forward only.");
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
    for (const auto& [note, times] : notes) out.push_back(std::to_string(times) + " x: " + note + ".");
    for (const std::string& miss : finding.near_misses) out.push_back("Near miss: " + miss + ".");
    return out;
}

} // namespace fusescope::fusion
