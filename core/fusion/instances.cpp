// SPDX-License-Identifier: Apache-2.0
// A trace says what ran, so its matches come first. A graph match joins one of them by the kernels linked to its nodes,
// else by module, else by order when both sides count alike. A graph match that ran (its nodes have kernels) stands
// alone; one without kernels stands only if the trace shows no pattern at all.
#include "core/fusion/instances.h"

#include <algorithm>
#include <deque>
#include <map>

namespace fusescope::fusion {
namespace {

// Innermost module around all of them; invalid if none is known.
class Modules {
public:
    explicit Modules(const ModuleTree& tree) : tree_(tree) {}
    [[nodiscard]] ModuleId common(ModuleId a, ModuleId b) const {
        if (!a.valid()) return b;
        if (!b.valid()) return a;
        for (int guard = 0; a.valid() && !tree_.contains(a, b) && guard < 1024; ++guard) a = tree_.at(a).parent;
        return a;
    }

private:
    const ModuleTree& tree_;
};

ModuleId moduleOfNodes(const ModelGraph& graph, const std::vector<NodeId>& nodes) {
    const Modules modules(graph.modules);
    ModuleId all;
    for (const NodeId node : nodes) all = modules.common(all, graph.ops.at(node).module);
    return all;
}

ModuleId moduleOfKernels(const Link& link, const std::vector<KernelId>& kernels) {
    const Modules modules(link.modules);
    ModuleId all;
    for (const KernelId k : kernels)
        if (const ModuleId m = link.kernels[k.index()].module; m.valid() && m.index() < link.modules.modules.size())
            all = modules.common(all, m);
    return all;
}

void sortKernels(std::vector<KernelId>& kernels) {
    std::sort(kernels.begin(), kernels.end());
    kernels.erase(std::unique(kernels.begin(), kernels.end()), kernels.end());
}

Draft draftOf(const Match& match) {
    Draft draft;
    draft.instance.pattern = match.pattern;
    draft.instance.state = match.state;
    draft.instance.note = match.note;
    draft.instance.nodes = match.nodes;
    draft.instance.forward = match.kernels;
    sortKernels(draft.instance.forward);
    draft.rows = match.ops;
    draft.shape = match.shape;
    return draft;
}

bool isRecomputed(const StepOps& trace, const Match& match) {
    return !match.ops.empty() && trace.ops[match.ops.front()].recomputed;
}

// The forward kernels of the step that are linked to a match's nodes.
std::vector<KernelId> kernelsOfNodes(const FusionInput& input, const StepOps& trace, const std::vector<NodeId>& nodes) {
    std::vector<KernelId> out;
    if (input.link->node_start.empty()) return out;
    for (const NodeId node : nodes) {
        if (node.index() + 1 >= input.link->node_start.size()) continue;
        for (const KernelId k : input.link->kernelsOf(node)) {
            const WorkLink& work = input.link->kernels[k.index()];
            if (work.direction == Direction::Forward && trace.inStep(input.trace->kernels.slice[k.index()]))
                out.push_back(k);
        }
    }
    sortKernels(out);
    return out;
}

struct GraphSide {
    const Match* match = nullptr;
    std::vector<KernelId> kernels;
    ModuleId module; // of the graph's tree
    bool used = false;
};

void joinNodes(Draft& draft, GraphSide& side) {
    side.used = true;
    draft.instance.nodes = side.match->nodes;
    draft.instance.from_graph = true;
    if (!draft.shape.known()) draft.shape = side.match->shape; // shapes not recorded in the trace
}

// Pairs by votes of kernels, then by module, then by order.
void pairWithGraph(const Link& link, std::vector<Draft>& drafts, std::vector<GraphSide>& graph) {
    std::map<std::pair<Pattern, std::uint32_t>, std::size_t> by_kernel;
    for (std::size_t g = 0; g < graph.size(); ++g)
        for (const KernelId k : graph[g].kernels) by_kernel.emplace(std::pair(graph[g].match->pattern, k.value), g);
    for (Draft& draft : drafts) {
        std::map<std::size_t, std::size_t> votes;
        for (const KernelId k : draft.instance.forward) {
            const auto found = by_kernel.find({draft.instance.pattern, k.value});
            if (found != by_kernel.end()) ++votes[found->second];
        }
        const auto best = std::max_element(votes.begin(), votes.end(),
                                           [](const auto& a, const auto& b) { return a.second < b.second; });
        if (best != votes.end()) joinNodes(draft, graph[best->first]);
    }
    if (link.modules_from_graph) {
        std::map<std::pair<Pattern, std::uint32_t>, std::deque<GraphSide*>> waiting;
        for (GraphSide& side : graph)
            if (!side.used) waiting[{side.match->pattern, side.module.value}].push_back(&side);
        for (Draft& draft : drafts) {
            if (draft.instance.from_graph || !draft.instance.module.valid()) continue;
            const auto same = waiting.find({draft.instance.pattern, draft.instance.module.value});
            if (same == waiting.end() || same->second.empty()) continue;
            joinNodes(draft, *same->second.front());
            same->second.pop_front();
        }
    }
    for (std::size_t p = 0; p < kPatternCount; ++p) {
        std::vector<Draft*> left;
        std::vector<GraphSide*> right;
        for (Draft& draft : drafts)
            if (!draft.instance.from_graph && draft.instance.pattern == static_cast<Pattern>(p)) left.push_back(&draft);
        for (GraphSide& side : graph)
            if (!side.used && side.match->pattern == static_cast<Pattern>(p)) right.push_back(&side);
        if (left.size() == right.size())
            for (std::size_t i = 0; i < left.size(); ++i) joinNodes(*left[i], *right[i]);
    }
}

// A forward run again by checkpointing belongs to the instance it repeats.
void foldRecomputed(const StepOps& trace, const std::vector<Match>& matches, std::vector<Draft>& drafts) {
    std::map<std::pair<Pattern, std::uint32_t>, std::vector<Draft*>> originals;
    std::map<std::pair<Pattern, std::uint32_t>, std::size_t> next;
    for (std::size_t i = 0; i < matches.size(); ++i)
        if (!isRecomputed(trace, matches[i]))
            originals[{matches[i].pattern, drafts[i].instance.module.value}].push_back(&drafts[i]);
    std::vector<bool> folded(matches.size(), false);
    for (std::size_t i = 0; i < matches.size(); ++i) {
        if (!isRecomputed(trace, matches[i])) continue;
        const std::pair key(matches[i].pattern, drafts[i].instance.module.value);
        const auto found = originals.find(key);
        if (found == originals.end()) continue;
        Draft& original = *found->second[next[key]++ % found->second.size()];
        original.rows.insert(original.rows.end(), drafts[i].rows.begin(), drafts[i].rows.end());
        original.instance.backward.insert(original.instance.backward.end(), drafts[i].instance.forward.begin(),
                                          drafts[i].instance.forward.end());
        original.recomputed += 1;
        if (original.instance.note.empty())
            original.instance.note = "computed again in the backward pass (checkpointing)";
        folded[i] = true;
    }
    std::vector<Draft> kept;
    for (std::size_t i = 0; i < drafts.size(); ++i)
        if (!folded[i]) kept.push_back(std::move(drafts[i]));
    drafts = std::move(kept);
}

// Nodes behind the kernels of an instance that the graph matcher did not see (the loss outside the exported model).
void nodesFromKernels(const Link& link, Instance& instance) {
    for (const KernelId k : instance.forward)
        if (const NodeId node = link.kernels[k.index()].node; node.valid()) instance.nodes.push_back(node);
    sortNodes(instance.nodes);
}

} // namespace

std::vector<Draft> joinMatches(const FusionInput& input, const GraphFlow* graph, const Matches* in_graph,
                               const StepOps* trace, const Matches* in_trace) {
    std::vector<Draft> drafts;
    if (trace != nullptr && in_trace != nullptr) {
        for (const Match& match : in_trace->found) {
            drafts.push_back(draftOf(match));
            drafts.back().instance.from_trace = true;
            drafts.back().instance.module = moduleOfKernels(*input.link, drafts.back().instance.forward);
        }
        foldRecomputed(*trace, in_trace->found, drafts);
    }
    if (graph != nullptr && in_graph != nullptr) {
        std::vector<GraphSide> sides;
        for (const Match& match : in_graph->found) {
            GraphSide side;
            side.match = &match;
            side.module = moduleOfNodes(graph->model(), match.nodes);
            if (trace != nullptr) side.kernels = kernelsOfNodes(input, *trace, match.nodes);
            sides.push_back(std::move(side));
        }
        if (trace != nullptr) pairWithGraph(*input.link, drafts, sides);
        const bool ran = !drafts.empty(); // something was recognised, so what was not ran in another form (compiled)
        for (const GraphSide& side : sides) {
            if (side.used) continue;
            if (side.kernels.empty() && ran) continue;
            Draft draft = draftOf(*side.match);
            draft.instance.from_graph = true;
            draft.instance.forward = side.kernels;
            draft.instance.module = side.module;
            if (trace != nullptr && !input.link->modules_from_graph)
                draft.instance.module = moduleOfKernels(*input.link, side.kernels);
            for (const KernelId k : side.kernels) {
                const CpuOpId op = input.link->kernels[k.index()].op;
                const std::uint32_t row =
                    op.valid() ? trace->rowOf(input.trace->cpu_ops.slice[op.index()]) : StepOps::kNone;
                if (row != StepOps::kNone && (draft.rows.empty() || draft.rows.back() != row))
                    draft.rows.push_back(row);
            }
            drafts.push_back(std::move(draft));
        }
        if (trace != nullptr)
            for (Draft& draft : drafts)
                if (!draft.instance.from_graph) nodesFromKernels(*input.link, draft.instance);
    }
    // In the order of the step, whichever matcher found them.
    std::stable_sort(drafts.begin(), drafts.end(), [](const Draft& a, const Draft& b) {
        const Instance &x = a.instance, &y = b.instance;
        if (x.forward.empty() || y.forward.empty()) {
            if (x.forward.empty() != y.forward.empty()) return y.forward.empty();
            return !x.nodes.empty() && !y.nodes.empty() && x.nodes.front() < y.nodes.front();
        }
        return x.forward.front() < y.forward.front();
    });
    for (Draft& draft : drafts) {
        std::sort(draft.rows.begin(), draft.rows.end());
        draft.rows.erase(std::unique(draft.rows.begin(), draft.rows.end()), draft.rows.end());
    }
    return drafts;
}

} // namespace fusescope::fusion
