// SPDX-License-Identifier: Apache-2.0
#include "core/graph/visible_graph.h"

#include "core/base/format.h"
#include "core/graph/fold.h"
#include "core/graph/plumbing.h"
#include "core/graph/visible_build.h"

#include <algorithm>
#include <unordered_map>

namespace fusescope {
namespace {

constexpr std::size_t kMaxBoxesPerModule = 200; // then its operators are shown in groups

std::size_t depthOf(const ModuleTree& tree, ModuleId module) {
    std::size_t depth = 0;
    for (; module.valid(); module = tree.at(module).parent) ++depth;
    return depth;
}

DType dtypeOfMostWeights(const ModelGraph& graph) {
    std::unordered_map<int, double> elements;
    for (const Parameter& parameter : graph.modules.parameters)
        if (!parameter.is_buffer)
            elements[static_cast<int>(parameter.meta.dtype)] += static_cast<double>(parameter.meta.numel()) + 1;
    if (elements.empty())
        for (const Value& value : graph.ops.values)
            if (value.producer.valid()) elements[static_cast<int>(value.meta.dtype)] += 1;
    DType best = DType::Unknown;
    double most = 0;
    for (const auto& [type, count] : elements)
        if (count > most || (count == most && static_cast<DType>(type) < best)) {
            best = static_cast<DType>(type);
            most = count;
        }
    return best;
}

// One picture for one set of expanded modules.
VisibleGraph build(const ModelGraph& graph, const GraphViewState& state, std::size_t section) {
    VisibleBuild b(graph, state);
    b.mapFolds();
    b.openModules();
    b.decideFates();
    b.makeNodes(section);
    // Far too many boxes to be shown: what runs between them need not be known.
    if (b.out.nodes.size() > 4 * kMaxVisibleNodes && section <= graph.ops.nodes.size()) return std::move(b.out);
    b.makeEdges();
    b.makeClusters();
    return std::move(b.out);
}

} // namespace

VisibleBuild::VisibleBuild(const ModelGraph& g, const GraphViewState& s)
    : graph(g), ops(g.ops), tree(g.modules), state(s), focus(std::size_t{0}), texts(g) {
    if (s.focus.valid() && s.focus.index() < tree.modules.size()) focus = s.focus;
    fixed = staticNodes(ops);
    main_dtype = dtypeOfMostWeights(g);
}

bool VisibleBuild::isFoldedModule(ModuleId module) const {
    const std::uint32_t group = tree.at(module).fold_group;
    return group < active_fold.size() && active_fold[group] && tree.folds[group].members.front() == module;
}

void VisibleBuild::mapFolds() {
    representative.resize(ops.nodes.size());
    for (std::size_t n = 0; n < representative.size(); ++n) representative[n] = NodeId(n);
    hidden_module.assign(tree.modules.size(), false);
    active_fold.assign(tree.folds.size(), false);
    if (!state.fold_identical) return;

    const ModuleNodes nodes(graph);
    // Outer folds come before the inner ones: what lies in a layer that is not shown needs no folding of its own.
    for (std::size_t f = 0; f < tree.folds.size(); ++f) {
        const std::vector<ModuleId>& members = tree.folds[f].members;
        const ModuleId shown = members.front();
        if (hidden_module[shown.index()] || shown == focus || !tree.contains(focus, shown)) continue;
        active_fold[f] = true;
        const std::vector<NodeId> twins = nodes.below(shown);
        for (std::size_t m = 1; m < members.size(); ++m) {
            const std::vector<NodeId> own = nodes.below(members[m]);
            for (std::size_t i = 0; i < std::min(own.size(), twins.size()); ++i)
                representative[own[i].index()] = twins[i];
            hidden_module[members[m].index()] = true;
        }
        // Everything below a hidden module is hidden; children stand after their parents.
        for (std::size_t m = members.front().index(); m < tree.modules.size(); ++m)
            if (const ModuleId parent = tree.modules[m].parent; parent.valid() && hidden_module[parent.index()])
                hidden_module[m] = true;
    }
    for (NodeId& node : representative)
        while (representative[node.index()] != node) node = representative[node.index()];
}

void VisibleBuild::openModules() {
    closed_at.assign(tree.modules.size(), ModuleId{});
    inside.assign(tree.modules.size(), false);
    for (std::size_t m = 0; m < tree.modules.size(); ++m) {
        const ModuleId id(m), parent = tree.modules[m].parent;
        inside[m] = id == focus || (parent.valid() && inside[parent.index()]);
        if (!inside[m] || id == focus) continue;
        if (closed_at[parent.index()].valid())
            closed_at[m] = closed_at[parent.index()];
        else if (state.expanded.find(id) == state.expanded.end())
            closed_at[m] = id;
    }
    fixed_module.assign(tree.modules.size(), true);
    for (std::size_t n = 0; n < ops.nodes.size(); ++n)
        if (!fixed[n])
            for (ModuleId m = ops.nodes[n].module; m.valid() && fixed_module[m.index()]; m = tree.at(m).parent)
                fixed_module[m.index()] = false;
}

void VisibleBuild::decideFates() {
    fate.assign(ops.nodes.size(), Fate::Shown);
    for (std::size_t n = 0; n < ops.nodes.size(); ++n) {
        const ModuleId module = ops.nodes[n].module;
        const bool plumbing = state.hide_plumbing && isDrawnThrough(ops, NodeId(n));
        if (!inside[module.index()])
            fate[n] = Fate::Outside;
        else if (representative[n] != NodeId(n))
            fate[n] = Fate::Folded;
        else if (plumbing && !closed_at[module.index()].valid())
            fate[n] = Fate::Through;
    }
}

void VisibleBuild::makeNodes(std::size_t section) {
    out.node_of.assign(ops.nodes.size(), -1);
    // Bookkeeping that lies among real layers (the mask, the positions) becomes one box, if it is more than one
    // operator.
    std::vector<std::size_t> bookkeeping(tree.modules.size(), 0), direct(tree.modules.size(), 0),
        closed_children(tree.modules.size(), 0);
    std::vector<bool> counted(tree.modules.size(), false);
    const auto isBookkeeping = [&](std::size_t n) {
        const ModuleId module = ops.nodes[n].module;
        return state.hide_plumbing && fixed[n] && !fixed_module[module.index()];
    };
    for (std::size_t n = 0; n < ops.nodes.size(); ++n) {
        const ModuleId module = ops.nodes[n].module;
        if (fate[n] != Fate::Shown) continue;
        if (const ModuleId closed = closed_at[module.index()]; !closed.valid()) {
            ++(isBookkeeping(n) ? bookkeeping : direct)[module.index()];
        } else if (!counted[closed.index()]) {
            counted[closed.index()] = true;
            ++closed_children[tree.at(closed).parent.index()];
        }
    }

    std::vector<std::int32_t> box_of_module(tree.modules.size(), -1), bookkeeping_box(tree.modules.size(), -1),
        section_box(tree.modules.size(), -1), siblings_box(tree.modules.size(), -1);
    std::vector<std::size_t> taken(tree.modules.size(), 0), siblings(tree.modules.size(), 0);
    std::vector<std::uint32_t> grouped; // operators per box, for the groups
    std::vector<std::uint32_t> modules; // modules per box, of groups of them
    std::vector<ModuleId> first_module; // of such a group
    const auto add = [&](VisibleNode node) {
        out.nodes.push_back(std::move(node));
        grouped.push_back(0);
        modules.push_back(0);
        first_module.emplace_back();
        return static_cast<std::int32_t>(out.nodes.size() - 1);
    };
    for (std::size_t n = 0; n < ops.nodes.size(); ++n) {
        if (fate[n] != Fate::Shown) continue;
        const ModuleId module = ops.nodes[n].module;
        VisibleNode node;
        node.node = NodeId(n);
        node.module = module;
        std::int32_t* shared = nullptr;
        if (const ModuleId closed = closed_at[module.index()]; closed.valid()) {
            shared = &box_of_module[closed.index()];
            const ModuleId parent = tree.at(closed).parent;
            if (section > 0 && closed_children[parent.index()] > kMaxBoxesPerModule) {
                node.module = parent;
                if (*shared < 0) {
                    std::int32_t& group = siblings_box[parent.index()];
                    if (siblings[parent.index()]++ % section == 0) group = add(node);
                    *shared = group;
                    const auto box = static_cast<std::size_t>(group);
                    if (modules[box]++ == 0) first_module[box] = closed;
                }
            } else {
                node.kind = VisibleKind::Module;
                node.module = closed;
                node.node = {};
            }
        } else if (isBookkeeping(n) && bookkeeping[module.index()] > 1) {
            shared = &bookkeeping_box[module.index()];
        } else if (section > 0 && direct[module.index()] > kMaxBoxesPerModule) {
            shared = &section_box[module.index()];
            if (taken[module.index()]++ % section == 0) *shared = -1; // the next group
        }
        if (shared && *shared >= 0) {
            const auto box = static_cast<std::size_t>(*shared);
            out.node_of[n] = *shared;
            ++grouped[box];
            if (out.nodes[box].kind == VisibleKind::Op) out.nodes[box].node = NodeId(n); // the last one: what comes out
            continue;
        }
        out.node_of[n] = add(node);
        if (shared) *shared = out.node_of[n];
        ++grouped.back();
    }

    for (std::size_t i = 0; i < out.nodes.size(); ++i) {
        VisibleNode& node = out.nodes[i];
        if (node.kind == VisibleKind::Module) {
            const Module& module = tree.at(node.module);
            const bool folded = isFoldedModule(node.module);
            if (folded) node.repeat = static_cast<std::uint32_t>(tree.folds[module.fold_group].members.size());
            node.title = moduleTitle(tree, node.module, folded);
            node.subtitle = module.type;
            const std::string brief = texts.of(node.module).brief;
            if (!brief.empty()) node.subtitle += (node.subtitle.empty() ? "" : "  ") + brief;
            node.expandable = !module.children.empty() || grouped[i] > 1;
        } else if (modules[i] > 0) {
            node.title = moduleTitle(tree, first_module[i], false);
            if (modules[i] > 1) node.title += " ...";
            node.subtitle = std::to_string(modules[i]) + (modules[i] > 1 ? " modules" : " module");
        } else if (static_cast<std::int32_t>(i) == bookkeeping_box[node.module.index()]) {
            node.title = "mask and positions";
            node.subtitle = formatCounted(static_cast<std::int64_t>(grouped[i]), "operator");
        } else if (grouped[i] > 1) {
            node.title = operatorTitle(ops, node.node) + " ...";
            node.subtitle = formatCounted(static_cast<std::int64_t>(grouped[i]), "operator");
        } else {
            node.title = operatorTitle(ops, node.node);
            node.subtitle = operatorSubtitle(graph, node.node);
        }
    }
    // What is folded away or drawn through still has a box that stands for it, if its twin has one.
    for (std::size_t n = 0; n < ops.nodes.size(); ++n)
        if (fate[n] == Fate::Folded) out.node_of[n] = out.node_of[representative[n].index()];
}

void VisibleBuild::makeClusters() {
    std::vector<std::size_t> boxes(tree.modules.size(), 0);
    std::size_t total = 0;
    const auto home = [&](const VisibleNode& node) {
        if (node.kind == VisibleKind::Module) return tree.at(node.module).parent;
        return node.kind == VisibleKind::Op ? node.module : ModuleId{};
    };
    for (const VisibleNode& node : out.nodes) {
        const ModuleId start = home(node);
        if (start.valid()) ++total;
        for (ModuleId m = start; m.valid() && inside[m.index()]; m = tree.at(m).parent) ++boxes[m.index()];
    }
    std::vector<std::int32_t> cluster(tree.modules.size(), -1);
    for (std::size_t m = 0; m < tree.modules.size(); ++m) {
        const ModuleId id(m);
        const Module& module = tree.modules[m];
        if (!inside[m] || id == focus || boxes[m] == 0) continue;
        cluster[m] = cluster[module.parent.index()];
        // A frame around everything, or around a mere list, tells nothing; one that stands for many layers does.
        const bool folded = isFoldedModule(id);
        if (closed_at[m].valid() || (!folded && (boxes[m] == total || module.type == "ModuleList"))) continue;
        VisibleCluster frame;
        frame.module = id;
        frame.parent = cluster[m];
        frame.title = moduleTitle(tree, id, folded);
        if (!module.type.empty()) frame.title += "  " + module.type;
        if (folded) frame.repeat = static_cast<std::uint32_t>(tree.folds[module.fold_group].members.size());
        cluster[m] = static_cast<std::int32_t>(out.clusters.size());
        out.clusters.push_back(std::move(frame));
    }
    for (VisibleNode& node : out.nodes)
        if (const ModuleId module = home(node); module.valid()) node.cluster = cluster[module.index()];
}

VisibleGraph visibleGraph(const ModelGraph& graph, const GraphViewState& state) {
    if (graph.modules.modules.empty()) return {};
    VisibleGraph visible = build(graph, state, 0);
    if (visible.nodes.size() <= kMaxVisibleNodes) return visible;

    const std::size_t wanted = visible.nodes.size();
    GraphViewState smaller = state;
    std::size_t collapsed = 0, section = 0;
    while (visible.nodes.size() > kMaxVisibleNodes) {
        if (!smaller.expanded.empty()) {
            std::size_t deepest = 0;
            for (const ModuleId module : smaller.expanded) deepest = std::max(deepest, depthOf(graph.modules, module));
            for (auto it = smaller.expanded.begin(); it != smaller.expanded.end();) {
                if (depthOf(graph.modules, *it) != deepest) {
                    ++it;
                    continue;
                }
                it = smaller.expanded.erase(it);
                ++collapsed;
            }
        } else {
            // Nothing left to collapse: a module with hundreds of operators of its own, or of children.
            if (section > graph.ops.nodes.size()) break;
            // No group smaller than this can be enough, and to try them one by one takes as many passes.
            if (section == 0)
                for (section = 2; visible.nodes.size() / section > kMaxVisibleNodes;) section *= 2;
            else
                section *= 2;
        }
        visible = build(graph, smaller, section);
    }
    visible.note = std::to_string(wanted) + " boxes are too many for a picture";
    if (collapsed > 0) visible.note += "; the deepest of the expanded modules are collapsed again";
    if (section > 0) visible.note += "; operators and modules are shown in groups";
    return visible;
}

std::int32_t visibleNodeOf(const ModelGraph& graph, const VisibleGraph& visible, NodeId node) {
    if (!node.valid() || node.index() >= graph.ops.nodes.size()) return -1;
    if (node.index() < visible.node_of.size()) return visible.node_of[node.index()];
    // A graph put together by hand: the box of the node itself, or of a module around it.
    for (std::size_t i = 0; i < visible.nodes.size(); ++i) {
        const VisibleNode& box = visible.nodes[i];
        if (box.kind == VisibleKind::Op && box.node == node) return static_cast<std::int32_t>(i);
        if (box.kind == VisibleKind::Module && graph.modules.contains(box.module, graph.ops.at(node).module))
            return static_cast<std::int32_t>(i);
    }
    return -1;
}

} // namespace fusescope
