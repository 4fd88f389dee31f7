// SPDX-License-Identifier: Apache-2.0
#include "core/draw/flagged.h"

#include <algorithm>

namespace fusescope {
namespace {

bool contains(const std::vector<std::string>& ids, const std::string& id) {
    return std::find(ids.begin(), ids.end(), id) != ids.end();
}

} // namespace

bool worthMarking(const Finding& finding) noexcept {
    return finding.state != FusionState::Fused &&
           (finding.verdict == Verdict::WorthIt || finding.verdict == Verdict::Marginal);
}

std::vector<std::uint32_t> markedFindings(const Analysis& analysis, const SelectionSets& selection) {
    const std::vector<std::string>& plan = analysis.plan.findings;
    std::vector<std::uint32_t> marked;
    for (std::uint32_t i = 0; i < analysis.findings.size(); ++i) {
        const Finding& finding = analysis.findings[i];
        const bool picked = std::binary_search(selection.findings.begin(), selection.findings.end(), i);
        const bool beaten =
            !contains(plan, finding.id) && std::any_of(finding.conflicts.begin(), finding.conflicts.end(),
                                                       [&](const std::string& other) { return contains(plan, other); });
        if (picked || (worthMarking(finding) && !beaten)) marked.push_back(i);
    }
    return marked;
}

Pick pickOfInstance(std::uint32_t finding, std::size_t instance) noexcept {
    if (finding > 0xFFFFU || instance > 0xFFFFU) return {PickKind::Finding, finding};
    return {PickKind::Instance, (finding << 16U) | static_cast<std::uint32_t>(instance)};
}

} // namespace fusescope
