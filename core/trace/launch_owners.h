// SPDX-License-Identifier: Apache-2.0
// Which process's GPU work is, where several processes in a file (merged ranks) give out the same correlation ids.
// Private to core/trace.
#pragma once

#include "core/trace/launch_hosts.h"

#include <cstdint>
#include <limits>
#include <vector>

namespace fusescope {

class LaunchOwners {
public:
    LaunchOwners(const TraceStore& store, const LaunchHosts& hosts);
    [[nodiscard]] std::uint32_t of(std::size_t work) const; // number of a process, kNobody where nothing tells

private:
    struct Place { // of a process's host rows in the file
        std::uint64_t first = std::numeric_limits<std::uint64_t>::max(), last = 0;
        std::uint32_t process = kNobody;
    };
    void findPlaces();
    [[nodiscard]] bool placesFit() const;
    [[nodiscard]] std::uint32_t processAt(std::size_t work) const;
    void findOwners();
    template <class Of> [[nodiscard]] std::vector<bool> contradicted(Of of) const;

    const TraceStore& store_;
    const SliceTable& s_;
    const LaunchHosts& hosts_;
    std::vector<std::uint32_t> work_;   // timed rows of GPU work with hosts, by (track, time)
    std::vector<Place> places_;         // in the file's order; empty where processes are mixed, or there is but one
    bool work_first_ = false;           // GPU rows stand before the host rows of their process
    std::vector<std::uint32_t> owners_; // process of each track; empty where there is but one
};

} // namespace fusescope
