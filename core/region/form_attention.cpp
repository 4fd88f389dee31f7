// SPDX-License-Identifier: Apache-2.0
// fusescope::attention(q, k, v, mask, causal, scale): k and v before their heads are repeated.
#include "core/region/forms.h"

namespace fusescope::region {
namespace {

using fusion::OpCode;

struct Operands {
    RegionRef q, k, v;
    std::vector<std::int64_t> q_sizes, k_sizes;
    DType dtype = DType::Unknown;
    ValueId mask;
    double scale = 1;
    bool has_scale = false, causal = false;
};

// Back over the part's views to what enters it. swapped: the last two dimensions are exchanged on the way.
ValueId sourceOf(const Part& part, ValueId value, bool& swapped) {
    const auto& g = part.g;
    swapped = false;
    for (int guard = 0; guard < 16; ++guard) {
        const NodeId node = g.producer(value);
        if (!part.has(node) || g.code(node) != OpCode::View || !g.in(node, 0).valid()) break;
        const std::string_view op = g.ops().op(node);
        if (op == "aten::t") swapped = !swapped;
        if (op == "aten::transpose") {
            const auto rank = static_cast<double>(g.meta(value).sizes.size());
            const auto last = [&](const char* name) {
                const double dim = fusion::numberIn(g.ops().argText(node, name)).value_or(0);
                return (dim < 0 ? dim + rank : dim) >= rank - 2;
            };
            if (last("dim0") && last("dim1")) swapped = !swapped;
        }
        if (op == "aten::permute") {
            const std::string_view dims = g.ops().argText(node, "dims");
            if (dims == "[0, 1, 3, 2]" || dims == "[0, 2, 1]")
                swapped = !swapped;
            else
                return {};
        }
        value = g.in(node, 0);
    }
    return value;
}

// From the softmax back to the product: what was multiplied and added on the way. "" or why not.
std::string scoresOf(const Part& part, NodeId softmax, NodeId& scores, Operands& out) {
    const auto& g = part.g;
    NodeId node = g.maker(g.in(softmax, 0));
    for (int guard = 0; guard < 8 && g.code(node) != OpCode::Matmul; ++guard) {
        const OpCode code = g.code(node);
        ValueId next = g.in(node, 0);
        if (code == OpCode::Mul || code == OpCode::Div) {
            const auto number = g.scalar(node, "other");
            if (g.in(node, 1).valid() || !number || *number == 0)
                return g.name(node) + " scales the scores by a tensor";
            out.scale = code == OpCode::Mul ? out.scale * *number : out.scale / *number;
        } else if (code == OpCode::Add) {
            if (out.scale != 1 || out.mask.valid()) return g.name(node) + " adds to the scores before they are scaled";
            // The scores are the operand that leads on to the product.
            ValueId mask = g.in(node, 1);
            const OpCode first = g.code(g.maker(next));
            if (first != OpCode::Mul && first != OpCode::Div && first != OpCode::Matmul && first != OpCode::Cast)
                std::swap(next, mask);
            if (!mask.valid()) return g.name(node) + " adds a number to the scores";
            out.mask = mask;
        } else if (code != OpCode::Cast) {
            return g.name(node) + " stands between the scores and their softmax";
        }
        node = g.maker(next);
    }
    if (!part.has(node) || g.code(node) != OpCode::Matmul) return "the product of q and k is not among the nodes";
    scores = node;
    out.has_scale = true;
    return {};
}

bool finish(Part& part, const Fills& fills, Operands& in, ValueId result) {
    const auto& g = part.g;
    RegionArgValue mask = RegionNone{};
    if (in.mask.valid()) {
        // A mask that is positions alone is what a kernel knows without reading it.
        if (!in.causal && fills.isCausalMask(in.mask) && in.q_sizes[2] == in.k_sizes[2]) {
            in.causal = true;
        } else {
            const TensorMeta& meta = g.meta(in.mask);
            mask = refTo(in.mask);
            if (meta.dtype != DType::Bool && meta.dtype != in.dtype)
                mask =
                    part.step("aten::to", "dtype", {arg("self", refTo(in.mask)), arg("dtype", RegionDType{in.dtype})});
        }
    }
    std::vector<RegionArg> args{arg("q", in.q), arg("k", in.k), arg("v", in.v), arg("mask", mask),
                                arg("causal", in.causal)};
    if (in.has_scale) args.push_back(arg("scale", in.scale));
    part.makes(result, part.step("fusescope::attention", "", std::move(args)), in.q_sizes);
    return true;
}

bool isTrue(std::string_view text) { return text == "True" || text == "true" || text == "1"; }

bool fromSdpa(Part& part, const Fills& fills, NodeId node) {
    const auto& g = part.g;
    Operands in;
    const ValueId q = g.in(node, 0), k = g.in(node, 1), v = g.in(node, 2);
    if (!v.valid()) return part.refuse(g.name(node) + " has no q, k and v");
    for (const GraphArg& one : g.ops().argsOf(node))
        if (g.ops().strings.view(one.name) == "attn_mask" && !g.ops().valuesOf(one).empty())
            in.mask = g.ops().valuesOf(one).front();
    if (fusion::numberIn(g.ops().argText(node, "dropout_p")).value_or(0) != 0)
        return part.refuse("dropout is drawn inside the attention");
    if (const auto scale = fusion::numberIn(g.ops().argText(node, "scale"))) {
        in.scale = *scale;
        in.has_scale = true;
    }
    in.causal = isTrue(g.ops().argText(node, "is_causal"));
    in.q = refTo(q);
    in.k = refTo(k);
    in.v = refTo(v);
    in.q_sizes = g.meta(q).sizes;
    in.k_sizes = g.meta(k).sizes;
    in.dtype = g.meta(q).dtype;
    if (in.q_sizes.size() != 4 || in.k_sizes.size() != 4) return part.refuse("q and k do not have four dimensions");
    return finish(part, fills, in, g.out(node));
}

} // namespace

bool attentionForm(Part& part, const Fills& fills) {
    const auto& g = part.g;
    const NodeId softmax = part.first(OpCode::Softmax);
    if (!softmax.valid()) {
        for (const NodeId node : part.nodes())
            if (g.ops().op(node) == "aten::scaled_dot_product_attention") return fromSdpa(part, fills, node);
        return part.refuse("there is no softmax among the nodes");
    }
    Operands in;
    NodeId scores;
    const std::string why = scoresOf(part, softmax, scores, in);
    if (!why.empty()) return part.refuse(why);
    if (part.first(OpCode::Dropout).valid()) return part.refuse("dropout is drawn on the probabilities");
    NodeId product;
    for (const NodeId node : part.all(OpCode::Matmul))
        if (node != scores) product = node;
    if (!product.valid()) return part.refuse("the product with v is not among the nodes");

    bool q_swapped = false, k_swapped = false, v_swapped = false;
    const ValueId q = sourceOf(part, g.in(scores, 0), q_swapped), k = sourceOf(part, g.in(scores, 1), k_swapped),
                  v = sourceOf(part, g.in(product, 1), v_swapped);
    if (!q.valid() || !k.valid() || !v.valid() || q_swapped || v_swapped)
        return part.refuse("q, k or v is transposed before its product");
    const auto &qs = g.meta(q).sizes, &vs = g.meta(v).sizes;
    std::vector<std::int64_t> ks = g.meta(k).sizes;
    if (qs.size() != 4 || ks.size() != 4 || vs.size() != 4)
        return part.refuse("q, k and v do not have four dimensions");
    in.q = refTo(q);
    in.v = refTo(v);
    in.k = refTo(k);
    if (!k_swapped) { // it enters as k^T
        in.k = part.transposed(in.k, 2, 3);
        std::swap(ks[2], ks[3]);
    }
    if (ks != vs || ks[0] != qs[0] || ks[3] != qs[3] || ks[1] == 0 || qs[1] % ks[1] != 0)
        return part.refuse("q, k and v do not have the shapes of grouped heads");
    if (g.meta(k).dtype != g.meta(q).dtype || g.meta(v).dtype != g.meta(q).dtype)
        return part.refuse("q, k and v differ in type");
    in.q_sizes = qs;
    in.k_sizes = ks;
    in.dtype = g.meta(q).dtype;
    return finish(part, fills, in, g.out(product));
}

} // namespace fusescope::region
