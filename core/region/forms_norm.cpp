// SPDX-License-Identifier: Apache-2.0
// fusescope::rms_norm(x, weight, eps) and add_rms_norm(x, residual, weight, eps) -> (y, sum).
#include "core/region/forms.h"

namespace fusescope::region {
namespace {

using fusion::OpCode;

std::string_view textOf(const OpGraph& ops, NodeId node, const char* name) { return ops.argText(node, name); }

// aten::rms_norm(input, normalized_shape, weight, eps) and what it becomes when decomposed.
bool fromFramework(Part& part, NodeId node) {
    const ValueId x = part.g.in(node, 0), weight = part.g.in(node, 1);
    if (!weight.valid()) return part.refuse("the norm has no weight, and the fused one multiplies with one");
    const auto eps = fusion::numberIn(textOf(part.g.ops(), node, "eps"));
    if (!eps) return part.refuse("the norm's eps is the type's, and the fused one takes a number");
    const RegionRef y =
        part.step("fusescope::rms_norm", "", {arg("x", refTo(x)), arg("weight", refTo(weight)), arg("eps", *eps)});
    part.makes(part.g.out(node), y, part.g.meta(x).sizes);
    return true;
}

// What the kernels take beyond what a matcher asks for.
std::string unfit(const Part& part, const Norm& norm) {
    if (!norm.weight.valid()) return "the norm has no weight, and the fused one multiplies with one";
    const DType x = part.g.meta(norm.x).dtype, w = part.g.meta(norm.weight).dtype, y = part.g.meta(norm.result).dtype;
    if (x != w || x != y)
        return "x is " + std::string(shortName(x)) + ", the weight " + std::string(shortName(w)) + " and the result " +
               std::string(shortName(y)) + ": the fused norm has one type";
    return {};
}

} // namespace

// The way of the matcher: x, cast up, square, mean, + eps, rsqrt, scale, cast down, weight.
std::string normAt(const Part& part, NodeId root, Norm& out) {
    const auto& g = part.g;
    const NodeId add = g.maker(g.in(root, 0));
    if (g.code(add) != OpCode::Add) return g.name(root) + " has no eps before it";
    out.eps = g.scalar(add, "other").value_or(0);
    const NodeId mean = g.maker(g.in(add, 0));
    if (g.code(mean) != OpCode::Mean) return g.name(add) + " adds eps to no mean";
    const NodeId square = g.maker(g.in(mean, 0));
    const ValueId squared = g.in(square, 0), wide = g.base(squared);
    if (!squared.valid()) return g.name(square) + " has no operand";
    const NodeId scale = part.userOf(g.out(root), OpCode::Mul);
    if (!scale.valid()) return g.name(root) + " scales nothing";
    const NodeId up = g.maker(wide);
    out.x = part.has(up) && g.code(up) == OpCode::Cast ? g.in(up, 0) : squared;
    out.result = g.out(scale);
    if (const NodeId down = part.userOf(out.result, OpCode::Cast); down.valid()) out.result = g.out(down);
    if (const NodeId apply = part.userOf(out.result, OpCode::Mul); apply.valid()) {
        const ValueId weight = part.other(apply, out.result);
        if (!weight.valid() || g.meta(weight).sizes.size() != 1) return g.name(apply) + " multiplies with no weight";
        out.weight = weight;
        out.result = g.out(apply);
    }
    return {};
}

bool rmsNormForm(Part& part) {
    const NodeId root = part.first(OpCode::Rsqrt);
    if (!root.valid()) {
        if (part.nodes().size() == 1) return fromFramework(part, part.nodes().front());
        return part.refuse("there is no rsqrt among the nodes");
    }
    Norm norm;
    std::string why = normAt(part, root, norm);
    if (why.empty()) why = unfit(part, norm);
    if (!why.empty()) return part.refuse(why);
    const RegionRef y = part.step("fusescope::rms_norm", "",
                                  {arg("x", refTo(norm.x)), arg("weight", refTo(norm.weight)), arg("eps", norm.eps)});
    part.makes(norm.result, y, part.g.meta(norm.x).sizes);
    return true;
}

bool addRmsNormForm(Part& part) {
    const auto& g = part.g;
    const NodeId root = part.first(OpCode::Rsqrt);
    if (!root.valid()) return part.refuse("there is no rsqrt among the nodes");
    Norm norm;
    std::string why = normAt(part, root, norm);
    if (why.empty()) why = unfit(part, norm);
    if (!why.empty()) return part.refuse(why);
    const NodeId add = g.maker(norm.x);
    const ValueId residual = g.in(add, 0), x = g.in(add, 1);
    if (!part.has(add) || g.code(add) != OpCode::Add || !residual.valid() || !x.valid())
        return part.refuse("the norm does not follow an addition of two tensors");
    const auto& sizes = g.meta(g.out(add)).sizes;
    if (g.meta(x).sizes != sizes || g.meta(residual).sizes != sizes || g.meta(x).dtype != g.meta(residual).dtype)
        return part.refuse("the two tensors that are added differ in shape or type");
    const RegionRef y = part.step(
        "fusescope::add_rms_norm", "",
        {arg("x", refTo(x)), arg("residual", refTo(residual)), arg("weight", refTo(norm.weight)), arg("eps", norm.eps)},
        2);
    part.makes(norm.result, y, sizes);
    part.makes(g.out(add), {y.step, 1}, sizes);
    return true;
}

} // namespace fusescope::region
