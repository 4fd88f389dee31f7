// SPDX-License-Identifier: Apache-2.0
#include "core/trace/finish.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace fusescope {
namespace {

constexpr std::string_view kPrefix = "ProfilerStep#";
constexpr std::size_t kMaxSteps = 32767; // what the column holds
constexpr std::int16_t kOutside = -1;

bool launches(const TraceStore& store, std::int64_t pid) {
    return std::any_of(store.slices.launch.begin(), store.slices.launch.end(), [&](SliceId launch) {
        return launch.valid() && store.tracks[store.slices.track[launch.index()].index()].pid == pid;
    });
}

} // namespace

void listSteps(TraceStore& store, TraceBuilder& problems) {
    const SliceTable& s = store.slices;
    for (std::size_t row = 0; row < s.size(); ++row) {
        if (s.category[row] != Category::UserAnnotation) continue;
        const std::string_view name = store.nameOf(SliceId(row));
        if (name.substr(0, kPrefix.size()) != kPrefix) continue;
        if (store.steps.size() == kMaxSteps) {
            problems.problem(
                "too_many_steps", s.args_offset[row],
                "there are more than 32,767 steps; what belongs to the later ones counts as outside of any");
            continue;
        }
        Step step;
        step.name = name;
        step.pid = store.tracks[s.track[row].index()].pid;
        step.slice = SliceId(row);
        step.begin = s.ts[row];
        step.end = store.endOf(step.slice);
        std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), step.number);
        store.steps.push_back(std::move(step));
    }
}

void assignSteps(TraceStore& store, TraceBuilder& problems) {
    SliceTable& s = store.slices;
    s.step.assign(s.size(), kOutside);
    if (store.steps.empty()) {
        if (store.several_processes)
            problems.problem("processes_together", 0,
                             "several processes launch GPU work, as in merged ranks, and none has steps "
                             "(ProfilerStep#n): the figures are of all of them together");
        return;
    }

    std::map<std::int64_t, std::vector<std::int16_t>> of_process; // pid -> its steps, by time
    for (std::size_t i = 0; i < store.steps.size(); ++i)
        of_process[store.steps[i].pid].push_back(static_cast<std::int16_t>(i));
    if (of_process.size() > 1)
        for (Step& step : store.steps) step.name += " of " + store.process_names[step.pid];

    // Where one process has steps they are everybody's, unless it is one of several that launch work.
    const bool several =
        of_process.size() > 1 || (store.several_processes && launches(store, of_process.begin()->first));
    std::vector<const std::vector<std::int16_t>*> of_track(store.tracks.size(), nullptr);
    for (std::size_t t = 0; t < of_track.size(); ++t) {
        const auto own = several ? of_process.find(store.tracks[t].process) : of_process.begin();
        if (own != of_process.end()) of_track[t] = &own->second;
    }
    const auto stepAt = [&](std::size_t row) {
        const std::vector<std::int16_t>* steps = of_track[s.track[row].index()];
        if (steps == nullptr) return kOutside;
        const std::int64_t t = s.ts[row];
        const auto begin = [&](std::int16_t step) { return store.steps[static_cast<std::size_t>(step)].begin; };
        const auto after =
            std::partition_point(steps->begin(), steps->end(), [&](std::int16_t i) { return begin(i) <= t; });
        if (after == steps->begin()) return kOutside;
        const std::int16_t at = *(after - 1);
        return t < store.steps[static_cast<std::size_t>(at)].end || t == begin(at) ? at : kOutside;
    };
    // Host rows by their start; GPU work by its launch, so that work that spills over the end of its step is not
    // counted in the next; without a launch by its own start, where its track tells whose it is.
    for (std::size_t row = 0; row < s.size(); ++row)
        if (!isGpuWork(s.category[row])) s.step[row] = stepAt(row);
    for (std::size_t row = 0; row < s.size(); ++row) {
        if (!isGpuWork(s.category[row])) continue;
        const SliceId launch = s.launch[row];
        s.step[row] = launch.valid() ? s.step[launch.index()] : stepAt(row);
    }
}

} // namespace fusescope
