// SPDX-License-Identifier: Apache-2.0
// A module with its fusions swapped in: the nodes of each chosen instance become one unit that stands where they stood.
#include "core/region/assemble.h"
#include "core/region/build.h"
#include "core/region/forms.h"

#include "core/graph/module_path.h"

#include <algorithm>
#include <queue>

namespace fusescope {
namespace region {
namespace {

using fusion::GraphFlow;

struct Group { // nodes that become one form
    Subgraph part;
    Form form;
};

// "model.layers.0" of a graph that calls it "model.model.layers.0" too, where only one module ends so.
ModuleId moduleAt(const ModuleTree& tree, std::string_view path) {
    if (const ModuleId exact = tree.find(path); exact.valid()) return exact;
    const std::string end = "." + std::string(path);
    ModuleId found;
    for (std::size_t m = 0; m < tree.modules.size(); ++m) {
        const std::string& other = tree.modules[m].path;
        if (other.size() <= end.size() || other.compare(other.size() - end.size(), end.size(), end) != 0) continue;
        if (found.valid()) return {};
        found = ModuleId(m);
    }
    return found;
}

// The instances inside the nodes, the plan's choice first, then what does not overlap it.
std::vector<const Instance*> chosenInstances(const Analysis& analysis, const Subgraph& whole,
                                             std::span<const std::string> ids) {
    std::vector<Finding> inside;
    std::vector<std::vector<const Instance*>> origins;
    for (const Finding& finding : analysis.findings) {
        if (std::find(ids.begin(), ids.end(), finding.id) == ids.end()) continue;
        Finding part;
        part.id = finding.id;
        part.pattern = finding.pattern;
        part.verdict = finding.verdict;
        auto& from = origins.emplace_back();
        for (const Instance& instance : finding.instances) {
            const bool all =
                instance.from_graph && !instance.nodes.empty() &&
                std::all_of(instance.nodes.begin(), instance.nodes.end(), [&](NodeId node) { return whole.has(node); });
            // A graph is one step of the model; in micro-batches its nodes are the same again.
            const bool again = all && std::any_of(from.begin(), from.end(), [&](const Instance* other) {
                                   return other->nodes == instance.nodes;
                               });
            if (!all || again) continue;
            part.instances.push_back(instance);
            from.push_back(&instance);
        }
        inside.push_back(std::move(part));
    }
    std::vector<const Instance*> chosen;
    std::vector<NodeId> taken;
    const auto take = [&](const Instance* instance) {
        for (const NodeId node : instance->nodes)
            if (std::find(taken.begin(), taken.end(), node) != taken.end()) return;
        taken.insert(taken.end(), instance->nodes.begin(), instance->nodes.end());
        chosen.push_back(instance);
    };
    const Plan plan = makePlan(inside, analysis.stepNs());
    for (const PlanPart& part : plan.parts)
        for (std::size_t f = 0; f < inside.size(); ++f)
            if (inside[f].id == part.finding)
                for (const std::uint32_t i : part.instances) take(origins[f][i]);
    std::vector<const Instance*> rest;
    for (const auto& from : origins) rest.insert(rest.end(), from.begin(), from.end());
    std::stable_sort(rest.begin(), rest.end(), [](const Instance* a, const Instance* b) {
        if (a->saving_ns.expected != b->saving_ns.expected) return a->saving_ns.expected > b->saving_ns.expected;
        return a->nodes.size() > b->nodes.size();
    });
    for (const Instance* instance : rest) take(instance);
    return chosen;
}

// The units (single nodes and groups) in an order that has each value made before it is used; empty: there is none.
std::vector<std::size_t> orderOf(const GraphFlow& graph, const std::vector<NodeId>& nodes,
                                 const std::vector<std::size_t>& unit_of, std::size_t units) {
    std::vector<std::vector<std::size_t>> next(units);
    std::vector<std::size_t> waits(units, 0), first(units, nodes.size());
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        const std::size_t unit = unit_of[nodes[i].index()];
        first[unit] = std::min(first[unit], i);
        for (const GraphArg& arg : graph.ops().argsOf(nodes[i]))
            for (const ValueId value : graph.ops().valuesOf(arg)) {
                const NodeId maker = graph.producer(value);
                if (!maker.valid() || unit_of[maker.index()] >= units || unit_of[maker.index()] == unit) continue;
                next[unit_of[maker.index()]].push_back(unit);
                ++waits[unit];
            }
    }
    using Entry = std::pair<std::size_t, std::size_t>; // first node, unit
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
    for (std::size_t u = 0; u < units; ++u)
        if (waits[u] == 0 && first[u] < nodes.size()) ready.emplace(first[u], u);
    std::vector<std::size_t> order;
    while (!ready.empty()) {
        const std::size_t unit = ready.top().second;
        ready.pop();
        order.push_back(unit);
        for (const std::size_t after : next[unit])
            if (--waits[after] == 0) ready.emplace(first[after], after);
    }
    const auto used = static_cast<std::size_t>(
        std::count_if(first.begin(), first.end(), [&](std::size_t f) { return f < nodes.size(); }));
    return order.size() == used ? order : std::vector<std::size_t>{};
}

// Forms whose results nobody uses are left out, from the last to the first.
void dropUnused(std::vector<Form>& forms, std::span<const ValueId> outputs) {
    std::vector<std::uint32_t> wanted;
    for (const ValueId value : outputs) wanted.push_back(value.value);
    std::sort(wanted.begin(), wanted.end());
    std::vector<Form> kept;
    for (std::size_t i = forms.size(); i-- > 0;) {
        const bool used = std::any_of(forms[i].makes.begin(), forms[i].makes.end(), [&](const auto& made) {
            return std::binary_search(wanted.begin(), wanted.end(), made.first.value);
        });
        if (!used) continue;
        const auto want = [&](const RegionRef& ref) {
            if (ref.step < 0) wanted.insert(std::upper_bound(wanted.begin(), wanted.end(), ref.index), ref.index);
        };
        for (const RegionStep& step : forms[i].steps)
            for (const RegionArg& arg : step.args) {
                if (const auto* ref = std::get_if<RegionRef>(&arg.value)) want(*ref);
                if (const auto* refs = std::get_if<RegionRefs>(&arg.value))
                    for (const auto& item : *refs)
                        if (const auto* one = std::get_if<RegionRef>(&item)) want(*one);
            }
        kept.push_back(std::move(forms[i]));
    }
    std::reverse(kept.begin(), kept.end());
    forms = std::move(kept);
}

// The fused program's forms; empty when no group could be placed.
Result<std::vector<Form>> withGroups(const GraphFlow& graph, const Subgraph& whole, std::vector<Group> groups) {
    while (!groups.empty()) {
        constexpr auto kNone = static_cast<std::size_t>(-1);
        std::vector<std::size_t> unit_of(graph.size(), kNone);
        for (std::size_t g = 0; g < groups.size(); ++g)
            for (const NodeId node : groups[g].part.nodes) unit_of[node.index()] = g;
        std::vector<NodeId> singles;
        for (const NodeId node : whole.nodes)
            if (unit_of[node.index()] == kNone) {
                unit_of[node.index()] = groups.size() + singles.size();
                singles.push_back(node);
            }
        const auto order = orderOf(graph, whole.nodes, unit_of, groups.size() + singles.size());
        if (order.empty()) { // two groups each of which needs the other
            groups.pop_back();
            continue;
        }
        std::vector<Form> forms;
        for (const std::size_t unit : order) {
            if (unit < groups.size()) {
                forms.push_back(groups[unit].form);
                continue;
            }
            Result<Form> form = formOfNode(graph.ops(), singles[unit - groups.size()]);
            if (!form) return std::move(form).error();
            forms.push_back(std::move(*form));
        }
        dropUnused(forms, whole.outputs);
        return forms;
    }
    return std::vector<Form>{};
}

// The nodes as they are and with the findings' instances replaced; what could not be placed is its reason.
Result<Region> regionWith(const Analysis& analysis, std::span<const NodeId> nodes,
                          std::span<const std::string> findings) {
    const ModelGraph& model = *analysis.graph;
    const GraphFlow graph(model);
    const Fills fills(graph);
    const Result<Subgraph> whole = subgraphOf(graph, nodes, true);
    if (!whole) return whole.error();

    std::vector<Group> groups;
    std::vector<std::string> refused;
    std::vector<bool> taken(graph.size(), false);
    for (const Instance* instance : chosenInstances(analysis, *whole, findings)) {
        Result<Subgraph> part = patternPart(graph, *instance);
        std::string why = part ? "" : part.error().message();
        Group group;
        if (part) {
            group.form = fusedForm(instance->pattern, graph, fills, *part);
            why = group.form.reason;
            const bool free = std::all_of(part->nodes.begin(), part->nodes.end(),
                                          [&](NodeId node) { return !taken[node.index()] && whole->has(node); });
            if (why.empty() && !free) why = "its views belong to another fusion";
            group.part = std::move(*part);
        }
        if (!why.empty()) {
            why.insert(0, std::string(idOf(instance->pattern)) + ": ");
            if (std::find(refused.begin(), refused.end(), why) == refused.end()) refused.push_back(std::move(why));
            continue;
        }
        for (const NodeId node : group.part.nodes) taken[node.index()] = true;
        groups.push_back(std::move(group));
    }
    const bool any = !groups.empty();
    const Result<std::vector<Form>> fused = withGroups(graph, *whole, std::move(groups));
    if (!fused) return fused.error();
    Result<Region> region = assemble(graph, fills, *whole, *fused);
    if (!region) return region;
    region->numerics = any ? "as each fusion's" : "";
    if (!any && region->reason.empty())
        region->reason = findings.empty() ? "no fusion was chosen" : "none of the chosen fusions lies inside";
    for (const std::string& why : refused) region->reason += (region->reason.empty() ? "" : "; ") + why;
    if (region->reason.size() > kMaxRegionText) region->reason.resize(kMaxRegionText);
    region->backward = region->backward && stepTrains(analysis);
    return region;
}

Result<Region> checked(Region region) {
    if (const Status status = checkRegion(region); !status) return status.error();
    return region;
}

} // namespace
} // namespace region

using namespace region;

Result<Region> regionOfModule(const Analysis& analysis, std::string_view module,
                              std::span<const std::string> findings) {
    if (analysis.graph == nullptr)
        return Error{ErrorCode::NotFound, "a graph, whose nodes a module's region is made of", "a trace alone",
                     "region"};
    const ModelGraph& model = *analysis.graph;
    const ModuleId id = moduleAt(model.modules, module);
    if (!id.valid())
        return Error{ErrorCode::NotFound, "a module of the graph", "'" + std::string(module.substr(0, 200)) + "'",
                     "region"};
    std::vector<NodeId> nodes;
    for (std::size_t n = 0; n < model.ops.nodes.size(); ++n)
        if (model.modules.contains(id, model.ops.nodes[n].module)) nodes.emplace_back(n);
    Result<Region> region = regionWith(analysis, nodes, findings);
    if (!region) return region;
    const std::string& path = model.modules.at(id).path;
    const std::string_view name = lastComponent(path);
    const bool layer = layerNumber(name) >= 0;
    region->pattern = path.empty() ? "model" : layer ? "layer" : "selection";
    region->id = path.empty() ? "model" : layer ? "layer." + std::string(name) : "module." + path;
    if (region->id.size() > kMaxRegionName) region->id.resize(kMaxRegionName);
    region->title = path.empty() ? "The whole model" : path;
    return checked(std::move(*region));
}

Result<Region> regionOfNodes(const Analysis& analysis, std::span<const NodeId> nodes,
                             std::span<const std::string> findings) {
    if (analysis.graph == nullptr)
        return Error{ErrorCode::NotFound, "a graph, whose nodes a region is made of", "a trace alone", "region"};
    Result<Region> region = regionWith(analysis, nodes, findings);
    if (!region) return region;
    region->id = region->pattern = "selection";
    region->title = std::to_string(nodes.size()) + " nodes";
    return checked(std::move(*region));
}

} // namespace fusescope
