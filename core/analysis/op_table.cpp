// SPDX-License-Identifier: Apache-2.0
#include "core/analysis/tables.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

namespace fusescope {
namespace {

std::string_view opName(const TraceStore& trace, const WorkLink& link, SliceId kernel) {
    if (link.op.valid()) return trace.nameOf(trace.cpu_ops.slice[link.op.index()]);
    return trace.nameOf(kernel); // no operator recorded: the kernel speaks for itself
}

void addCost(OpCost& sum, const OpCost& cost) {
    sum.flops += cost.flops;
    sum.tensor_flops += cost.tensor_flops;
    sum.bytes_read += cost.bytes_read;
    sum.bytes_written += cost.bytes_written;
    if (sum.dtype == DType::Unknown) sum.dtype = cost.dtype;
    if (*sum.formula == '\0') sum.formula = cost.formula;
    sum.flops_known = sum.flops_known || cost.flops_known;
    sum.bytes_known = sum.bytes_known || cost.bytes_known;
}

// The bound of a row is that of its average call: a thousand short kernels are not one long one.
OpCost average(const OpCost& sum, double calls) {
    OpCost mean = sum;
    mean.flops /= calls;
    mean.tensor_flops /= calls;
    mean.bytes_read /= calls;
    mean.bytes_written /= calls;
    return mean;
}

} // namespace

void fillOpTable(Analysis& analysis) {
    const TraceStore& trace = *analysis.trace;
    // What the work is for is part of a row: the same operator of one module adds a mask here and rotates heads there.
    using Key = std::tuple<std::string_view, std::string_view, Direction, OpKind>;
    std::map<Key, std::size_t> row_of;
    std::vector<OpSummary> rows;
    std::vector<std::set<CpuOpId>> calls;
    std::vector<double> covered;
    std::vector<std::int32_t> row_of_kernel(trace.kernels.size(), -1);

    for (std::size_t k = 0; k < trace.kernels.size(); ++k) {
        if (!inAnalysedSteps(analysis, KernelId(k))) continue;
        const WorkLink& link = analysis.link.kernels[k];
        const SliceId slice = trace.kernels.slice[k];
        const std::string_view module_type =
            link.module.valid() ? std::string_view(analysis.link.modules.at(link.module).type) : std::string_view();
        const Key key(opName(trace, link, slice), module_type, link.direction, link.kind);
        const auto [it, fresh] = row_of.try_emplace(key, rows.size());
        if (fresh) {
            OpSummary& row = rows.emplace_back();
            row.op = std::get<0>(key);
            row.module_type = std::get<1>(key);
            row.direction = link.direction;
            row.kind = link.kind;
            calls.emplace_back();
            covered.push_back(0);
        }
        OpSummary& row = rows[it->second];
        const OpCost& cost = analysis.kernel_costs[k];
        const auto ns = static_cast<double>(trace.slices.dur[slice.index()]);
        row.time_ns += ns;
        ++row.kernels_count;
        row.kernels.push_back(KernelId(k));
        addCost(row.cost, cost);
        if (cost.flops_known && cost.bytes_known) covered[it->second] += ns;
        if (link.op.valid()) calls[it->second].insert(link.op);
        row_of_kernel[k] = static_cast<std::int32_t>(it->second);
    }
    for (std::size_t i = 0; i < rows.size(); ++i) {
        OpSummary& row = rows[i];
        row.calls = calls[i].empty() ? row.kernels_count : static_cast<std::uint32_t>(calls[i].size());
        // An operator's cost is shared out among its kernels; the sum of the shares is whole again.
        for (double* figure : {&row.cost.flops, &row.cost.tensor_flops, &row.cost.bytes_read, &row.cost.bytes_written})
            *figure = std::round(*figure);
        row.coverage = row.time_ns > 0 ? covered[i] / row.time_ns : 0;
        row.bound = boundOf(average(row.cost, row.kernels_count), row.time_ns / row.kernels_count, analysis.device);
    }

    std::vector<std::size_t> order(rows.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return rows[a].time_ns > rows[b].time_ns; });
    std::vector<std::int32_t> new_row(rows.size());
    analysis.ops.clear();
    for (const std::size_t old : order) {
        new_row[old] = static_cast<std::int32_t>(analysis.ops.size());
        analysis.ops.push_back(std::move(rows[old]));
    }
    for (std::int32_t& row : row_of_kernel)
        if (row >= 0) row = new_row[static_cast<std::size_t>(row)];
    analysis.op_of_kernel = std::move(row_of_kernel);
}

} // namespace fusescope
