// SPDX-License-Identifier: Apache-2.0
#include "core/io/pt2/pt2_graph.h"

#include "core/io/pt2/pt2_argument.h"
#include "core/io/pt2/pt2_signature.h"

#include <algorithm>
#include <memory>
#include <unordered_set>

namespace fusescope::pt2 {
namespace {

constexpr std::size_t kMaxSubgraphDepth = 32;

// A (sub-)graph on its way: nodes are taken one by one, so that nested graphs need no recursion.
struct Frame {
    Scope scope;
    std::unordered_map<std::string_view, Json> tensors;
    JsonArray nodes;
    JsonArray::iterator next, end;
    std::size_t node = 0; // the place of the one before `next`, from 1
    std::optional<JsonArray> outputs;
    std::string prefix;            // before names that are already taken
    std::string_view module_stack; // of the operator around a sub-graph: for nodes that have none

    // The higher-order operator whose sub-graphs are being read.
    std::optional<Json> caller;
    std::vector<Json> graphs;
    std::vector<std::vector<ValueId>> results; // one per sub-graph read
};

class Walker {
public:
    Walker(GraphBuilder& builder, Progress& progress, const std::string& where)
        : builder_(builder), progress_(progress), where_(where) {}

    Status run(Json graph, const Roles& roles, const StorageKeys& storage) {
        stack_.push_back(std::make_unique<Frame>());
        if (!begin(*stack_.back(), graph)) return Error{ErrorCode::Damaged, "graph.nodes, a list", "none", where_};
        addInputs(*stack_.back(), graph, roles, storage);
        std::uint64_t done = 0;
        while (true) {
            if ((++done & 0xFFu) == 0) {
                progress_.advance(done);
                if (progress_.cancelled())
                    return Error{ErrorCode::Cancelled, "the whole graph", "a wish to stop", where_};
            }
            Frame& frame = *stack_.back();
            if (frame.caller) {
                if (frame.results.size() < frame.graphs.size())
                    enter(frame);
                else
                    leave(frame);
            } else if (frame.next != frame.end) {
                const Json node = *frame.next;
                ++frame.next;
                ++frame.node;
                take(frame, node);
            } else if (stack_.size() > 1) {
                std::vector<ValueId> results = outputsOf(frame);
                stack_.pop_back();
                stack_.back()->results.push_back(std::move(results));
            } else {
                for (const ValueId value : outputsOf(frame)) builder_.graphOutput(value);
                return fusescope::done();
            }
        }
    }

private:
    static bool begin(Frame& frame, Json graph) {
        const auto nodes = arrayMember(graph, "nodes");
        if (!nodes) return false;
        frame.nodes = *nodes;
        frame.next = frame.nodes.begin();
        frame.end = frame.nodes.end();
        frame.outputs = arrayMember(graph, "outputs");
        if (const auto tensors = objectMember(graph, "tensor_values")) {
            frame.tensors.reserve(tensors->size());
            for (const auto field : *tensors) frame.tensors.emplace(field.key, field.value);
        }
        return true;
    }

    static TensorMeta metaOf(const Frame& frame, std::string_view name) {
        const auto found = frame.tensors.find(name);
        if (found == frame.tensors.end()) return {};
        // torch 2.1 wrapped it once more: {"val": {...}}
        if (const auto inner = member(found->second, "val")) return tensorMeta(*inner);
        return tensorMeta(found->second);
    }

    void addInputs(Frame& frame, Json graph, const Roles& roles, const StorageKeys& storage) {
        const auto inputs = arrayMember(graph, "inputs");
        if (!inputs) return;
        std::size_t place = 0;
        for (const Json input : *inputs) {
            const std::string_view tag = unionOf(input).tag;
            ++place;
            for (const std::string_view name : namesIn(input)) {
                if (isTaken(frame, name, "inputs", place)) continue;
                const auto role = roles.find(name);
                InputRole is = role == roles.end() ? InputRole{} : role->second;
                if (is.kind == ValueKind::Input && tag.substr(0, 7) == "as_sym_") is.kind = ValueKind::Symbol;
                ValueId value;
                if (is.kind == ValueKind::Parameter || is.kind == ValueKind::Buffer) {
                    const auto key = storage.find(std::string(is.qualified_name));
                    value = builder_.parameter(
                        is.kind == ValueKind::Buffer, clipped(name), clipped(is.qualified_name), metaOf(frame, name),
                        key == storage.end() ? std::string_view{} : std::string_view(key->second));
                } else {
                    value = builder_.input(is.kind, clipped(name), metaOf(frame, name));
                }
                used_names_.insert(name);
                frame.scope.emplace(name, value);
            }
        }
    }

    std::vector<ValueId> outputsOf(const Frame& frame) const {
        std::vector<ValueId> values;
        if (!frame.outputs) return values;
        for (const Json output : *frame.outputs)
            for (const std::string_view name : namesIn(output)) {
                const auto found = frame.scope.find(name);
                values.push_back(found == frame.scope.end() ? ValueId{} : found->second);
            }
        return values;
    }

    void take(Frame& frame, Json node) {
        if (!node.is_object()) {
            builder_.problem("node that is no object",
                             where_ + ": a node of the graph is not a JSON object and was skipped");
            return;
        }
        if (const auto outputs = arrayMember(node, "outputs"))
            for (const Json output : *outputs)
                for (const std::string_view name : namesIn(output))
                    if (isTaken(frame, name, "nodes", frame.node)) return;
        if (const auto inputs = arrayMember(node, "inputs"))
            for (const Json input : *inputs) {
                const auto arg = member(input, "arg");
                if (!arg) continue;
                const Union value = unionOf(*arg);
                if (value.tag != "as_graph" || !value.value) continue;
                if (const auto graph = member(*value.value, "graph")) frame.graphs.push_back(*graph);
            }
        if (frame.graphs.empty()) return addNode(frame, node, {});
        frame.caller = node;
    }

    // A graph gives a name to one value. What gives it to another is damage, and is left out: the work would count
    // twice, and of two values nobody knows which one is meant. place: in the list, from 1.
    bool isTaken(const Frame& frame, std::string_view name, const char* list, std::size_t place) {
        if (frame.scope.find(name) == frame.scope.end()) return false;
        builder_.problem("value made twice", where_ + ": " + frame.prefix + "graph." + list + "[" +
                                                 std::to_string(place - 1) + "] makes '" +
                                                 std::string(clipped(name).substr(0, 80)) +
                                                 "' again, which is there already; it was left out");
        return true;
    }

    // Opens the next sub-graph of the current higher-order operator, its inputs bound to the operator's operands.
    void enter(Frame& outer) {
        const Json graph = outer.graphs[outer.results.size()];
        auto frame = std::make_unique<Frame>();
        if (stack_.size() >= kMaxSubgraphDepth || !begin(*frame, graph)) {
            builder_.problem("sub-graph",
                             where_ + ": a sub-graph nested deeper than 32, or without nodes, was left out");
            outer.results.emplace_back();
            return;
        }
        frame->prefix = outer.prefix;
        frame->prefix += clipped(textMember(*outer.caller, "name"));
        if (frame->prefix.empty()) frame->prefix = "sub";
        frame->prefix.resize(std::min(frame->prefix.size(), std::size_t{1024}));
        frame->prefix += '.';
        const std::vector<ValueId> operands = operandsAfterGraphs(outer);
        std::size_t i = 0;
        if (const auto inputs = arrayMember(graph, "inputs"))
            for (const Json input : *inputs)
                for (const std::string_view name : namesIn(input)) {
                    ValueId value;
                    if (i < operands.size()) value = operands[i];
                    ++i;
                    if (isTaken(*frame, name, "inputs", i)) continue;
                    if (!value.valid()) // a number handed in, or something only the operator itself knows
                        value = builder_.input(ValueKind::Constant, uniqueName(*frame, name), metaOf(*frame, name));
                    frame->scope.emplace(name, value);
                }
        frame->module_stack = moduleStackText(outer, *outer.caller);
        stack_.push_back(std::move(frame));
    }

    // cond(pred, true_graph, false_graph, [operands]), wrap_with_set_grad_enabled(flag, graph, operands...): what
    // follows the last graph goes into the graphs. An operand that is no value takes a place, too.
    static std::vector<ValueId> operandsAfterGraphs(const Frame& outer) {
        std::vector<ValueId> operands;
        const auto inputs = arrayMember(*outer.caller, "inputs");
        if (!inputs) return operands;
        for (const Json input : *inputs) {
            const auto arg = member(input, "arg");
            const Union value = arg ? unionOf(*arg) : Union{};
            if (value.tag == "as_graph") {
                operands.clear();
                continue;
            }
            const Argument argument = arg ? argumentOf(*arg, outer.scope) : Argument{};
            if (argument.values.empty()) operands.emplace_back();
            operands.insert(operands.end(), argument.values.begin(), argument.values.end());
        }
        return operands;
    }

    // A wrapper runs its one graph as it is, so that its outputs are the graph's; the wrapper itself is nothing to see.
    // Any other (cond, map, flex_attention ...) stays as a node that joins the results of its graphs.
    void leave(Frame& frame) {
        const Json node = *frame.caller;
        const std::string_view target = textMember(node, "target");
        const bool wrapper =
            target.find("wrap") != std::string_view::npos || target.find("invoke_subgraph") != std::string_view::npos ||
            target.find("checkpoint") != std::string_view::npos || target.find("strict_mode") != std::string_view::npos;
        std::vector<std::string_view> names;
        if (const auto outputs = arrayMember(node, "outputs"))
            for (const Json output : *outputs)
                for (const std::string_view name : namesIn(output)) names.push_back(name);
        if (wrapper && frame.results.size() == 1 && frame.results[0].size() == names.size()) {
            for (std::size_t i = 0; i < names.size(); ++i)
                if (frame.results[0][i].valid()) frame.scope.insert_or_assign(names[i], frame.results[0][i]);
        } else {
            addNode(frame, node, frame.results);
        }
        frame.caller.reset();
        frame.graphs.clear();
        frame.results.clear();
    }

    std::string uniqueName(const Frame& frame, std::string_view name) {
        std::string text(clipped(name));
        if (!frame.prefix.empty() && used_names_.find(name) != used_names_.end()) text = frame.prefix + text;
        used_names_.insert(name);
        return text;
    }

    static std::string_view moduleStackText(const Frame& frame, Json node) {
        const auto metadata = member(node, "metadata");
        const std::string_view text = metadata ? textMember(*metadata, "nn_module_stack") : std::string_view{};
        return text.empty() ? frame.module_stack : text;
    }

    void addNode(Frame& frame, Json node, const std::vector<std::vector<ValueId>>& results) {
        const auto outputs = arrayMember(node, "outputs");
        std::string_view name = textMember(node, "name");
        if (name.empty() && outputs) // torch before 2.9 named nodes after their first output
            for (const Json output : *outputs)
                if (const auto names = namesIn(output); !names.empty() && name.empty()) name = names.front();
        const std::string_view target = textMember(node, "target");
        if (name.empty()) name = target;
        const auto metadata = member(node, "metadata");
        const std::string unique = uniqueName(frame, name);
        builder_.node(unique, clipped(target), splitModuleStack(moduleStackText(frame, node)),
                      metadata ? textMember(*metadata, "stack_trace") : std::string_view{});
        if (const auto inputs = arrayMember(node, "inputs"))
            for (const Json input : *inputs) addArgument(frame, input);
        for (std::size_t i = 0; i < results.size(); ++i)
            builder_.argTensors("result_" + std::to_string(i), false, results[i]);
        if (!outputs) return;
        for (const Json output : *outputs) {
            const bool symbol = unionOf(output).tag.substr(0, 7) == "as_sym_";
            for (const std::string_view value : namesIn(output)) {
                if (isTaken(frame, value, "nodes", frame.node)) continue;
                const std::string shown = value == name ? unique : uniqueName(frame, value);
                frame.scope.emplace(value, builder_.output(shown, metaOf(frame, value),
                                                           symbol ? ValueKind::Symbol : ValueKind::Intermediate));
            }
        }
    }

    void addArgument(const Frame& frame, Json input) {
        const auto arg = member(input, "arg");
        if (!arg) return;
        const Union value = unionOf(*arg);
        const std::string_view name = clipped(textMember(input, "name"));
        std::int64_t kind = 1;
        if (const auto written = member(input, "kind")) kind = integer(*written).value_or(1);
        const bool keyword = kind == 2;
        if (value.tag == "as_graph") {
            const std::string_view graph = value.value ? textMember(*value.value, "name") : std::string_view{};
            builder_.argText(name, keyword, ArgKind::Text, clipped(graph));
            return;
        }
        const Argument argument = argumentOf(*arg, frame.scope);
        if (argument.unknown_names > 0)
            builder_.problem("unknown value", where_ + ": a node uses a value that no earlier node makes (" +
                                                  argument.text.substr(0, 80) + ")");
        const bool holes = argument.text.find("None") != std::string::npos;
        if (argument.kind == ArgKind::Tensor)
            builder_.argTensor(name, keyword, argument.values.front());
        else if (argument.kind == ArgKind::TensorList && !holes && value.tag == "as_tensors")
            builder_.argTensors(name, keyword, argument.values);
        else
            builder_.argText(name, keyword, argument.kind, argument.text, argument.values);
    }

    GraphBuilder& builder_;
    Progress& progress_;
    const std::string& where_;
    std::vector<std::unique_ptr<Frame>> stack_;
    std::unordered_set<std::string_view> used_names_;
};

} // namespace

Status readGraphModule(Json graph_module, const StorageKeys& storage, GraphBuilder& builder, Progress& progress,
                       const std::string& where) {
    const auto graph = member(graph_module, "graph");
    if (!graph) return Error{ErrorCode::Damaged, "graph_module.graph", "none", where};
    if (const auto calls = arrayMember(graph_module, "module_call_graph"))
        for (const Json call : *calls) builder.declareModule(clipped(textMember(call, "fqn")));
    const auto signature = member(graph_module, "signature");
    return Walker(builder, progress, where).run(*graph, signature ? readRoles(*signature) : Roles{}, storage);
}

} // namespace fusescope::pt2
