// SPDX-License-Identifier: Apache-2.0
#include "core/graph/fold.h"

#include "core/graph/hash.h"
#include "core/graph/module_path.h"

#include <algorithm>
#include <array>
#include <unordered_map>

namespace fusescope {
namespace {

using Digest = std::array<std::uint64_t, 2>;

void addMeta(Hash128& hash, const TensorMeta& meta) {
    hash.add(static_cast<std::uint64_t>(meta.dtype));
    hash.add(static_cast<std::uint64_t>(meta.sizes.size()));
    for (const std::int64_t size : meta.sizes) hash.add(static_cast<std::uint64_t>(size));
}

// Symbols are mentioned as "%name". Names differ between equal layers, so they do not count; the wiring does.
void addText(Hash128& hash, std::string_view text, bool mentions_symbols) {
    if (!mentions_symbols) {
        hash.add(text);
        return;
    }
    std::string plain;
    bool skipping = false;
    for (const char c : text) {
        if (c == '%')
            skipping = true;
        else if (c == ',' || c == ']' || c == ')' || c == ' ')
            skipping = false;
        if (!skipping || c == '%') plain += c;
    }
    hash.add(plain);
}

// What a module computes, seen from its border: operators, constants, shapes, wiring. No names.
class Canonical {
public:
    Canonical(const ModelGraph& graph, const ModuleNodes& nodes)
        : graph_(graph), nodes_(nodes), position_(graph.ops.nodes.size(), kOutside) {}

    Digest hash(ModuleId module) {
        hash_ = Hash128();
        external_.clear();
        modules_.clear();
        addModules(module);
        const std::vector<NodeId> inside = nodes_.below(module);
        for (std::size_t i = 0; i < inside.size(); ++i) position_[inside[i].index()] = static_cast<std::uint32_t>(i);
        for (const NodeId node : inside) addNode(node);
        for (const NodeId node : inside) position_[node.index()] = kOutside;
        return hash_.digest();
    }

private:
    static constexpr std::uint32_t kOutside = 0xFFFFFFFFu;

    void addModules(ModuleId top) {
        std::vector<ModuleId> open{top};
        while (!open.empty()) {
            const ModuleId id = open.back();
            open.pop_back();
            const Module& module = graph_.modules.at(id);
            modules_.emplace(id.value, modules_.size());
            hash_.add(module.type_fqn.empty() ? module.type : module.type_fqn);
            hash_.add(static_cast<std::uint64_t>(module.children.size()));
            hash_.add(static_cast<std::uint64_t>(module.parameters.size()));
            for (const std::uint32_t index : module.parameters) addMeta(hash_, graph_.modules.parameters[index].meta);
            open.insert(open.end(), module.children.rbegin(), module.children.rend());
        }
    }

    void addNode(NodeId id) {
        const OpGraph& ops = graph_.ops;
        const Node& node = ops.at(id);
        hash_.add(ops.strings.view(node.target));
        hash_.add(static_cast<std::uint64_t>(modules_[node.module.value]));
        hash_.add(static_cast<std::uint64_t>(node.args));
        for (const GraphArg& arg : ops.argsOf(id)) {
            hash_.add(ops.strings.view(arg.name));
            hash_.add(static_cast<std::uint64_t>(arg.kind) * 2 + (arg.keyword ? 1 : 0));
            addText(hash_, ops.strings.view(arg.text), arg.values > 0);
            for (const ValueId value : ops.valuesOf(arg)) addWire(value);
        }
        hash_.add(static_cast<std::uint64_t>(node.outputs));
        for (std::uint32_t i = 0; i < node.outputs; ++i) {
            const ValueId value(node.first_output + i);
            addMeta(hash_, ops.at(value).meta);
            hash_.add(static_cast<std::uint64_t>(leaves(value) ? 1 : 0));
        }
    }

    void addWire(ValueId id) {
        const Value& value = graph_.ops.at(id);
        const std::uint32_t at = value.producer.valid() ? position_[value.producer.index()] : kOutside;
        if (at != kOutside) {
            hash_.add(std::uint64_t{1});
            hash_.add((static_cast<std::uint64_t>(at) << 16) | value.output);
            return;
        }
        // From outside: the how-many-th border value it is, and what it looks like.
        hash_.add(std::uint64_t{2});
        hash_.add(static_cast<std::uint64_t>(external_.emplace(id.value, external_.size()).first->second));
        const bool weight = value.kind == ValueKind::Parameter || value.kind == ValueKind::Buffer;
        hash_.add(static_cast<std::uint64_t>(weight ? 1 : 0));
        addMeta(hash_, value.meta);
    }

    [[nodiscard]] bool leaves(ValueId id) const {
        if (graph_.ops.at(id).is_graph_output) return true;
        const auto users = graph_.ops.consumersOf(id);
        return std::any_of(users.begin(), users.end(), [&](NodeId n) { return position_[n.index()] == kOutside; });
    }

    const ModelGraph& graph_;
    const ModuleNodes& nodes_;
    std::vector<std::uint32_t> position_; // of a node inside the module being hashed
    std::unordered_map<std::uint32_t, std::size_t> external_, modules_;
    Hash128 hash_;
};

} // namespace

ModuleNodes::ModuleNodes(const ModelGraph& graph) : tree_(graph.modules) {
    start_.assign(tree_.modules.size() + 1, 0);
    for (const Node& node : graph.ops.nodes) ++start_[node.module.index() + 1];
    for (std::size_t i = 1; i < start_.size(); ++i) start_[i] += start_[i - 1];
    nodes_.resize(graph.ops.nodes.size());
    std::vector<std::uint32_t> next(start_.begin(), start_.end() - 1);
    for (std::size_t i = 0; i < graph.ops.nodes.size(); ++i)
        nodes_[next[graph.ops.nodes[i].module.index()]++] = NodeId(i);
}

std::vector<NodeId> ModuleNodes::below(ModuleId module) const {
    std::vector<NodeId> found;
    std::vector<ModuleId> open{module};
    while (!open.empty()) {
        const ModuleId id = open.back();
        open.pop_back();
        found.insert(found.end(), nodes_.begin() + start_[id.index()], nodes_.begin() + start_[id.index() + 1]);
        const std::vector<ModuleId>& children = tree_.at(id).children;
        open.insert(open.end(), children.begin(), children.end());
    }
    std::sort(found.begin(), found.end());
    return found;
}

void findFolds(ModelGraph& graph) {
    ModuleTree& tree = graph.modules;
    const ModuleNodes nodes(graph);
    Canonical canonical(graph, nodes);
    std::vector<std::pair<long long, ModuleId>> numbered;
    for (std::size_t parent = 0; parent < tree.modules.size(); ++parent) {
        numbered.clear();
        for (const ModuleId child : tree.modules[parent].children)
            if (const long long number = layerNumber(tree.at(child).name); number >= 0)
                numbered.emplace_back(number, child);
        if (numbered.size() < 2) continue;
        std::sort(numbered.begin(), numbered.end());

        // Only neighbours fold: "0-35". A layer of another kind between them (sliding window attention) ends the run,
        // since drawing one box for layers 0, 2, 4 would make a circle with the box of 1, 3, 5.
        FoldGroup run;
        Digest run_digest{};
        const auto close = [&] {
            if (run.members.size() >= 2) {
                for (const ModuleId member : run.members)
                    tree.modules[member.index()].fold_group = static_cast<std::uint32_t>(tree.folds.size());
                tree.folds.push_back(run);
            }
            run.members.clear();
        };
        for (std::size_t i = 0; i < numbered.size(); ++i) {
            const Digest digest = canonical.hash(numbered[i].second);
            const bool next = i > 0 && numbered[i].first == numbered[i - 1].first + 1;
            if (!next || digest != run_digest) close();
            run.members.push_back(numbered[i].second);
            run_digest = digest;
        }
        close();
    }
}

} // namespace fusescope
