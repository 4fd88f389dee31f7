// SPDX-License-Identifier: Apache-2.0
#include "core/trace/finish.h"

#include "core/base/format.h"

#include <algorithm>
#include <map>

namespace fusescope {

void tellKindsOfGpu(const TraceStore& store, TraceBuilder& problems) {
    constexpr std::size_t longest = 60; // of a name
    std::map<std::int32_t, std::uint64_t> kernels;
    for (const std::int32_t device : store.kernels.device) ++kernels[device];
    std::map<std::string, std::uint64_t> kinds;
    std::string busiest;
    std::uint64_t most = 0;
    for (const TraceDevice& device : store.devices)
        if (const auto found = kernels.find(device.id); found != kernels.end() && !device.name.empty()) {
            kinds[device.name] += found->second;
            if (found->second > most) busiest = device.name;
            most = std::max(most, found->second);
            kernels.erase(found); // one entry of several for a device
        }
    if (kinds.size() < 2) return;
    std::vector<std::pair<std::uint64_t, std::string>> sorted;
    for (const auto& [name, count] : kinds) sorted.emplace_back(count, name);
    std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    std::string text;
    std::uint64_t others = 0;
    for (const auto& [count, name] : sorted)
        if (name != busiest) others += count;
    for (std::size_t i = 0; i < std::min<std::size_t>(sorted.size(), 4); ++i)
        text += (i > 0 ? ", " : "") + sorted[i].second.substr(0, longest) + " (" +
                formatCount(static_cast<std::int64_t>(sorted[i].first)) + " kernels)";
    problems.problem("several_kinds_of_gpu", 0,
                     "kernels ran on different kinds of GPU: " + text +
                         "; peaks, the roofline and predictions are those of " + busiest.substr(0, longest) +
                         ", the GPU with the most kernels",
                     others);
}

} // namespace fusescope
