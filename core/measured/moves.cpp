// SPDX-License-Identifier: Apache-2.0
#include "core/measured/moves.h"

#include <algorithm>

namespace fusescope {
namespace {

constexpr double kNsPerUs = 1000;

double fusedTime(const FuseResult& result) {
    double time = 0;
    for (const Comparison& c : result.directions)
        if (c.has_fused) time += fusedNs(c);
    return time;
}

bool backwardIsMeasured(const FuseResult& result) {
    return std::any_of(result.directions.begin(), result.directions.end(),
                       [](const Comparison& c) { return c.has_fused && c.direction == "backward"; });
}

} // namespace

double fusedNs(const Comparison& c) {
    return (c.fused.graph_us.median > 0 ? c.fused.graph_us : c.fused.us).median * kNsPerUs;
}

std::vector<RooflineMove> rooflineMoves(const Analysis& analysis, const MeasuredSet& set) {
    std::vector<RooflineMove> moves;
    for (std::size_t row = 0; row < analysis.findings.size() && !set.empty(); ++row) {
        const Finding& finding = analysis.findings[row];
        const MeasuredFinding measured = applyMeasured(analysis, finding, set);
        const MeasuredClass* most = nullptr;
        for (const MeasuredClass& c : measured.classes)
            if (c.result != nullptr && c.use == MeasuredUse::Saving &&
                (most == nullptr || c.of.instances.size() > most->of.instances.size()))
                most = &c;
        if (most == nullptr) continue;
        const Instance& instance = finding.instances[most->of.instances.front()];
        const double before = instance.forward_ns + instance.backward_ns, after = fusedTime(most->result->result);
        double flops = instance.fused.flops > 0 ? instance.fused.flops : instance.now.flops;
        double bytes = instance.fused.bytes();
        if (!backwardIsMeasured(most->result->result)) { // its time is the forward's alone
            flops -= instance.fused_backward.flops;
            bytes -= instance.fused_backward.bytes();
        }
        if (!(instance.now.flops > 0) || !(instance.now.bytes() > 0) || !(before > 0) || !(flops > 0) || !(bytes > 0) ||
            !(after > 0))
            continue;
        RooflineMove move;
        move.finding = static_cast<std::uint32_t>(row);
        move.ai_now = instance.now.intensity();
        move.flops_now = instance.now.flops / before * 1e9;
        move.now_ns = before;
        move.fused_ns = after;
        move.ai_fused = flops / bytes;
        move.flops_fused = flops / after * 1e9;
        const CatalogEntry& entry = catalogEntry(finding.pattern);
        move.label = (entry.title.empty() ? finding.id : entry.title) + ", fused, as measured";
        moves.push_back(std::move(move));
    }
    return moves;
}

std::vector<TimelineFused> timelineFused(const Analysis& analysis, const MeasuredSet& set,
                                         const SelectionSets& selection) {
    std::vector<TimelineFused> out;
    if (set.empty()) return out;
    const Plan plan = applyMeasured(analysis, set).plan;
    for (const bool picked : {false, true})
        for (std::size_t row = 0; row < analysis.findings.size(); ++row) {
            const auto number = static_cast<std::uint32_t>(row);
            if (std::binary_search(selection.findings.begin(), selection.findings.end(), number) != picked) continue;
            const Finding& finding = analysis.findings[row];
            const PlanPart* part = planPartOf(plan, finding.id);
            if (part == nullptr && !picked) continue;
            const auto shown = [&](std::uint32_t i) {
                return picked || std::find(part->instances.begin(), part->instances.end(), i) != part->instances.end();
            };
            for (const MeasuredClass& c : applyMeasured(analysis, finding, set).classes) {
                if (c.result == nullptr || c.use != MeasuredUse::Saving) continue;
                for (const std::uint32_t i : c.of.instances) {
                    if (!shown(i)) continue;
                    TimelineFused fused{number, i, -1, -1};
                    for (const Comparison& d : c.result->result.directions)
                        if (d.has_fused)
                            (d.direction == "backward" ? fused.backward_ns : fused.forward_ns) = fusedNs(d);
                    out.push_back(fused);
                }
            }
        }
    return out;
}

} // namespace fusescope
