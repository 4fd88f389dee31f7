// SPDX-License-Identifier: Apache-2.0
// The best set of instances that share no kernel and no node. Overlaps are local (a norm with and without its residual
// add), so the instances fall into small groups that are searched completely; a large group is filled greedily.
// Instances of findings that are not beneficial, as predicted or as measured, take no part.
#include "core/fusion/finding.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace fusescope {
namespace {

constexpr std::size_t kSearched = 18; // instances in a group that are tried in every combination

struct Candidate {
    std::uint32_t finding = 0, instance = 0;
    Range saving;
    std::vector<std::size_t> rivals; // candidates that share a kernel or a node
};

std::vector<Candidate> candidatesOf(const std::vector<Finding>& findings, const MeasuredSavings& measured,
                                    const std::vector<Verdict>& verdicts) {
    std::vector<Candidate> out;
    for (std::size_t f = 0; f < findings.size(); ++f) {
        if (findings[f].verdict == Verdict::AlreadyFused) continue;
        for (std::size_t i = 0; i < findings[f].instances.size(); ++i) {
            const Instance& instance = findings[f].instances[i];
            const bool known = f < measured.size() && i < measured[f].size() && measured[f][i].has_value();
            if (f < verdicts.size() ? verdicts[f] == Verdict::NotBeneficial
                                    : !known && findings[f].verdict == Verdict::NotBeneficial)
                continue;
            const Range saving = known ? Range{*measured[f][i], *measured[f][i], *measured[f][i]} : instance.saving_ns;
            if (instance.state == FusionState::Fused || !(saving.expected > 0)) continue;
            out.push_back({static_cast<std::uint32_t>(f), static_cast<std::uint32_t>(i), saving, {}});
        }
    }
    return out;
}

void findRivals(const std::vector<Finding>& findings, std::vector<Candidate>& candidates) {
    std::map<std::pair<int, std::uint32_t>, std::vector<std::size_t>> users; // kernel or node -> candidates
    for (std::size_t c = 0; c < candidates.size(); ++c) {
        const Instance& instance = findings[candidates[c].finding].instances[candidates[c].instance];
        for (const KernelId k : instance.forward) users[{0, k.value}].push_back(c);
        for (const KernelId k : instance.backward) users[{0, k.value}].push_back(c);
        // The same nodes run in every micro-batch and token: they are rivals only where nothing ran.
        if (instance.forward.empty() && instance.backward.empty())
            for (const NodeId n : instance.nodes) users[{1, n.value}].push_back(c);
    }
    for (const auto& [thing, list] : users) {
        (void)thing;
        for (const std::size_t a : list)
            for (const std::size_t b : list)
                if (a != b) candidates[a].rivals.push_back(b);
    }
    for (Candidate& candidate : candidates) {
        std::sort(candidate.rivals.begin(), candidate.rivals.end());
        candidate.rivals.erase(std::unique(candidate.rivals.begin(), candidate.rivals.end()), candidate.rivals.end());
    }
}

std::vector<std::vector<std::size_t>> groupsOf(const std::vector<Candidate>& candidates) {
    std::vector<std::vector<std::size_t>> groups;
    std::vector<bool> seen(candidates.size(), false);
    for (std::size_t start = 0; start < candidates.size(); ++start) {
        if (seen[start]) continue;
        std::vector<std::size_t> group, open{start};
        seen[start] = true;
        while (!open.empty()) {
            const std::size_t c = open.back();
            open.pop_back();
            group.push_back(c);
            for (const std::size_t rival : candidates[c].rivals)
                if (!seen[rival]) {
                    seen[rival] = true;
                    open.push_back(rival);
                }
        }
        std::sort(group.begin(), group.end());
        groups.push_back(std::move(group));
    }
    return groups;
}

void bestOf(const std::vector<Candidate>& candidates, const std::vector<std::size_t>& group,
            std::vector<bool>& chosen) {
    if (group.size() <= kSearched) {
        std::vector<std::uint32_t> against(group.size(), 0);
        for (std::size_t i = 0; i < group.size(); ++i)
            for (std::size_t j = 0; j < group.size(); ++j)
                if (std::binary_search(candidates[group[i]].rivals.begin(), candidates[group[i]].rivals.end(),
                                       group[j]))
                    against[i] |= 1U << j;
        std::uint32_t best = 0;
        double best_saving = -1;
        for (std::uint32_t set = 0; set < (1U << group.size()); ++set) {
            double saving = 0;
            bool fits = true;
            for (std::size_t i = 0; i < group.size() && fits; ++i) {
                if ((set >> i & 1U) == 0) continue;
                fits = (against[i] & set) == 0;
                saving += candidates[group[i]].saving.expected;
            }
            if (fits && saving > best_saving) {
                best = set;
                best_saving = saving;
            }
        }
        for (std::size_t i = 0; i < group.size(); ++i) chosen[group[i]] = (best >> i & 1U) != 0;
        return;
    }
    std::vector<std::size_t> order = group;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return candidates[a].saving.expected > candidates[b].saving.expected;
    });
    for (const std::size_t c : order)
        chosen[c] = std::none_of(candidates[c].rivals.begin(), candidates[c].rivals.end(),
                                 [&](std::size_t r) { return chosen[r]; });
}

} // namespace

Plan makePlan(const std::vector<Finding>& findings, double step_ns, const MeasuredSavings& measured,
              const std::vector<Verdict>& verdicts) {
    std::vector<Candidate> candidates = candidatesOf(findings, measured, verdicts);
    findRivals(findings, candidates);
    std::vector<bool> chosen(candidates.size(), false);
    for (const std::vector<std::size_t>& group : groupsOf(candidates)) bestOf(candidates, group, chosen);

    Plan plan;
    plan.step_ns = step_ns;
    Range seen;
    std::vector<PlanPart> parts(findings.size());
    for (std::size_t c = 0; c < candidates.size(); ++c) {
        if (!chosen[c]) continue;
        PlanPart& part = parts[candidates[c].finding];
        part.finding = findings[candidates[c].finding].id;
        part.instances.push_back(candidates[c].instance);
        part.saving_ns += candidates[c].saving;
        const Instance& instance = findings[candidates[c].finding].instances[candidates[c].instance];
        const bool ran = !instance.forward.empty() || !instance.backward.empty();
        (ran ? seen : plan.unseen_ns) += candidates[c].saving;
    }
    parts.erase(std::remove_if(parts.begin(), parts.end(), [](const PlanPart& p) { return p.instances.empty(); }),
                parts.end());
    std::stable_sort(parts.begin(), parts.end(),
                     [](const PlanPart& a, const PlanPart& b) { return a.saving_ns.expected > b.saving_ns.expected; });

    for (PlanPart& part : parts) {
        plan.saving_ns += part.saving_ns;
        plan.findings.push_back(part.finding);
        plan.parts.push_back(std::move(part));
    }
    // A long saving makes a short step.
    plan.predicted_step_ns = {std::max(0.0, step_ns - seen.high), std::max(0.0, step_ns - seen.expected),
                              std::max(0.0, step_ns - seen.low)};
    return plan;
}

bool nothingSeen(const Plan& plan) noexcept {
    constexpr double kRounding = 1e-9; // both are sums of the same numbers, in another order
    return plan.step_ns > 0 && plan.unseen_ns.expected > 0 &&
           plan.unseen_ns.expected >= plan.saving_ns.expected * (1 - kRounding);
}

const PlanPart* planPartOf(const Plan& plan, std::string_view finding) noexcept {
    const auto at = std::find_if(plan.parts.begin(), plan.parts.end(),
                                 [&](const PlanPart& part) { return part.finding == finding; });
    return at == plan.parts.end() ? nullptr : &*at;
}

std::vector<std::string> takenOverBy(const std::vector<Finding>& findings, const Plan& plan, const Finding& finding) {
    const auto work = [](const Instance& instance, std::vector<std::pair<int, std::uint32_t>>& out) {
        for (const KernelId k : instance.forward) out.emplace_back(0, k.value);
        for (const KernelId k : instance.backward) out.emplace_back(0, k.value);
        if (instance.forward.empty() && instance.backward.empty())
            for (const NodeId n : instance.nodes) out.emplace_back(1, n.value);
    };
    const PlanPart* own = planPartOf(plan, finding.id);
    std::vector<std::pair<int, std::uint32_t>> left;
    for (std::size_t i = 0; i < finding.instances.size(); ++i) {
        const bool chosen = own != nullptr && std::binary_search(own->instances.begin(), own->instances.end(), i);
        if (!chosen) work(finding.instances[i], left);
    }
    std::sort(left.begin(), left.end());
    std::vector<std::string> out;
    for (const PlanPart& part : plan.parts) {
        if (part.finding == finding.id) continue;
        const auto other =
            std::find_if(findings.begin(), findings.end(), [&](const Finding& f) { return f.id == part.finding; });
        if (other == findings.end()) continue;
        std::vector<std::pair<int, std::uint32_t>> theirs;
        for (const std::uint32_t i : part.instances)
            if (i < other->instances.size()) work(other->instances[i], theirs);
        if (std::any_of(theirs.begin(), theirs.end(),
                        [&](const auto& one) { return std::binary_search(left.begin(), left.end(), one); }))
            out.push_back(part.finding);
    }
    return out;
}

} // namespace fusescope
