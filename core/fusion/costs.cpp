// SPDX-License-Identifier: Apache-2.0
// Durations, costs as run, and the GPU's waits. A wait counts for an instance when it lies right before one of its
// kernels, the first left out: those are the launches that a fused kernel does without.
#include "core/cost/roofline.h"
#include "core/fusion/instances.h"
#include "core/fusion/predict.h"

#include <algorithm>

namespace fusescope::fusion {
namespace {

// Kernels of one stream never follow each other without a breath, however early they were launched.
constexpr double kNaturalGapNs = 1500;

void addCost(OpCost& sum, const OpCost& one, bool first) {
    sum.flops += one.flops;
    sum.tensor_flops += one.tensor_flops;
    sum.bytes_read += one.bytes_read;
    sum.bytes_written += one.bytes_written;
    sum.flops_known = (first || sum.flops_known) && one.flops_known;
    sum.bytes_known = (first || sum.bytes_known) && one.bytes_known;
    if (sum.dtype == DType::Unknown) sum.dtype = one.dtype;
}

// Per kernel: how long the GPU had been idle when it began.
std::vector<double> gapsOf(const TraceStore& trace) {
    std::vector<double> gaps(trace.kernels.size(), 0);
    std::int64_t busy_until = 0;
    std::size_t copy = 0;
    for (std::size_t k = 0; k < trace.kernels.size(); ++k) { // by time
        const SliceId slice = trace.kernels.slice[k];
        const std::int64_t begin = trace.slices.ts[slice.index()];
        // A copy in between keeps the GPU busy too.
        while (copy < trace.copies.size() && trace.slices.ts[trace.copies.slice[copy].index()] <= begin) {
            busy_until = std::max(busy_until, trace.endOf(trace.copies.slice[copy]));
            ++copy;
        }
        if (k > 0 && begin > busy_until) gaps[k] = static_cast<double>(begin - busy_until);
        busy_until = std::max(busy_until, trace.endOf(slice));
    }
    return gaps;
}

double waitsBetween(const std::vector<double>& gaps, const std::vector<KernelId>& kernels) {
    double sum = 0;
    for (std::size_t i = 1; i < kernels.size(); ++i) sum += std::max(0.0, gaps[kernels[i].index()] - kNaturalGapNs);
    return sum;
}

} // namespace

void addCosts(const FusionInput& input, std::vector<Draft>& drafts) {
    std::vector<double> gaps;
    if (input.trace != nullptr) gaps = gapsOf(*input.trace);
    for (Draft& draft : drafts) {
        Instance& instance = draft.instance;
        bool first = true;
        for (const std::vector<KernelId>* side : {&instance.forward, &instance.backward}) {
            for (const KernelId k : *side) {
                (side == &instance.forward ? instance.forward_ns : instance.backward_ns) +=
                    std::max(0.0, kernelNs(input, k));
                if (input.kernel_costs != nullptr && k.index() < input.kernel_costs->size())
                    addCost(instance.now, (*input.kernel_costs)[k.index()], first);
                first = false;
            }
        }
        if (!instance.forward.empty() || !instance.backward.empty()) {
            instance.idle_ns = waitsBetween(gaps, instance.forward) + waitsBetween(gaps, instance.backward);
        } else if (input.graph != nullptr) {
            // No trace, or nothing of it there: the forward as the roofline has it.
            for (const NodeId node : instance.nodes) {
                const OpCost cost = costOfNode(input.graph->ops, node);
                if (cost.bytes() <= 0 && cost.flops <= 0) continue;
                addCost(instance.now, cost, first);
                first = false;
                instance.forward_ns += estimatedKernelNs(cost, input.device);
            }
        }
    }
}

} // namespace fusescope::fusion
