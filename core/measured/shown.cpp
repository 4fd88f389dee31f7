// SPDX-License-Identifier: Apache-2.0
#include "core/measured/shown.h"

#include "core/measured/chosen_gain.h"

#include <algorithm>
#include <utility>

namespace fusescope {
namespace {

// wanted(instance): {shown, counts}
template <class Wanted>
void take(const FusedOf& work, const Finding& finding, const MeasuredFinding& measured, std::vector<ShownInstance>& out,
          Wanted&& wanted) {
    for (const MeasuredClass& c : measured.classes) {
        if (c.result == nullptr || c.use != MeasuredUse::Saving) continue;
        for (const std::uint32_t i : c.of.instances) {
            const auto [shown, counts] = wanted(i);
            if (!shown) continue;
            ShownInstance one{work, &finding.instances[i], c.result, counts};
            one.of.instance = i;
            one.of.speed = shownSpeed(c.result->result, finding, finding.instances[i]);
            out.push_back(std::move(one));
        }
    }
}

} // namespace

FusedSpeed shownSpeed(SpeedVerdict speed) noexcept {
    switch (speed) {
    case SpeedVerdict::Faster: return FusedSpeed::Faster;
    case SpeedVerdict::Slower: return FusedSpeed::Slower;
    case SpeedVerdict::NotFaster:
    case SpeedVerdict::Unsteady:
    case SpeedVerdict::Unknown: break;
    }
    return FusedSpeed::NoGain;
}

FusedSpeed shownSpeed(const FuseResult& result, const Finding& finding, const Instance& instance) {
    return shownSpeed(measuredSpeed(result, stepTimeOf(finding, instance)));
}

bool drawnAsFused(const ChosenRegion& region) {
    const std::vector<Instance>& all = region.work.instances;
    return !region.swapsIn() && region.other_sizes.empty() && !(all.size() > 1 && all[0].nodes == all[1].nodes);
}

FusedOf fusedOf(const ChosenPtr& region, std::uint32_t instance) {
    std::string brief = region->title;
    if (const std::string place = " of " + region->module; brief.ends_with(place))
        brief.resize(brief.size() - place.size());
    DrawnRegion drawn{region->title, std::move(brief), numberOf(region->id),
                      std::shared_ptr<const Finding>(region, &region->work)};
    return {0, instance, std::make_shared<const DrawnRegion>(std::move(drawn))};
}

namespace {

// isPicked(work)
template <class Picked>
std::vector<ShownInstance> shownWith(const Analysis& analysis, const MeasuredSet& set, const Plan& plan,
                                     std::span<const ChosenPtr> regions, Picked&& is_picked) {
    std::vector<ShownInstance> out;
    if (set.empty()) return out;
    for (std::size_t row = 0; row < analysis.findings.size(); ++row) {
        const Finding& finding = analysis.findings[row];
        const FusedOf work{static_cast<std::uint32_t>(row), 0, nullptr};
        const PlanPart* part = planPartOf(plan, finding.id);
        const bool picked = is_picked(work);
        if (part == nullptr && !picked) continue;
        take(work, finding, applyMeasured(analysis, finding, set), out, [&](std::uint32_t i) {
            const bool counts = part != nullptr &&
                                std::find(part->instances.begin(), part->instances.end(), i) != part->instances.end();
            return std::pair(counts || picked, counts);
        });
    }
    const std::vector<RegionGain> gains = regionGains(analysis, set, plan, regions);
    for (std::size_t row = 0; row < regions.size(); ++row) {
        const RegionGain& gain = gains[row];
        if (!drawnAsFused(*regions[row]) || !gain.measured.any()) continue;
        const FusedOf work = fusedOf(regions[row]);
        if (!gain.counts && !is_picked(work)) continue;
        take(work, regions[row]->work, gain.measured, out, [&](std::uint32_t) { return std::pair(true, gain.counts); });
    }
    return out;
}

} // namespace

std::vector<ShownInstance> shownInstances(const Analysis& analysis, const MeasuredSet& set, const Plan& plan,
                                          const SelectionSets& selection, std::span<const ChosenPtr> regions) {
    return shownWith(analysis, set, plan, regions, [&](const FusedOf& work) { return isPicked(selection, work); });
}

std::vector<FusedOf> shownWhenPicked(const Analysis& analysis, const MeasuredSet& set, const Plan& plan,
                                     std::span<const ChosenPtr> regions) {
    std::vector<FusedOf> works;
    for (const ShownInstance& one : shownWith(analysis, set, plan, regions, [](const FusedOf&) { return true; }))
        if (!one.counts && (works.empty() || pickOfWork(works.back()) != pickOfWork(one.of))) works.push_back(one.of);
    return works;
}

} // namespace fusescope
