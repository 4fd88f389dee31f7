// SPDX-License-Identifier: Apache-2.0
// The three projections of q, k and v read one input: they can be one matmul with stacked weights.
#include "core/fusion/matchers.h"

#include <algorithm>
#include <map>

namespace fusescope::fusion {
namespace {

// Output widths of q, k, v: k and v alike, q a multiple of them.
bool areHeads(std::vector<double> widths) {
    std::sort(widths.begin(), widths.end());
    return widths.size() == 3 && widths[0] > 0 && widths[0] == widths[1] &&
           static_cast<std::int64_t>(widths[2]) % static_cast<std::int64_t>(widths[0]) == 0;
}

// --- graph ----------------------------------------------------------------------------------------------------------

struct Projection {
    NodeId node;
    ValueId weight;
    double width = 0, hidden = 0; // outputs, inputs
    bool bias = false;
};

bool projectionAt(const GraphFlow& g, NodeId node, ValueId& input, Projection& out) {
    if (g.code(node) != OpCode::Linear) return false;
    const bool addmm = g.ops().op(node) == "aten::addmm";
    const ValueId x = g.in(node, addmm ? 1 : 0);
    out.weight = g.in(node, addmm ? 2 : 1);
    if (!x.valid() || !out.weight.valid() || !g.isWeight(out.weight)) return false;
    if (g.meta(out.weight).sizes.size() != 2) return false;
    out.node = node;
    out.bias = addmm || g.in(node, 2).valid();
    out.hidden = lastSize(g.meta(x));
    out.width = lastSize(g.meta(g.out(node)));
    input = g.base(x);
    return true;
}

// Whether the heads made by a projection reach an attention product before any other projection reads them.
bool feedsAttention(const GraphFlow& g, NodeId from) {
    std::vector<NodeId> open{from}, seen;
    while (!open.empty() && seen.size() < 200) {
        const NodeId node = open.back();
        open.pop_back();
        for (const NodeId user : g.users(g.out(node))) {
            const std::string_view op = g.ops().op(user);
            if (g.code(user) == OpCode::Matmul || op.find("attention") != std::string_view::npos) return true;
            if (g.code(user) == OpCode::Linear) continue;
            if (std::find(seen.begin(), seen.end(), user) != seen.end()) continue;
            seen.push_back(user);
            open.push_back(user);
        }
    }
    return false;
}

// --- trace ----------------------------------------------------------------------------------------------------------

struct Shapes {
    double rows = 0, hidden = 0, width = 0;
    std::vector<std::int64_t> sizes; // of the input
    DType dtype = DType::Unknown;
};

bool shapesOf(const StepOps& trace, const StepOp& op, Shapes& out) {
    const bool addmm = trace.nameOf(op) == "aten::addmm";
    const TensorMeta *x = tensorArg(op, addmm ? 1 : 0), *w = tensorArg(op, addmm ? 2 : 1);
    if (x == nullptr || w == nullptr || w->sizes.size() != 2) return false;
    out.dtype = x->dtype;
    out.hidden = lastSize(*x);
    out.sizes = x->sizes;
    out.rows = out.hidden > 0 ? elements(*x) / out.hidden : 0;
    // linear takes the weight as [out, in], mm as [in, out]
    const bool linear = trace.nameOf(op) == "aten::linear";
    out.width = static_cast<double>(w->sizes[linear ? 0 : 1]);
    return static_cast<double>(w->sizes[linear ? 1 : 0]) == out.hidden;
}

} // namespace

void matchQkvProjection(const GraphFlow& graph, Matches& out) {
    std::map<std::uint32_t, std::vector<Projection>> by_input; // ordered: results do not depend on hashing
    for (std::size_t n = 0; n < graph.size(); ++n) {
        ValueId input;
        Projection projection;
        if (projectionAt(graph, NodeId(n), input, projection)) by_input[input.value].push_back(projection);
    }
    std::vector<Match> found;
    for (const auto& [input, all] : by_input) {
        if (all.size() < 3) continue;
        std::string reason;
        std::vector<double> widths;
        for (const Projection& p : all) widths.push_back(p.width);
        const bool attention =
            std::all_of(all.begin(), all.end(), [&](const Projection& p) { return feedsAttention(graph, p.node); });
        if (!attention) continue;
        if (all.size() > 3)
            reason = std::to_string(all.size()) + " projections read one input";
        else if (!areHeads(widths))
            reason = "the widths are not those of q, k and v";
        for (const Projection& p : all) {
            if (p.bias != all.front().bias) reason = "only some of the projections have a bias";
            if (graph.meta(p.weight).dtype != graph.meta(all.front().weight).dtype)
                reason = "the weights differ in type";
        }
        if (!reason.empty()) {
            out.misses.push_back({Pattern::QkvProjection, graph.name(all.front().node), reason});
            continue;
        }
        Match match;
        match.pattern = Pattern::QkvProjection;
        for (const Projection& p : all) match.nodes.push_back(p.node);
        sortNodes(match.nodes);
        const TensorMeta& x = graph.meta(ValueId(input));
        match.shape.dtype = graph.meta(graph.out(all.front().node)).dtype;
        match.shape.hidden = all.front().hidden;
        match.shape.rows = all.front().hidden > 0 ? elements(x) / all.front().hidden : 0;
        for (const double w : widths) match.shape.width += w;
        match.shape.kv_width = *std::min_element(widths.begin(), widths.end());
        match.shape.sizes =
            graph.meta(graph.in(all.front().node, graph.ops().op(all.front().node) == "aten::addmm" ? 1 : 0)).sizes;
        found.push_back(std::move(match));
    }
    std::sort(found.begin(), found.end(),
              [](const Match& a, const Match& b) { return a.nodes.front() < b.nodes.front(); });
    out.found.insert(out.found.end(), found.begin(), found.end());
}

void matchQkvProjection(const StepOps& trace, Matches& out) {
    std::vector<std::size_t> position(trace.ops.size(), trace.work.size());
    for (std::size_t i = 0; i < trace.work.size(); ++i) position[trace.work[i]] = i;
    std::vector<bool> merged(trace.work.size(), false); // projections that are one operator already
    for (const Match& match : out.found)
        if (match.pattern == Pattern::QkvProjection && match.state == FusionState::Fused)
            for (const std::uint32_t row : match.ops)
                if (position[row] < merged.size()) merged[position[row]] = true;
    constexpr std::size_t kFarthest = 64; // operators between the first projection and attention (norms, RoPE)

    std::vector<Match> found;
    for (const Match& attention : out.found) {
        if (attention.pattern != Pattern::Attention || attention.ops.empty()) continue;
        std::size_t start = trace.work.size();
        for (const std::uint32_t row : attention.ops) start = std::min(start, position[row]);
        if (start >= trace.work.size()) continue;
        std::vector<std::size_t> linear; // nearest first: v, k, q
        std::vector<Shapes> shapes;
        for (std::size_t back = 1; back <= start && back <= kFarthest && linear.size() < 3; ++back) {
            const StepOp& op = *trace.at(start - back);
            if (merged[start - back]) break; // what lies before it are another layer's
            if (op.code != OpCode::Linear && op.code != OpCode::Matmul) continue;
            Shapes s;
            const bool known = shapesOf(trace, op, s);
            if (!known && !op.args.empty()) break;
            linear.push_back(start - back);
            shapes.push_back(s);
        }
        if (linear.size() < 3) continue;
        const Shapes &v = shapes[0], &k = shapes[1], &q = shapes[2];
        const bool known = v.width > 0 && k.width > 0 && q.width > 0;
        if (known) {
            // One projection as wide as q, k and v together, right before: they are merged already.
            if (v.rows != k.rows || v.hidden != k.hidden || q.rows != k.rows || q.hidden != k.hidden) continue;
            if (!areHeads({v.width, k.width, q.width})) continue;
            if (v.dtype != k.dtype || q.dtype != k.dtype) {
                out.misses.push_back(
                    {Pattern::QkvProjection, trace.describe(*trace.at(linear[2])), "the inputs differ in type"});
                continue;
            }
        } else if (!trace.by_kernel_name && !trace.at(linear[0])->args.empty()) {
            continue;
        }
        Match match;
        match.pattern = Pattern::QkvProjection;
        for (std::size_t i = linear.size(); i-- > 0;) takeOne(trace, linear[i], match);
        if (known) {
            match.shape.dtype = q.dtype;
            match.shape.rows = q.rows;
            match.shape.hidden = q.hidden;
            match.shape.width = q.width + k.width + v.width;
            match.shape.kv_width = std::min({q.width, k.width, v.width});
            match.shape.sizes = q.sizes;
        }
        found.push_back(std::move(match));
    }
    out.found.insert(out.found.end(), found.begin(), found.end());
}

} // namespace fusescope::fusion
