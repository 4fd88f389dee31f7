// SPDX-License-Identifier: Apache-2.0
// A launch and its work carry the same correlation id. One process never gives an id twice, but files that hold several
// (merged ranks) do: then an id says which launch only within the process that owns the work. In this order, whose the
// work is follows from the ids of its track that one process alone has; from its place in the file, where the processes
// stand one after another; from the times of its track: launches of the owner all precede their work, the nearest by
// the few microseconds that a launch takes. Where nothing tells, the last launch before the work is taken, and the user
// told.
#include "core/trace/finish.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace fusescope {
namespace {

constexpr std::uint32_t kNobody = 0xFFFFFFFFU;

// 0 and -1 (as unsigned) both mean "not recorded".
bool isCorrelation(std::uint32_t correlation) { return correlation != 0 && correlation != 0xFFFFFFFFU; }

// Any host row may launch: the list of API names grows with every CUDA release (cudaLaunchKernelExC, hipGraphLaunch
// ...).
bool mayLaunch(Category c) { return c == Category::CudaRuntime || c == Category::CudaDriver || c == Category::Other; }

constexpr std::size_t kMostProcesses = 256;       // with more, what follows is not tried
constexpr std::int64_t kClocksDiffer = 1'000'000; // ns that work may seem to begin before its launch

struct Host { // a row that may launch
    std::uint32_t correlation, process, row;
    friend auto operator<=>(const Host&, const Host&) = default;
};
struct Hosts { // of one correlation, by (process, time)
    const Host *begin = nullptr, *end = nullptr;
    [[nodiscard]] bool empty() const { return begin == end; }
};

struct Place { // of a process's host rows in the file
    std::uint64_t first = std::numeric_limits<std::uint64_t>::max(), last = 0;
    std::uint32_t process = 0;
};

struct Fit {                                         // of one process to one GPU track
    std::uint64_t alone = 0, rows = 0, too_late = 0; // rows whose id only this process has; has; has after the work
    std::int64_t least_delay = std::numeric_limits<std::int64_t>::max(); // ns from a launch to its work
};
using Fits = std::unordered_map<std::uint32_t, Fit>; // by process

// The process that has nearly all of the ids that one process alone has.
std::uint32_t ownerByIds(const Fits& fits) {
    std::uint64_t all = 0, most = 0;
    std::uint32_t owner = kNobody;
    for (const auto& [process, fit] : fits) {
        all += fit.alone;
        if (fit.alone > most) {
            most = fit.alone;
            owner = process;
        }
    }
    return static_cast<double>(most) >= 0.9 * static_cast<double>(all) ? owner : kNobody;
}

// The process whose launches all precede the work, the nearest by less than any other's.
std::uint32_t ownerByTimes(const Fits& fits, std::uint64_t rows) {
    constexpr std::int64_t kTellsApart = 1000; // ns
    std::uint32_t owner = kNobody;
    std::int64_t least = std::numeric_limits<std::int64_t>::max(), second = least;
    for (const auto& [process, fit] : fits) {
        if (fit.alone > 0) return kNobody; // work of several processes
        if (fit.rows < rows || fit.too_late * 100 > fit.rows) continue;
        if (fit.least_delay < least) {
            second = least;
            least = fit.least_delay;
            owner = process;
        } else {
            second = std::min(second, fit.least_delay);
        }
    }
    return owner != kNobody && second - least > kTellsApart ? owner : kNobody;
}

class Finder {
public:
    explicit Finder(TraceStore& store) : store_(store), s_(store.slices) {
        std::unordered_map<std::int64_t, std::uint32_t> numbers; // of processes that launch, by pid
        std::vector<std::uint32_t> process_of_track(store.tracks.size(), kNobody);
        for (std::size_t row = 0; row < s_.size(); ++row) {
            if (!mayLaunch(s_.category[row]) || !isCorrelation(s_.correlation[row])) continue;
            const std::size_t track = s_.track[row].index();
            std::uint32_t& process = process_of_track[track];
            if (process == kNobody)
                process = numbers.try_emplace(store.tracks[track].pid, static_cast<std::uint32_t>(numbers.size()))
                              .first->second;
            hosts_.push_back({s_.correlation[row], process, static_cast<std::uint32_t>(row)});
        }
        sortHosts();
        if (numbers.size() < 2 || numbers.size() > kMostProcesses) return;
        findPlaces(numbers);
        findOwners();
    }

    void run(TraceBuilder& problems) {
        for (std::size_t row = 0; row < s_.size(); ++row) {
            if (!isGpuWork(s_.category[row])) continue;
            const Hosts hosts = hostsOf(row);
            const std::uint32_t process = ownerOf(row);
            const Host* launch = process == kNobody ? nearestOfAll(hosts, row) : nearest(hosts, process, row);
            if (launch == nullptr) continue; // its own is not in the file
            s_.launch[row] = SliceId(launch->row);
            if ((process == kNobody && hosts.begin->process != (hosts.end - 1)->process) || hasTwin(hosts, launch))
                problems.problem("reused_correlation", s_.args_offset[row],
                                 "launches share a correlation id, as in merged ranks, and nothing tells whose this "
                                 "GPU work is: the last launch before it is taken, which may be another rank's");
            if (!untimed(row) && s_.ts[launch->row] - s_.ts[row] > kClocksDiffer)
                problems.problem("before_its_launch", s_.args_offset[row],
                                 "GPU work begins more than 1 ms before the call that launched it: in this file the "
                                 "clocks of CPU and GPU do not agree");
        }
    }

private:
    [[nodiscard]] bool untimed(std::size_t row) const { return s_.ts[row] == 0 && s_.dur[row] == 0; }

    // By (id, process, time). Ids are counted up: mostly as many as rows, so that a place for each id beats a search.
    void sortHosts() {
        if (hosts_.empty()) return;
        const auto [low, high] = std::minmax_element(
            hosts_.begin(), hosts_.end(), [](const Host& a, const Host& b) { return a.correlation < b.correlation; });
        const std::uint32_t first = low->correlation;
        const std::size_t ids = std::size_t{high->correlation} - first + 1;
        if (ids > 8 * hosts_.size()) return std::sort(hosts_.begin(), hosts_.end());
        start_.assign(ids + 1, 0);
        for (const Host& host : hosts_) ++start_[host.correlation - first + 1];
        std::partial_sum(start_.begin(), start_.end(), start_.begin());
        std::vector<std::uint32_t> next(start_.begin(), start_.end() - 1);
        std::vector<Host> sorted(hosts_.size());
        for (const Host& host : hosts_) sorted[next[host.correlation - first]++] = host;
        hosts_ = std::move(sorted);
        for (std::size_t i = 0; i + 1 < hosts_.size(); ++i) // those of one id came by time, their processes mixed
            if (hosts_[i + 1] < hosts_[i]) {
                const std::size_t id = hosts_[i].correlation - first;
                std::sort(hosts_.begin() + start_[id], hosts_.begin() + start_[id + 1]);
            }
    }

    [[nodiscard]] Hosts hostsOf(std::size_t row) const {
        const std::uint32_t id = s_.correlation[row];
        if (!isCorrelation(id)) return {};
        if (hosts_.empty() || id < hosts_.front().correlation || id > hosts_.back().correlation) return {};
        if (!start_.empty()) {
            const std::size_t at = id - hosts_.front().correlation;
            return {hosts_.data() + start_[at], hosts_.data() + start_[at + 1]};
        }
        const auto begin = std::lower_bound(hosts_.begin(), hosts_.end(), Host{id, 0, 0});
        const auto end = std::partition_point(begin, hosts_.end(), [&](const Host& h) { return h.correlation == id; });
        return {hosts_.data() + (begin - hosts_.begin()), hosts_.data() + (end - hosts_.begin())};
    }
    static Hosts ofProcess(Hosts hosts, std::uint32_t process) {
        const Host* begin =
            std::partition_point(hosts.begin, hosts.end, [&](const Host& h) { return h.process < process; });
        const Host* end = std::partition_point(begin, hosts.end, [&](const Host& h) { return h.process == process; });
        return {begin, end};
    }
    template <class Use> static void eachProcess(Hosts hosts, Use use) {
        while (!hosts.empty()) {
            const Hosts part = ofProcess(hosts, hosts.begin->process);
            use(part);
            hosts.begin = part.end;
        }
    }

    // The last launch of one process that began before the work; failing that its first.
    [[nodiscard]] const Host* lastBefore(Hosts part, std::size_t row) const {
        if (part.empty()) return nullptr;
        const Host* after =
            std::partition_point(part.begin, part.end, [&](const Host& h) { return s_.ts[h.row] <= s_.ts[row]; });
        return after == part.begin ? part.begin : after - 1;
    }
    [[nodiscard]] const Host* nearest(Hosts hosts, std::uint32_t process, std::size_t row) const {
        return lastBefore(ofProcess(hosts, process), row);
    }
    [[nodiscard]] const Host* nearestOfAll(Hosts hosts, std::size_t row) const {
        const Host* best = nullptr;
        eachProcess(hosts, [&](Hosts part) {
            const Host* host = lastBefore(part, row);
            const bool before = s_.ts[host->row] <= s_.ts[row];
            if (best == nullptr || (before ? host->row > best->row || s_.ts[best->row] > s_.ts[row]
                                           : host->row < best->row && s_.ts[best->row] > s_.ts[row]))
                best = host;
        });
        return best;
    }

    // Has the process another launch of this id? Of one launch there may be two rows, one in the other: a runtime call
    // and the driver's.
    [[nodiscard]] bool hasTwin(Hosts hosts, const Host* launch) const {
        const auto apart = [&](const Host& outer, const Host& inner) {
            return outer.process == inner.process &&
                   (s_.track[outer.row] != s_.track[inner.row] ||
                    store_.endOf(SliceId(outer.row)) < store_.endOf(SliceId(inner.row)));
        };
        return (launch != hosts.begin && apart(*(launch - 1), *launch)) ||
               (launch + 1 != hosts.end && apart(*launch, *(launch + 1)));
    }

    // Where the host rows of each process stand in the file, if apart from all others'.
    void findPlaces(const std::unordered_map<std::int64_t, std::uint32_t>& numbers) {
        places_.resize(numbers.size());
        std::vector<Place*> of_track(store_.tracks.size(), nullptr);
        for (std::size_t t = 0; t < of_track.size(); ++t)
            if (const auto number = numbers.find(store_.tracks[t].pid); number != numbers.end()) {
                of_track[t] = &places_[number->second];
                of_track[t]->process = number->second;
            }
        for (std::size_t row = 0; row < s_.size(); ++row) {
            Place* place = of_track[s_.track[row].index()];
            // A GPU may have a process's number.
            if (place == nullptr || isGpuWork(s_.category[row]) || s_.category[row] == Category::GpuUserAnnotation)
                continue;
            place->first = std::min(place->first, s_.args_offset[row]);
            place->last = std::max(place->last, s_.args_offset[row]);
        }
        std::sort(places_.begin(), places_.end(), [](const Place& a, const Place& b) { return a.first < b.first; });
        const auto overlap = [](const Place& a, const Place& b) { return a.last >= b.first; };
        if (std::adjacent_find(places_.begin(), places_.end(), overlap) != places_.end()) return places_.clear();
        // It is a guess at how the file was made: nearly all work must have its launch, before it, where that says.
        std::uint64_t rows = 0, fitting = 0;
        for (std::size_t row = 0; row < s_.size(); ++row) {
            if (!isGpuWork(s_.category[row]) || untimed(row)) continue;
            const Hosts hosts = hostsOf(row);
            if (hosts.empty()) continue;
            ++rows;
            const Host* launch = nearest(hosts, processAt(row), row);
            if (launch != nullptr && s_.ts[launch->row] <= s_.ts[row]) ++fitting;
        }
        if (static_cast<double>(fitting) < 0.95 * static_cast<double>(rows)) places_.clear();
    }

    [[nodiscard]] std::uint32_t processAt(std::size_t row) const {
        const auto after = std::partition_point(places_.begin(), places_.end(),
                                                [&](const Place& place) { return place.first <= s_.args_offset[row]; });
        return after == places_.begin() ? kNobody : (after - 1)->process;
    }

    void findOwners() {
        struct OfTrack {
            Fits fits;
            std::unordered_set<std::uint32_t> ids;
            std::uint64_t rows = 0;
        };
        std::vector<OfTrack> tracks(store_.tracks.size());
        for (std::size_t row = 0; row < s_.size(); ++row) {
            if (!isGpuWork(s_.category[row]) || untimed(row)) continue;
            const Hosts hosts = hostsOf(row);
            if (hosts.empty()) continue;
            OfTrack& track = tracks[s_.track[row].index()];
            ++track.rows;
            track.ids.insert(s_.correlation[row]);
            const bool alone = hosts.begin->process == (hosts.end - 1)->process;
            eachProcess(hosts, [&](Hosts part) {
                Fit& fit = track.fits[part.begin->process];
                ++fit.rows;
                fit.alone += alone ? 1 : 0;
                const std::int64_t delay = s_.ts[row] - s_.ts[lastBefore(part, row)->row];
                if (delay < 0)
                    ++fit.too_late;
                else
                    fit.least_delay = std::min(fit.least_delay, delay);
            });
        }
        owners_.assign(tracks.size(), kNobody);
        for (std::size_t t = 0; t < tracks.size(); ++t) {
            const OfTrack& track = tracks[t];
            owners_[t] = ownerByIds(track.fits);
            // An id that comes twice in a track is of two processes there (or of a captured graph).
            const bool one_each = static_cast<double>(track.rows) < 1.5 * static_cast<double>(track.ids.size());
            if (owners_[t] == kNobody && places_.empty() && one_each) owners_[t] = ownerByTimes(track.fits, track.rows);
        }
    }

    [[nodiscard]] std::uint32_t ownerOf(std::size_t row) const {
        const std::uint32_t owner = owners_.empty() ? kNobody : owners_[s_.track[row].index()];
        return owner != kNobody || places_.empty() ? owner : processAt(row);
    }

    TraceStore& store_;
    SliceTable& s_;
    std::vector<Host> hosts_;
    std::vector<std::uint32_t> start_;  // of an id's hosts, from the first id on; empty: to be searched
    std::vector<Place> places_;         // in the file's order; empty where processes are mixed, or there is but one
    std::vector<std::uint32_t> owners_; // process of each track; empty where there is but one
};

} // namespace

void findLaunches(TraceStore& store, TraceBuilder& problems) {
    store.slices.launch.assign(store.slices.size(), SliceId{});
    Finder(store).run(problems);
}

} // namespace fusescope
