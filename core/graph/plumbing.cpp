// SPDX-License-Identifier: Apache-2.0
#include "core/graph/plumbing.h"

#include "core/graph/visible_graph.h"

#include <algorithm>
#include <array>

namespace fusescope {
namespace {

// Sorted. Views, and what only checks or describes. Not here: contiguous and clone, which copy.
constexpr std::array<std::string_view, 68> kPlumbing{
    "aten::_assert_async",
    "aten::_assert_scalar",
    "aten::_assert_tensor_metadata",
    "aten::_reshape_alias",
    "aten::_unsafe_view",
    "aten::alias",
    "aten::as_strided",
    "aten::broadcast_to",
    "aten::chunk",
    "aten::detach",
    "aten::detach_",
    "aten::diagonal",
    "aten::expand",
    "aten::expand_as",
    "aten::flatten",
    "aten::lift",
    "aten::lift_fresh",
    "aten::lift_fresh_copy",
    "aten::movedim",
    "aten::narrow",
    "aten::numpy_T",
    "aten::permute",
    "aten::reshape",
    "aten::reshape_as",
    "aten::select",
    "aten::slice",
    "aten::split",
    "aten::split_with_sizes",
    "aten::squeeze",
    "aten::squeeze_",
    "aten::swapaxes",
    "aten::sym_constrain_range",
    "aten::sym_constrain_range_for_size",
    "aten::sym_numel",
    "aten::sym_size",
    "aten::sym_storage_offset",
    "aten::sym_stride",
    "aten::t",
    "aten::tensor_split",
    "aten::transpose",
    "aten::transpose_",
    "aten::unbind",
    "aten::unflatten",
    "aten::unfold",
    "aten::unsqueeze",
    "aten::unsqueeze_",
    "aten::view",
    "aten::view_as",
    "math::ceil",
    "math::floor",
    "math::trunc",
    "operator::add",
    "operator::and_",
    "operator::eq",
    "operator::floordiv",
    "operator::ge",
    "operator::getitem",
    "operator::gt",
    "operator::le",
    "operator::lt",
    "operator::mod",
    "operator::mul",
    "operator::neg",
    "operator::pow",
    "operator::sub",
    "operator::truediv",
    "torch::sym_max",
    "torch::sym_min",
};
static_assert(std::is_sorted(kPlumbing.begin(), kPlumbing.end()));

bool isInteger(DType type) {
    switch (type) {
    case DType::Bool:
    case DType::UInt8:
    case DType::Int8:
    case DType::UInt16:
    case DType::Int16:
    case DType::UInt32:
    case DType::Int32:
    case DType::UInt64:
    case DType::Int64: return true;
    default: return false;
    }
}

bool isStaticInput(const Value& value) {
    switch (value.kind) {
    case ValueKind::Parameter: return false;
    case ValueKind::Input: return isInteger(value.meta.dtype);
    default: return true;
    }
}

} // namespace

bool isPlumbing(std::string_view op) noexcept { return std::binary_search(kPlumbing.begin(), kPlumbing.end(), op); }

bool isDrawnThrough(const OpGraph& ops, NodeId node) {
    const std::string_view op = ops.op(node);
    if (isPlumbing(op)) return true;
    if (op == "aten::dropout") {
        const std::string_view p = ops.argText(node, "p");
        return ops.argText(node, "train") == "False" || p == "0.0" || p == "0";
    }
    if (op == "aten::to" || op == "aten::_to_copy") {
        const ValueId in = ops.operand(node, 0), out = ops.output(node);
        return in.valid() && out.valid() && ops.at(in).meta.dtype == ops.at(out).meta.dtype && op == "aten::to";
    }
    return false;
}

std::vector<bool> staticNodes(const OpGraph& ops) {
    std::vector<bool> fixed(ops.nodes.size(), false);
    for (std::size_t n = 0; n < ops.nodes.size(); ++n) {
        bool all = true;
        for (const GraphArg& arg : ops.argsOf(NodeId(n)))
            for (const ValueId id : ops.valuesOf(arg)) {
                const Value& value = ops.at(id);
                // A size says nothing of the data.
                if (value.kind == ValueKind::Symbol) continue;
                all = all && (value.producer.valid() ? fixed[value.producer.index()] : isStaticInput(value));
            }
        // sym_size(x) of an activation is a number known before the step.
        if (!all && ops.nodes[n].outputs == 1 && ops.at(ops.output(NodeId(n))).kind == ValueKind::Symbol) all = true;
        fixed[n] = all;
    }
    return fixed;
}

} // namespace fusescope
