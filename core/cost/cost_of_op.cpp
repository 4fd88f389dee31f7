// SPDX-License-Identifier: Apache-2.0
#include "core/cost/fusescope_kernels.h"
#include "core/cost/op_call.h"

#include "core/graph/visible_graph.h"

namespace fusescope {
namespace {

constexpr CostFamily kFamilies[] = {matmulCost, attentionCost, elementwiseCost, reductionCost, softmaxCost,
                                    normCost,   copyCost,      gatherCost,      optimizerCost, tritonCost};

// Sizes or a type that are not recorded make every figure meaningless.
bool isDescribed(const TensorMeta& t) {
    for (const std::int64_t size : t.sizes)
        if (size < 0) return false;
    return t.dtype != DType::Unknown;
}

bool allDescribed(const OpCall& call) {
    for (const OpArg& arg : call.in) {
        if (arg.kind == ArgKind::Tensor && !isDescribed(arg.tensor)) return false;
        for (const TensorMeta& t : arg.list)
            if (!isDescribed(t)) return false;
    }
    for (const TensorMeta& t : call.out)
        if (!isDescribed(t)) return false;
    return true;
}

} // namespace

OpCost costOfCall(const OpCall& call) {
    OpCost cost;
    if (call.name.empty()) return cost;
    if (!allDescribed(call)) {
        cost.formula = "sizes or types not recorded";
        return cost;
    }
    if (call.own && fusescopeCost(call, cost)) return cost;
    for (const CostFamily family : kFamilies)
        if (!call.own && family(call, cost)) return cost;
    cost = {};
    cost.formula = "no formula for this operator";
    return cost;
}

OpCost costOfOp(std::string_view op, std::span<const OpArg> inputs, std::span<const TensorMeta> outputs) {
    OpCall call = callOf(op);
    call.in = inputs;
    call.out = outputs;
    return costOfCall(call);
}

OpCost costOfNode(const OpGraph& graph, NodeId node) {
    const std::string_view op = graph.op(node);
    OpCall call = callOf(op);
    // These may copy, by the layout of their input; all other plumbing never does.
    if (isPlumbing(op) && call.name != "reshape" && call.name != "flatten" && call.name != "reshape_as") {
        OpCost nothing;
        nothing.flops_known = nothing.bytes_known = true;
        nothing.formula = "plumbing: nothing moves";
        return nothing;
    }
    std::vector<OpArg> args;
    std::vector<std::string_view> names;
    for (const GraphArg& arg : graph.argsOf(node)) {
        OpArg in;
        in.kind = arg.kind;
        in.text = graph.strings.view(arg.text);
        const std::span<const ValueId> values = graph.valuesOf(arg);
        if (arg.kind == ArgKind::Tensor && !values.empty()) in.tensor = graph.at(values.front()).meta;
        if (arg.kind == ArgKind::TensorList)
            for (const ValueId value : values) in.list.push_back(graph.at(value).meta);
        args.push_back(std::move(in));
        names.push_back(graph.strings.view(arg.name));
    }
    std::vector<TensorMeta> outputs;
    const Node& row = graph.at(node);
    for (std::uint32_t i = 0; i < row.outputs; ++i) outputs.push_back(graph.values[row.first_output + i].meta);
    call.in = args;
    call.names = names;
    call.out = outputs;
    return costOfCall(call);
}

} // namespace fusescope
