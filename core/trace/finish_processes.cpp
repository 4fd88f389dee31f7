// SPDX-License-Identifier: Apache-2.0
#include "core/trace/finish.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace fusescope {
namespace {

bool onGpu(const Track& track) { return track.kind == TrackKind::GpuStream || track.kind == TrackKind::GpuAnnotation; }

void setProcesses(TraceStore& store) {
    const SliceTable& s = store.slices;
    for (Track& track : store.tracks)
        if (!onGpu(track)) track.process = track.pid;
    std::vector<std::optional<std::int64_t>> launched_by(store.tracks.size());
    for (std::size_t row = 0; row < s.size(); ++row) {
        if (!s.launch[row].valid()) continue;
        const std::int64_t pid = store.tracks[s.track[s.launch[row].index()].index()].pid;
        std::optional<std::int64_t>& by = launched_by[s.track[row].index()];
        by = !by || *by == pid ? pid : kNoProcess;
    }
    // Annotations go with the streams of their GPU.
    std::map<std::int64_t, std::int64_t> of_gpu; // by its pid
    for (std::size_t t = 0; t < store.tracks.size(); ++t) {
        Track& track = store.tracks[t];
        if (!launched_by[t]) continue;
        track.process = *launched_by[t];
        const auto [known, fresh] = of_gpu.try_emplace(track.pid, track.process);
        if (!fresh && known->second != track.process) known->second = kNoProcess;
    }
    for (Track& track : store.tracks)
        if (track.kind == TrackKind::GpuAnnotation)
            if (const auto known = of_gpu.find(track.pid); known != of_gpu.end()) track.process = known->second;
}

} // namespace

void tellProcesses(TraceStore& store) {
    setProcesses(store);
    std::map<std::string, std::set<std::int64_t>> bearers;
    for (const Track& track : store.tracks)
        if (!onGpu(track))
            if (const auto name = store.process_names.find(track.pid); name != store.process_names.end())
                bearers[name->second].insert(track.pid);
    std::map<std::int64_t, std::string> names;
    std::set<std::int64_t> working;
    for (const Track& track : store.tracks) {
        if (onGpu(track)) {
            if (track.process != kNoProcess) working.insert(track.process);
            continue;
        }
        const auto name = store.process_names.find(track.pid);
        const bool tells =
            name != store.process_names.end() && !name->second.empty() && bearers[name->second].size() == 1;
        names[track.pid] = tells ? name->second : "process " + std::to_string(track.pid);
    }
    for (const Step& step : store.steps) working.insert(step.pid);
    store.process_names = std::move(names);
    store.several_processes = working.size() > 1;
}

} // namespace fusescope
