// SPDX-License-Identifier: Apache-2.0
// SwiGLU's middle: silu(gate) * up, one kernel instead of two. The three projections stay matmuls.
#include "core/fusion/matchers.h"

#include <algorithm>

namespace fusescope::fusion {
namespace {

// The value whose SiLU a node computes (silu, or mul(x, sigmoid(x)) of decomposed graphs); fills the nodes.
ValueId siluInput(const GraphFlow& g, NodeId node, std::vector<NodeId>& nodes) {
    if (g.code(node) == OpCode::Cast) { // decomposed graphs round through f32
        nodes.push_back(node);
        node = g.maker(g.in(node, 0));
    }
    if (g.code(node) == OpCode::Silu) {
        nodes.push_back(node);
        return g.in(node, 0);
    }
    if (g.code(node) != OpCode::Mul) return {};
    for (std::size_t side = 0; side < 2; ++side) {
        const NodeId sigmoid = g.maker(g.in(node, side));
        if (g.code(sigmoid) != OpCode::Sigmoid) continue;
        ValueId x = g.base(g.in(sigmoid, 0));
        if (x != g.base(g.in(node, 1 - side))) continue;
        nodes.push_back(sigmoid);
        nodes.push_back(node);
        const NodeId up = g.maker(x);
        if (g.code(up) == OpCode::Cast) {
            nodes.push_back(up);
            x = g.in(up, 0);
        }
        return x;
    }
    return {};
}

bool isProjection(const GraphFlow& g, ValueId value) {
    const NodeId maker = g.maker(value);
    const OpCode code = g.code(maker);
    return code == OpCode::Linear || code == OpCode::Matmul || code == OpCode::Split || code == OpCode::Slice;
}

// Decomposed graphs multiply [B, T, N] made from [B*T, N]: rows of one length, as many of them.
bool sameRows(const TensorMeta& a, const TensorMeta& b) {
    return lastSize(a) == lastSize(b) && elements(a) == elements(b);
}

void setShape(Match& match, const TensorMeta& meta) {
    match.shape.dtype = meta.dtype;
    match.shape.width = lastSize(meta);
    match.shape.sizes = meta.sizes;
    match.shape.rows = match.shape.width > 0 ? elements(meta) / match.shape.width : 0;
}

} // namespace

void matchSwiGlu(const GraphFlow& graph, Matches& out) {
    for (std::size_t n = 0; n < graph.size(); ++n) {
        const NodeId mul(n);
        if (graph.code(mul) != OpCode::Mul || !graph.in(mul, 1).valid()) continue;
        for (std::size_t side = 0; side < 2; ++side) {
            const NodeId act = graph.maker(graph.in(mul, side));
            const ValueId up = graph.in(mul, 1 - side);
            Match match;
            const ValueId gate = siluInput(graph, act, match.nodes);
            if (!gate.valid() || graph.base(gate) == graph.base(up)) continue; // x * sigmoid(x) itself
            const std::vector<NodeId> inner = match.nodes;
            match.nodes.push_back(mul);
            sortNodes(match.nodes);
            std::string reason;
            if (!isProjection(graph, gate) || !isProjection(graph, up))
                reason = "gate and up are no projections";
            else if (!sameRows(graph.meta(gate), graph.meta(up)))
                reason = "gate and up differ in shape";
            else if (graph.meta(gate).dtype != graph.meta(up).dtype)
                reason = "gate is " + std::string(shortName(graph.meta(gate).dtype)) + " and up " +
                         std::string(shortName(graph.meta(up).dtype));
            else
                reason = graph.leak(inner, match.nodes);
            if (!reason.empty()) {
                out.misses.push_back({Pattern::SwiGlu, graph.name(mul), reason});
                break;
            }
            match.pattern = Pattern::SwiGlu;
            setShape(match, graph.meta(graph.out(mul)));
            out.found.push_back(std::move(match));
            break;
        }
    }
}

void matchSwiGlu(const StepOps& trace, Matches& out) {
    for (std::size_t i = 0; i < trace.work.size(); ++i) {
        std::size_t act = i; // position of the operator that ends the activation
        if (trace.is(i, OpCode::Sigmoid) && trace.is(i + 1, OpCode::Mul))
            act = i + 1;
        else if (!trace.is(i, OpCode::Silu))
            continue;
        // The projection of up may come first or in between.
        std::size_t mul = act + 1;
        if (trace.is(mul, OpCode::Linear) || trace.is(mul, OpCode::Matmul)) ++mul;
        const StepOp* product = trace.at(mul);
        const TensorMeta* gate = tensorArg(*trace.at(i), 0);
        std::string reason;
        if (!trace.is(mul, OpCode::Mul) || !mayBeTensorOp(*product)) {
            reason = "silu is not followed by a product with up";
        } else if (gate != nullptr) {
            const TensorMeta *a = tensorArg(*product, 0), *b = tensorArg(*product, 1);
            if (a == nullptr || b == nullptr || a->sizes != gate->sizes || b->sizes != gate->sizes)
                reason = "the product after silu has another shape";
            else if (a->dtype != gate->dtype || b->dtype != gate->dtype)
                reason = "gate and up differ in type";
        }
        if (!reason.empty()) {
            out.misses.push_back({Pattern::SwiGlu, trace.describe(*trace.at(i)), reason});
            continue;
        }
        Match match;
        match.pattern = Pattern::SwiGlu;
        for (std::size_t k = i; k <= act; ++k) takeOne(trace, k, match);
        takeOne(trace, mul, match);
        if (gate != nullptr) setShape(match, *gate);
        out.found.push_back(std::move(match));
        i = mul;
    }
}

} // namespace fusescope::fusion
