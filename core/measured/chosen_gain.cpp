// SPDX-License-Identifier: Apache-2.0
#include "core/measured/chosen_gain.h"

#include "core/analysis/step_savings.h"
#include "core/measured/savings.h"

#include <algorithm>
#include <utility>

namespace fusescope {
namespace {

struct Work {
    std::vector<KernelId> kernels;
    std::vector<NodeId> nodes;

    void add(const Instance& instance) {
        kernels.insert(kernels.end(), instance.forward.begin(), instance.forward.end());
        kernels.insert(kernels.end(), instance.backward.begin(), instance.backward.end());
        nodes.insert(nodes.end(), instance.nodes.begin(), instance.nodes.end());
    }
    void sort() {
        std::sort(kernels.begin(), kernels.end());
        std::sort(nodes.begin(), nodes.end());
    }
};

template <class T> bool meet(const std::vector<T>& sorted, const std::vector<T>& other) {
    return std::any_of(other.begin(), other.end(),
                       [&](const T& one) { return std::binary_search(sorted.begin(), sorted.end(), one); });
}

Work workOf(const Finding& finding) {
    Work work;
    for (const Instance& instance : finding.instances) work.add(instance);
    work.sort();
    return work;
}

} // namespace

std::vector<RegionGain> regionGains(const Analysis& analysis, const MeasuredSet& set, const Plan& plan,
                                    std::span<const ChosenPtr> regions) {
    std::vector<std::pair<std::string, Work>> counted; // under which name
    for (const PlanPart& part : plan.parts)
        for (const Finding& finding : analysis.findings) {
            if (finding.id != part.finding) continue;
            Work chosen; // the plan takes some of its instances
            for (const std::uint32_t i : part.instances) chosen.add(finding.instances[i]);
            counted.emplace_back(finding.id, std::move(chosen));
        }
    std::vector<RegionGain> gains;
    for (const ChosenPtr& region : regions) {
        RegionGain& gain = gains.emplace_back();
        gain.measured = applyMeasured(analysis, *region, set);
        Work own = workOf(region->work);
        for (const auto& [name, work] : counted)
            if (meet(own.kernels, work.kernels) || meet(own.nodes, work.nodes)) gain.with.push_back(name);
        gain.counts = gain.measured.any() && gain.measured.measured_ns > 0 && gain.with.empty();
        if (gain.counts) counted.emplace_back(region->title, std::move(own));
    }
    return gains;
}

MeasuredFinding applyMeasured(const Analysis& analysis, const ChosenRegion& region, const MeasuredSet& set) {
    MeasuredFinding measured = applyMeasured(analysis, region.work, set);
    if (!region.swapsIn()) measured.predicted_ns = 0;
    if (!region.lacksTimes()) return measured;
    for (MeasuredClass& c : measured.classes) {
        if (c.result != nullptr && c.use == MeasuredUse::Saving) c.use = MeasuredUse::NotInStep;
        c.saving_ns = 0;
    }
    measured.measured = 0;
    measured.measured_ns = 0;
    measured.saving_ns = region.work.saving_ns;
    measured.verdict = region.work.verdict;
    measured.speed = SpeedVerdict::Unknown;
    return measured;
}

MeasuredPlan applyMeasured(const Analysis& analysis, const MeasuredSet& set, std::span<const ChosenPtr> regions) {
    MeasuredPlan plan = applyMeasured(analysis, set);
    const std::vector<RegionGain> gains = regionGains(analysis, set, plan.plan, regions);
    std::vector<std::pair<const Instance*, double>> beside;
    for (std::size_t row = 0; row < gains.size(); ++row) {
        const RegionGain& gain = gains[row];
        if (!gain.counts) continue;
        for (const MeasuredClass& c : gain.measured.classes)
            for (const std::uint32_t i : c.of.instances)
                if (const Finding& work = regions[row]->work; c.result != nullptr && c.use == MeasuredUse::Saving)
                    beside.emplace_back(&work.instances[i],
                                        measuredSaving(c.result->result, stepTimeOf(work, work.instances[i])));
        const double saved = gain.measured.measured_ns;
        ++plan.regions;
        for (double* range : {&plan.saving_ns.low, &plan.saving_ns.expected, &plan.saving_ns.high}) *range += saved;
        for (double* range :
             {&plan.predicted_step_ns.low, &plan.predicted_step_ns.expected, &plan.predicted_step_ns.high})
            *range = std::max(0.0, *range - saved);
    }
    if (beside.empty()) return plan;
    // On one GPU that is all.
    Plan with = plan.plan;
    with.predicted_step_ns = plan.predicted_step_ns;
    predictStep(analysis, savingsOf(analysis, set), with, beside);
    plan.predicted_step_ns = with.predicted_step_ns;
    return plan;
}

} // namespace fusescope
