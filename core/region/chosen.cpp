// SPDX-License-Identifier: Apache-2.0
#include "core/region/chosen.h"

#include "core/graph/module_path.h"
#include "core/region/assemble.h"
#include "core/region/build.h"
#include "core/region/chosen_instance.h"
#include "core/region/closed_nodes.h"
#include "core/region/least.h"

#include <algorithm>
#include <map>
#include <utility>

namespace fusescope {
namespace region {
namespace {

using fusion::GraphFlow;

constexpr std::size_t kMostNames = 3;

std::string listed(const std::vector<std::string>& names) {
    std::string text;
    for (std::size_t i = 0; i < std::min(names.size(), kMostNames); ++i) text += (i == 0 ? "" : ", ") + names[i];
    if (names.size() > kMostNames) text += " and " + std::to_string(names.size() - kMostNames) + " more";
    return text;
}

std::vector<std::string> namesOf(const ModelGraph& model, std::span<const NodeId> nodes) {
    std::vector<std::string> names;
    for (const NodeId node : nodes) names.emplace_back(model.ops.name(node));
    return names;
}

void addSentence(std::string& text, std::string more) { text += (text.empty() ? "" : ". ") + std::move(more); }

// FNV-1a: stays the same from run to run, as a session file needs.
std::uint32_t fnv(std::string_view text, std::uint32_t from = 2166136261U) noexcept {
    for (const char c : text) from = (from ^ static_cast<unsigned char>(c)) * 16777619U;
    return from;
}

std::string idOfNodes(const std::vector<std::string>& names) {
    std::uint32_t hash = fnv("");
    for (const std::string& name : names) hash = fnv("\n", fnv(name, hash));
    constexpr const char* kHex = "0123456789abcdef";
    std::string id = "nodes.";
    for (int shift = 28; shift >= 0; shift -= 4) id += kHex[(hash >> static_cast<unsigned>(shift)) & 15U];
    return id;
}

// Whether the plan has an instance of one of these findings among the nodes.
bool fusesInside(const Analysis& analysis, const std::vector<NodeId>& nodes, const std::vector<std::string>& fusions) {
    for (const PlanPart& part : analysis.plan.parts) {
        if (std::find(fusions.begin(), fusions.end(), part.finding) == fusions.end()) continue;
        for (const Finding& finding : analysis.findings)
            if (finding.id == part.finding)
                for (const std::uint32_t i : part.instances)
                    if (const auto& own = finding.instances[i].nodes;
                        !own.empty() && std::includes(nodes.begin(), nodes.end(), own.begin(), own.end()))
                        return true;
    }
    return false;
}

// The plan counts each run; the first speaks for all of them.
void promise(const Analysis& analysis, const ChosenRegion& chosen, const Runs& runs, Instance& instance) {
    const bool first = analysis.trace == nullptr || !instance.forward.empty() || !instance.backward.empty();
    addPlanSavings(analysis, first && runs.other_sizes.empty() ? chosen.fusions : std::vector<std::string>{}, instance);
}

// fusions: swapped in where the nodes have no form of their own.
Result<ChosenWork> ofNodes(const Analysis& analysis, const GraphFlow& graph, const std::vector<NodeId>& nodes,
                           const std::vector<std::string>& fusions, std::string note) {
    const ModelGraph& model = *analysis.graph;
    Result<Region> region = regionOfNodes(model, nodes);
    if (!region) return std::move(region).error();
    bool swaps = false;
    if (region->fused.steps.empty() && fusesInside(analysis, nodes, fusions)) {
        Result<Region> with = regionOfNodes(analysis, nodes, fusions);
        swaps = with && !with->fused.steps.empty();
        if (swaps) region = std::move(with);
    }
    const Result<Subgraph> part = subgraphOf(graph, nodes, false);
    if (!part) return part.error();
    ChosenWork made;
    ChosenRegion& chosen = made.chosen;
    const ModuleId module = moduleAround(model, part->nodes);
    chosen.module = model.modules.at(module).path;
    chosen.nodes = namesOf(model, part->nodes);
    chosen.id = idOfNodes(chosen.nodes);
    const std::vector<NodeId> computing = computingNodes(graph, part->nodes);
    chosen.title = listed(namesOf(model, computing.empty() ? part->nodes : computing));
    if (!chosen.module.empty()) chosen.title += " of " + chosen.module;
    chosen.note = std::move(note);
    chosen.has_form = !region->fused.steps.empty();
    chosen.reason = region->reason;
    region->backward = region->backward && stepTrains(analysis);
    chosen.backward = region->backward;
    const OpCost least = leastCost(graph, *part);
    OpCost least_backward;
    if (swaps) {
        chosen.fusions = fusions;
    } else {
        if (chosen.has_form && chosen.backward) least_backward = leastBackwardCost(graph, Fills(graph), *part);
        chosen.limit_ns = limitNs(least, analysis.device);
        chosen.limit_backward_ns = limitNs(least_backward, analysis.device);
    }
    OpCost both = least;
    both.bytes_read += least_backward.bytes_read;
    both.bytes_written += least_backward.bytes_written;
    Finding& work = chosen.work;
    work.id = chosen.id;
    const Runs runs = runsOf(analysis, part->nodes);
    chosen.other_sizes = runs.other_sizes;
    for (const std::vector<NodeId>& one : repeatsOf(model, part->nodes)) {
        Instance all = instanceOf(analysis, one, moduleAround(model, one));
        // A graph is one pass of the model: what did not run in this step is no instance of it.
        if (analysis.trace != nullptr && all.forward.empty() && all.backward.empty() && !work.instances.empty())
            continue;
        for (Instance& instance : asRun(std::move(all), runs)) {
            instance.fused = both;
            instance.fused_backward = least_backward;
            const auto above = [](double ns, double limit) { return limit > 0 ? std::max(0.0, ns - limit) : 0; };
            const double saved =
                above(instance.forward_ns, chosen.limit_ns) + above(instance.backward_ns, chosen.limit_backward_ns);
            instance.saving_ns = {saved, saved, saved};
            promise(analysis, chosen, runs, instance);
            work.instances.push_back(std::move(instance));
        }
    }
    sumUp(analysis, work);
    for (const NodeId node : computing)
        if (std::string line = model.ops.sourceLine(node);
            !line.empty() && std::find(work.source.begin(), work.source.end(), line) == work.source.end())
            work.source.push_back(std::move(line));
    made.region = std::move(*region);
    made.region.id = chosen.id;
    made.region.title = chosen.title.substr(0, kMaxRegionName);
    if (swaps) return made; // several kernels: how fast they move its bytes says nothing
    made.region.fused_bytes = least.bytes();
    made.region.fused_flops = least.tensor_flops;
    made.region.fused_backward_bytes = least_backward.bytes();
    return made;
}

std::vector<NodeId> nodesOfModule(const ModelGraph& model, ModuleId module) {
    std::vector<NodeId> nodes;
    for (std::size_t n = 0; n < model.ops.nodes.size(); ++n)
        if (model.modules.contains(module, model.ops.nodes[n].module)) nodes.emplace_back(n);
    return nodes;
}

// "layer 0", "the whole model", "mlp".
std::string titleOfModule(const std::string& path) {
    if (path.empty()) return "The whole model";
    const std::string_view name = lastComponent(path);
    return layerNumber(name) >= 0 ? "Layer " + std::string(name) : path;
}

Result<ChosenWork> ofModule(const Analysis& analysis, ModuleId module, std::vector<std::string> fusions) {
    const ModelGraph& model = *analysis.graph;
    Result<Region> region = regionOfModule(analysis, model.modules.at(module).path, fusions);
    if (!region) return std::move(region).error();
    ChosenWork made;
    ChosenRegion& chosen = made.chosen;
    chosen.module = model.modules.at(module).path;
    chosen.id = chosen.module.empty() ? "module" : "module." + chosen.module;
    chosen.title = titleOfModule(chosen.module);
    chosen.fusions = std::move(fusions);
    chosen.has_form = !region->fused.steps.empty();
    chosen.reason = region->reason;
    chosen.backward = region->backward;
    Finding& work = chosen.work;
    work.id = chosen.id;
    std::vector<ModuleId> members{module};
    if (const std::uint32_t group = model.modules.at(module).fold_group; group < model.modules.folds.size()) {
        for (const ModuleId other : model.modules.folds[group].members)
            if (other != module) members.push_back(other);
    }
    const Runs runs = runsOf(analysis, nodesOfModule(model, module));
    chosen.other_sizes = runs.other_sizes;
    for (const ModuleId member : members) {
        Instance instance = instanceOf(analysis, nodesOfModule(model, member), member);
        if (analysis.trace != nullptr && analysis.link.modules_from_graph) { // also those without a node
            std::vector<KernelId> known = instance.forward;
            known.insert(known.end(), instance.backward.begin(), instance.backward.end());
            std::sort(known.begin(), known.end());
            for (std::size_t k = 0; k < analysis.link.kernels.size(); ++k)
                if (const KernelId kernel(k); inStep(analysis, kernel) && analysis.link.kernels[k].module.valid() &&
                                              analysis.link.modules.contains(member, analysis.link.kernels[k].module) &&
                                              !std::binary_search(known.begin(), known.end(), kernel))
                    addKernel(analysis, kernel, instance);
            std::sort(instance.forward.begin(), instance.forward.end());
            std::sort(instance.backward.begin(), instance.backward.end());
        }
        for (Instance& run : asRun(std::move(instance), runs)) {
            promise(analysis, chosen, runs, run);
            work.instances.push_back(std::move(run));
        }
    }
    sumUp(analysis, work);
    made.region = std::move(*region);
    return made;
}

// The finding that has these computing nodes and no others.
std::optional<std::uint32_t> findingOf(const Analysis& analysis, const GraphFlow& graph,
                                       const std::vector<NodeId>& computing) {
    if (computing.empty()) return std::nullopt;
    for (std::size_t row = 0; row < analysis.findings.size(); ++row) {
        if (analysis.findings[row].verdict == Verdict::AlreadyFused) continue;
        for (const Instance& instance : analysis.findings[row].instances)
            if (instance.from_graph && computingNodes(graph, instance.nodes) == computing)
                return static_cast<std::uint32_t>(row);
    }
    return std::nullopt;
}

// With the views of the plan's instances that lie inside: kernels and clicks tell of nodes that compute.
std::vector<NodeId> withViews(const Analysis& analysis, const GraphFlow& graph, std::vector<NodeId> nodes) {
    const std::vector<NodeId> own = nodes;
    for (const PlanPart& part : analysis.plan.parts)
        for (const Finding& finding : analysis.findings)
            if (finding.id == part.finding)
                for (const std::uint32_t i : part.instances) {
                    const std::vector<NodeId>& theirs = finding.instances[i].nodes;
                    const std::vector<NodeId> computing = computingNodes(graph, theirs);
                    if (!computing.empty() && std::includes(own.begin(), own.end(), computing.begin(), computing.end()))
                        nodes.insert(nodes.end(), theirs.begin(), theirs.end());
                }
    fusion::sortNodes(nodes);
    return nodes;
}

// The nodes behind kernels, and a sentence on those that have none.
Result<std::vector<NodeId>> nodesOfKernels(const Analysis& analysis, const std::vector<KernelId>& kernels,
                                           std::string& note) {
    std::vector<NodeId> nodes;
    std::vector<std::string> left_out;
    std::size_t out = 0, backward = 0;
    for (const KernelId kernel : kernels) {
        if (kernel.index() >= analysis.link.kernels.size()) continue;
        const WorkLink& work = analysis.link.kernels[kernel.index()];
        if (!work.node.valid()) {
            ++out;
            std::string name(analysis.trace->nameOf(analysis.trace->kernels.slice[kernel.index()]));
            constexpr std::size_t kShort = 40;
            if (name.size() > kShort) name = name.substr(0, kShort) + "...";
            if (std::find(left_out.begin(), left_out.end(), name) == left_out.end())
                left_out.push_back(std::move(name));
            continue;
        }
        backward += work.direction == Direction::Backward ? 1 : 0;
        nodes.push_back(work.node);
    }
    fusion::sortNodes(nodes);
    if (nodes.empty())
        return Error{ErrorCode::NotFound, "kernels that are linked to nodes of the graph",
                     kernels.empty() ? std::string("no kernel there")
                                     : std::to_string(out) + " that are not: " + listed(left_out),
                     "region"};
    if (backward > 0)
        addSentence(note, std::to_string(backward) + (backward == 1 ? " kernel" : " kernels") +
                              " of the backward pass: taken are the nodes whose backward they are");
    if (out > 0)
        addSentence(note, "Left out, because no node of the graph launched " + std::string(out == 1 ? "it" : "them") +
                              ": " + listed(left_out));
    return nodes;
}

const Error kNoGraph{ErrorCode::Unsupported, "a model graph (.pt2), whose nodes a region is made of", "a trace alone",
                     "region"};

} // namespace
} // namespace region

using namespace region;

Result<ChosenWork> workOfWish(const Analysis& analysis, const RegionWish& wish) {
    if (analysis.graph == nullptr) return kNoGraph;
    const ModelGraph& model = *analysis.graph;
    const fusion::GraphFlow graph(model);
    std::string note;
    std::vector<NodeId> nodes = wish.nodes;
    ModuleId module;
    if (wish.module.valid()) {
        const std::string& path = analysis.link.modules.at(wish.module).path;
        module = model.modules.find(path);
        if (!module.valid()) return Error{ErrorCode::NotFound, "a module of the graph", "'" + path + "'", "region"};
        nodes = nodesOfModule(model, module);
    } else if (!wish.kernels.empty()) {
        Result<std::vector<NodeId>> behind = nodesOfKernels(analysis, wish.kernels, note);
        if (!behind) return std::move(behind).error();
        nodes = std::move(*behind);
    }
    ChosenWork exact;
    exact.finding = findingOf(analysis, graph, computingNodes(graph, nodes));
    if (exact.finding) return exact;
    if (module.valid() && fusesInside(analysis, nodes, analysis.plan.findings))
        return ofModule(analysis, module, analysis.plan.findings);
    const Result<ClosedNodes> closed = closedNodes(graph, nodes);
    if (!closed) return closed.error();
    if (!closed->added.empty()) {
        exact.finding = findingOf(analysis, graph, computingNodes(graph, closed->nodes));
        if (exact.finding) return exact;
        addSentence(note, "Added, because they lie between: " + listed(namesOf(model, closed->added)));
    }
    return ofNodes(analysis, graph, withViews(analysis, graph, closed->nodes), analysis.plan.findings, std::move(note));
}

Result<ChosenWork> workOfChosen(const Analysis& analysis, const ChosenRegion& chosen) {
    if (analysis.graph == nullptr) return kNoGraph;
    const ModelGraph& model = *analysis.graph;
    if (chosen.wholeModule()) {
        const ModuleId module = model.modules.find(chosen.module);
        if (!module.valid())
            return Error{ErrorCode::NotFound, "a module of the graph", "'" + chosen.module + "'", "region"};
        return ofModule(analysis, module, chosen.fusions);
    }
    const Result<std::vector<NodeId>> nodes = nodesByName(model, chosen.nodes);
    if (!nodes) return nodes.error();
    return ofNodes(analysis, fusion::GraphFlow(model), *nodes, chosen.fusions, chosen.note);
}

Result<std::vector<NodeId>> nodesByName(const ModelGraph& model, std::span<const std::string> names) {
    std::map<std::string_view, NodeId> by_name;
    for (std::size_t n = 0; n < model.ops.nodes.size(); ++n) by_name.emplace(model.ops.name(NodeId(n)), NodeId(n));
    std::vector<NodeId> nodes;
    for (const std::string& name : names) {
        const auto at = by_name.find(name);
        if (at == by_name.end())
            return Error{ErrorCode::NotFound, "a node of the graph", "'" + name.substr(0, 200) + "'", "region"};
        nodes.push_back(at->second);
    }
    return nodes;
}

std::uint32_t numberOf(const std::string& region_id) noexcept { return fnv(region_id); }

} // namespace fusescope
