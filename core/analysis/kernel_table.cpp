// SPDX-License-Identifier: Apache-2.0
#include "core/analysis/tables.h"

#include <algorithm>
#include <array>
#include <limits>
#include <unordered_map>

namespace fusescope {

bool inAnalysedSteps(const Analysis& analysis, KernelId kernel) {
    if (analysis.trace->steps.empty()) return true;
    const std::int16_t step = analysis.trace->slices.step[analysis.trace->kernels.slice[kernel.index()].index()];
    return analysis.all_steps ? step >= 0 : step == analysis.step;
}

void fillKernelTable(Analysis& analysis) {
    const TraceStore& trace = *analysis.trace;
    std::unordered_map<StringId, std::size_t> row_of;
    std::vector<KernelSummary> rows;
    std::vector<std::array<double, 12>> kind_ns; // a kernel's row takes the kind it spends most time for
    for (std::size_t k = 0; k < trace.kernels.size(); ++k) {
        if (!inAnalysedSteps(analysis, KernelId(k))) continue;
        const std::size_t slice = trace.kernels.slice[k].index();
        const auto [it, fresh] = row_of.try_emplace(trace.slices.name[slice], rows.size());
        if (fresh) {
            rows.emplace_back();
            rows.back().name = trace.strings.view(trace.slices.name[slice]);
            rows.back().min_ns = std::numeric_limits<double>::infinity();
            kind_ns.emplace_back();
        }
        KernelSummary& row = rows[it->second];
        const auto ns = static_cast<double>(trace.slices.dur[slice]);
        ++row.calls;
        row.total_ns += ns;
        row.min_ns = std::min(row.min_ns, ns);
        row.max_ns = std::max(row.max_ns, ns);
        row.kernels.push_back(KernelId(k));
        kind_ns[it->second][static_cast<std::size_t>(analysis.link.kernels[k].kind)] += ns;
    }
    const double launch_ns = analysis.device.launch_us * 1e3;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const auto most = std::max_element(kind_ns[i].begin(), kind_ns[i].end());
        rows[i].kind = static_cast<OpKind>(most - kind_ns[i].begin());
        const double launches = launch_ns * rows[i].calls;
        rows[i].launch_overhead_share = launches > 0 ? launches / (rows[i].total_ns + launches) : 0;
    }
    std::stable_sort(rows.begin(), rows.end(),
                     [](const KernelSummary& a, const KernelSummary& b) { return a.total_ns > b.total_ns; });
    analysis.kernels = std::move(rows);
}

} // namespace fusescope
