// SPDX-License-Identifier: Apache-2.0
// RoPE by rotate_half: x * cos + cat(-x[half:], x[:half]) * sin. The rotations of q and k of one layer are one
// instance: a fused kernel reads the tables once for both.
#include "core/fusion/matchers.h"

#include <algorithm>

namespace fusescope::fusion {
namespace {

struct Rotation { // in a graph
    std::vector<NodeId> nodes;
    ValueId x, cos, sin; // bases
    TensorMeta meta;     // of the result
};

// The other operand of a product, or invalid.
ValueId otherOperand(const GraphFlow& g, NodeId mul, ValueId one) {
    if (g.base(g.in(mul, 0)) == one) return g.base(g.in(mul, 1));
    if (g.base(g.in(mul, 1)) == one) return g.base(g.in(mul, 0));
    return {};
}

// Half of the last dimension: [0, n/2) when `first`, else [n/2, n).
bool isHalf(const GraphFlow& g, NodeId slice, bool first) {
    if (g.code(slice) != OpCode::Slice) return false;
    const TensorMeta &whole = g.meta(g.in(slice, 0)), &half = g.meta(g.out(slice));
    if (lastSize(half) <= 0 || lastSize(half) * 2 != lastSize(whole)) return false;
    const auto dim = g.scalar(slice, "dim");
    if (!dim || (*dim != -1 && *dim != static_cast<double>(whole.sizes.size()) - 1)) return false;
    const double start = numberIn(g.ops().argText(slice, "start")).value_or(0);
    return first ? start == 0 : start == lastSize(half);
}

// cat: the concatenation. Returns "" and fills found, or why not; " " when it is nothing like a rotation.
std::string rotationAt(const GraphFlow& g, NodeId cat, Rotation& found) {
    const NodeId neg = g.maker(g.in(cat, 0)), low = g.maker(g.in(cat, 1));
    if (g.code(neg) != OpCode::Neg || g.in(cat, 2).valid()) return " ";
    const NodeId high = g.maker(g.in(neg, 0));
    if (!isHalf(g, high, false) || !isHalf(g, low, true))
        return g.name(cat) + " does not join the two halves of a head";
    const ValueId x = g.base(g.in(high, 0));
    if (x != g.base(g.in(low, 0))) return g.name(cat) + " joins halves of two tensors";
    const NodeId rotated = g.onlyUser(g.out(cat));
    if (g.code(rotated) != OpCode::Mul) return g.name(cat) + " is not multiplied by sin alone";
    const NodeId sum = g.onlyUser(g.out(rotated));
    if (g.code(sum) != OpCode::Add) return g.name(rotated) + " is not added to x * cos";
    const NodeId left = g.maker(g.in(sum, 0)), right = g.maker(g.in(sum, 1));
    const NodeId straight = left == rotated ? right : left;
    if (g.code(straight) != OpCode::Mul) return g.name(sum) + " does not add x * cos";
    found.cos = otherOperand(g, straight, x);
    found.sin = otherOperand(g, rotated, g.out(cat));
    if (!found.cos.valid() || !found.sin.valid())
        return g.name(straight) + " multiplies another tensor than the one rotated";
    found.nodes = {high, low, neg, cat, rotated, straight, sum};
    sortNodes(found.nodes);
    const std::string leak = g.leak({high, low, neg, cat, rotated, straight}, found.nodes);
    if (!leak.empty()) return leak;
    if (g.meta(g.out(sum)).dtype != g.meta(x).dtype)
        return "the tables are " + std::string(shortName(g.meta(found.cos).dtype)) + " and the heads " +
               std::string(shortName(g.meta(x).dtype));
    found.x = x;
    found.meta = g.meta(g.out(sum));
    return {};
}

// Heads before sequence ([B, H, T, D]) as everywhere in HuggingFace's models.
void addHeads(Geometry& shape, const TensorMeta& meta) {
    if (meta.sizes.size() < 3 || elements(meta) <= 0) return;
    const std::size_t rank = meta.sizes.size();
    shape.dtype = meta.dtype;
    shape.head_dim = static_cast<double>(meta.sizes[rank - 1]);
    shape.q_len = static_cast<double>(meta.sizes[rank - 2]);
    shape.batch = rank > 3 ? static_cast<double>(meta.sizes[0]) : 1;
    const double heads = static_cast<double>(meta.sizes[rank - 3]);
    if (shape.heads == 0)
        shape.heads = heads;
    else
        shape.kv_heads += heads;
}

bool isHalfOf(const TensorMeta& half, const TensorMeta& whole) {
    return half.sizes.size() == whole.sizes.size() && !half.sizes.empty() &&
           half.sizes.back() * 2 == whole.sizes.back() &&
           std::equal(half.sizes.begin(), half.sizes.end() - 1, whole.sizes.begin());
}

// neg: work position. True when mul, neg, cat, mul, add stand around it with fitting shapes.
bool rotationAt(const StepOps& trace, std::size_t neg) {
    if (neg == 0 || !trace.is(neg - 1, OpCode::Mul) || !trace.is(neg + 1, OpCode::Cat) ||
        !trace.is(neg + 2, OpCode::Mul) || !trace.is(neg + 3, OpCode::Add))
        return false;
    const StepOp &straight = *trace.at(neg - 1), &minus = *trace.at(neg), &rotated = *trace.at(neg + 2),
                 &sum = *trace.at(neg + 3);
    const TensorMeta *x = tensorArg(straight, 0), *half = tensorArg(minus, 0), *turned = tensorArg(rotated, 0),
                     *left = tensorArg(sum, 0), *right = tensorArg(sum, 1);
    if (x == nullptr || half == nullptr) return straight.args.empty();
    if (!isHalfOf(*half, *x)) return false;
    return turned != nullptr && left != nullptr && right != nullptr && turned->sizes == x->sizes &&
           left->sizes == x->sizes && right->sizes == x->sizes && left->dtype == x->dtype;
}

} // namespace

void matchRope(const GraphFlow& graph, Matches& out) {
    std::vector<Rotation> rotations;
    for (std::size_t n = 0; n < graph.size(); ++n) {
        if (graph.code(NodeId(n)) != OpCode::Cat) continue;
        Rotation rotation;
        const std::string reason = rotationAt(graph, NodeId(n), rotation);
        if (reason.empty())
            rotations.push_back(std::move(rotation));
        else if (reason != " ")
            out.misses.push_back({Pattern::Rope, graph.name(NodeId(n)), reason});
    }
    for (std::size_t i = 0; i < rotations.size(); ++i) {
        Match match;
        match.pattern = Pattern::Rope;
        match.nodes = rotations[i].nodes;
        addHeads(match.shape, rotations[i].meta);
        if (i + 1 < rotations.size()) {
            const Rotation &q = rotations[i], &k = rotations[i + 1];
            const bool same_module = graph.ops().at(q.nodes.back()).module == graph.ops().at(k.nodes.back()).module;
            if (q.cos == k.cos && q.sin == k.sin && q.x != k.x && same_module) {
                match.nodes.insert(match.nodes.end(), k.nodes.begin(), k.nodes.end());
                sortNodes(match.nodes);
                addHeads(match.shape, k.meta);
                ++i;
            }
        }
        out.found.push_back(std::move(match));
    }
}

void matchRope(const StepOps& trace, Matches& out) {
    for (std::size_t i = 1; i < trace.work.size(); ++i) {
        if (!trace.is(i, OpCode::Neg) || !rotationAt(trace, i)) continue;
        Match match;
        match.pattern = Pattern::Rope;
        std::size_t last = i + 3;
        if (const TensorMeta* x = tensorArg(*trace.at(i - 1), 0)) addHeads(match.shape, *x);
        // k follows q at once.
        if (trace.is(last + 2, OpCode::Neg) && rotationAt(trace, last + 2)) {
            if (const TensorMeta* x = tensorArg(*trace.at(last + 1), 0)) addHeads(match.shape, *x);
            last += 5;
        }
        take(trace, i - 1, last, match);
        out.found.push_back(std::move(match));
        i = last;
    }
}

} // namespace fusescope::fusion
