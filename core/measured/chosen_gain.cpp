// SPDX-License-Identifier: Apache-2.0
#include "core/measured/chosen_gain.h"

#include <algorithm>

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

std::vector<std::string> countedWith(const Analysis& analysis, const Plan& plan, std::span<const ChosenPtr> regions,
                                     std::size_t row) {
    std::vector<std::string> out;
    if (row >= regions.size()) return out;
    const Work own = workOf(regions[row]->work);
    const auto shares = [&](const Work& other) {
        return meet(own.kernels, other.kernels) || meet(own.nodes, other.nodes);
    };
    for (const PlanPart& part : plan.parts)
        for (const Finding& finding : analysis.findings) {
            if (finding.id != part.finding) continue;
            Work chosen; // the plan takes some of its instances
            for (const std::uint32_t i : part.instances) chosen.add(finding.instances[i]);
            if (shares(chosen)) out.push_back(finding.id);
        }
    for (std::size_t before = 0; before < row; ++before)
        if (shares(workOf(regions[before]->work))) out.push_back(regions[before]->title);
    return out;
}

bool countsBeside(const Analysis& analysis, const Plan& plan, std::span<const ChosenPtr> regions, std::size_t row,
                  const MeasuredFinding& measured) {
    return measured.any() && measured.measured_ns > 0 && countedWith(analysis, plan, regions, row).empty();
}

MeasuredFinding applyMeasured(const Analysis& analysis, const ChosenRegion& region, const MeasuredSet& set) {
    MeasuredFinding measured = applyMeasured(analysis, region.work, set);
    if (!region.swapsIn()) measured.predicted_ns = 0;
    return measured;
}

MeasuredPlan applyMeasured(const Analysis& analysis, const MeasuredSet& set, std::span<const ChosenPtr> regions) {
    MeasuredPlan plan = applyMeasured(analysis, set);
    for (std::size_t row = 0; row < regions.size(); ++row) {
        const MeasuredFinding measured = applyMeasured(analysis, *regions[row], set);
        const double saved = measured.measured_ns;
        if (!countsBeside(analysis, plan.plan, regions, row, measured)) continue;
        ++plan.regions;
        for (double* range : {&plan.saving_ns.low, &plan.saving_ns.expected, &plan.saving_ns.high}) *range += saved;
        for (double* range :
             {&plan.predicted_step_ns.low, &plan.predicted_step_ns.expected, &plan.predicted_step_ns.high})
            *range = std::max(0.0, *range - saved);
    }
    return plan;
}

} // namespace fusescope
