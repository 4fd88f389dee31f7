// SPDX-License-Identifier: Apache-2.0
#include "core/region/fills.h"

#include <algorithm>
#include <cmath>

namespace fusescope::region {
namespace {

using fusion::GraphFlow;
using fusion::OpCode;

constexpr std::size_t kMostSteps = 4096;

bool isFloating(DType type) {
    switch (type) {
    case DType::Float16:
    case DType::BFloat16:
    case DType::Float32:
    case DType::Float64: return true;
    default: return false;
    }
}

bool isWhole(DType type) {
    return type == DType::Int64 || type == DType::Int32 || type == DType::Int16 || type == DType::Int8 ||
           type == DType::UInt8;
}

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// Strides of the sizes in order, as if nothing lay between.
bool isContiguous(const TensorMeta& meta) {
    std::int64_t expected = 1;
    for (std::size_t d = meta.sizes.size(); d-- > 0;) {
        if (meta.sizes[d] != 1 && meta.strides[d] != expected) return false;
        expected *= std::max<std::int64_t>(1, meta.sizes[d]);
    }
    return true;
}

// Two rows of places with each other, or what lies on one side of a diagonal. Equal ones do not tell: whether two
// places are of one packed sequence is asked where there is but one.
bool comparesPlaces(const GraphFlow& graph, NodeId node) {
    const std::string_view op = graph.ops().op(node);
    if (op == "aten::tril" || op == "aten::triu") return true;
    const bool compares = op == "aten::le" || op == "aten::ge" || op == "aten::lt" || op == "aten::gt";
    return compares && graph.in(node, 0).valid() && graph.in(node, 1).valid();
}

// Chunks of places, or a triangle whose side is not the diagonal.
bool isOtherMask(const GraphFlow& graph, NodeId node) {
    const std::string_view op = graph.ops().op(node);
    if (op == "aten::floor_divide") return true;
    if (op != "aten::tril" && op != "aten::triu") return false;
    return graph.scalar(node, "diagonal").value_or(0) != (op == "aten::tril" ? 0 : 1); // kept below, cut above
}

} // namespace

Fills::Fills(const GraphFlow& graph) : graph_(graph), gradient_(graph.ops().values.size(), false) {
    const OpGraph& ops = graph.ops();
    for (const Value& value : ops.values)
        trains_ = trains_ ||
                  ((value.kind == ValueKind::Parameter || value.kind == ValueKind::Input) && value.meta.requires_grad);
    for (std::size_t v = 0; v < ops.values.size(); ++v) {
        const Value& value = ops.values[v];
        const bool leaf = value.kind == ValueKind::Parameter || value.kind == ValueKind::Input;
        // Exported for inference: nothing is marked, and a training step would still train the parameters.
        const bool marked = value.meta.requires_grad || (!trains_ && value.kind == ValueKind::Parameter);
        if (leaf && marked && isFloating(value.meta.dtype)) gradient_[v] = true;
    }
    for (std::size_t n = 0; n < ops.nodes.size(); ++n) {
        const NodeId node(n);
        if (ops.op(node) == "aten::detach" || ops.op(node) == "aten::detach_") continue;
        bool any = false;
        for (const GraphArg& arg : ops.argsOf(node))
            for (const ValueId value : ops.valuesOf(arg)) any = any || wantsGradient(value);
        if (!any) continue;
        for (std::uint32_t o = 0; o < ops.nodes[n].outputs; ++o) {
            const ValueId value = ops.output(node, o);
            if (value.valid() && isFloating(ops.at(value).meta.dtype)) gradient_[value.index()] = true;
        }
    }
}

bool Fills::isCausalMask(ValueId value) const {
    const OpGraph& ops = graph_.ops();
    int compared = 0; // a second comparison makes another mask of it: a window
    std::vector<ValueId> open{value};
    std::vector<bool> seen(ops.values.size(), false);
    for (std::size_t steps = 0; !open.empty(); ++steps) {
        const ValueId v = open.back();
        open.pop_back();
        if (!v.valid() || seen[v.index()]) continue;
        if (steps > kMostSteps) return false;
        seen[v.index()] = true;
        const ValueKind kind = ops.at(v).kind;
        if (kind == ValueKind::Input || kind == ValueKind::Parameter || kind == ValueKind::Buffer) return false;
        const NodeId node = graph_.producer(v);
        if (!node.valid()) continue;
        if (isOtherMask(graph_, node)) return false;
        compared += comparesPlaces(graph_, node) ? 1 : 0;
        for (const GraphArg& arg : ops.argsOf(node))
            for (const ValueId operand : ops.valuesOf(arg)) open.push_back(operand);
    }
    return compared == 1;
}

// Added to the scores before their softmax, or the mask of a fused attention.
bool Fills::masksScores(NodeId user, ValueId value) const {
    const OpGraph& ops = graph_.ops();
    for (const GraphArg& arg : ops.argsOf(user)) {
        const std::string_view name = ops.strings.view(arg.name);
        if ((name == "attn_mask" || name == "attn_bias") && !ops.valuesOf(arg).empty() &&
            graph_.base(ops.valuesOf(arg).front()) == graph_.base(value))
            return true;
    }
    if (graph_.code(user) != OpCode::Add && graph_.code(user) != OpCode::Mask) return false;
    NodeId next = user;
    for (int guard = 0; guard < 6 && next.valid(); ++guard) {
        next = graph_.onlyUser(graph_.out(next));
        if (graph_.code(next) == OpCode::Softmax) return true;
    }
    return false;
}

void Fills::fillWhole(ValueId value, const std::vector<ValueId>& seen, const Subgraph& part, RegionInput& input) const {
    const OpGraph& ops = graph_.ops();
    const auto index = [&](std::int64_t bound) {
        input.fill = Fill::Index;
        input.bound = std::max<std::int64_t>(1, bound);
    };
    for (const ValueId v : seen)
        for (const NodeId user : ops.consumersOf(v)) {
            if (!part.has(user)) continue;
            const std::string_view op = ops.op(user);
            const TensorMeta& first = graph_.meta(graph_.in(user, 0));
            const bool second = graph_.in(user, 1) == v;
            if (op == "aten::embedding" && second && !first.sizes.empty()) return index(first.sizes.front());
            const OpCode code = graph_.code(user);
            if ((code == OpCode::CrossEntropy || code == OpCode::NllLoss) && second && !first.sizes.empty())
                return index(first.sizes.size() > 1 ? first.sizes[1] : first.sizes[0]);
            if ((op == "aten::gather" || op == "aten::index_select" || op == "aten::scatter") && second) {
                double dim = graph_.scalar(user, "dim").value_or(0);
                if (dim < 0) dim += static_cast<double>(first.sizes.size());
                const auto d = static_cast<std::size_t>(std::max(0.0, dim));
                if (d < first.sizes.size()) return index(first.sizes[d]);
            }
            if (op == "aten::index" && !second && graph_.in(user, 0) == v) continue; // the table itself
            if (op == "aten::index")
                return index(first.sizes.empty() ? 1 : *std::min_element(first.sizes.begin(), first.sizes.end()));
        }
    const std::string_view name = ops.strings.view(ops.at(value).name);
    if (contains(name, "mask")) {
        input.fill = Fill::Constant;
        input.scale = 1;
        return;
    }
    input.fill = Fill::Position;
}

void Fills::fillFloat(ValueId value, const std::vector<ValueId>& seen, const Subgraph& part, RegionInput& input) const {
    const OpGraph& ops = graph_.ops();
    const ValueKind kind = ops.at(value).kind;
    const TensorMeta& meta = input.meta;
    bool under_root = false, bias = false, table = false, selected = false;
    double fan_in = 0;
    for (const ValueId v : seen)
        for (const NodeId user : ops.consumersOf(v)) {
            if (!part.has(user)) continue;
            const std::string_view op = ops.op(user);
            if (!input.gradient && meta.sizes.size() >= 2 && masksScores(user, v)) {
                input.fill = Fill::Causal;
                return;
            }
            if (graph_.code(user) == OpCode::Linear || op == "aten::matmul" || op == "aten::bmm") {
                const std::size_t weight = op == "aten::addmm" ? 2 : 1, x = weight - 1;
                if (graph_.in(user, weight) == v)
                    fan_in = std::max(fan_in, fusion::lastSize(graph_.meta(graph_.in(user, x))));
                bias = bias || (op == "aten::linear" && graph_.in(user, 2) == v) ||
                       (op == "aten::addmm" && graph_.in(user, 0) == v);
            }
            table = table || (op == "aten::embedding" && graph_.in(user, 0) == v);
            selected = selected || (graph_.code(user) == OpCode::Mask && graph_.in(user, 0) != v);
            under_root = under_root || graph_.code(user) == OpCode::Rsqrt || op == "aten::sqrt" || op == "aten::log" ||
                         op == "aten::reciprocal" || (graph_.code(user) == OpCode::Div && graph_.in(user, 1) == v);
        }
    const bool weight = kind == ValueKind::Parameter;
    if (meta.sizes.empty() && !weight) { // a number lifted out of the code: what a mask selects is 0
        input.fill = Fill::Constant;
        input.scale = selected ? 0 : 1;
    } else if (weight && fan_in > 0) { // also an embedding that is the last projection: logits stay of order 1
        input.scale = 1 / std::sqrt(fan_in);
    } else if (bias) {
        input.scale = 0.1;
    } else if (under_root || (weight && meta.sizes.size() == 1)) {
        input.fill = Fill::NearOne;
        input.scale = 0.25;
    } else if (!weight && !table && !input.gradient) { // cos and sin, frequencies
        input.fill = Fill::Uniform;
    }
}

void Fills::fill(ValueId value, const Subgraph& part, RegionInput& input) const {
    // The value and what only shows it in another shape or type.
    std::vector<ValueId> seen{value};
    for (std::size_t i = 0; i < seen.size() && seen.size() < 64; ++i)
        for (const NodeId user : graph_.ops().consumersOf(seen[i])) {
            const OpCode code = graph_.code(user);
            const ValueId out = graph_.out(user);
            const bool shown = code == OpCode::View || code == OpCode::Cast || graph_.ops().op(user) == "aten::detach_";
            if (part.has(user) && out.valid() && shown && graph_.in(user, 0) == seen[i] &&
                std::find(seen.begin(), seen.end(), out) == seen.end())
                seen.push_back(out);
        }
    if (input.meta.dtype == DType::Bool) {
        input.fill = input.meta.sizes.size() >= 2 ? Fill::Causal : Fill::Constant;
    } else if (isWhole(input.meta.dtype)) {
        fillWhole(value, seen, part, input);
    } else if (isFloating(input.meta.dtype)) {
        fillFloat(value, seen, part, input);
    }
}

Result<RegionInput> Fills::inputOf(ValueId value, const Subgraph& part) const {
    const Value& from = graph_.ops().at(value);
    RegionInput input;
    input.name = graph_.ops().strings.view(from.name);
    if (input.name.size() > kMaxRegionName) input.name.resize(kMaxRegionName);
    input.meta = from.meta;
    const auto refuse = [&](const char* expected, const char* found) {
        return Error{ErrorCode::Unsupported, expected, found, "%" + input.name};
    };
    if (from.kind == ValueKind::Symbol) return refuse("a tensor", "a size known only when the model runs");
    if (sizeOf(input.meta.dtype) == 0) return refuse("a tensor whose type is known", "another value");
    for (const std::int64_t size : input.meta.sizes)
        if (size < 0) return refuse("sizes that are known", "one that is known only when the model runs");
    if (!input.meta.plausible()) return refuse("a tensor that fits into memory", "a larger one");
    if (std::any_of(input.meta.strides.begin(), input.meta.strides.end(), [](std::int64_t s) { return s < 0; }) ||
        input.meta.strides.size() != input.meta.sizes.size() || isContiguous(input.meta))
        input.meta.strides.clear();
    input.gradient = input.meta.requires_grad = wantsGradient(value);
    fill(value, part, input);
    return input;
}

} // namespace fusescope::region
