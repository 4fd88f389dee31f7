// SPDX-License-Identifier: Apache-2.0
#include "core/draw/fused_of.h"

#include "core/draw/flagged.h"

#include <algorithm>

namespace fusescope {

ColourRole roleOf(FusedSpeed speed) noexcept {
    switch (speed) {
    case FusedSpeed::Faster: return ColourRole::Good;
    case FusedSpeed::NoGain: return ColourRole::TextMuted;
    case FusedSpeed::Slower: break;
    }
    return ColourRole::Danger;
}

const Finding* workOf(const Analysis& analysis, const FusedOf& of) noexcept {
    if (of.region) return of.region->work.get();
    return of.finding < analysis.findings.size() ? &analysis.findings[of.finding] : nullptr;
}

const Instance* instanceOf(const Analysis& analysis, const FusedOf& of) noexcept {
    const Finding* work = workOf(analysis, of);
    return work != nullptr && of.instance < work->instances.size() ? &work->instances[of.instance] : nullptr;
}

std::string titleOf(const Analysis& analysis, const FusedOf& of) {
    if (of.region) return of.region->title;
    const Finding* work = workOf(analysis, of);
    if (work == nullptr) return {};
    const std::string& title = catalogEntry(work->pattern).title;
    return title.empty() ? work->id : title;
}

Pick pickOfWork(const FusedOf& of) noexcept {
    return of.region ? Pick{PickKind::Region, of.region->number} : Pick{PickKind::Finding, of.finding};
}

Pick pickOf(const FusedOf& of) noexcept { return of.region ? pickOfWork(of) : pickOfInstance(of.finding, of.instance); }

bool isPicked(const SelectionSets& selection, const FusedOf& of) noexcept {
    if (of.region) return selection.pick == pickOfWork(of);
    return std::binary_search(selection.findings.begin(), selection.findings.end(), of.finding);
}

bool somePicked(const SelectionSets& selection) noexcept {
    return !selection.findings.empty() || selection.pick.kind == PickKind::Region;
}

} // namespace fusescope
