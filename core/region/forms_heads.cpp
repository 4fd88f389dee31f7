// SPDX-License-Identifier: Apache-2.0
// fusescope::rope(q, k, cos, sin, unsqueeze_dim) and qk_norm_rope(q, k, q_weight, k_weight, cos, sin, eps).
#include "core/region/forms.h"

namespace fusescope::region {
namespace {

using fusion::OpCode;

struct Rotation {
    ValueId x, cos, sin, result;
};

// cat(-x[half:], x[:half]) * sin + x * cos
std::string rotationAt(const Part& part, NodeId cat, Rotation& out) {
    const auto& g = part.g;
    const NodeId neg = g.maker(g.in(cat, 0)), low = g.maker(g.in(cat, 1));
    const NodeId rotated = part.userOf(g.out(cat), OpCode::Mul);
    const NodeId sum = rotated.valid() ? part.userOf(g.out(rotated), OpCode::Add) : NodeId{};
    if (g.code(neg) != OpCode::Neg || !sum.valid()) return g.name(cat) + " is no rotation";
    const ValueId half = g.in(low, 0);
    const NodeId straight = g.maker(part.other(sum, g.out(rotated)));
    if (!half.valid() || g.code(straight) != OpCode::Mul) return g.name(sum) + " does not add x * cos";
    out.cos = part.other(straight, half);
    out.sin = part.other(rotated, g.out(cat));
    out.x = out.cos.valid() ? part.other(straight, out.cos) : ValueId{};
    out.result = g.out(sum);
    if (!out.x.valid() || !out.sin.valid()) return g.name(straight) + " multiplies another tensor than the one rotated";
    if (g.meta(out.x).sizes != g.meta(out.result).sizes || g.meta(out.x).sizes.size() != 4)
        return g.name(sum) + " does not have the shape of four dimensions that was rotated";
    return {};
}

// Where the heads are in [B, H, S, D] (1) or [B, S, H, D] (2), told by the tables; 0: by neither.
std::int64_t headsAt(const TensorMeta& table, const TensorMeta& x) {
    const auto& t = table.sizes;
    if (t.size() != 4 || (t[0] != 1 && t[0] != x.sizes[0])) return 0;
    if (t[1] == 1 && t[2] == x.sizes[2]) return 1;
    return t[2] == 1 && t[1] == x.sizes[1] ? 2 : 0;
}

RegionRef squeezed(Part& part, ValueId table, std::int64_t dim) {
    return part.step("aten::squeeze", "dim", {arg("self", refTo(table)), arg("dim", dim)});
}

// Every rotation of the part, the wider (q) first; "" or why not.
std::string rotationsOf(const Part& part, std::vector<Rotation>& out, std::int64_t& heads_at) {
    const auto& g = part.g;
    for (const NodeId cat : part.all(OpCode::Cat)) {
        std::string why = rotationAt(part, cat, out.emplace_back());
        if (!why.empty()) return why;
    }
    if (out.empty() || out.size() > 2) return std::to_string(out.size()) + " rotations, not those of q and k";
    heads_at = headsAt(g.meta(out[0].cos), g.meta(out[0].x));
    if (heads_at == 0) return "the tables are not spread over the heads alone";
    const auto heads = static_cast<std::size_t>(heads_at);
    for (const Rotation& one : out) {
        if (g.meta(one.sin).sizes != g.meta(one.cos).sizes || headsAt(g.meta(one.cos), g.meta(one.x)) != heads_at)
            return "the tables of sin and cos differ";
        if (one.cos != out[0].cos || one.sin != out[0].sin) return "q and k are rotated with tables of their own";
        if (g.meta(one.cos).dtype != g.meta(one.x).dtype) return "the tables have another type than the heads";
    }
    if (out.size() == 2 && g.meta(out[0].x).sizes[heads] < g.meta(out[1].x).sizes[heads]) std::swap(out[0], out[1]);
    return {};
}

} // namespace

bool ropeForm(Part& part) {
    std::vector<Rotation> rotations;
    std::int64_t heads = 0;
    const std::string why = rotationsOf(part, rotations, heads);
    if (!why.empty()) return part.refuse(why);
    const RegionRef cos = squeezed(part, rotations[0].cos, heads), sin = squeezed(part, rotations[0].sin, heads);
    const RegionRef q = refTo(rotations[0].x);
    // One rotation alone: with a k of no heads.
    const RegionRef k = rotations.size() == 2
                            ? refTo(rotations[1].x)
                            : part.step("aten::narrow", "",
                                        {arg("self", q), arg("dim", heads), arg("start", std::int64_t{0}),
                                         arg("length", std::int64_t{0})});
    const RegionRef out =
        part.step("fusescope::rope", "",
                  {arg("q", q), arg("k", k), arg("cos", cos), arg("sin", sin), arg("unsqueeze_dim", heads)}, 2);
    for (std::uint32_t i = 0; i < rotations.size(); ++i)
        part.makes(rotations[i].result, {out.step, i}, part.g.meta(rotations[i].result).sizes);
    return true;
}

bool qkNormRopeForm(Part& part) {
    const auto& g = part.g;
    std::vector<Rotation> rotations;
    std::int64_t heads = 0;
    std::string why = rotationsOf(part, rotations, heads);
    if (why.empty() && rotations.size() != 2) why = "only one of q and k is rotated";
    std::vector<Norm> norms;
    for (const NodeId root : part.all(OpCode::Rsqrt)) {
        if (!why.empty()) break;
        why = normAt(part, root, norms.emplace_back());
        if (why.empty() && !norms.back().weight.valid()) why = "a norm has no weight";
    }
    if (why.empty() && norms.size() != 2) why = std::to_string(norms.size()) + " norms, not those of q and k";
    if (!why.empty()) return part.refuse(why);
    if (g.base(rotations[0].x) == g.base(norms[1].result)) std::swap(norms[0], norms[1]);
    for (std::size_t i = 0; i < 2; ++i) {
        const auto& x = g.meta(norms[i].x).sizes;
        const auto& turned = g.meta(rotations[i].x).sizes;
        const bool fits = x.size() == 4 && x[0] == turned[0] && x[3] == turned[3] &&
                          (heads == 1 ? x[1] == turned[2] && x[2] == turned[1] : x == turned);
        if (g.base(rotations[i].x) != g.base(norms[i].result) || !fits)
            return part.refuse("what is rotated is not what was normalised, with heads and tokens swapped");
        if (g.meta(norms[i].weight).dtype != g.meta(norms[i].x).dtype)
            return part.refuse("a weight has another type than the heads");
    }
    if (norms[0].eps != norms[1].eps) return part.refuse("the two norms differ in eps");
    const RegionRef cos = squeezed(part, rotations[0].cos, heads), sin = squeezed(part, rotations[0].sin, heads);
    const RegionRef out =
        part.step("fusescope::qk_norm_rope", "",
                  {arg("q", refTo(norms[0].x)), arg("k", refTo(norms[1].x)), arg("q_weight", refTo(norms[0].weight)),
                   arg("k_weight", refTo(norms[1].weight)), arg("cos", cos), arg("sin", sin), arg("eps", norms[0].eps)},
                  2);
    for (std::uint32_t i = 0; i < 2; ++i) {
        RegionRef made{out.step, i};
        if (heads == 1) made = part.transposed(made, 1, 2);
        part.makes(rotations[i].result, made, g.meta(rotations[i].result).sizes);
    }
    return true;
}

} // namespace fusescope::region
