// SPDX-License-Identifier: Apache-2.0
#include "core/link/launches.h"

#include <algorithm>

namespace fusescope {

Launches::Launches(const TraceStore& trace) : trace_(trace) {
    const SliceTable& slices = trace.slices;
    std::vector<std::uint32_t> launches; // one of each work
    for (std::size_t i = 0; i < slices.size(); ++i) {
        if (slices.launch[i].valid()) launches.push_back(slices.launch[i].value);
        if (slices.category[i] == Category::CpuOp && slices.external_id[i] != 0 &&
            slices.detail[i] < trace.cpu_ops.size())
            externals_.push_back({slices.external_id[i], slices.detail[i]});
    }
    std::sort(launches.begin(), launches.end());
    for (std::size_t i = 1; i < launches.size(); ++i)
        if (launches[i] == launches[i - 1] && (captured_.empty() || captured_.back() != launches[i]))
            captured_.push_back(launches[i]);
    std::stable_sort(externals_.begin(), externals_.end(), [](const Row& a, const Row& b) { return a.key < b.key; });
}

std::pair<const Launches::Row*, const Launches::Row*> Launches::rowsOf(const std::vector<Row>& rows,
                                                                       std::uint32_t key) {
    const auto begin =
        std::lower_bound(rows.begin(), rows.end(), key, [](const Row& r, std::uint32_t k) { return r.key < k; });
    const auto end = std::upper_bound(begin, rows.end(), key, [](std::uint32_t k, const Row& r) { return k < r.key; });
    return {rows.data() + (begin - rows.begin()), rows.data() + (end - rows.begin())};
}

bool Launches::captured(SliceId launch) const {
    return std::binary_search(captured_.begin(), captured_.end(), launch.value);
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
    const SliceId launch = trace.slices.launch[gpu.index()];
    if (launch.valid()) {
        out.captured = launches.captured(launch);
        work.launch = launch;
        work.launch_how = LinkHow::Correlation;
        out.context = &contexts.of(launch);
    }
    if (out.captured) return out; // the operator around the replay did not make this kernel

    std::uint32_t external = launch.valid() ? trace.slices.external_id[launch.index()] : 0;
    if (external == 0) external = trace.slices.external_id[gpu.index()];
    const CpuOpId named = launches.opOfExternalId(external, launch, trace.slices.ts[gpu.index()]);
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
