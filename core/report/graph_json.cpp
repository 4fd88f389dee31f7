// SPDX-License-Identifier: Apache-2.0
// The operator graph as JSON, schema fusescope.graph/1.
#include "core/report/report.h"

#include "core/base/json_writer.h"

namespace fusescope {
namespace {

const char* kindName(ValueKind kind) {
    switch (kind) {
    case ValueKind::Intermediate: return "intermediate";
    case ValueKind::Input: return "input";
    case ValueKind::Parameter: return "parameter";
    case ValueKind::Buffer: return "buffer";
    case ValueKind::Constant: return "constant";
    case ValueKind::Symbol: return "symbol";
    }
    return "intermediate";
}

void writeModules(JsonWriter& w, const ModuleTree& tree) {
    w.key("modules").beginArray();
    for (std::size_t m = 0; m < tree.modules.size(); ++m) {
        const Module& module = tree.modules[m];
        w.beginObject();
        w.member("path", module.path).member("type", module.type).member("type_fqn", module.type_fqn);
        w.member("parameters", tree.parameterCount(ModuleId(m)));
        if (module.fold_group < tree.folds.size())
            w.member("identical_to", tree.at(tree.folds[module.fold_group].members.front()).path);
        w.endObject();
    }
    w.endArray();
}

void writeValue(JsonWriter& w, const OpGraph& graph, const Value& value) {
    w.beginObject();
    w.member("name", graph.strings.view(value.name)).member("kind", kindName(value.kind));
    w.member("dtype", shortName(value.meta.dtype));
    w.key("shape").beginArray();
    for (const std::int64_t size : value.meta.sizes) {
        if (size == kDynamicSize)
            w.null();
        else
            w.value(size);
    }
    w.endArray();
    w.endObject();
}

} // namespace

std::string graphJson(const ModelGraph& model) {
    const OpGraph& graph = model.ops;
    JsonWriter w(1);
    w.beginObject();
    w.member("schema", "fusescope.graph/1").member("format", model.format).member("producer", model.producer);
    writeModules(w, model.modules);
    w.key("inputs").beginArray();
    for (const Value& value : graph.values)
        if (!value.producer.valid()) writeValue(w, graph, value);
    w.endArray();
    w.key("nodes").beginArray();
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
        const Node& node = graph.nodes[n];
        w.beginObject();
        w.member("name", graph.name(NodeId(n))).member("target", graph.strings.view(node.target));
        w.member("module", model.modules.at(node.module).path);
        w.key("args").beginArray();
        for (const GraphArg& arg : graph.argsOf(NodeId(n))) {
            w.beginObject();
            w.member("name", graph.strings.view(arg.name));
            if (arg.values > 0 || arg.kind == ArgKind::TensorList) {
                w.key("values").beginArray();
                for (const ValueId v : graph.valuesOf(arg))
                    w.value(v.valid() ? graph.strings.view(graph.at(v).name) : "");
                w.endArray();
            } else {
                w.member("text", graph.strings.view(arg.text));
            }
            w.endObject();
        }
        w.endArray();
        w.key("outputs").beginArray();
        for (std::uint32_t o = 0; o < node.outputs; ++o) writeValue(w, graph, graph.values[node.first_output + o]);
        w.endArray();
        w.endObject();
    }
    w.endArray();
    w.key("problems").beginArray();
    for (const GraphProblem& p : model.problems) {
        w.beginObject();
        w.member("kind", p.kind).member("count", p.count).member("message", p.message);
        w.endObject();
    }
    w.endArray();
    w.endObject();
    return std::move(w).take() + "\n";
}

} // namespace fusescope
