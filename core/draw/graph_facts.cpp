// SPDX-License-Identifier: Apache-2.0
// What is known of each visible box: time, share, findings, selection.
#include "core/draw/flagged.h"
#include "core/draw/graph_parts.h"

#include "core/base/format.h"
#include "core/draw/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace fusescope::graphdraw {
namespace {

class Collector {
public:
    Collector(const Analysis& analysis, const VisibleGraph& graph, const SelectionSets& selection)
        : analysis_(analysis), model_(*analysis.graph), graph_(graph), selection_(selection),
          visible_(model_.ops.nodes.size(), kUnasked) {
        facts_.boxes.resize(graph.nodes.size());
        facts_.clusters.resize(graph.clusters.size());
        for (std::size_t i = 0; i < graph.nodes.size(); ++i)
            if (graph.nodes[i].kind == VisibleKind::Module)
                box_of_module_[graph.nodes[i].module.value] = static_cast<std::int32_t>(i);
    }

    Facts take(std::span<const TimelineFused> fused, const std::vector<std::uint32_t>* marked) {
        if (analysis_.step >= 0 && static_cast<std::size_t>(analysis_.step) < analysis_.steps.size())
            step_kernel_ns_ = analysis_.steps[static_cast<std::size_t>(analysis_.step)].kernel_ns;
        for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
            const VisibleNode& node = graph_.nodes[i];
            if (node.kind == VisibleKind::Module)
                module(node.module, node.repeat, facts_.boxes[i]);
            else if (node.kind == VisibleKind::Op)
                op(node.node, facts_.boxes[i]);
        }
        for (std::size_t i = 0; i < graph_.clusters.size(); ++i)
            module(graph_.clusters[i].module, graph_.clusters[i].repeat, facts_.clusters[i]);
        flags(marked);
        facts_.groups = groups(fused);
        unflag();
        emphasis();
        return std::move(facts_);
    }

    std::vector<FusedGroup> groups(std::span<const TimelineFused> fused) {
        std::map<std::tuple<bool, std::uint32_t, std::vector<std::int32_t>>, FusedGroup> found;
        for (const TimelineFused& one : fused) {
            const Instance* instance = instanceOf(analysis_, one);
            if (instance == nullptr || (one.forward_ns < 0 && one.backward_ns < 0)) continue;
            std::vector<std::int32_t> boxes = boxesOf(*instance);
            if (boxes.empty()) continue;
            FusedGroup& group = found[{one.region != nullptr, pickOfWork(one).id, boxes}];
            if (group.instances == 0) {
                static_cast<FusedOf&>(group) = one;
                group.boxes = std::move(boxes);
            }
            ++group.instances;
            group.speed = std::max(group.speed, one.speed);
            const bool seen = analysis_.trace && !workOf(analysis_, one)->time_estimated;
            const auto add = [&](double fused_ns, double unfused_ns) {
                if (fused_ns < 0) return;
                group.fused_ns += fused_ns;
                if (seen) group.unfused_ns += unfused_ns;
            };
            if (seen && one.in_step_ns >= 0) { // the same figures as the finding's, which are the step's
                group.fused_ns += one.in_step_ns;
                group.unfused_ns += instance->forward_ns + instance->backward_ns + instance->idle_ns;
                continue;
            }
            add(one.forward_ns, instance->forward_ns);
            add(one.backward_ns, instance->backward_ns);
        }
        std::vector<FusedGroup> out;
        for (auto& [key, group] : found) {
            group.fused_ns /= group.instances;
            group.unfused_ns /= group.instances;
            out.push_back(std::move(group));
        }
        // What gained most is named first where several share a box.
        std::stable_sort(out.begin(), out.end(), [](const FusedGroup& a, const FusedGroup& b) {
            return a.unfused_ns - a.fused_ns > b.unfused_ns - b.fused_ns;
        });
        return out;
    }

private:
    static constexpr std::int32_t kUnasked = -2;

    std::int32_t boxOf(NodeId node) {
        if (node.index() >= visible_.size()) return -1;
        std::int32_t& known = visible_[node.index()];
        if (known == kUnasked) known = visibleNodeOf(model_, graph_, node);
        return known < static_cast<std::int32_t>(graph_.nodes.size()) ? known : -1;
    }
    ModuleId representative(ModuleId id) const {
        const Module& module = model_.modules.at(id);
        return module.fold_group < model_.modules.folds.size() &&
                       !model_.modules.folds[module.fold_group].members.empty()
                   ? model_.modules.folds[module.fold_group].members.front()
                   : id;
    }
    // The box of a module or of the nearest module around it.
    std::int32_t boxOf(ModuleId id) const {
        while (id.valid() && id.index() < model_.modules.modules.size()) {
            for (const ModuleId candidate : {id, representative(id)}) {
                const auto found = box_of_module_.find(candidate.value);
                if (found != box_of_module_.end()) return found->second;
            }
            id = model_.modules.at(id).parent;
        }
        return -1;
    }

    void module(ModuleId id, std::uint32_t repeat, BoxFacts& facts) const {
        if (!id.valid() || id.index() >= model_.modules.modules.size()) return;
        const auto add = [&](ModuleId m) {
            if (m.index() >= analysis_.modules.size()) return;
            const ModuleStats& stats = analysis_.modules[m.index()];
            facts.time_ns += stats.forward_ns + stats.backward_ns;
            facts.share += stats.share;
            facts.flops += stats.flops;
        };
        const std::uint32_t group = model_.modules.at(id).fold_group;
        if (repeat > 1 && group < model_.modules.folds.size())
            for (const ModuleId member : model_.modules.folds[group].members) add(member);
        else
            add(id);
        facts.timed = analysis_.trace && facts.time_ns > 0;
    }

    void op(NodeId id, BoxFacts& facts) const {
        if (!analysis_.trace) return;
        const TraceStore& trace = *analysis_.trace;
        for (const KernelId kernel : analysis_.link.kernelsOf(id)) {
            if (kernel.index() >= trace.kernels.size()) continue;
            const SliceId slice = trace.kernels.slice[kernel.index()];
            if (!trace.steps.empty() && analysis_.step >= 0 && trace.slices.step[slice.index()] != analysis_.step)
                continue;
            facts.time_ns += static_cast<double>(trace.slices.dur[slice.index()]);
        }
        facts.timed = facts.time_ns > 0;
        if (step_kernel_ns_ > 0) facts.share = facts.time_ns / step_kernel_ns_;
    }

    void flag(std::int32_t box, std::uint32_t finding, std::size_t instance, bool badge) {
        BoxFacts& facts = facts_.boxes[static_cast<std::size_t>(box)];
        const auto same = [&](std::uint32_t other) {
            return analysis_.findings[other].pattern == analysis_.findings[finding].pattern;
        };
        if (std::none_of(facts.findings.begin(), facts.findings.end(), same)) facts.findings.push_back(finding);
        if (badge && std::none_of(facts.badges.begin(), facts.badges.end(), same)) {
            if (facts.badges.empty())
                facts.flag = pickOfInstance(finding, instance);
            else
                facts.flag = {PickKind::Finding, facts.badges.front()};
            facts.badges.push_back(finding);
        }
    }

    // Visible boxes that show an instance, ascending.
    std::vector<std::int32_t> boxesOf(const Instance& instance) {
        std::vector<std::int32_t> boxes;
        for (const NodeId node : instance.nodes) boxes.push_back(boxOf(node));
        if (instance.nodes.empty()) boxes.push_back(boxOf(instance.module));
        std::sort(boxes.begin(), boxes.end());
        boxes.erase(std::unique(boxes.begin(), boxes.end()), boxes.end());
        boxes.erase(boxes.begin(), std::lower_bound(boxes.begin(), boxes.end(), 0)); // hidden ones
        return boxes;
    }

    // What is fused here is no longer to be fused.
    void unflag() {
        for (const FusedGroup& group : facts_.groups)
            for (const std::int32_t box : group.boxes) {
                BoxFacts& facts = facts_.boxes[static_cast<std::size_t>(box)];
                const Finding& done = *workOf(analysis_, group);
                const auto over = [&](std::uint32_t other) { // the same, or another that wants the same operators
                    if (group.region) return false;          // of what it overlaps nothing is said
                    return analysis_.findings[other].pattern == done.pattern ||
                           std::find(done.conflicts.begin(), done.conflicts.end(), analysis_.findings[other].id) !=
                               done.conflicts.end();
                };
                std::erase_if(facts.findings, over);
                std::erase_if(facts.badges, over);
                if (facts.badges.size() == 1) facts.flag = {PickKind::Finding, facts.badges.front()};
                if (!facts.fused) facts.fused = group.speed; // of the one that a shared label names
            }
        for (BoxFacts& facts : facts_.boxes)
            if (!facts.findings.empty()) facts.fused.reset();
    }

    void flags(const std::vector<std::uint32_t>* marked) {
        for (const std::uint32_t f : markedFindings(analysis_, selection_, marked)) {
            const Finding& finding = analysis_.findings[f];
            for (std::size_t i = 0; i < finding.instances.size(); ++i) {
                bool first = true;
                for (const std::int32_t box : boxesOf(finding.instances[i])) {
                    flag(box, f, i, first);
                    first = false;
                }
            }
        }
    }

    void emphasis() {
        if (selection_.pick.kind == PickKind::None || (selection_.nodes.empty() && selection_.modules.empty())) return;
        std::vector<bool> chosen(graph_.nodes.size());
        const auto choose = [&](std::int32_t box) {
            if (box >= 0) chosen[static_cast<std::size_t>(box)] = true;
        };
        for (const NodeId node : selection_.nodes) choose(boxOf(node));
        // Modules alone (a trace without graph nodes) light their boxes; beside nodes they would light everything
        // around them.
        if (selection_.nodes.empty())
            for (const ModuleId id : selection_.modules) choose(boxOf(id));
        bool any = false;
        for (const bool b : chosen) any = any || b;
        if (!any) return;
        for (std::size_t i = 0; i < chosen.size(); ++i)
            facts_.boxes[i].emphasis = chosen[i] ? Emphasis::Selected : Emphasis::Dimmed;
    }

    const Analysis& analysis_;
    const ModelGraph& model_;
    const VisibleGraph& graph_;
    const SelectionSets& selection_;
    std::vector<std::int32_t> visible_; // box per node, asked once
    std::unordered_map<std::uint32_t, std::int32_t> box_of_module_;
    double step_kernel_ns_ = 0;
    Facts facts_;
};

} // namespace

Facts graphFacts(const Analysis& analysis, const VisibleGraph& graph, const SelectionSets& selection,
                 std::span<const TimelineFused> fused, const std::vector<std::uint32_t>* marked) {
    return Collector(analysis, graph, selection).take(fused, marked);
}

std::string measuredText(const BoxFacts& facts, std::uint32_t repeat, bool layers) {
    if (!facts.timed && !(facts.flops > 0)) return {};
    std::string text = facts.timed ? formatDuration(facts.time_ns) : formatFlops(facts.flops);
    // What stands inside is of one of them.
    if (repeat > 1) text += fmt::format(" in {} {}", repeat, layers ? "layers" : "copies");
    if (facts.timed && facts.share > 0) text += " · " + shareText(facts.share);
    return text;
}

} // namespace fusescope::graphdraw

namespace fusescope {

std::vector<FusedGroup> fusedGroups(const Analysis& analysis, const VisibleGraph& graph,
                                    std::span<const TimelineFused> fused) {
    if (!analysis.graph) return {};
    const SelectionSets nothing;
    return graphdraw::Collector(analysis, graph, nothing).groups(fused);
}

} // namespace fusescope
