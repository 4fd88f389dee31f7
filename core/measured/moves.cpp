// SPDX-License-Identifier: Apache-2.0
#include "core/measured/moves.h"

#include "core/measured/chosen_gain.h"
#include "core/measured/shown.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

namespace fusescope {
namespace {

constexpr double kNsPerUs = 1000;

// In all directions, or in one.
double fusedTime(const FuseResult& result, std::string_view direction = {}) {
    double time = 0;
    for (const Comparison& c : result.directions)
        if (c.has_fused && (direction.empty() || c.direction == direction)) time += fusedNs(c);
    return time;
}

bool backwardIsMeasured(const FuseResult& result) {
    return std::any_of(result.directions.begin(), result.directions.end(),
                       [](const Comparison& c) { return c.has_fused && c.direction == "backward"; });
}

// The shape that most instances have; null: none is measured.
const MeasuredClass* mostOf(const MeasuredFinding& measured) {
    const MeasuredClass* most = nullptr;
    for (const MeasuredClass& c : measured.classes)
        if (c.result != nullptr && c.use == MeasuredUse::Saving &&
            (most == nullptr || c.of.instances.size() > most->of.instances.size()))
            most = &c;
    return most;
}

struct Ends {
    double flops_now = 0, bytes_now = 0, now_ns = 0, flops = 0, bytes = 0, fused_ns = 0;
};

void add(const Analysis& analysis, const FusedOf& of, const Ends& ends, const char* how,
         std::vector<RooflineMove>& moves) {
    if (!(ends.flops_now > 0) || !(ends.bytes_now > 0) || !(ends.now_ns > 0) || !(ends.flops > 0) ||
        !(ends.bytes > 0) || !(ends.fused_ns > 0))
        return;
    RooflineMove move;
    static_cast<FusedOf&>(move) = of;
    move.ai_now = ends.flops_now / ends.bytes_now;
    move.flops_now = ends.flops_now / ends.now_ns * 1e9;
    move.now_ns = ends.now_ns;
    move.fused_ns = ends.fused_ns;
    move.ai_fused = ends.flops / ends.bytes;
    move.flops_fused = ends.flops / ends.fused_ns * 1e9;
    move.label = titleOf(analysis, of) + how;
    moves.push_back(std::move(move));
}

} // namespace

double fusedNs(const Comparison& c) {
    return (c.fused.graph_us.median > 0 ? c.fused.graph_us : c.fused.us).median * kNsPerUs;
}

std::vector<RooflineMove> rooflineMoves(const Analysis& analysis, const MeasuredSet& set,
                                        std::span<const ChosenPtr> regions) {
    std::vector<RooflineMove> moves;
    if (set.empty()) return moves;
    for (std::size_t row = 0; row < analysis.findings.size(); ++row) {
        const MeasuredFinding measured = applyMeasured(analysis, analysis.findings[row], set);
        const MeasuredClass* most = mostOf(measured);
        if (most == nullptr) continue;
        const std::uint32_t first = most->of.instances.front();
        const Instance& instance = analysis.findings[row].instances[first];
        Ends ends;
        ends.flops_now = instance.now.flops;
        ends.bytes_now = instance.now.bytes();
        ends.now_ns = instance.forward_ns + instance.backward_ns;
        ends.fused_ns = fusedTime(most->result->result);
        ends.flops = instance.fused.flops > 0 ? instance.fused.flops : instance.now.flops;
        ends.bytes = instance.fused.bytes();
        if (!backwardIsMeasured(most->result->result)) { // its time is the forward's alone
            ends.flops -= instance.fused_backward.flops;
            ends.bytes -= instance.fused_backward.bytes();
        }
        const FusedOf of{static_cast<std::uint32_t>(row), first, nullptr,
                         shownSpeed(most->result->result, analysis.findings[row], instance)};
        add(analysis, of, ends, ", fused, as measured", moves);
    }
    for (const ChosenPtr& region : regions) {
        if (!drawnAsFused(*region)) continue;
        const MeasuredFinding measured = applyMeasured(analysis, *region, set);
        const MeasuredClass* most = mostOf(measured);
        if (most == nullptr) continue;
        const std::uint32_t first = most->of.instances.front();
        const Instance& instance = region->work.instances[first];
        Ends ends;
        const bool backward = backwardIsMeasured(most->result->result);
        const auto run = [&](const std::vector<KernelId>& kernels, double ns) {
            ends.now_ns += ns;
            for (const KernelId kernel : kernels) {
                if (kernel.index() >= analysis.kernel_costs.size()) continue;
                ends.flops_now += analysis.kernel_costs[kernel.index()].flops;
                ends.bytes_now += analysis.kernel_costs[kernel.index()].bytes();
            }
        };
        run(instance.forward, instance.forward_ns);
        const double forward_flops = ends.flops_now;
        if (backward) run(instance.backward, instance.backward_ns);
        ends.fused_ns = backward ? fusedTime(most->result->result) : fusedTime(most->result->result, "forward");
        // What a fused backward computes is not known: as much as is computed now.
        ends.flops = (instance.fused.flops > 0 ? instance.fused.flops : forward_flops) + ends.flops_now - forward_flops;
        ends.bytes = instance.fused.bytes() - (backward ? 0 : instance.fused_backward.bytes());
        FusedOf of = fusedOf(region, first);
        of.speed = shownSpeed(most->result->result, region->work, instance);
        add(analysis, of, ends, backward ? ", fused, as measured" : ", fused, forward, as measured", moves);
    }
    return moves;
}

std::vector<TimelineFused> timelineFused(const Analysis& analysis, const MeasuredSet& set,
                                         const SelectionSets& selection, std::span<const ChosenPtr> regions) {
    std::vector<TimelineFused> out;
    if (set.empty()) return out;
    const Plan plan = applyMeasured(analysis, set).plan;
    for (const ShownInstance& one : shownInstances(analysis, set, plan, selection, regions)) {
        TimelineFused fused;
        static_cast<FusedOf&>(fused) = one.of;
        for (const Comparison& d : one.result->result.directions)
            if (d.has_fused) (d.direction == "backward" ? fused.backward_ns : fused.forward_ns) = fusedNs(d);
        if (const std::optional<StepTime> in_step = stepTimeOf(*workOf(analysis, one.of), *one.instance))
            fused.in_step_ns = in_step->total() - measuredSaving(one.result->result, in_step);
        out.push_back(std::move(fused));
    }
    std::stable_partition(out.begin(), out.end(), [&](const FusedOf& of) { return !isPicked(selection, of); });
    return out;
}

} // namespace fusescope
