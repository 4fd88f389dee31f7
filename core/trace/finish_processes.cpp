// SPDX-License-Identifier: Apache-2.0
#include "core/base/printable.h"
#include "core/trace/finish.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fusescope {
namespace {

bool onGpu(const Track& track) { return track.kind == TrackKind::GpuStream || track.kind == TrackKind::GpuAnnotation; }

// Every step and track bears the name of its process: what is longer than a name is cut, and it is one line.
std::string shortened(const std::string& name) {
    constexpr std::size_t kLongest = 64;
    if (name.size() <= kLongest) return printableLine(name);
    std::size_t end = kLongest;
    while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xC0U) == 0x80U) --end; // not within a character
    return printableLine(std::string_view(name).substr(0, end)) + "\xE2\x80\xA6";
}

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
    for (auto& [pid, name] : store.process_names) name = shortened(name);
    std::map<std::string, std::set<std::int64_t>> bearers;
    std::map<std::string, std::int64_t> numbers; // "process 415" of each
    for (const Track& track : store.tracks) {
        if (onGpu(track)) continue;
        numbers["process " + std::to_string(track.pid)] = track.pid;
        if (const auto name = store.process_names.find(track.pid); name != store.process_names.end())
            bearers[name->second].insert(track.pid);
    }
    std::map<std::int64_t, std::string> names;
    for (const auto& [number, pid] : numbers) {
        const auto name = store.process_names.find(pid);
        const bool tells = name != store.process_names.end() && !name->second.empty() &&
                           bearers[name->second].size() == 1 &&
                           (numbers.count(name->second) == 0 || name->second == number);
        names[pid] = tells ? name->second : number;
    }
    std::set<std::int64_t> working;
    for (const SliceId launch : store.slices.launch)
        if (launch.valid()) working.insert(store.tracks[store.slices.track[launch.index()].index()].pid);
    for (const Step& step : store.steps) working.insert(step.pid);
    store.process_names = std::move(names);
    store.several_processes = working.size() > 1;
}

} // namespace fusescope
