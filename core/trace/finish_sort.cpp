// SPDX-License-Identifier: Apache-2.0
#include "core/trace/finish.h"

#include "core/trace/plausible_time.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

namespace fusescope {
namespace {

template <class T> void permute(std::vector<T>& column, const std::vector<std::uint32_t>& order) {
    std::vector<T> sorted;
    sorted.reserve(order.size());
    for (const std::uint32_t row : order) sorted.push_back(column[row]);
    column = std::move(sorted);
}

// Rows by (ts, -dur, file order). A radix sort over the times' own range: files hold many sorted runs in no order, of
// which a comparison sort makes nothing.
std::vector<std::uint32_t> sortedOrder(const SliceTable& s) {
    struct Key {
        std::uint64_t ts;
        std::uint32_t row;
    };
    constexpr unsigned kBits = 11;
    constexpr std::uint64_t kBuckets = std::uint64_t{1} << kBits;
    const std::size_t n = s.size();
    std::vector<std::uint32_t> order(n);
    if (n == 0) return order;
    // Unsigned differences are right for any two int64.
    const auto least = static_cast<std::uint64_t>(*std::min_element(s.ts.begin(), s.ts.end()));
    std::vector<Key> keys(n), scratch(n);
    std::uint64_t used = 0;
    for (std::size_t row = 0; row < n; ++row) {
        keys[row] = {static_cast<std::uint64_t>(s.ts[row]) - least, static_cast<std::uint32_t>(row)};
        used |= keys[row].ts;
    }
    for (unsigned shift = 0; shift < 64 && (used >> shift) != 0; shift += kBits) {
        std::array<std::uint32_t, kBuckets> start{};
        for (const Key& key : keys) ++start[(key.ts >> shift) % kBuckets];
        std::uint32_t sum = 0;
        for (std::uint32_t& count : start) {
            const std::uint32_t before = sum;
            sum += count;
            count = before;
        }
        for (const Key& key : keys) scratch[start[(key.ts >> shift) % kBuckets]++] = key;
        keys.swap(scratch);
    }
    for (std::size_t i = 0; i < n; ++i) order[i] = keys[i].row;
    // Of those that begin together the longest first; the radix sort left them in file order.
    for (std::size_t begin = 0; begin < n;) {
        std::size_t end = begin + 1;
        while (end < n && keys[end].ts == keys[begin].ts) ++end;
        if (end - begin > 1)
            std::stable_sort(order.begin() + static_cast<std::ptrdiff_t>(begin),
                             order.begin() + static_cast<std::ptrdiff_t>(end),
                             [&](std::uint32_t a, std::uint32_t b) { return s.dur[a] > s.dur[b]; });
        begin = end;
    }
    return order;
}

} // namespace

void clampDurations(TraceStore& store, TraceBuilder& problems) {
    SliceTable& s = store.slices;
    std::int64_t begin = std::numeric_limits<std::int64_t>::max(), end = std::numeric_limits<std::int64_t>::min();
    for (std::size_t row = 0; row < s.size(); ++row) {
        if (s.dur[row] < 0) {
            problems.problem("negative_duration", s.args_offset[row], "a duration is negative; it is taken as zero");
            s.dur[row] = 0;
        }
        // Readers leave such times out with a better place to name; here it is what keeps every sum and difference of
        // times an int64, wherever the rows come from.
        if (!isPlausibleTime(s.ts[row]) || !isPlausibleDuration(s.dur[row])) {
            problems.problem("far_time", s.args_offset[row],
                             "a time or duration is beyond any clock's; it is cut to that");
            s.ts[row] = std::clamp(s.ts[row], kEarliestTime, kLatestTime);
            s.dur[row] = std::min(s.dur[row], kLongestDuration);
        }
        if (s.ts[row] == 0 && s.dur[row] == 0) {
            problems.problem("untimed", s.args_offset[row],
                             "an event has neither time nor duration; it is listed but not drawn");
            continue;
        }
        begin = std::min(begin, s.ts[row]);
        end = std::max(end, s.ts[row] + s.dur[row]);
    }
    store.begin = begin <= end ? begin : 0;
    store.end = begin <= end ? end : 0;
}

void sortSlices(TraceStore& store) {
    SliceTable& s = store.slices;
    const std::vector<std::uint32_t> order = sortedOrder(s);
    permute(s.ts, order);
    permute(s.dur, order);
    permute(s.name, order);
    permute(s.category, order);
    permute(s.track, order);
    permute(s.correlation, order);
    permute(s.external_id, order);
    permute(s.detail, order);
    permute(s.args_offset, order);
    permute(s.args_length, order);

    // Side tables in slice order; every slice's detail is renumbered on the way.
    std::vector<std::uint32_t> kernel_order, copy_order, op_order;
    kernel_order.reserve(store.kernels.size());
    copy_order.reserve(store.copies.size());
    op_order.reserve(store.cpu_ops.size());
    const auto follow = [&](std::size_t row, std::vector<std::uint32_t>& side_order, std::vector<SliceId>& slice_of) {
        const std::uint32_t old = s.detail[row];
        slice_of[old] = SliceId(row);
        s.detail[row] = static_cast<std::uint32_t>(side_order.size());
        side_order.push_back(old);
    };
    for (std::size_t row = 0; row < s.size(); ++row) {
        if (s.detail[row] == Id<struct DetailTag>::kNone) continue;
        switch (s.category[row]) {
        case Category::Kernel: follow(row, kernel_order, store.kernels.slice); break;
        case Category::GpuMemcpy:
        case Category::GpuMemset: follow(row, copy_order, store.copies.slice); break;
        default: follow(row, op_order, store.cpu_ops.slice); break;
        }
    }
    KernelTable& k = store.kernels;
    permute(k.slice, kernel_order);
    permute(k.device, kernel_order);
    permute(k.stream, kernel_order);
    permute(k.grid, kernel_order);
    permute(k.block, kernel_order);
    permute(k.registers, kernel_order);
    permute(k.shared_bytes, kernel_order);
    permute(k.occupancy, kernel_order);
    permute(k.graph_id, kernel_order);
    permute(k.graph_node, kernel_order);
    permute(store.copies.slice, copy_order);
    permute(store.copies.device, copy_order);
    permute(store.copies.stream, copy_order);
    permute(store.copies.bytes, copy_order);
    CpuOpTable& o = store.cpu_ops;
    permute(o.slice, op_order);
    permute(o.sequence, op_order);
    permute(o.fwd_thread, op_order);
    permute(o.dims, op_order);
    permute(o.types, op_order);
    permute(o.strides, op_order);
    permute(o.concrete, op_order);
}

} // namespace fusescope
