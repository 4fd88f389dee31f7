// SPDX-License-Identifier: Apache-2.0
#include "core/region/least.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

namespace fusescope::region {
namespace {

using fusion::GraphFlow;
using fusion::OpCode;

double bytesOf(const GraphFlow& graph, ValueId value) {
    const TensorMeta& meta = graph.meta(value);
    return fusion::elements(meta) * sizeOf(meta.dtype);
}

// Their derivatives are constants, or zero.
constexpr std::array<std::string_view, 18> kConstant{
    "aten::add",   "aten::sub",  "aten::rsub",  "aten::neg",   "aten::sum",    "aten::mean",
    "aten::floor", "aten::ceil", "aten::trunc", "aten::round", "aten::eq",     "aten::ne",
    "aten::lt",    "aten::le",   "aten::gt",    "aten::ge",    "aten::detach", "aten::logical_not"};

// The operands whose values the gradient of operand `at` depends on; the result of an operator is one with them.
std::vector<ValueId> readBy(const GraphFlow& graph, NodeId node, std::size_t at) {
    const std::string_view op = graph.ops().op(node);
    const OpCode code = graph.code(node);
    if (code == OpCode::View || code == OpCode::Cast ||
        std::find(kConstant.begin(), kConstant.end(), op) != kConstant.end())
        return {};
    std::vector<ValueId> operands;
    for (std::size_t i = 0; graph.in(node, i).valid(); ++i) operands.push_back(graph.in(node, i));
    const bool two = operands.size() == 2;
    if (code == OpCode::Mul || (code == OpCode::Div && at == 0))
        return two ? std::vector<ValueId>{operands[1 - at]} : std::vector<ValueId>{};
    if (op == "aten::where" || op == "aten::masked_fill")
        return {operands[op == "aten::where" || operands.size() < 2 ? 0 : 1]}; // the condition
    return operands;
}

// Where gradients flow through a part.
class Flow {
public:
    Flow(const GraphFlow& graph, const Subgraph& part) : graph_(graph), part_(part) {
        for (const NodeId node : part.nodes)
            for (std::size_t at = 0; graph.in(node, at).valid(); ++at) {
                Use& use = uses_[graph.in(node, at).value];
                ++use.times;
                use.node = node;
                use.at = at;
            }
    }
    // Its gradient is the gradient of something that leaves, unchanged.
    [[nodiscard]] bool passes(ValueId value) const {
        for (;;) {
            const bool leaves = std::find(part_.outputs.begin(), part_.outputs.end(), value) != part_.outputs.end();
            const auto found = uses_.find(value.value);
            if (found == uses_.end()) return leaves;
            const Use& use = found->second;
            if (leaves || use.times != 1 || !passesThrough(use)) return false;
            const ValueId out = graph_.out(use.node);
            const TensorMeta &in = graph_.meta(value), &made = graph_.meta(out);
            if (in.sizes != made.sizes || in.dtype != made.dtype) return false;
            value = out;
        }
    }
    // What leaves and depends on these.
    [[nodiscard]] std::vector<ValueId> reachedBy(std::vector<ValueId> values) const {
        for (const NodeId node : part_.nodes)
            for (std::size_t at = 0; graph_.in(node, at).valid(); ++at)
                if (std::find(values.begin(), values.end(), graph_.in(node, at)) != values.end()) {
                    values.push_back(graph_.out(node));
                    break;
                }
        std::vector<ValueId> reached;
        for (const ValueId value : part_.outputs)
            if (std::find(values.begin(), values.end(), value) != values.end()) reached.push_back(value);
        return reached;
    }

private:
    struct Use {
        int times = 0;
        NodeId node; // the last one
        std::size_t at = 0;
    };
    [[nodiscard]] bool passesThrough(const Use& use) const {
        if (graph_.code(use.node) == OpCode::View) return true;
        const std::string_view op = graph_.ops().op(use.node);
        return graph_.ops().argText(use.node, "alpha").empty() &&
               (op == "aten::add" || (op == "aten::sub" && use.at == 0));
    }

    const GraphFlow& graph_;
    const Subgraph& part_;
    std::map<std::uint32_t, Use> uses_; // by value
};

} // namespace

OpCost leastCost(const GraphFlow& graph, const Subgraph& part) {
    OpCost cost;
    cost.bytes_known = true;
    for (const ValueId value : inputsOf(graph, part)) cost.bytes_read += bytesOf(graph, value);
    for (const ValueId value : part.outputs) cost.bytes_written += bytesOf(graph, value);
    for (const NodeId node : part.nodes) {
        const OpCost one = costOfNode(graph.ops(), node);
        cost.flops += one.flops;
        cost.tensor_flops += one.tensor_flops;
        if (one.tensor_flops > 0) cost.dtype = one.dtype;
    }
    return cost;
}

OpCost leastBackwardCost(const GraphFlow& graph, const Fills& fills, const Subgraph& part) {
    OpCost cost;
    cost.bytes_known = true;
    std::vector<ValueId> read;
    const auto want = [&](ValueId value) {
        if (std::find(read.begin(), read.end(), value) == read.end()) read.push_back(value);
    };
    for (const NodeId node : part.nodes) {
        if (!fills.wantsGradient(graph.out(node))) continue;
        for (std::size_t at = 0; graph.in(node, at).valid(); ++at)
            if (fills.wantsGradient(graph.in(node, at)))
                for (const ValueId value : readBy(graph, node, at)) want(value);
    }
    for (std::size_t i = 0; i < read.size(); ++i) { // what is made inside is made anew
        const NodeId maker = graph.producer(read[i]);
        if (!part.has(maker)) continue;
        for (std::size_t at = 0; graph.in(maker, at).valid(); ++at) want(graph.in(maker, at));
    }
    const Flow flow(graph, part);
    std::vector<ValueId> computed; // their gradients
    for (const ValueId value : inputsOf(graph, part)) {
        if (std::find(read.begin(), read.end(), value) != read.end()) cost.bytes_read += bytesOf(graph, value);
        if (!fills.wantsGradient(value) || flow.passes(value)) continue;
        cost.bytes_written += bytesOf(graph, value);
        computed.push_back(value);
    }
    if (computed.empty()) return {};
    for (const ValueId value : flow.reachedBy(std::move(computed)))
        if (fills.wantsGradient(value)) cost.bytes_read += bytesOf(graph, value);
    return cost;
}

double limitNs(const OpCost& cost, const DeviceSpec& device) {
    const double bandwidth = device.practicalBandwidth();
    const double memory = bandwidth > 0 ? cost.bytes() / bandwidth * 1e9 : 0;
    const double peak = cost.tensor_flops > 0 ? device.peak(cost.dtype, true) : 0;
    return std::max(memory, peak > 0 ? cost.tensor_flops / peak * 1e9 : 0);
}

} // namespace fusescope::region
