// SPDX-License-Identifier: Apache-2.0
#include "core/draw/flagged.h"

#include <algorithm>
#include <iterator>
#include <string>

namespace fusescope {
namespace {

bool contains(const std::vector<std::string>& ids, const std::string& id) {
    return std::find(ids.begin(), ids.end(), id) != ids.end();
}

} // namespace

std::vector<std::uint32_t> worthMarking(const std::vector<Finding>& findings, const std::vector<Verdict>& verdicts,
                                        const Plan& plan) {
    std::vector<std::uint32_t> rows;
    for (std::uint32_t i = 0; i < findings.size(); ++i) {
        const Finding& finding = findings[i];
        const bool pays = finding.state != FusionState::Fused &&
                          (verdicts[i] == Verdict::WorthIt || verdicts[i] == Verdict::Marginal);
        const bool beaten = !contains(plan.findings, finding.id) &&
                            std::any_of(finding.conflicts.begin(), finding.conflicts.end(),
                                        [&](const std::string& other) { return contains(plan.findings, other); });
        if (pays && !beaten) rows.push_back(i);
    }
    return rows;
}

std::vector<std::uint32_t> markedFindings(const Analysis& analysis, const SelectionSets& selection,
                                          const std::vector<std::uint32_t>* worth) {
    std::vector<std::uint32_t> predicted, marked;
    if (worth == nullptr) {
        std::vector<Verdict> verdicts;
        for (const Finding& finding : analysis.findings) verdicts.push_back(finding.verdict);
        predicted = worthMarking(analysis.findings, verdicts, analysis.plan);
        worth = &predicted;
    }
    std::set_union(worth->begin(), worth->end(), selection.findings.begin(), selection.findings.end(),
                   std::back_inserter(marked));
    std::erase_if(marked, [&](std::uint32_t row) { return row >= analysis.findings.size(); }); // of another analysis
    return marked;
}

Pick pickOfInstance(std::uint32_t finding, std::size_t instance) noexcept {
    if (finding > 0xFFFFU || instance > 0xFFFFU) return {PickKind::Finding, finding};
    return {PickKind::Instance, (finding << 16U) | static_cast<std::uint32_t>(instance)};
}

} // namespace fusescope
