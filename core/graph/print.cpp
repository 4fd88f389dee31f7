// SPDX-License-Identifier: Apache-2.0
#include "core/graph/print.h"

#include "core/graph/module_path.h"
#include "core/graph/module_text.h"

#include <algorithm>
#include <unordered_set>

namespace fusescope {
namespace {

void indent(std::string& out, std::size_t level) { out.append(level * 2, ' '); }

class TreePrinter {
public:
    explicit TreePrinter(const ModelGraph& graph) : tree_(graph.modules), texts_(graph) {}

    std::string print() {
        open(ModuleId(std::size_t{0}), "");
        while (!stack_.empty()) {
            Level& level = stack_.back();
            if (level.next == level.children.size()) {
                stack_.pop_back();
                indent(out_, stack_.size());
                out_ += stack_.empty() ? ")" : ")\n";
                continue;
            }
            const ModuleId child = level.children[level.next++];
            const Module& module = tree_.at(child);
            std::string label = "(" + module.name + "): ";
            if (module.fold_group < tree_.folds.size()) {
                const std::vector<ModuleId>& fold = tree_.folds[module.fold_group].members;
                label =
                    "(" + module.name + "-" + tree_.at(fold.back()).name + "): " + std::to_string(fold.size()) + " x ";
                // The other members stand next to it: numbers in a row.
                while (level.next < level.children.size() &&
                       tree_.at(level.children[level.next]).fold_group == module.fold_group)
                    ++level.next;
            }
            open(child, label);
        }
        return std::move(out_);
    }

private:
    struct Level {
        std::vector<ModuleId> children;
        std::size_t next = 0;
    };

    // A leaf is one line; a module with children leaves its bracket open.
    void open(ModuleId id, const std::string& label) {
        const Module& module = tree_.at(id);
        indent(out_, stack_.size());
        out_ += label;
        out_ += module.type.empty() ? "Module" : module.type;
        out_ += "(";
        if (module.children.empty()) {
            out_ += texts_.of(id).print;
            out_ += stack_.empty() ? ")" : ")\n";
            return;
        }
        out_ += "\n";
        Level level;
        level.children = module.children;
        // print(model) lists modules as declared, not as executed; numbers always count up.
        std::stable_sort(level.children.begin(), level.children.end(), [&](ModuleId a, ModuleId b) {
            const Module &left = tree_.at(a), &right = tree_.at(b);
            const long long m = layerNumber(left.name), n = layerNumber(right.name);
            if (m >= 0 && n >= 0) return m < n;
            return left.declared < right.declared;
        });
        stack_.push_back(std::move(level));
    }

    const ModuleTree& tree_;
    ModuleTexts texts_;
    std::vector<Level> stack_;
    std::string out_;
};

class NodePrinter {
public:
    explicit NodePrinter(const ModelGraph& graph) : ops_(graph.ops) {}

    std::string print() {
        out_ = "graph():\n";
        for (std::size_t v = 0; v < ops_.values.size(); ++v) {
            const Value& value = ops_.values[v];
            if (value.producer.valid()) continue;
            head(ops_.strings.view(value.name), users(ValueId(v)));
            out_.append("placeholder[target=").append(ops_.strings.view(value.name)).append("]\n");
        }
        for (std::size_t n = 0; n < ops_.nodes.size(); ++n) node(NodeId(n));
        out_ += "    return (";
        std::size_t count = 0;
        for (const Value& value : ops_.values) {
            if (!value.is_graph_output) continue;
            out_.append(count++ ? ", " : "").append(ops_.strings.view(value.name)); // no % here in FX's text
        }
        out_ += count == 1 ? ",)" : ")";
        return std::move(out_);
    }

private:
    void head(std::string_view name, std::size_t num_users) {
        out_.append("    %").append(name).append(" : [num_users=").append(std::to_string(num_users)).append("] = ");
    }

    // FX counts each using node once, and the graph's output as a user.
    [[nodiscard]] std::size_t users(ValueId value) const {
        const auto consumers = ops_.consumersOf(value);
        const std::unordered_set<std::uint32_t> distinct = [&] {
            std::unordered_set<std::uint32_t> set;
            for (const NodeId n : consumers) set.insert(n.value);
            return set;
        }();
        return distinct.size() + (ops_.at(value).is_graph_output ? 1 : 0);
    }

    void node(NodeId id) {
        const Node& node = ops_.at(id);
        const bool several = node.outputs > 1;
        std::size_t num_users = several ? node.outputs : 0;
        if (node.outputs == 1) num_users = users(ops_.output(id));
        head(ops_.strings.view(node.name), num_users);
        out_.append("call_function[target=").append(target(ops_.strings.view(node.target))).append("](args = (");
        std::size_t positional = 0;
        for (const GraphArg& arg : ops_.argsOf(id)) {
            if (arg.keyword) continue;
            if (positional++) out_ += ", ";
            argument(arg);
        }
        out_ += positional == 1 ? ",), kwargs = {" : "), kwargs = {";
        std::size_t keywords = 0;
        for (const GraphArg& arg : ops_.argsOf(id)) {
            if (!arg.keyword) continue;
            if (keywords++) out_ += ", ";
            out_.append(ops_.strings.view(arg.name)).append(": ");
            argument(arg);
        }
        out_ += "})\n";
        if (!several) return;
        // The file lists several outputs where the graph had getitem nodes.
        for (std::size_t i = 0; i < node.outputs; ++i) {
            const ValueId value = ops_.output(id, i);
            head(ops_.strings.view(ops_.at(value).name), users(value));
            out_.append("call_function[target=operator.getitem](args = (%")
                .append(ops_.strings.view(node.name))
                .append(", ")
                .append(std::to_string(i))
                .append("), kwargs = {})\n");
        }
    }

    // FX names functions of Python's operator module "operator.add"; the file says "_operator.add".
    static std::string target(std::string_view written) {
        if (written.substr(0, 10) == "_operator.") written.remove_prefix(1);
        return std::string(written);
    }

    void argument(const GraphArg& arg) {
        if (const std::string_view text = ops_.strings.view(arg.text); !text.empty()) {
            out_ += text;
            return;
        }
        const auto values = ops_.valuesOf(arg);
        if (arg.kind == ArgKind::Tensor && values.size() == 1) {
            out_.append("%").append(ops_.strings.view(ops_.at(values[0]).name));
            return;
        }
        if (arg.kind == ArgKind::TensorList) {
            out_ += "[";
            for (std::size_t i = 0; i < values.size(); ++i)
                out_.append(i ? ", %" : "%").append(ops_.strings.view(ops_.at(values[i]).name));
            out_ += "]";
        }
    }

    const OpGraph& ops_;
    std::string out_;
};

} // namespace

std::string printTree(const ModelGraph& graph) { return TreePrinter(graph).print(); }
std::string printNodes(const ModelGraph& graph) { return NodePrinter(graph).print(); }

} // namespace fusescope
