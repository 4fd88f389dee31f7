// SPDX-License-Identifier: Apache-2.0
#include "core/region/build.h"

#include "core/region/assemble.h"
#include "core/region/catalogue_form.h"
#include "core/region/chain_text.h"
#include "core/region/closed_nodes.h"
#include "core/region/forms.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace fusescope {
namespace region {
namespace {

using fusion::GraphFlow;

Result<Region> checked(Region region) {
    if (const Status status = checkRegion(region); !status) return status.error();
    return region;
}

Result<Region> regionOfPattern(const ModelGraph& model, const Instance& instance) {
    const GraphFlow graph(model);
    const Fills fills(graph);
    const Result<Subgraph> part = patternPart(graph, instance);
    if (!part) return part.error();
    std::vector<Form> fused{fusedForm(instance.pattern, graph, fills, *part)};
    std::string reason;
    bool chain = false;
    if (fused[0].steps.empty()) {
        reason = fused[0].reason;
        fused[0] = chainForm(graph, *part);
        chain = !fused[0].steps.empty();
        if (!chain) {
            if (instance.pattern == Pattern::PointwiseChain) reason = fused[0].reason;
            fused.clear();
        }
    }
    Result<Region> region = assemble(graph, fills, *part, fused);
    if (!region) return region;
    if (!reason.empty()) region->reason = reason;
    if (chain && !region->fused.steps.empty()) forwardWhere(*region, chainBackwardProblem(graph, fills, *part));
    return region;
}

bool sameSizes(const Geometry& a, const Geometry& b) {
    const auto fields = [](const Geometry& g) {
        return std::tie(g.dtype, g.rows, g.width, g.kv_width, g.hidden, g.batch, g.heads, g.kv_heads, g.q_len, g.kv_len,
                        g.head_dim, g.sizes, g.eps, g.residual_gradient);
    };
    return fields(a) == fields(b);
}

// The bytes and FLOPs of the fused form, where the costs are of it.
void addCosts(const Instance& instance, Region& region) {
    if (instance.state == FusionState::Fused || !instance.fused.bytes_known) return;
    region.fused_backward_bytes = instance.fused_backward.bytes();
    region.fused_bytes = std::max(0.0, instance.fused.bytes() - region.fused_backward_bytes);
    region.fused_backward_flops = instance.fused_backward.tensor_flops;
    region.fused_flops = std::max(0.0, instance.fused.tensor_flops - region.fused_backward_flops);
    if (instance.pattern != Pattern::LinearCrossEntropy || !region.backward || region.fused.steps.empty()) return;
    // The bundled operator makes the gradients in its forward, while a chunk of the logits is there; the backward only
    // scales them.
    region.fused_bytes += std::exchange(region.fused_backward_bytes, 0);
    region.fused_flops += std::exchange(region.fused_backward_flops, 0);
    if (region.reason.empty())
        region.reason = "The fused forward computes the gradients as well: compare forward and backward together.";
}

// Of the bundled operators: norms, rotations and SwiGLU round where the model's own code writes a tensor; the catalogue
// tells of what others have.
const std::string& numericsOf(Pattern pattern) {
    static const std::string kOrder = "framework order";
    switch (pattern) {
    case Pattern::RmsNorm:
    case Pattern::AddRmsNorm:
    case Pattern::QkNormRope:
    case Pattern::Rope:
    case Pattern::SwiGlu: return kOrder;
    default: return catalogEntry(pattern).numerics;
    }
}

} // namespace
} // namespace region

using namespace region;

Result<Region> regionOfNodes(const ModelGraph& model, std::span<const NodeId> nodes) {
    const fusion::GraphFlow graph(model);
    const Fills fills(graph);
    const Result<Subgraph> part = subgraphOf(graph, nodes, false);
    if (!part) return part.error();
    std::vector<Form> fused{chainForm(graph, *part)};
    const std::string reason = fused[0].reason;
    if (fused[0].steps.empty()) fused.clear();
    Result<Region> region = assemble(graph, fills, *part, fused);
    if (!region) return region;
    region->id = region->pattern = "selection";
    region->title = std::to_string(part->nodes.size()) + (part->nodes.size() == 1 ? " node" : " nodes");
    const std::string& path = model.modules.at(moduleAround(model, part->nodes)).path;
    if (!path.empty()) region->title += " of " + path;
    if (!reason.empty()) region->reason = reason;
    if (!region->fused.steps.empty()) {
        forwardWhere(*region, chainBackwardProblem(graph, fills, *part));
        region->numerics = numericsOf(Pattern::PointwiseChain);
    }
    return checked(std::move(*region));
}

Result<Region> regionOfInstance(const Analysis& analysis, const Finding& finding, std::size_t index) {
    if (index >= finding.instances.size())
        return Error{ErrorCode::NotFound,
                     "an instance of " + finding.id + " below " + std::to_string(finding.instances.size()),
                     std::to_string(index), finding.id};
    const Instance& instance = finding.instances[index];
    const CatalogEntry& entry = catalogEntry(finding.pattern);
    if (finding.pattern == Pattern::Optimizer)
        return Error{ErrorCode::Unsupported, "a region of the model",
                     "the optimizer's step, which changes the parameters", finding.id};
    const bool in_graph = analysis.graph != nullptr && instance.from_graph && !instance.nodes.empty();
    Result<Region> region = Error{};
    if (in_graph) {
        region = regionOfPattern(*analysis.graph, instance);
    } else {
        Geometry sizes = instance.geometry;
        if (instance.backward.empty()) sizes.residual_gradient = true; // without a backward nobody can tell
        const Result<CatalogueForm> form = catalogueForm(finding.pattern, sizes, instance.state == FusionState::Fused);
        if (!form) return form.error();
        Instance all = instance;
        all.nodes = form->nodes;
        region = regionOfPattern(form->graph, all);
    }
    if (!region) return region;
    region->pattern = idOf(finding.pattern);
    region->id = finding.id + (index == 0 ? "" : "#" + std::to_string(index));
    region->title = entry.title;
    if (const std::string& path = analysis.link.modules.at(instance.module).path; !path.empty())
        region->title += " of " + path;
    region->numerics = numericsOf(finding.pattern);
    region->backward = region->backward && stepTrains(analysis);
    addCosts(instance, *region);
    return checked(std::move(*region));
}

std::vector<RegionClass> distinctInstances(const Analysis& analysis, const Finding& finding) {
    std::vector<RegionClass> classes;
    for (std::size_t i = 0; i < finding.instances.size(); ++i) {
        const Instance& one = finding.instances[i];
        const auto same = std::find_if(classes.begin(), classes.end(), [&](const RegionClass& known) {
            const Instance& other = finding.instances[known.instance];
            const bool nodes = analysis.graph == nullptr ||
                               (one.from_graph == other.from_graph && one.nodes.size() == other.nodes.size());
            return nodes && one.state == other.state && sameSizes(one.geometry, other.geometry);
        });
        const auto row = static_cast<std::uint32_t>(i);
        if (same != classes.end()) {
            ++same->count;
            same->members.push_back(row);
        } else {
            classes.push_back({i, 1, {row}});
        }
    }
    return classes;
}

} // namespace fusescope
