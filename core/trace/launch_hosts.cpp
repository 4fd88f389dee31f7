// SPDX-License-Identifier: Apache-2.0
#include "core/trace/launch_hosts.h"

#include <algorithm>
#include <numeric>
#include <unordered_set>

namespace fusescope {
namespace {

// 0 and -1 (as unsigned) both mean "not recorded".
bool isCorrelation(std::uint32_t correlation) { return correlation != 0 && correlation != 0xFFFFFFFFU; }

// Pids under which GPU work stands.
std::unordered_set<std::int64_t> gpuPids(const TraceStore& store) {
    std::unordered_set<std::int64_t> pids;
    for (const Track& track : store.tracks)
        if (track.kind == TrackKind::GpuStream) pids.insert(track.pid);
    return pids;
}

} // namespace

Hosts Hosts::of(std::uint32_t process) const {
    const Host* first = std::partition_point(begin, end, [&](const Host& h) { return h.process < process; });
    return {first, std::partition_point(first, end, [&](const Host& h) { return h.process == process; })};
}

LaunchHosts::LaunchHosts(const TraceStore& store) : store_(store), s_(store.slices) {
    const std::unordered_set<std::int64_t> gpus = gpuPids(store);
    std::vector<std::uint32_t> process_of_track(store.tracks.size(), kNobody);
    for (std::size_t row = 0; row < s_.size(); ++row) {
        if (!isCorrelation(s_.correlation[row])) continue;
        // Any host row may launch: the list of API names grows with every CUDA release (cudaLaunchKernelExC,
        // hipGraphLaunch ...). Rows of unknown kinds that stand with a GPU's work are not the host's.
        const Category c = s_.category[row];
        const std::size_t track = s_.track[row].index();
        if (c == Category::Other ? gpus.count(store.tracks[track].pid) > 0
                                 : c != Category::CudaRuntime && c != Category::CudaDriver)
            continue;
        std::uint32_t& process = process_of_track[track];
        if (process == kNobody)
            process = numbers_.try_emplace(store.tracks[track].pid, static_cast<std::uint32_t>(numbers_.size()))
                          .first->second;
        hosts_.push_back({s_.correlation[row], process, static_cast<std::uint32_t>(row)});
    }
    sort();
}

// By id and time, then by id, process and time. Ids are counted up: mostly as many as rows, so that a place for each id
// beats a search.
void LaunchHosts::sort() {
    if (hosts_.empty()) return;
    const auto [low, high] = std::minmax_element(
        hosts_.begin(), hosts_.end(), [](const Host& a, const Host& b) { return a.correlation < b.correlation; });
    const std::uint32_t first = low->correlation;
    const std::size_t ids = std::size_t{high->correlation} - first + 1;
    if (ids > 8 * hosts_.size()) {
        std::stable_sort(hosts_.begin(), hosts_.end(),
                         [](const Host& a, const Host& b) { return a.correlation < b.correlation; });
    } else {
        start_.assign(ids + 1, 0);
        for (const Host& host : hosts_) ++start_[host.correlation - first + 1];
        std::partial_sum(start_.begin(), start_.end(), start_.begin());
        std::vector<std::uint32_t> next(start_.begin(), start_.end() - 1);
        std::vector<Host> sorted(hosts_.size());
        for (const Host& host : hosts_) sorted[next[host.correlation - first]++] = host;
        hosts_ = std::move(sorted);
    }
    if (processes() < 2) return;
    by_time_.reserve(hosts_.size());
    for (const Host& host : hosts_) by_time_.push_back(host.row);
    for (auto begin = hosts_.begin(); begin != hosts_.end();) {
        const auto end =
            std::find_if(begin, hosts_.end(), [&](const Host& host) { return host.correlation != begin->correlation; });
        std::sort(begin, end);
        begin = end;
    }
}

std::uint32_t LaunchHosts::processOf(const Track& track) const {
    const auto number = numbers_.find(track.pid);
    return number == numbers_.end() ? kNobody : number->second;
}

Hosts LaunchHosts::of(std::size_t work) const {
    const std::uint32_t id = s_.correlation[work];
    if (!isCorrelation(id) || hosts_.empty() || id < hosts_.front().correlation || id > hosts_.back().correlation)
        return {};
    if (!start_.empty()) {
        const std::size_t at = id - hosts_.front().correlation;
        return {hosts_.data() + start_[at], hosts_.data() + start_[at + 1]};
    }
    const Host *all = hosts_.data(), *last = all + hosts_.size();
    const Host* begin = std::lower_bound(all, last, Host{id, 0, 0});
    return {begin, std::partition_point(begin, last, [&](const Host& h) { return h.correlation == id; })};
}

const Host* LaunchHosts::lastBefore(Hosts part, std::size_t work) const {
    if (part.empty()) return nullptr;
    const Host* after =
        std::partition_point(part.begin, part.end, [&](const Host& h) { return s_.ts[h.row] <= s_.ts[work]; });
    return after == part.begin ? part.begin : after - 1;
}

std::uint32_t LaunchHosts::lastOfAllBefore(Hosts hosts, std::size_t work) const {
    if (hosts.ofOneProcess()) return lastBefore(hosts, work)->row;
    const auto begin = by_time_.begin() + (hosts.begin - hosts_.data()),
               end = by_time_.begin() + (hosts.end - hosts_.data());
    const auto after = std::partition_point(begin, end, [&](std::uint32_t row) { return s_.ts[row] <= s_.ts[work]; });
    return after == begin ? *begin : *(after - 1);
}

} // namespace fusescope
