// SPDX-License-Identifier: Apache-2.0
#include "core/measured/merge.h"

#include <algorithm>
#include <tuple>

namespace fusescope {
namespace {

bool sameRun(const MeasuredResult& a, const MeasuredResult& b) {
    return a.when_s == b.when_s && a.runner == b.runner && a.result.device == b.result.device;
}

// What of two writers is kept: as takesThePlaceOf() has it in a window, as far as that can be told without an analysis.
bool better(const MeasuredResult& one, const MeasuredResult& other) {
    const auto rank = [](const FuseResult& r) {
        return std::tuple(hasFusedForm(r), r.on_gpu, !r.busy && doubtText(r).empty());
    };
    if (rank(one.result) != rank(other.result)) return rank(one.result) > rank(other.result);
    return one.when_s > other.when_s;
}

// A region that was read has no other name than what it is made again from.
bool sameChoice(const ChosenRegion& a, const ChosenRegion& b) {
    return a.module == b.module && a.nodes == b.nodes && a.fusions == b.fusions;
}

bool holds(const std::vector<ChosenRegion>& regions, const ChosenRegion& one) {
    return std::any_of(regions.begin(), regions.end(),
                       [&](const ChosenRegion& other) { return sameChoice(one, other); });
}

} // namespace

MeasuredFile merged(MeasuredFile file, const MeasuredFile& own, const MeasuredFile& known) {
    MeasuredFile out = own;
    for (const auto& [key, theirs] : file.set.results()) {
        const MeasuredResult* before = known.set.find(key.first, key.second);
        if (before != nullptr && sameRun(*before, theirs)) continue;
        const MeasuredResult* ours = own.set.find(key.first, key.second);
        if (ours == nullptr ? out.set.results().size() < kMostFileResults : better(theirs, *ours)) out.set.set(theirs);
    }
    for (ChosenRegion& theirs : file.regions)
        if (out.regions.size() < kMostFileRegions && !holds(own.regions, theirs) && !holds(known.regions, theirs))
            out.regions.push_back(std::move(theirs));
    return out;
}

} // namespace fusescope
