// SPDX-License-Identifier: Apache-2.0
// The operator graph as plain tables. Every operator is only a name here: drawing never needs to know it.
#pragma once

#include "core/base/ids.h"
#include "core/base/string_pool.h"
#include "core/base/tensor.h"
#include "core/graph/module_tree.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fusescope {

enum class ValueKind : std::uint8_t { Intermediate, Input, Parameter, Buffer, Constant, Symbol };

struct Value {
    StringId name;
    ValueKind kind = ValueKind::Intermediate;
    NodeId producer;                                          // invalid for inputs, parameters, buffers, constants
    std::uint16_t output = 0;                                 // which output of the producer
    std::uint32_t parameter = Id<struct ParameterTag>::kNone; // Parameter, Buffer: index into ModuleTree::parameters
    bool is_graph_output = false;
    TensorMeta meta;
};

struct GraphArg {  // one argument as written in the file; absent arguments (schema defaults) are not listed
    StringId name; // schema name: "self", "dim" ...
    bool keyword = false;
    // Tensor: one value; TensorList: several (with text when some are None); else text, and values where it names
    // symbols.
    ArgKind kind = ArgKind::None;
    std::uint32_t first_value = 0, values = 0; // into OpGraph::arg_values
    StringId text;                             // "[-1]", "1e-06", "torch.float32"
};

struct Node {
    StringId name;                               // "mul_4"
    StringId target;                             // "torch.ops.aten.mul.Tensor"
    StringId op;                                 // profiler spelling without overload: "aten::mul"
    ModuleId module;                             // deepest module, the root at least
    std::uint32_t first_arg = 0, args = 0;       // into OpGraph::args
    std::uint32_t first_output = 0, outputs = 0; // into OpGraph::values (outputs of a node are consecutive)
    StringId stack;                              // Python stack text, invalid if none
};

struct OpGraph {
    std::vector<Node> nodes; // topological (execution) order; sub-graphs of higher-order operators are inlined
    std::vector<Value> values;
    std::vector<GraphArg> args;
    std::vector<ValueId> arg_values;
    std::vector<std::uint32_t> consumer_start; // CSR over values: consumers[consumer_start[v] .. consumer_start[v+1])
    std::vector<NodeId> consumers;
    StringPool strings;

    // An id that is none is an empty row: any operand may be missing from a file, and whoever asks for its type or
    // producer should find nothing, not the end of the table.
    [[nodiscard]] const Node& at(NodeId id) const noexcept {
        return id.index() < nodes.size() ? nodes[id.index()] : kNoNode;
    }
    [[nodiscard]] const Value& at(ValueId id) const noexcept {
        return id.index() < values.size() ? values[id.index()] : kNoValue;
    }
    [[nodiscard]] std::string_view op(NodeId id) const { return strings.view(at(id).op); }
    [[nodiscard]] std::string_view name(NodeId id) const { return strings.view(at(id).name); }
    [[nodiscard]] std::span<const GraphArg> argsOf(NodeId id) const;
    [[nodiscard]] std::span<const ValueId> valuesOf(const GraphArg& arg) const;
    [[nodiscard]] std::span<const NodeId> consumersOf(ValueId id) const; // a node appears once per use
    [[nodiscard]] ValueId output(NodeId id, std::size_t i = 0) const;    // invalid if it has fewer
    // i-th tensor operand in argument order (lists flattened); invalid if fewer.
    [[nodiscard]] ValueId operand(NodeId id, std::size_t i) const;
    // Text of the named argument, "" if absent.
    [[nodiscard]] std::string_view argText(NodeId id, std::string_view arg_name) const;
    // File and line of the innermost frame of the stack: "modeling_qwen3.py:63"; "" if none.
    [[nodiscard]] std::string sourceLine(NodeId id) const;
    [[nodiscard]] std::string sourceText(NodeId id) const; // the code line of that frame; "" if none

    static const Node kNoNode;
    static const Value kNoValue;
};

struct GraphProblem {
    std::string kind;
    std::uint64_t count = 0;
    std::string message;
};

struct ModelGraph {
    OpGraph ops;
    ModuleTree modules;
    std::string path;         // of the file
    std::string format;       // "pt2", later "torchscript", "fx" ...
    std::string producer;     // "torch 2.11.0+cu130"
    std::string content_hash; // hex, of the graph JSON: caches key on it
    std::vector<GraphProblem> problems;
};
using GraphPtr = std::shared_ptr<const ModelGraph>;

} // namespace fusescope
