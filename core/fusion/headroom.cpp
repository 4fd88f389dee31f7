// SPDX-License-Identifier: Apache-2.0
// Two ways to be fused and slow:
//   attention  a mask of queries x keys, as transformers makes it for a model compiled whole: all scores are computed
//              where is_causal would leave out half. Measured on an H200, 32 and 8 heads, 4096 tokens, cuDNN forward
//              and backward: 3.6 ms with it, 1.0 without; half of the time, which the arithmetic alone explains, is
//              told.
//   memory     a kernel far below the bandwidth of a plain copy: at 95% of it, plus 2 us a kernel (the same figures as
//              predict.cpp's), it would be done sooner.
#include "core/fusion/headroom.h"

#include "core/base/format.h"

#include <algorithm>

namespace fusescope::fusion {
namespace {

constexpr double kOfStep = 0.01; // less is not worth a word
constexpr double kReachable = 0.95, kFloorNs = 2000;

bool movesMemoryAlone(Pattern pattern) {
    switch (pattern) {
    case Pattern::RmsNorm:
    case Pattern::AddRmsNorm:
    case Pattern::QkNormRope:
    case Pattern::Rope:
    case Pattern::SwiGlu:
    case Pattern::Optimizer: return true;
    default: return false;
    }
}

std::string ownNote(Pattern pattern) {
    for (const ExistingSolution& one : catalogEntry(pattern).existing)
        if (one.name == "FuseScope") return one.note;
    return {};
}

bool runsOurs(const FusionInput& input, const Finding& finding) {
    for (const Instance& instance : finding.instances)
        for (const std::vector<KernelId>* side : {&instance.forward, &instance.backward})
            for (const KernelId kernel : *side)
                if (input.trace->nameOf(input.trace->kernels.slice[kernel.index()]).find("fusescope::") !=
                    std::string_view::npos)
                    return true;
    return false;
}

double kernelNsOf(const Instance& instance) { return instance.forward_ns + instance.backward_ns; }

void findMasks(Finding& finding) {
    std::int64_t masked = 0;
    const Geometry* shape = nullptr;
    for (const Instance& instance : finding.instances) {
        if (!instance.geometry.score_mask) continue;
        ++masked;
        shape = &instance.geometry;
        finding.headroom_ns += kernelNsOf(instance) / 2;
    }
    if (shape == nullptr) return;
    const auto size = [](double n) { return formatCount(static_cast<std::int64_t>(n)); };
    const auto all = static_cast<std::int64_t>(finding.instances.size());
    finding.headroom = all == 1
                           ? "It computes every score and hides"
                           : formatCount(masked) + " of " + formatCount(all) +
                                 (masked == 1 ? " computes every score and hides" : " compute every score and hide");
    finding.headroom += " some with a mask of " + size(shape->q_len) + " x " + size(shape->kv_len) +
                        ". If it only hides later tokens, is_causal=True without a mask leaves out half of the work: "
                        "about " +
                        formatDuration(finding.headroom_ns) +
                        " a step. transformers makes such a mask where it cannot look at the positions, as in a model "
                        "compiled whole.";
}

void findLostBandwidth(const FusionInput& input, Finding& finding) {
    const double copy = input.device.practicalBandwidth();
    double ns = 0, bytes = 0, kernels = 0;
    for (const Instance& instance : finding.instances) {
        if (!instance.now.bytes_known || !(kernelNsOf(instance) > 0)) return;
        ns += kernelNsOf(instance);
        bytes += instance.now.bytes();
        kernels += static_cast<double>(instance.forward.size() + instance.backward.size());
    }
    if (!(copy > 0) || !(bytes > 0)) return;
    const double reachable = bytes / (kReachable * copy) * 1e9 + kernels * kFloorNs;
    finding.headroom_ns = std::max(0.0, ns - reachable);
    finding.headroom = "Its kernels move " + formatBytes(bytes) + " at " + formatBandwidth(bytes / ns * 1e9) + ", " +
                       formatPercent(bytes / ns * 1e9 / copy) + " of what a plain copy reaches" +
                       (input.device.name.empty() ? std::string() : " on " + input.device.name) +
                       ". At 95% of that they would take " + formatDuration(reachable) + ": up to " +
                       formatDuration(finding.headroom_ns) + " a step with better ones.";
    if (const std::string ours = ownNote(finding.pattern); !ours.empty() && !runsOurs(input, finding))
        finding.headroom += " FuseScope brings " + ours + ".";
}

} // namespace

void findHeadroom(const FusionInput& input, Finding& finding) {
    if (finding.state != FusionState::Fused || finding.time_estimated || input.trace == nullptr) return;
    if (finding.pattern == Pattern::Attention) findMasks(finding);
    if (movesMemoryAlone(finding.pattern)) findLostBandwidth(input, finding);
    if (finding.headroom_ns > 0 && finding.headroom_ns >= kOfStep * input.step_ns) return;
    finding.headroom.clear();
    finding.headroom_ns = 0;
}

} // namespace fusescope::fusion
