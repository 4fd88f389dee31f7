// SPDX-License-Identifier: Apache-2.0
// fusescope::swiglu(gate, up), qkv_projection_separate(x, q_weight, k_weight, v_weight) and
// linear_cross_entropy(x, weight, labels).
#include "core/region/forms.h"

namespace fusescope::region {
namespace {

using fusion::OpCode;

// What the activation of a node is of, as the matcher finds it: silu(x), or x * sigmoid(x) with its casts.
ValueId gateOf(const Part& part, NodeId node) {
    const auto& g = part.g;
    if (!part.has(node)) return {};
    if (g.code(node) == OpCode::Cast) node = g.maker(g.in(node, 0));
    if (g.code(node) == OpCode::Silu) return g.in(node, 0);
    if (g.code(node) != OpCode::Mul) return {};
    for (std::size_t side = 0; side < 2; ++side) {
        const NodeId sigmoid = g.maker(g.in(node, side));
        if (g.code(sigmoid) != OpCode::Sigmoid || !part.has(sigmoid)) continue;
        const ValueId x = g.in(sigmoid, 0);
        if (!x.valid() || g.base(x) != g.base(g.in(node, 1 - side))) continue;
        const NodeId up = g.maker(x);
        return g.code(up) == OpCode::Cast && part.has(up) ? g.in(up, 0) : x;
    }
    return {};
}

struct Projection {
    ValueId x, weight, result;
    bool transposed = false; // the weight is [in, out]
};

std::string projectionAt(const Part& part, NodeId node, Projection& out) {
    const auto& g = part.g;
    const std::string_view op = g.ops().op(node);
    if (op != "aten::linear" && op != "aten::mm" && op != "aten::matmul") return g.name(node) + " adds a bias";
    out.x = g.in(node, 0);
    out.weight = g.in(node, 1);
    out.result = g.out(node);
    out.transposed = op != "aten::linear";
    if (!out.x.valid() || !out.weight.valid() || g.meta(out.weight).sizes.size() != 2)
        return g.name(node) + " has no weight of two dimensions";
    if (g.in(node, 2).valid()) return g.name(node) + " adds a bias";
    if (g.meta(out.weight).dtype != g.meta(out.x).dtype) return "the weight has another type than x";
    return {};
}

RegionRef weightOf(Part& part, const Projection& projection) {
    const RegionRef weight = refTo(projection.weight);
    return projection.transposed ? part.step("aten::t", "", {arg("self", weight)}) : weight;
}

// aten::cross_entropy_loss(self, target, weight, reduction, ignore_index, label_smoothing) and its parts.
struct Loss {
    std::int64_t reduction = 1, ignore_index = -100; // the schema's defaults
};

std::string lossAt(const Part& part, NodeId node, Loss& out) {
    const auto& g = part.g;
    if (g.in(node, 2).valid()) return "classes have weights of their own";
    const OpGraph& ops = g.ops();
    if (fusion::numberIn(ops.argText(node, "label_smoothing")).value_or(0) != 0) return "labels are smoothed";
    out.reduction = static_cast<std::int64_t>(fusion::numberIn(ops.argText(node, "reduction")).value_or(1));
    out.ignore_index = static_cast<std::int64_t>(fusion::numberIn(ops.argText(node, "ignore_index")).value_or(-100));
    if (out.reduction != 1 && out.reduction != 2) return "the loss of each token is asked for";
    return {};
}

} // namespace

bool swigluForm(Part& part) {
    const auto& g = part.g;
    ValueId gate, up, result;
    for (const NodeId mul : part.all(OpCode::Mul))
        for (std::size_t side = 0; side < 2; ++side) {
            const ValueId x = gateOf(part, g.maker(g.in(mul, side))), other = g.in(mul, 1 - side);
            if (!x.valid() || !other.valid() || g.base(x) == g.base(other)) continue;
            gate = x;
            up = other;
            result = g.out(mul);
        }
    if (!result.valid()) return part.refuse("silu(gate) * up is not among the nodes");
    if (g.meta(gate).dtype != g.meta(up).dtype || g.meta(result).dtype != g.meta(gate).dtype)
        return part.refuse("gate, up and their product differ in type");
    if (g.meta(gate).numel() != g.meta(up).numel()) return part.refuse("gate and up differ in shape");
    const auto& sizes = g.meta(result).sizes;
    const RegionRef a = part.as(gate, sizes), b = part.as(up, sizes);
    part.makes(result, part.step("fusescope::swiglu", "", {arg("gate", a), arg("up", b)}), sizes);
    return true;
}

bool qkvProjectionForm(Part& part) {
    const auto& g = part.g;
    std::vector<Projection> all;
    for (const NodeId node : part.nodes()) {
        if (g.code(node) != OpCode::Linear && g.code(node) != OpCode::Matmul) continue;
        const std::string why = projectionAt(part, node, all.emplace_back());
        if (!why.empty()) return part.refuse(why);
    }
    if (all.size() != 3) return part.refuse(std::to_string(all.size()) + " projections, not those of q, k and v");
    for (const Projection& one : all)
        if (g.base(one.x) != g.base(all[0].x)) return part.refuse("the projections read different inputs");
    std::vector<RegionArg> args{arg("x", refTo(all[0].x))};
    constexpr const char* names[] = {"q_weight", "k_weight", "v_weight"};
    for (std::size_t i = 0; i < 3; ++i) args.push_back(arg(names[i], weightOf(part, all[i])));
    const RegionRef out = part.step("fusescope::qkv_projection_separate", "", std::move(args), 3);
    for (std::uint32_t i = 0; i < 3; ++i) {
        std::vector<std::int64_t> sizes = g.meta(all[0].x).sizes;
        if (sizes.empty()) return part.refuse("the input of the projections is a single number");
        sizes.back() = g.meta(all[i].weight).sizes[all[i].transposed ? 1 : 0];
        part.makes(all[i].result, {out.step, i}, sizes);
    }
    return true;
}

bool linearCrossEntropyForm(Part& part) {
    const auto& g = part.g;
    NodeId loss = part.first(OpCode::CrossEntropy);
    if (!loss.valid()) loss = part.first(OpCode::NllLoss);
    if (!loss.valid()) return part.refuse("there is no loss among the nodes");
    if (part.first(OpCode::Slice).valid()) return part.refuse("the logits are cut before the loss");
    NodeId linear = part.first(OpCode::Linear);
    if (!linear.valid()) linear = part.first(OpCode::Matmul);
    if (!linear.valid()) return part.refuse("the last projection is not among the nodes");
    Loss how;
    Projection projection;
    std::string why = lossAt(part, loss, how);
    if (why.empty()) why = projectionAt(part, linear, projection);
    if (!why.empty()) return part.refuse(why);
    const ValueId labels = g.in(loss, 1);
    if (!labels.valid() || g.meta(labels).sizes.size() != 1)
        return part.refuse("the labels are not one row of classes");
    if (g.meta(labels).dtype != DType::Int64) return part.refuse("the labels are no 64-bit numbers");
    const std::int64_t rows = g.meta(labels).sizes[0];
    const auto& sizes = g.meta(projection.x).sizes;
    if (sizes.empty() || g.meta(projection.x).numel() != rows * sizes.back())
        return part.refuse("there are not as many labels as rows of x");
    const RegionRef x = part.as(projection.x, {rows, sizes.back()});
    std::vector<RegionArg> args{arg("x", x), arg("weight", weightOf(part, projection)), arg("labels", refTo(labels))};
    std::string overload;
    if (how.reduction == 2) { // a sum: divided by one
        overload = "number";
        args.push_back(arg("num_items", 1.0));
    }
    args.push_back(arg("ignore_index", how.ignore_index));
    RegionRef out = part.step("fusescope::linear_cross_entropy", overload, std::move(args));
    const DType type = g.meta(g.out(loss)).dtype;
    if (type != DType::Float32)
        out = part.step("aten::to", "dtype", {arg("self", out), arg("dtype", RegionDType{type})});
    part.makes(g.out(loss), out, g.meta(g.out(loss)).sizes);
    return true;
}

} // namespace fusescope::region
