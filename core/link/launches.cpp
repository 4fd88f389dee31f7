// SPDX-License-Identifier: Apache-2.0
#include "core/link/launches.h"

#include <algorithm>

namespace fusescope {
namespace {

// 0 and -1 (as unsigned) both mean "not recorded".
bool isCorrelation(std::uint32_t correlation) { return correlation != 0 && correlation != 0xFFFFFFFFu; }

// Any host row may launch: the list of API names grows with every CUDA release (cudaLaunchKernelExC, hipGraphLaunch
// ...).
bool mayLaunch(Category c) { return c == Category::CudaRuntime || c == Category::CudaDriver || c == Category::Other; }

} // namespace

Launches::Launches(const TraceStore& trace) : trace_(trace) {
    const SliceTable& slices = trace.slices;
    for (std::size_t i = 0; i < slices.size(); ++i) {
        const auto value = static_cast<std::uint32_t>(i);
        if (isCorrelation(slices.correlation[i])) {
            if (mayLaunch(slices.category[i]))
                launches_.push_back({slices.correlation[i], value});
            else if (isGpuWork(slices.category[i]))
                gpu_.push_back({slices.correlation[i], value});
        }
        if (slices.category[i] == Category::CpuOp && slices.external_id[i] != 0 &&
            slices.detail[i] < trace.cpu_ops.size())
            externals_.push_back({slices.external_id[i], slices.detail[i]});
    }
    const auto byKey = [](const Row& a, const Row& b) { return a.key < b.key; };
    std::stable_sort(launches_.begin(), launches_.end(), byKey);
    std::stable_sort(gpu_.begin(), gpu_.end(), byKey);
    std::stable_sort(externals_.begin(), externals_.end(), byKey);
}

std::pair<const Launches::Row*, const Launches::Row*> Launches::rowsOf(const std::vector<Row>& rows,
                                                                       std::uint32_t key) {
    const auto begin =
        std::lower_bound(rows.begin(), rows.end(), key, [](const Row& r, std::uint32_t k) { return r.key < k; });
    const auto end = std::upper_bound(begin, rows.end(), key, [](std::uint32_t k, const Row& r) { return k < r.key; });
    return {rows.data() + (begin - rows.begin()), rows.data() + (end - rows.begin())};
}

Launches::Found Launches::launchOf(SliceId gpu) const {
    const std::uint32_t correlation = trace_.slices.correlation[gpu.index()];
    if (!isCorrelation(correlation)) return {};
    const auto [begin, end] = rowsOf(launches_, correlation);
    if (begin == end) return {};
    // Merged ranks reuse numbers: the launch is the last one that began before the work did. Rows are in time order.
    const std::int64_t ts = trace_.slices.ts[gpu.index()];
    const Row* after =
        std::partition_point(begin, end, [&](const Row& row) { return trace_.slices.ts[row.value] <= ts; });
    const Row* best = after == begin ? begin : after - 1;
    Found found;
    found.launch = SliceId(best->value);
    const auto [gpu_begin, gpu_end] = rowsOf(gpu_, correlation);
    found.captured = gpu_end - gpu_begin > end - begin;
    return found;
}

CpuOpId Launches::opOfExternalId(std::uint32_t external_id, SliceId launch, std::int64_t ts) const {
    if (external_id == 0) return {};
    const auto [begin, end] = rowsOf(externals_, external_id);
    const auto opOf = [&](const Row& row) { return trace_.cpu_ops.slice[row.value]; };
    if (launch.valid()) ts = trace_.slices.ts[launch.index()];
    const Row* row =
        std::partition_point(begin, end, [&](const Row& r) { return trace_.slices.ts[opOf(r).index()] <= ts; });
    if (!launch.valid()) return row == begin ? CpuOpId{} : CpuOpId((row - 1)->value);
    // The same number in another process, or of a row that does not span the launch, is not ours.
    constexpr int kTries = 64;
    for (int tries = 0; row != begin && tries < kTries; ++tries) {
        const SliceId op = opOf(*--row);
        if (trace_.slices.track[op.index()] == trace_.slices.track[launch.index()] && ts <= trace_.endOf(op))
            return CpuOpId(row->value);
    }
    return {};
}

Launched linkLaunch(const TraceStore& trace, const Launches& launches, const CpuContexts& contexts, SliceId gpu,
                    WorkLink& work) {
    Launched out;
    const Launches::Found found = launches.launchOf(gpu);
    out.captured = found.captured;
    if (found.launch.valid()) {
        work.launch = found.launch;
        work.launch_how = LinkHow::Correlation;
        out.context = &contexts.of(found.launch);
    }
    if (out.captured) return out; // the operator around the replay did not make this kernel

    std::uint32_t external = found.launch.valid() ? trace.slices.external_id[found.launch.index()] : 0;
    if (external == 0) external = trace.slices.external_id[gpu.index()];
    const CpuOpId named = launches.opOfExternalId(external, found.launch, trace.slices.ts[gpu.index()]);
    const CpuOpId around = out.context != nullptr ? out.context->op : CpuOpId{};

    // Both ways give the same row in healthy files. Where they differ the deeper one describes the kernel: External ids
    // are not pushed for every operator, time containment is blind to a launch moved to another thread.
    CpuOpId op = named.valid() ? named : around;
    if (named.valid() && around.valid() && named != around &&
        trace.slices.depth[trace.cpu_ops.slice[around.index()].index()] >
            trace.slices.depth[trace.cpu_ops.slice[named.index()].index()])
        op = around;
    if (!op.valid()) return out;
    work.op = op;
    work.op_how = op == named ? LinkHow::ExternalId : LinkHow::TimeContainment;
    // The context of the operator itself: also right when the launch row is missing or elsewhere.
    const SliceId op_slice = trace.cpu_ops.slice[op.index()];
    const CpuContext& of_op = contexts.of(op_slice);
    if (out.context == nullptr || op != around) out.context = &of_op;
    work.top_op = of_op.top_op.valid() ? of_op.top_op : op;
    return out;
}

} // namespace fusescope
