// SPDX-License-Identifier: Apache-2.0
#include "core/trace/finish.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace fusescope {
namespace {

template <class T> void permute(std::vector<T> &column, const std::vector<std::uint32_t> &order) {
    std::vector<T> sorted;
    sorted.reserve(order.size());
    for (const std::uint32_t row : order) sorted.push_back(column[row]);
    column = std::move(sorted);
}

} // namespace

void clampDurations(TraceStore &store, TraceBuilder &problems) {
    SliceTable &s = store.slices;
    std::int64_t begin = std::numeric_limits<std::int64_t>::max(), end = std::numeric_limits<std::int64_t>::min();
    for (std::size_t row = 0; row < s.size(); ++row) {
        if (s.dur[row] < 0) {
            problems.problem("negative_duration", s.args_offset[row], "a duration is negative; it is taken as zero");
            s.dur[row] = 0;
        }
        if (s.ts[row] == 0 && s.dur[row] == 0) {
            problems.problem("untimed", s.args_offset[row], "an event has neither time nor duration; it is listed but not drawn");
            continue;
        }
        // Keeps every end representable.
        if (s.ts[row] > std::numeric_limits<std::int64_t>::max() - s.dur[row]) s.dur[row] = std::numeric_limits<std::int64_t>::max() - s.ts[row];
        begin = std::min(begin, s.ts[row]);
        end = std::max(end, s.ts[row] + s.dur[row]);
    }
    store.begin = begin <= end ? begin : 0;
    store.end = begin <= end ? end : 0;
}

void sortSlices(TraceStore &store) {
    SliceTable &s = store.slices;
    std::vector<std::uint32_t> order(s.size());
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
        return s.ts[a] != s.ts[b] ? s.ts[a] < s.ts[b] : s.dur[a] > s.dur[b];
    });
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
    const auto follow = [&](std::size_t row, std::vector<std::uint32_t> &side_order, std::vector<SliceId> &slice_of) {
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
    KernelTable &k = store.kernels;
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
    CpuOpTable &o = store.cpu_ops;
    permute(o.slice, op_order);
    permute(o.sequence, op_order);
    permute(o.fwd_thread, op_order);
    permute(o.dims, op_order);
    permute(o.types, op_order);
    permute(o.strides, op_order);
    permute(o.concrete, op_order);
}

} // namespace fusescope
