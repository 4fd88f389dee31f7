// SPDX-License-Identifier: Apache-2.0
// Two ways to be fused and slow:
//   attention  a mask of tokens x tokens, as transformers makes it for a model compiled whole: all scores are computed
//              where is_causal would leave out half. Measured on an H200, 32 and 8 heads, 4096 tokens, cuDNN forward
//              and backward: 3.6 ms with it, 1.0 without; half of the time, which the arithmetic alone explains, is
//              told.
//   memory     kernels far below the bandwidth of a plain copy: at 95% of it, as this project's own reach forward, plus
//              the 2 us that any kernel takes, they would be done sooner. Not where those are most of it, and not on a
//              GPU whose bandwidth is assumed.
// As with savings, of kernels that run side by side each counts by its part.
#include "core/fusion/headroom.h"

#include "core/base/format.h"
#include "core/fusion/predict.h"

#include <algorithm>

namespace fusescope::fusion {
namespace {

constexpr double kOfStep = 0.01; // less is not worth a word
constexpr double kReachable = 0.95;

double kernelNsOf(const Instance& instance) { return instance.forward_ns + instance.backward_ns; }
double floorNsOf(const Instance& instance) {
    return kKernelFloorNs * static_cast<double>(instance.forward.size() + instance.backward.size());
}

// "torch.ops.fusescope.rms_norm, forward and backward ..."; "" where it would do something else than what runs, or runs
// already.
std::string ownNote(const FusionInput& input, const Finding& finding) {
    const TraceStore& trace = *input.trace;
    for (const Instance& instance : finding.instances)
        for (const std::vector<KernelId>* side : {&instance.forward, &instance.backward})
            for (const KernelId kernel : *side) {
                if (trace.nameOf(trace.kernels.slice[kernel.index()]).find("fusescope::") != std::string_view::npos)
                    return {};
                if (finding.pattern != Pattern::Optimizer) continue;
                const CpuOpId op = input.link->kernels[kernel.index()].op;
                if (!op.valid() ||
                    trace.nameOf(trace.cpu_ops.slice[op.index()]).find("_adamw") == std::string_view::npos)
                    return {};
            }
    for (const ExistingSolution& one : catalogEntry(finding.pattern).existing)
        if (one.name == "FuseScope") return one.note;
    return {};
}

void findMasks(const SideBySide& beside, Finding& finding) {
    std::int64_t masked = 0;
    const Instance* longest = nullptr;
    for (const Instance& instance : finding.instances) {
        if (!instance.geometry.score_mask) continue;
        ++masked;
        if (longest == nullptr || kernelNsOf(instance) > kernelNsOf(*longest)) longest = &instance;
        finding.headroom_ns += std::max(0.0, kernelNsOf(instance) - floorNsOf(instance)) / 2 * beside.partOf(instance);
    }
    if (longest == nullptr) return;
    const auto all = static_cast<std::int64_t>(finding.instances.size());
    const std::string tokens = formatCount(static_cast<std::int64_t>(longest->geometry.q_len));
    finding.headroom = all == 1
                           ? "It computes every score and hides"
                           : formatCount(masked) + " of " + formatCount(all) +
                                 (masked == 1 ? " computes every score and hides" : " compute every score and hide");
    finding.headroom += " some with a mask of " + tokens + " x " + tokens +
                        ". If it only hides later tokens, is_causal=True without a mask leaves out half of the work: "
                        "about " +
                        formatDuration(finding.headroom_ns) +
                        " a step. transformers makes such a mask where it cannot look at the positions, as in a model "
                        "compiled whole.";
}

void findLostBandwidth(const FusionInput& input, const SideBySide& beside, Finding& finding) {
    const double copy = input.device.practicalBandwidth();
    if (!(copy > 0) || input.device.source == DeviceSource::Assumed) return;
    double ns = 0, bytes = 0, floor = 0;
    std::int64_t known = 0;
    for (const Instance& instance : finding.instances) {
        const double part = beside.partOf(instance);
        if (!instance.now.bytes_known || !(instance.now.bytes() > 0) || !(kernelNsOf(instance) * part > 0)) continue;
        ns += kernelNsOf(instance) * part;
        bytes += instance.now.bytes();
        floor += floorNsOf(instance) * part;
        ++known;
    }
    const double moving = bytes / (kReachable * copy) * 1e9;
    if (known == 0 || moving < floor) return;
    finding.headroom_ns = std::max(0.0, ns - moving - floor);
    const auto all = static_cast<std::int64_t>(finding.instances.size());
    finding.headroom = (known == all ? std::string("Its kernels")
                                     : "The kernels of " + formatCount(known) + " of " + formatCount(all)) +
                       (input.time_factors != nullptr ? " would move " : " move ") + formatBytes(bytes) + " at " +
                       formatBandwidth(bytes / ns * 1e9) + ", " + formatPercent(bytes / ns * 1e9 / copy) +
                       " of what a plain copy reaches" +
                       (input.device.name.empty() ? std::string() : " on " + input.device.name) +
                       ". At 95% of that, and 2 \xC2\xB5s a kernel, they would take " + formatDuration(moving + floor) +
                       ": up to " + formatDuration(finding.headroom_ns) + " a step with better ones.";
    if (const std::string ours = ownNote(input, finding); !ours.empty())
        finding.headroom += " FuseScope brings " + ours + ".";
}

} // namespace

void findHeadroom(const FusionInput& input, const SideBySide& beside, Finding& finding) {
    if (finding.state != FusionState::Fused || finding.time_estimated || input.trace == nullptr) return;
    if (finding.pattern == Pattern::Attention) findMasks(beside, finding);
    if (movesMemoryAlone(finding.pattern) || finding.pattern == Pattern::Optimizer)
        findLostBandwidth(input, beside, finding);
    if (finding.headroom_ns > 0 && finding.headroom_ns >= kOfStep * input.step_ns) return;
    finding.headroom.clear();
    finding.headroom_ns = 0;
}

} // namespace fusescope::fusion
