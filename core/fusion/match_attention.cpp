// SPDX-License-Identifier: Apache-2.0
// Attention spelled out: Q K^T, scale, mask, softmax, (dropout,) P V, with the copies that exist only for it: K and V
// repeated for grouped heads before, the transposed result made contiguous after.
#include "core/fusion/matchers.h"

#include <algorithm>

namespace fusescope::fusion {
namespace {

// --- graph ----------------------------------------------------------------------------------------------------------

// Views between an operand of a product and the tensor before its heads were repeated; empty when nothing is repeated.
// kv_heads: heads before that.
std::vector<NodeId> repeatOf(const GraphFlow& g, ValueId operand, double& kv_heads) {
    std::vector<NodeId> passed;
    (void)g.base(operand, passed);
    for (std::size_t i = 0; i < passed.size(); ++i) {
        const NodeId node = passed[i];
        if (g.ops().op(node) != "aten::expand" || !g.out(node).valid()) continue;
        const TensorMeta &before = g.meta(g.in(node, 0)), &after = g.meta(g.out(node));
        if (elements(before) >= elements(after) || before.sizes.size() < 4) continue;
        kv_heads = static_cast<double>(before.sizes[before.sizes.size() - 4]);
        const bool unsqueezed = i + 1 < passed.size() && g.ops().op(passed[i + 1]) == "aten::unsqueeze";
        passed.resize(i + (unsqueezed ? 2U : 1U));
        return passed;
    }
    return {};
}

// Views after the product, up to the copy that makes its transposed result contiguous; empty without one.
std::vector<NodeId> copyAfter(const GraphFlow& g, NodeId product) {
    std::vector<NodeId> passed;
    ValueId value = g.out(product);
    while (value.valid() && !g.ops().at(value).is_graph_output) {
        const auto users = g.ops().consumersOf(value);
        if (users.size() != 1 || g.code(users.front()) != OpCode::View) return {};
        passed.push_back(users.front());
        const std::string_view op = g.ops().op(users.front());
        if (op == "aten::contiguous" || op == "aten::clone") return passed;
        value = g.out(users.front());
    }
    return {};
}

std::string attentionAt(const GraphFlow& g, NodeId softmax, Match& match) {
    const auto dim = g.scalar(softmax, "dim");
    const double rank = static_cast<double>(g.meta(g.in(softmax, 0)).sizes.size());
    std::vector<NodeId> inner{softmax};

    NodeId scores = g.maker(g.in(softmax, 0));
    while (g.code(scores) == OpCode::Add || g.code(scores) == OpCode::Mul || g.code(scores) == OpCode::Div ||
           g.code(scores) == OpCode::Mask || g.code(scores) == OpCode::Cast) {
        // The scores are the operand that leads on to the product of q and k.
        std::size_t side = g.code(scores) == OpCode::Mask ? 1 : 0;
        NodeId next = g.maker(g.in(scores, side));
        if (g.code(scores) == OpCode::Add && g.code(next) != OpCode::Mul && g.code(next) != OpCode::Matmul &&
            g.code(next) != OpCode::Div && g.code(next) != OpCode::Cast)
            next = g.maker(g.in(scores, 1));
        inner.push_back(scores);
        if (inner.size() > 8) return " ";
        scores = next;
    }
    NodeId probabilities = softmax;
    NodeId next = g.onlyUser(g.out(softmax));
    while (g.code(next) == OpCode::Cast || g.code(next) == OpCode::Dropout) {
        inner.push_back(next);
        probabilities = next;
        if (inner.size() > 12) return " ";
        next = g.onlyUser(g.out(next));
    }
    const bool scored = g.code(scores) == OpCode::Matmul, summed = g.code(next) == OpCode::Matmul;
    if (!scored && !summed) return " "; // some other softmax
    if (!scored) return "softmax does not read the product of queries and keys";
    if (!summed) return "the probabilities are not multiplied by values alone";
    if (!dim || (*dim != -1 && *dim != rank - 1)) return "softmax does not run over the last dimension";
    if (g.base(g.in(next, 0)) != g.out(probabilities)) return "the probabilities are not the left factor";
    inner.push_back(scores);
    match.nodes = inner;
    match.nodes.push_back(next);
    std::string leak = g.leak(inner, match.nodes);
    if (!leak.empty()) return leak;

    const ValueId q = g.in(scores, 0), k = g.in(scores, 1), v = g.in(next, 1);
    if (g.meta(q).dtype != g.meta(k).dtype || g.meta(q).dtype != g.meta(v).dtype) return "q, k and v differ in type";
    const TensorMeta &result = g.meta(g.out(next)), &key = g.meta(k);
    Geometry& shape = match.shape;
    if (elements(result) > 0 && elements(key) > 0 && result.sizes.size() >= 3) {
        shape.dtype = g.meta(q).dtype;
        shape.head_dim = lastSize(result);
        shape.q_len = static_cast<double>(result.sizes[result.sizes.size() - 2]);
        shape.kv_len = lastSize(key); // k is transposed
        shape.batch = result.sizes.size() > 3 ? static_cast<double>(result.sizes[0]) : 1;
        shape.heads = elements(result) / (shape.head_dim * shape.q_len * shape.batch);
        shape.kv_heads = shape.heads;
    }
    for (const ValueId operand : {k, v}) {
        const std::vector<NodeId> repeat = repeatOf(g, operand, shape.kv_heads);
        match.nodes.insert(match.nodes.end(), repeat.begin(), repeat.end());
    }
    const std::vector<NodeId> copy = copyAfter(g, next);
    match.nodes.insert(match.nodes.end(), copy.begin(), copy.end());
    sortNodes(match.nodes);
    return {};
}

// --- trace ----------------------------------------------------------------------------------------------------------

bool isProduct(const StepOps& trace, std::size_t i) {
    if (trace.is(i, OpCode::Matmul)) {
        const TensorMeta* left = tensorArg(*trace.at(i), 0);
        return left == nullptr || left->sizes.size() >= 3; // two dimensions: a projection
    }
    return false;
}

std::string attentionAt(const StepOps& trace, std::size_t softmax, Match& match) {
    // Before: scale, mask, cast, back to the product.
    std::size_t first = softmax;
    for (int guard = 0; guard < 5 && first > 0; ++guard) {
        const StepOp& before = *trace.at(first - 1);
        if (before.code != OpCode::Add && before.code != OpCode::Mul && before.code != OpCode::Div &&
            before.code != OpCode::Mask && before.code != OpCode::Cast)
            break;
        --first;
    }
    const bool scored = first > 0 && isProduct(trace, first - 1);
    std::size_t last = softmax + 1;
    while (trace.is(last, OpCode::Cast) || trace.is(last, OpCode::Dropout)) ++last;
    const bool summed = isProduct(trace, last);
    if (!scored && !summed) return {};
    if (!scored) return "softmax does not follow a product of queries and keys";
    if (!summed) return "the probabilities are not multiplied by values next";
    --first;

    const TensorMeta *q = tensorArg(*trace.at(first), 0), *k = tensorArg(*trace.at(first), 1),
                     *p = tensorArg(*trace.at(softmax), 0), *v = tensorArg(*trace.at(last), 1);
    Geometry& shape = match.shape;
    if (q != nullptr && k != nullptr && p != nullptr && v != nullptr && q->sizes.size() >= 3 && !p->sizes.empty()) {
        if (lastSize(*k) != lastSize(*p)) return "softmax does not run over the keys";
        if (q->dtype != v->dtype || q->dtype != k->dtype) return "q, k and v differ in type";
        shape.dtype = q->dtype;
        shape.head_dim = lastSize(*q);
        shape.q_len = static_cast<double>(q->sizes[q->sizes.size() - 2]);
        shape.kv_len = lastSize(*k);
        shape.batch = q->sizes.size() > 3 ? static_cast<double>(q->sizes[0]) : 1;
        shape.heads = shape.head_dim > 0 && shape.q_len > 0 && shape.batch > 0
                          ? elements(*q) / (shape.head_dim * shape.q_len * shape.batch)
                          : 0;
        shape.kv_heads = shape.heads;
    }

    // Copies before it: K and V with their heads repeated, recorded as five dimensions.
    std::uint32_t first_row = trace.work[first];
    for (int copies = 0; copies < 2 && first > 0 && trace.is(first - 1, OpCode::View); ++copies) {
        const TensorMeta* repeated = tensorArg(*trace.at(first - 1), 0);
        if (repeated == nullptr || repeated->sizes.size() != 5) break;
        shape.kv_heads = static_cast<double>(repeated->sizes[1]);
        first_row = trace.work[--first];
        while (first_row > 0 && trace.ops[first_row - 1].kernels.empty()) --first_row;
    }
    // A copy after it: the transposed result made contiguous.
    if (trace.is(last + 1, OpCode::View)) {
        const TensorMeta* copied = tensorArg(*trace.at(last + 1), 0);
        if (copied == nullptr || (q != nullptr && elements(*copied) == elements(*q))) ++last;
    }
    take(trace, first, last, match);
    if (!trace.by_kernel_name)
        for (std::uint32_t row = first_row; row < trace.work[first]; ++row) match.ops.push_back(row);
    std::sort(match.ops.begin(), match.ops.end());
    match.ops.erase(std::unique(match.ops.begin(), match.ops.end()), match.ops.end());
    return {};
}

} // namespace

void matchAttention(const GraphFlow& graph, Matches& out) {
    for (std::size_t n = 0; n < graph.size(); ++n) {
        if (graph.code(NodeId(n)) != OpCode::Softmax) continue;
        Match match;
        match.pattern = Pattern::Attention;
        const std::string reason = attentionAt(graph, NodeId(n), match);
        if (reason.empty())
            out.found.push_back(std::move(match));
        else if (reason != " ")
            out.misses.push_back({Pattern::Attention, graph.name(NodeId(n)), reason});
    }
}

void matchAttention(const StepOps& trace, Matches& out) {
    for (std::size_t i = 0; i < trace.work.size(); ++i) {
        if (!trace.is(i, OpCode::Softmax)) continue;
        Match match;
        match.pattern = Pattern::Attention;
        const std::string reason = attentionAt(trace, i, match);
        if (!match.kernels.empty() || !match.ops.empty())
            out.found.push_back(std::move(match));
        else if (!reason.empty())
            out.misses.push_back({Pattern::Attention, trace.describe(*trace.at(i)), reason});
    }
}

} // namespace fusescope::fusion
