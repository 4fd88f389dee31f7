// SPDX-License-Identifier: Apache-2.0
// A launch and its work carry the same correlation id. One process never gives an id twice, but files that hold several
// (merged ranks) do: then an id says which launch only within the process that owns the work. In this order, whose the
// work is follows from the ids of its track that one process alone has; from its place in the file, where the processes
// stand one after another; from the times of its track: launches of the owner all precede their work, the nearest by
// the few microseconds that a launch takes. Where nothing tells, the last launch before the work is taken, and the user
// told.
#include "core/trace/finish.h"
#include "core/trace/launch_owners.h"

namespace fusescope {
namespace {

constexpr std::int64_t kClocksDiffer = 1'000'000; // ns that work may seem to begin before its launch

// Has the process another launch of this id? Of one launch there may be two rows, one in the other: a runtime call and
// the driver's.
bool hasTwin(const TraceStore& store, Hosts hosts, const Host* launch) {
    const auto apart = [&](const Host& outer, const Host& inner) {
        return outer.process == inner.process && (store.slices.track[outer.row] != store.slices.track[inner.row] ||
                                                  store.endOf(SliceId(outer.row)) < store.endOf(SliceId(inner.row)));
    };
    return (launch != hosts.begin && apart(*(launch - 1), *launch)) ||
           (launch + 1 != hosts.end && apart(*launch, *(launch + 1)));
}

} // namespace

void findLaunches(TraceStore& store, TraceBuilder& problems) {
    SliceTable& s = store.slices;
    s.launch.assign(s.size(), SliceId{});
    const LaunchHosts all(store);
    const LaunchOwners owners(store, all);
    for (std::size_t row = 0; row < s.size(); ++row) {
        if (!isGpuWork(s.category[row])) continue;
        const Hosts hosts = all.of(row);
        if (hosts.empty()) continue;
        std::uint32_t process = owners.of(row);
        if (process == kNobody && hosts.ofOneProcess()) process = hosts.begin->process;
        bool doubtful = process == kNobody;
        if (doubtful) {
            s.launch[row] = SliceId(all.lastOfAllBefore(hosts, row));
        } else {
            const Host* launch = all.lastBefore(hosts.of(process), row);
            if (launch == nullptr) continue; // its own is not in the file
            s.launch[row] = SliceId(launch->row);
            doubtful = hasTwin(store, hosts, launch);
        }
        if (doubtful)
            problems.problem("reused_correlation", s.args_offset[row],
                             "launches share a correlation id, as in merged ranks, and nothing tells whose this GPU "
                             "work is: the last launch before it is taken, which may be another rank's");
        const bool untimed = s.ts[row] == 0 && s.dur[row] == 0;
        if (!untimed && s.ts[s.launch[row].index()] - s.ts[row] > kClocksDiffer)
            problems.problem("before_its_launch", s.args_offset[row],
                             "GPU work begins more than 1 ms before the call that launched it: in this file the clocks "
                             "of CPU and GPU do not agree");
    }
}

} // namespace fusescope
