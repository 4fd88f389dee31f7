// SPDX-License-Identifier: Apache-2.0
#include "core/trace/launch_owners.h"

#include <algorithm>
#include <string_view>

namespace fusescope {
namespace {

constexpr std::size_t kMostProcesses = 256;
constexpr std::ptrdiff_t kMostTracks = 4096; // with more, nothing is tried
constexpr std::size_t kLooks = 8;            // processes looked at for a row of GPU work, on average at most
constexpr double kNearlyAll = 0.95;

struct Fit {                                         // of one process to one GPU track
    std::uint64_t alone = 0, rows = 0, too_late = 0; // rows whose id only this process has; has; has after the work
    std::int64_t least_delay = std::numeric_limits<std::int64_t>::max(); // ns from a launch to its work
};
struct Fits {
    std::vector<Fit> of;                  // each process
    std::vector<std::uint32_t> processes; // that have any
    std::vector<std::uint32_t> ids;       // of the rows looked at
};

bool isShare(std::uint64_t part, double share, std::uint64_t all) {
    return static_cast<double>(part) >= share * static_cast<double>(all);
}

// The process that has nearly all of the ids that one process alone has. A few such ids are no evidence: of a launch
// that was not recorded another rank may have the number. Nor has a track an owner where another process has most of
// what it is known to have.
std::uint32_t ownerByIds(const Fits& fits, const std::vector<std::uint64_t>& alone_in_all, std::size_t every) {
    constexpr std::uint64_t kStrays = 16;
    std::uint64_t all = 0, most = 0;
    std::uint32_t owner = kNobody;
    for (const std::uint32_t process : fits.processes) {
        all += fits.of[process].alone;
        if (fits.of[process].alone > most) {
            most = fits.of[process].alone;
            owner = process;
        }
    }
    if (!isShare(most, 0.9, all) || !isShare(most, 0.01, fits.ids.size())) return kNobody;
    for (const std::uint32_t process : fits.processes) {
        const std::uint64_t alone = fits.of[process].alone * every;
        if (process != owner && alone >= kStrays && isShare(alone, 0.5, alone_in_all[process])) return kNobody;
    }
    return owner;
}

// The process whose launches precede the work, the nearest by the little that a launch takes and by less than any
// other's.
std::uint32_t ownerByTimes(const Fits& fits) {
    constexpr std::int64_t kTellsApart = 1000, kLaunchTakes = 50'000; // ns
    const std::uint64_t rows = fits.ids.size();
    std::vector<std::uint32_t> able;
    for (const std::uint32_t process : fits.processes) {
        const Fit& fit = fits.of[process];
        if (isShare(fit.alone, 0.01, rows) && fit.alone > 0) return kNobody; // work of several processes
        if (isShare(fit.rows, 0.99, rows) && !isShare(fit.too_late, 0.01, std::max<std::uint64_t>(fit.rows, 100)))
            able.push_back(process);
    }
    if (able.empty()) return kNobody;
    const std::uint32_t owner = *std::min_element(able.begin(), able.end(), [&](std::uint32_t a, std::uint32_t b) {
        return fits.of[a].too_late != fits.of[b].too_late ? fits.of[a].too_late < fits.of[b].too_late
                                                          : fits.of[a].least_delay < fits.of[b].least_delay;
    });
    const Fit& best = fits.of[owner];
    for (const std::uint32_t process : able) {
        const Fit& other = fits.of[process];
        const bool clearly_later = other.too_late > 4 * (best.too_late + 1);
        if (process != owner && !clearly_later && other.least_delay - best.least_delay <= kTellsApart) return kNobody;
    }
    return able.size() == 1 || best.least_delay <= kLaunchTakes ? owner : kNobody;
}

} // namespace

LaunchOwners::LaunchOwners(const TraceStore& store, const LaunchHosts& hosts)
    : store_(store), s_(store.slices), hosts_(hosts) {
    if (hosts.processes() < 2 || hosts.processes() > kMostProcesses) return;
    const auto onGpu = [](const Track& track) { return track.kind == TrackKind::GpuStream; };
    if (std::count_if(store.tracks.begin(), store.tracks.end(), onGpu) > kMostTracks) return;
    for (std::size_t row = 0; row < s_.size(); ++row)
        if (isGpuWork(s_.category[row]) && !(s_.ts[row] == 0 && s_.dur[row] == 0) && !hosts.of(row).empty())
            work_.push_back(static_cast<std::uint32_t>(row));
    std::stable_sort(work_.begin(), work_.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return s_.track[a] < s_.track[b]; });
    findPlaces();
    findOwners();
}

std::uint32_t LaunchOwners::of(std::size_t work) const {
    const std::uint32_t owner = owners_.empty() ? kNobody : owners_[s_.track[work].index()];
    return owner != kNobody || places_.empty() ? owner : processAt(work);
}

// Where the host rows of each process stand in the file, if apart from all others'.
void LaunchOwners::findPlaces() {
    std::vector<std::uint32_t> process(store_.tracks.size(), kNobody);
    for (std::size_t t = 0; t < process.size(); ++t) process[t] = hosts_.processOf(store_.tracks[t]);
    places_.resize(hosts_.processes());
    for (std::size_t row = 0; row < s_.size(); ++row) {
        const std::uint32_t of = process[s_.track[row].index()];
        // A GPU may have a process's number. Rows without args do not know their place.
        if (of == kNobody || isGpuWork(s_.category[row]) || s_.category[row] == Category::GpuUserAnnotation ||
            s_.args_offset[row] == 0)
            continue;
        Place& place = places_[of];
        place.process = of;
        place.first = std::min(place.first, s_.args_offset[row]);
        place.last = std::max(place.last, s_.args_offset[row]);
    }
    std::sort(places_.begin(), places_.end(), [](const Place& a, const Place& b) { return a.first < b.first; });
    const auto overlap = [](const Place& a, const Place& b) { return a.last >= b.first; };
    const bool apart = std::adjacent_find(places_.begin(), places_.end(), overlap) == places_.end();
    if (apart && placesFit()) return;
    work_first_ = true;
    if (!apart || !placesFit()) places_.clear();
}

// It is a guess at how the file was made: nearly all work must have its launch, before it, where that says.
bool LaunchOwners::placesFit() const {
    const std::vector<bool> wrong = contradicted([&](std::size_t row) { return processAt(row); });
    std::uint64_t fitting = 0;
    for (std::size_t i = 0; i < work_.size(); ++i) {
        const std::size_t row = work_[i];
        const Host* launch = hosts_.lastBefore(hosts_.of(row).of(processAt(row)), row);
        if (!wrong[i] && launch != nullptr && s_.ts[launch->row] <= s_.ts[row]) ++fitting;
    }
    return isShare(fitting, kNearlyAll, work_.size());
}

std::uint32_t LaunchOwners::processAt(std::size_t work) const {
    const std::uint64_t at = s_.args_offset[work];
    if (work_first_) {
        const auto here =
            std::partition_point(places_.begin(), places_.end(), [&](const Place& place) { return place.last < at; });
        return here == places_.end() ? kNobody : here->process;
    }
    const auto after =
        std::partition_point(places_.begin(), places_.end(), [&](const Place& place) { return place.first <= at; });
    return after == places_.begin() ? kNobody : (after - 1)->process;
}

// A launch makes one piece of work, but for a captured graph's. Which of the work has, were it of the processes that
// `of` says, its launch together with other work, while another process has that id and no work of it? Parallel to
// work_.
template <class Of> std::vector<bool> LaunchOwners::contradicted(Of of) const {
    std::vector<std::uint32_t> count(hosts_.all().size(), 0); // work of a process and id, at its first host
    const auto first = [&](std::size_t row) {
        const Hosts own = hosts_.of(row).of(of(row));
        return own.empty() ? count.size() : hosts_.indexOf(own.begin);
    };
    for (const std::uint32_t row : work_)
        if (const std::size_t at = first(row); at < count.size()) ++count[at];
    // Launches of an id are in a row: has any of its processes none?
    const std::vector<Host>& all = hosts_.all();
    std::vector<bool> lacks(all.size(), false);
    for (std::size_t begin = 0, end = 0; begin < all.size(); begin = end) {
        bool lack = false;
        for (end = begin; end < all.size() && all[end].correlation == all[begin].correlation; ++end)
            lack = lack || (count[end] == 0 && (end == begin || all[end - 1].process != all[end].process));
        for (std::size_t i = begin; lack && i < end; ++i) lacks[i] = true;
    }
    std::vector<bool> out(work_.size(), false);
    for (std::size_t i = 0; i < work_.size(); ++i) {
        const std::size_t at = first(work_[i]);
        out[i] = at < count.size() && lacks[at] && count[at] > 1 &&
                 store_.nameOf(SliceId(all[at].row)).find("Graph") == std::string_view::npos;
    }
    return out;
}

void LaunchOwners::findOwners() {
    const std::size_t every = (hosts_.processes() + kLooks - 1) / kLooks; // of so many rows one is looked at
    owners_.assign(store_.tracks.size(), kNobody);
    std::vector<std::uint64_t> alone_in_all(hosts_.processes(), 0); // rows, of each process
    for (const std::uint32_t row : work_)
        if (const Hosts hosts = hosts_.of(row); hosts.ofOneProcess()) ++alone_in_all[hosts.begin->process];
    Fits fits;
    fits.of.resize(hosts_.processes());
    const auto look = [&](std::size_t row) {
        const Hosts hosts = hosts_.of(row);
        if (hosts.size() > 4 * hosts_.processes()) return; // an id given again and again tells nothing
        fits.ids.push_back(s_.correlation[row]);
        const bool alone = hosts.ofOneProcess();
        for (Hosts rest = hosts; !rest.empty();) {
            const Hosts part = rest.of(rest.begin->process);
            rest.begin = part.end;
            Fit& fit = fits.of[part.begin->process];
            if (fit.rows == 0) fits.processes.push_back(part.begin->process);
            ++fit.rows;
            fit.alone += alone ? 1 : 0;
            const std::int64_t delay = s_.ts[row] - s_.ts[hosts_.lastBefore(part, row)->row];
            if (delay < 0)
                ++fit.too_late;
            else
                fit.least_delay = std::min(fit.least_delay, delay);
        }
    };
    for (std::size_t begin = 0, end = 0; begin < work_.size(); begin = end) {
        const TrackId track = s_.track[work_[begin]];
        for (end = begin; end < work_.size() && s_.track[work_[end]] == track; ++end)
            if ((end - begin) % every == 0) look(work_[end]);
        std::uint32_t& owner = owners_[track.index()];
        owner = ownerByIds(fits, alone_in_all, every);
        if (owner == kNobody && places_.empty()) {
            // An id that comes twice in a track is of two processes there (or of a captured graph).
            std::sort(fits.ids.begin(), fits.ids.end());
            std::vector<std::uint32_t> ids = fits.ids;
            ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
            if (fits.ids.size() < ids.size() + ids.size() / 2) owner = ownerByTimes(fits);
        }
        for (const std::uint32_t process : fits.processes) fits.of[process] = {};
        fits.processes.clear();
        fits.ids.clear();
    }
    // What tracks say of themselves must go together.
    const std::vector<bool> wrong = contradicted([&](std::size_t row) { return owners_[s_.track[row].index()]; });
    for (std::size_t begin = 0, end = 0; begin < work_.size(); begin = end) {
        const TrackId track = s_.track[work_[begin]];
        std::size_t bad = 0;
        for (end = begin; end < work_.size() && s_.track[work_[end]] == track; ++end) bad += wrong[end] ? 1 : 0;
        if (!isShare(end - begin - bad, kNearlyAll, end - begin)) owners_[track.index()] = kNobody;
    }
}

} // namespace fusescope
