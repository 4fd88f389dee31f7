// SPDX-License-Identifier: Apache-2.0
// Residual add and the RMSNorm that reads its sum: the sum is written once (it is the next residual) and never read
// back.
#include "core/fusion/matchers.h"

#include <algorithm>

namespace fusescope::fusion {
namespace {

bool sumsTensors(const GraphFlow& graph, NodeId node) {
    if (graph.code(node) != OpCode::Add) return false;
    const ValueId a = graph.in(node, 0), b = graph.in(node, 1);
    if (!a.valid() || !b.valid() || graph.isWeight(a) || graph.isWeight(b)) return false;
    if (!sameSizes(graph.meta(a), graph.meta(b)) || graph.meta(a).dtype != graph.meta(b).dtype) return false;
    return graph.scalar(node, "alpha").value_or(1) == 1;
}

} // namespace

void matchAddRmsNorm(const GraphFlow& graph, Matches& out) {
    std::vector<Match> found;
    for (const Match& norm : out.found) {
        if (norm.pattern != Pattern::RmsNorm || norm.state == FusionState::Fused || norm.nodes.empty()) continue;
        const NodeId first = norm.nodes.front(); // topological: the cast up, or the square
        std::vector<NodeId> views;
        const ValueId input = graph.in(first, 0);
        const NodeId add = graph.producer(graph.base(input, views));
        if (!sumsTensors(graph, add)) continue;
        // A view between them must not change what a row is (the norm of q after its projection is no residual).
        if (lastSize(graph.meta(graph.out(add))) != lastSize(graph.meta(input))) {
            out.misses.push_back(
                {Pattern::AddRmsNorm, graph.name(add), "the norm sees rows of another length than the sum"});
            continue;
        }
        Match match = norm;
        match.pattern = Pattern::AddRmsNorm;
        match.nodes.insert(match.nodes.begin(), add);
        match.shape.residual_gradient = !graph.leak({add}, match.nodes).empty(); // the sum is used again
        found.push_back(std::move(match));
    }
    out.found.insert(out.found.end(), found.begin(), found.end());
}

void matchAddRmsNorm(const StepOps& trace, Matches& out) {
    std::vector<std::size_t> position(trace.ops.size(), trace.work.size());
    for (std::size_t i = 0; i < trace.work.size(); ++i) position[trace.work[i]] = i;

    std::vector<Match> found;
    for (const Match& norm : out.found) {
        if (norm.pattern != Pattern::RmsNorm || norm.state == FusionState::Fused || norm.ops.empty()) continue;
        const std::size_t first = position[norm.ops.front()];
        if (first == 0 || first >= trace.work.size() || !trace.is(first - 1, OpCode::Add)) continue;
        const StepOp &add = *trace.at(first - 1), &next = *trace.at(first);
        if (!mayBeTensorOp(add)) continue;
        const TensorMeta *a = tensorArg(add, 0), *b = tensorArg(add, 1), *input = tensorArg(next, 0);
        if (a != nullptr && b != nullptr && (a->sizes != b->sizes || a->dtype != b->dtype)) continue;
        if (a != nullptr && input != nullptr && (a->sizes != input->sizes || a->dtype != input->dtype)) continue;
        // By kernel names alone an add of a number looks different ("CUDAFunctorOnSelf_add"), so this one adds tensors.
        if (trace.by_kernel_name && trace.nameOf(add).find("OnSelf") != std::string_view::npos) continue;
        Match match;
        match.pattern = Pattern::AddRmsNorm;
        match.shape = norm.shape;
        match.note = norm.note;
        takeOne(trace, first - 1, match);
        match.ops.insert(match.ops.end(), norm.ops.begin(), norm.ops.end());
        match.kernels.insert(match.kernels.end(), norm.kernels.begin(), norm.kernels.end());
        found.push_back(std::move(match));
    }
    out.found.insert(out.found.end(), found.begin(), found.end());
}

} // namespace fusescope::fusion
