// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/chosen_regions.h"

#include "core/graph/module_path.h"
#include "core/region/build.h"
#include "core/region/chosen.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace fusescope::cli {
namespace {

RequestedRegion ofInstances(const Analysis& analysis, const Finding& finding, const std::string& instance_class,
                            std::vector<std::uint32_t> members) {
    RequestedRegion chosen;
    MeasuredRegion& about = chosen.about;
    const std::uint32_t first = members.front();
    about.finding = finding.id;
    about.instance_class = instance_class;
    about.pattern = idOf(finding.pattern);
    about.region = finding.id + (first == 0 ? "" : "#" + std::to_string(first));
    about.title = catalogEntry(finding.pattern).title;
    about.shape = finding.instances[first].shape;
    about.instances = static_cast<double>(members.size());
    about.predicted = true;
    for (const std::uint32_t member : members) {
        const Instance& instance = finding.instances[member];
        about.predicted_saving_ns += instance.saving_ns;
        if (const auto time = stepTimeOf(finding, instance)) about.time_ns += time->total();
    }
    about.members = std::move(members);
    Result<Region> region = regionOfInstance(analysis, finding, first);
    if (!region) {
        about.error_code = "no_region";
        about.error = region.error().message();
        return chosen;
    }
    chosen.region = std::move(*region);
    return chosen;
}

std::vector<RequestedRegion> ofFinding(const Analysis& analysis, const Finding& finding) {
    std::vector<RequestedRegion> out;
    for (InstanceClass& one : instanceClasses(analysis, finding))
        out.push_back(ofInstances(analysis, finding, one.name, std::move(one.instances)));
    return out;
}

RequestedRegion ofInstance(const Analysis& analysis, const Finding& finding, std::uint32_t instance) {
    std::string name;
    for (InstanceClass& one : instanceClasses(analysis, finding))
        if (std::binary_search(one.instances.begin(), one.instances.end(), instance)) name = std::move(one.name);
    return ofInstances(analysis, finding, name, {instance});
}

// "layer.3" -> the module "model.layers.3"; the shortest, where several are called so.
std::string layerPath(const ModuleTree& tree, std::string_view number) {
    const std::string end = "layers." + std::string(number);
    std::string found;
    for (const Module& module : tree.modules) {
        const std::string& path = module.path;
        const bool ends = path == end || (path.size() > end.size() && path.ends_with("." + end));
        if (ends && (found.empty() || path.size() < found.size())) found = path;
    }
    return found;
}

// Of the user's own choice; identical layers: one stands for all.
RequestedRegion ofChosen(ChosenWork work) {
    RequestedRegion chosen;
    chosen.region = std::move(work.region);
    MeasuredRegion& about = chosen.about;
    const Finding& step = work.chosen.work;
    about.region = chosen.region.id;
    about.pattern = chosen.region.pattern;
    about.title = chosen.region.title;
    about.instances = static_cast<double>(step.instances.size());
    about.predicted = work.chosen.swapsIn() && step.saving_ns.expected > 0; // else it is a limit
    if (about.predicted) about.predicted_saving_ns = step.saving_ns;
    StepTime sum; // identical layers take nearly the same
    for (const Instance& instance : step.instances)
        if (const auto time = stepTimeOf(step, instance)) {
            sum.forward_ns += time->forward_ns / about.instances;
            sum.backward_ns += time->backward_ns / about.instances;
            sum.wait_ns += time->wait_ns / about.instances;
        }
    if (!step.time_estimated && work.chosen.other_sizes.empty()) {
        about.time_ns = step.time_ns;
        about.module_time = sum;
    }
    return chosen;
}

// With the plan's fusions.
Result<std::vector<RequestedRegion>> ofModule(const Analysis& analysis, const std::string& path) {
    ChosenRegion module;
    module.module = path;
    module.fusions = analysis.plan.findings;
    Result<ChosenWork> work = workOfChosen(analysis, module);
    if (!work) return std::move(work).error();
    return std::vector<RequestedRegion>{ofChosen(*std::move(work))};
}

// "silu+mul_15".
Result<std::vector<RequestedRegion>> ofNodes(const Analysis& analysis, std::string_view names) {
    std::vector<std::string> each;
    for (std::size_t at = 0; at <= names.size();) {
        const std::size_t plus = std::min(names.find('+', at), names.size());
        each.emplace_back(names.substr(at, plus - at));
        at = plus + 1;
    }
    Result<std::vector<NodeId>> nodes = nodesByName(*analysis.graph, each);
    if (!nodes) return std::move(nodes).error();
    RegionWish wish;
    wish.nodes = *std::move(nodes);
    Result<ChosenWork> work = workOfWish(analysis, wish);
    if (!work) return std::move(work).error();
    if (work->finding) return ofFinding(analysis, analysis.findings[*work->finding]);
    return std::vector<RequestedRegion>{ofChosen(*std::move(work))};
}

std::string knownIds(const Analysis& analysis) {
    std::string text;
    for (const Finding& finding : analysis.findings) text += finding.id + ", ";
    if (analysis.graph) text += "layer.0, model, nodes:NAME+NAME, ";
    return text + "all";
}

} // namespace

Result<std::vector<RequestedRegion>> chooseRegions(const Analysis& analysis, const std::string& id) {
    if (id == "all") {
        std::vector<RequestedRegion> all;
        for (const Finding& finding : analysis.findings)
            if (finding.state != FusionState::Fused)
                for (RequestedRegion& one : ofFinding(analysis, finding)) all.push_back(std::move(one));
        return all;
    }
    const std::size_t hash = id.find('#');
    for (const Finding& finding : analysis.findings) {
        if (finding.id != id.substr(0, hash)) continue;
        if (hash == std::string::npos) return ofFinding(analysis, finding);
        std::size_t index = 0;
        const char *begin = id.data() + hash + 1, *end = id.data() + id.size();
        const auto [stop, code] = std::from_chars(begin, end, index);
        if (code != std::errc{} || stop != end || index >= finding.instances.size())
            return Error{ErrorCode::NotFound,
                         finding.id + "#0 to " + finding.id + "#" + std::to_string(finding.instances.size() - 1),
                         "'" + id + "'", "region"};
        return std::vector<RequestedRegion>{ofInstance(analysis, finding, static_cast<std::uint32_t>(index))};
    }
    const bool layer = id.starts_with("layer."), nodes = id.starts_with("nodes:");
    if (!analysis.graph && (id == "model" || layer || nodes))
        return Error{ErrorCode::Unsupported, "a model graph (--graph), whose nodes a region is made of",
                     "a trace alone", "region " + id};
    if (analysis.graph) {
        if (nodes) return ofNodes(analysis, std::string_view(id).substr(6));
        if (id == "model") return ofModule(analysis, "");
        const std::string path = layer ? layerPath(analysis.graph->modules, std::string_view(id).substr(6))
                                       : id.substr(id.starts_with("module.") ? 7 : 0);
        if (!path.empty() && analysis.graph->modules.find(path).valid()) return ofModule(analysis, path);
    }
    return Error{ErrorCode::NotFound, "a region among " + knownIds(analysis), "'" + id + "'", "region"};
}

} // namespace fusescope::cli
