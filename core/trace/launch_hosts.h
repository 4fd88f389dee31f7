// SPDX-License-Identifier: Apache-2.0
// Host rows that may have launched GPU work, found by correlation id. Private to core/trace.
#pragma once

#include "core/trace/trace_store.h"

#include <compare>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace fusescope {

inline constexpr std::uint32_t kNobody = 0xFFFFFFFFU;

struct Host {
    std::uint32_t correlation, process, row; // process: numbered from 0
    friend auto operator<=>(const Host&, const Host&) = default;
};
struct Hosts { // of one correlation, by (process, time)
    const Host *begin = nullptr, *end = nullptr;
    [[nodiscard]] bool empty() const { return begin == end; }
    [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(end - begin); }
    [[nodiscard]] bool ofOneProcess() const { return begin->process == (end - 1)->process; } // not empty
    [[nodiscard]] Hosts of(std::uint32_t process) const;
};

class LaunchHosts {
public:
    explicit LaunchHosts(const TraceStore& store); // sorted, its launch column not yet filled

    [[nodiscard]] std::size_t processes() const { return numbers_.size(); } // that launch
    [[nodiscard]] std::uint32_t processOf(const Track& track) const;        // kNobody: it launches nothing
    [[nodiscard]] Hosts of(std::size_t work) const;                         // of its id
    // Of one process's hosts the last that began before the work, failing that the first. Null of none.
    [[nodiscard]] const Host* lastBefore(Hosts part, std::size_t work) const;
    // The same of the hosts of all processes, as a row; hosts is not empty.
    [[nodiscard]] std::uint32_t lastOfAllBefore(Hosts hosts, std::size_t work) const;
    [[nodiscard]] const std::vector<Host>& all() const { return hosts_; } // by (id, process, time)
    [[nodiscard]] std::size_t indexOf(const Host* host) const { return static_cast<std::size_t>(host - hosts_.data()); }

private:
    void sort();

    const TraceStore& store_;
    const SliceTable& s_;
    std::unordered_map<std::int64_t, std::uint32_t> numbers_; // of processes that launch, by pid
    std::vector<Host> hosts_;
    std::vector<std::uint32_t> start_;   // of an id's hosts, from the first id on; empty: to be searched
    std::vector<std::uint32_t> by_time_; // rows by (id, time); empty where there is one process
};

} // namespace fusescope
