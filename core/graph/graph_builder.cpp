// SPDX-License-Identifier: Apache-2.0
#include "core/graph/graph_builder.h"

#include "core/graph/fold.h"
#include "core/graph/module_path.h"

#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>

namespace fusescope {
namespace {

// Bounds for hostile files, far above any real model: names and paths of Qwen3-235B stay under 200 characters and 12
// levels.
constexpr std::size_t kMaxNodes = std::size_t{1} << 24;
constexpr std::size_t kMaxValues = std::size_t{1} << 26;
constexpr std::size_t kMaxModules = std::size_t{1} << 20;
constexpr std::size_t kMaxDepth = 64;
constexpr std::size_t kMaxOutputs = 0xFFFF;

} // namespace

struct GraphBuilder::Impl {
    ModelGraph graph;
    std::unordered_map<std::uint32_t, ValueId> value_by_name; // StringId of the name
    std::unordered_map<std::string, ModuleId> module_by_path; // cleaned
    std::unordered_map<std::string, ModuleId>
        module_by_raw; // as written: cleaning each frame of each node would be slow
    std::unordered_map<std::string, std::uint32_t> by_storage;   // parameter that owns the storage
    std::unordered_map<std::string, std::uint32_t> by_parameter; // qualified name
    std::map<std::string, GraphProblem, std::less<>> problems;
    std::string broken; // a broken promise of the reader: finish() fails with it
    bool full = false;

    Impl() {
        Module root;
        graph.modules.modules.push_back(root);
        module_by_path.emplace("", ModuleId(std::size_t{0}));
    }

    void problem(std::string_view kind, std::string_view message) {
        const auto [at, fresh] = problems.try_emplace(std::string(kind));
        if (fresh) {
            at->second.kind = kind;
            at->second.message = message;
        }
        ++at->second.count;
    }

    ModuleId childOf(ModuleId parent, std::string path, std::string_view name) {
        const auto found = module_by_path.find(path);
        if (found != module_by_path.end()) return found->second;
        ModuleTree& tree = graph.modules;
        if (tree.modules.size() >= kMaxModules) {
            problem("too many modules",
                    "the file names more than a million modules; the rest is shown in their parents");
            return parent;
        }
        const ModuleId id(tree.modules.size());
        Module module;
        module.path = path;
        module.name = name;
        module.parent = parent;
        module.declared = static_cast<std::uint32_t>(id.value);
        tree.modules.push_back(std::move(module));
        tree.modules[parent.index()].children.push_back(id);
        module_by_path.emplace(std::move(path), id);
        return id;
    }

    // The module of a cleaned path, made with all its parents.
    ModuleId ensure(std::string_view path) {
        if (const auto found = module_by_path.find(std::string(path)); found != module_by_path.end())
            return found->second;
        ModuleId module(std::size_t{0});
        std::size_t begin = 0;
        for (std::size_t depth = 0; begin <= path.size() && !path.empty(); ++depth) {
            if (depth == kMaxDepth) {
                problem("deep module path",
                        "a module path of more than 64 levels was cut: " + std::string(path.substr(0, 80)) + "...");
                break;
            }
            const std::size_t end = std::min(path.find('.', begin), path.size());
            module = childOf(module, std::string(path.substr(0, end)), path.substr(begin, end - begin));
            begin = end + 1;
        }
        return module;
    }

    ModuleId frame(const ModuleFrame& frame) {
        ModuleId id;
        if (const auto found = module_by_raw.find(std::string(frame.path)); found != module_by_raw.end()) {
            id = found->second;
        } else {
            id = ensure(cleanModulePath(frame.path));
            module_by_raw.emplace(frame.path, id);
        }
        Module& module = graph.modules.modules[id.index()];
        if (module.type_fqn.empty() && !frame.type_fqn.empty()) {
            module.type_fqn = frame.type_fqn;
            module.type = lastComponent(frame.type_fqn);
        }
        return id;
    }

    void checkSizes(TensorMeta& meta, std::string_view name) {
        if (meta.plausible()) return;
        problem("implausible size", "a tensor of more than 2^53 bytes counts as one of unknown size (" +
                                        std::string(name.substr(0, 80)) + ")");
        meta.forgetSizes();
    }

    std::uint32_t addParameter(bool is_buffer, std::string_view qualified_name, TensorMeta meta,
                               std::string_view shared_storage) {
        const auto known = by_parameter.find(std::string(qualified_name));
        if (known != by_parameter.end()) return known->second;
        ModuleTree& tree = graph.modules;
        const auto index = static_cast<std::uint32_t>(tree.parameters.size());
        Parameter parameter;
        parameter.name = qualified_name;
        parameter.meta = std::move(meta);
        checkSizes(parameter.meta, qualified_name);
        parameter.is_buffer = is_buffer;
        if (!shared_storage.empty()) {
            const auto [owner, first] = by_storage.emplace(shared_storage, index);
            if (!first) parameter.shared_with = owner->second;
        }
        tree.parameters.push_back(std::move(parameter));
        by_parameter.emplace(qualified_name, index);
        const std::size_t dot = qualified_name.rfind('.');
        const std::string owner =
            dot == std::string_view::npos ? std::string() : cleanModulePath(qualified_name.substr(0, dot));
        tree.modules[ensure(owner).index()].parameters.push_back(index);
        return index;
    }

    ValueId addValue(std::string_view name, ValueKind kind, TensorMeta meta) {
        OpGraph& ops = graph.ops;
        if (ops.values.size() >= kMaxValues) {
            full = true;
            return {};
        }
        const ValueId id(ops.values.size());
        Value value;
        value.name = ops.strings.intern(name);
        value.kind = kind;
        value.meta = std::move(meta);
        checkSizes(value.meta, name);
        value_by_name.insert_or_assign(value.name.value, id);
        ops.values.push_back(std::move(value));
        return id;
    }

    void addArg(std::string_view name, bool keyword, ArgKind kind, std::string_view text, const ValueId* values,
                std::size_t count) {
        OpGraph& ops = graph.ops;
        if (full || ops.nodes.empty()) return;
        if (ops.arg_values.size() + count >= kMaxValues || ops.args.size() >= kMaxValues) {
            full = true;
            return;
        }
        GraphArg arg;
        arg.name = ops.strings.intern(name);
        arg.keyword = keyword;
        arg.kind = kind;
        if (!text.empty()) arg.text = ops.strings.intern(text);
        arg.first_value = static_cast<std::uint32_t>(ops.arg_values.size());
        for (std::size_t i = 0; i < count; ++i)
            if (values[i].valid()) ops.arg_values.push_back(values[i]);
        arg.values = static_cast<std::uint32_t>(ops.arg_values.size()) - arg.first_value;
        ops.args.push_back(arg);
        ++ops.nodes.back().args;
    }

    void orderChildren();
    void makeConsumers();
    void nameContainers();
};

// Children in the order of their first operator; those without any come last, as declared.
void GraphBuilder::Impl::orderChildren() {
    ModuleTree& tree = graph.modules;
    constexpr std::uint32_t kNever = 0xFFFFFFFFu;
    std::vector<std::uint32_t> first(tree.modules.size(), kNever);
    for (std::size_t n = 0; n < graph.ops.nodes.size(); ++n)
        for (ModuleId m = graph.ops.nodes[n].module; m.valid() && first[m.index()] == kNever; m = tree.at(m).parent)
            first[m.index()] = static_cast<std::uint32_t>(n);
    for (Module& module : tree.modules)
        std::stable_sort(module.children.begin(), module.children.end(), [&](ModuleId a, ModuleId b) {
            return std::pair(first[a.index()], tree.at(a).declared) < std::pair(first[b.index()], tree.at(b).declared);
        });
}

void GraphBuilder::Impl::makeConsumers() {
    OpGraph& ops = graph.ops;
    ops.consumer_start.assign(ops.values.size() + 1, 0);
    for (const ValueId value : ops.arg_values) ++ops.consumer_start[value.index() + 1];
    for (std::size_t i = 1; i < ops.consumer_start.size(); ++i) ops.consumer_start[i] += ops.consumer_start[i - 1];
    ops.consumers.resize(ops.arg_values.size());
    std::vector<std::uint32_t> next(ops.consumer_start.begin(), ops.consumer_start.end() - 1);
    for (std::size_t n = 0; n < ops.nodes.size(); ++n)
        for (const GraphArg& arg : ops.argsOf(NodeId(n)))
            for (const ValueId value : ops.valuesOf(arg)) ops.consumers[next[value.index()]++] = NodeId(n);
}

// A container is never called, so no operator names its class. One with numbered children only is a ModuleList.
void GraphBuilder::Impl::nameContainers() {
    for (Module& module : graph.modules.modules) {
        if (!module.type.empty() || module.children.empty()) continue;
        if (std::all_of(module.children.begin(), module.children.end(),
                        [&](ModuleId child) { return layerNumber(graph.modules.at(child).name) >= 0; }))
            module.type = "ModuleList";
    }
}

GraphBuilder::GraphBuilder() : impl_(std::make_unique<Impl>()) {}
GraphBuilder::~GraphBuilder() = default;

void GraphBuilder::declareModule(std::string_view path) { (void)impl_->ensure(cleanModulePath(path)); }

ValueId GraphBuilder::input(ValueKind kind, std::string_view name, TensorMeta meta) {
    return impl_->addValue(name, kind, std::move(meta));
}

ValueId GraphBuilder::parameter(bool is_buffer, std::string_view value_name, std::string_view qualified_name,
                                TensorMeta meta, std::string_view shared_storage) {
    const std::uint32_t index = impl_->addParameter(is_buffer, qualified_name, meta, shared_storage);
    // One value under two parameter names is one tensor.
    const ValueId known = find(value_name);
    if (known.valid() && impl_->graph.ops.at(known).parameter != Id<struct ParameterTag>::kNone) {
        std::vector<Parameter>& parameters = impl_->graph.modules.parameters;
        std::uint32_t owner = impl_->graph.ops.at(known).parameter;
        if (parameters[owner].shared_with < parameters.size()) owner = parameters[owner].shared_with;
        if (owner != index) parameters[index].shared_with = owner;
        return known;
    }
    const ValueId id =
        impl_->addValue(value_name, is_buffer ? ValueKind::Buffer : ValueKind::Parameter, std::move(meta));
    if (id.valid()) impl_->graph.ops.values[id.index()].parameter = index;
    return id;
}

void GraphBuilder::unusedParameter(std::string_view qualified_name, TensorMeta meta, std::string_view shared_storage) {
    (void)impl_->addParameter(false, qualified_name, std::move(meta), shared_storage);
}

NodeId GraphBuilder::node(std::string_view name, std::string_view target, const std::vector<ModuleFrame>& stack,
                          std::string_view python_stack) {
    OpGraph& ops = impl_->graph.ops;
    if (ops.nodes.size() >= kMaxNodes) impl_->full = true;
    if (impl_->full) return {};
    Node node;
    node.name = ops.strings.intern(name);
    node.target = ops.strings.intern(target);
    node.op = ops.strings.intern(profilerOpName(target));
    node.module = ModuleId(std::size_t{0});
    for (const ModuleFrame& frame : stack) node.module = impl_->frame(frame);
    node.first_arg = static_cast<std::uint32_t>(ops.args.size());
    node.first_output = static_cast<std::uint32_t>(ops.values.size());
    if (!python_stack.empty()) node.stack = ops.strings.intern(python_stack);
    ops.nodes.push_back(node);
    return NodeId(ops.nodes.size() - 1);
}

void GraphBuilder::argTensor(std::string_view name, bool keyword, ValueId value) {
    impl_->addArg(name, keyword, ArgKind::Tensor, {}, &value, 1);
}

void GraphBuilder::argTensors(std::string_view name, bool keyword, const std::vector<ValueId>& values) {
    impl_->addArg(name, keyword, ArgKind::TensorList, {}, values.data(), values.size());
}

void GraphBuilder::argText(std::string_view name, bool keyword, ArgKind kind, std::string_view text,
                           const std::vector<ValueId>& values) {
    impl_->addArg(name, keyword, kind, text, values.data(), values.size());
}

ValueId GraphBuilder::output(std::string_view name, TensorMeta meta, ValueKind kind) {
    OpGraph& ops = impl_->graph.ops;
    if (impl_->full || ops.nodes.empty()) return {};
    Node& node = ops.nodes.back();
    if (node.outputs == 0) node.first_output = static_cast<std::uint32_t>(ops.values.size());
    if (node.first_output + node.outputs != ops.values.size()) {
        impl_->broken = "an input between two outputs of node " + std::string(ops.strings.view(node.name));
        return {};
    }
    if (node.outputs >= kMaxOutputs) {
        impl_->problem("too many outputs", "an operator lists more than 65,535 outputs; the rest was left out");
        return {};
    }
    const ValueId id = impl_->addValue(name, kind, std::move(meta));
    if (!id.valid()) return {};
    Value& value = ops.values[id.index()];
    value.producer = NodeId(ops.nodes.size() - 1);
    value.output = static_cast<std::uint16_t>(node.outputs);
    ++node.outputs;
    return id;
}

void GraphBuilder::graphOutput(ValueId value) {
    if (value.valid() && value.index() < impl_->graph.ops.values.size())
        impl_->graph.ops.values[value.index()].is_graph_output = true;
}

ValueId GraphBuilder::find(std::string_view value_name) const {
    const StringId name = impl_->graph.ops.strings.find(value_name);
    if (!name.valid()) return {};
    const auto found = impl_->value_by_name.find(name.value);
    return found == impl_->value_by_name.end() ? ValueId{} : found->second;
}

void GraphBuilder::problem(std::string_view kind, std::string_view message) { impl_->problem(kind, message); }

Result<ModelGraph> GraphBuilder::finish() && {
    if (!impl_->broken.empty())
        return Error{ErrorCode::Internal, "outputs pushed one after another", impl_->broken, {}};
    if (impl_->full)
        return Error{
            ErrorCode::Limit, "a graph of at most 16 million operators and 64 million values", "more than that", {}};
    impl_->nameContainers();
    impl_->orderChildren();
    impl_->makeConsumers();
    findFolds(impl_->graph);
    for (auto& [kind, problem] : impl_->problems) impl_->graph.problems.push_back(std::move(problem));
    return std::move(impl_->graph);
}

} // namespace fusescope
