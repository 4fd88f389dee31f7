// SPDX-License-Identifier: Apache-2.0
#include "core/fusion/side_by_side.h"

#include <algorithm>
#include <map>
#include <utility>

namespace fusescope {
namespace {

constexpr double kMatters = 0.01; // of a GPU's busy time: a kernel's launch overlaps the end of the one before by less

double upTo(const std::vector<std::int64_t>& times, const std::vector<double>& sums, std::int64_t time) {
    const auto next = std::upper_bound(times.begin(), times.end(), time);
    if (next == times.begin()) return 0;
    const auto row = static_cast<std::size_t>(next - times.begin());
    if (row == times.size()) return sums.back();
    const double share = static_cast<double>(time - times[row - 1]) / static_cast<double>(times[row] - times[row - 1]);
    return sums[row - 1] + share * (sums[row] - sums[row - 1]);
}

} // namespace

SideBySide::SideBySide(const TraceStore* trace, const Link* link, std::int16_t step) : trace_(trace) {
    if (trace_ == nullptr) return;
    std::map<std::int32_t, std::vector<std::pair<std::int64_t, int>>> edges; // when, one more or one less
    const KernelTable& kernels = trace_->kernels;
    for (std::size_t k = 0; k < kernels.size(); ++k) {
        const SliceId slice = kernels.slice[k];
        if (step >= 0 && trace_->slices.step[slice.index()] != step) continue;
        if (link != nullptr && k < link->kernels.size() && link->kernels[k].kind == OpKind::Communication) continue;
        const std::int64_t begin = trace_->slices.ts[slice.index()], end = trace_->endOf(slice);
        if (end <= begin) continue;
        auto& list = edges[kernels.device[k]];
        list.emplace_back(begin, 1);
        list.emplace_back(end, -1);
    }
    for (auto& [device, list] : edges) {
        std::sort(list.begin(), list.end());
        Gpu gpu;
        gpu.device = device;
        double one = 0, busy = 0, all = 0;
        int running = 0;
        for (const auto& [when, change] : list) {
            if (running > 0) {
                const auto since = static_cast<double>(when - gpu.at.back());
                one += since / running;
                busy += since;
                all += since * running;
            }
            running += change;
            if (!gpu.at.empty() && gpu.at.back() == when) continue;
            gpu.at.push_back(when);
            gpu.one_of_ns.push_back(one);
        }
        if (all > busy * (1 + kMatters)) gpus_.push_back(std::move(gpu));
    }
}

double SideBySide::partOf(const Instance& instance) const {
    double all = 0, counts = 0;
    for (const std::vector<KernelId>* kernels : {&instance.forward, &instance.backward})
        for (const KernelId k : *kernels) {
            if (gpus_.empty() || k.index() >= trace_->kernels.size()) return 1;
            const SliceId slice = trace_->kernels.slice[k.index()];
            const std::int64_t begin = trace_->slices.ts[slice.index()], end = trace_->endOf(slice);
            const auto gpu = std::find_if(gpus_.begin(), gpus_.end(), [&](const Gpu& one) {
                return one.device == trace_->kernels.device[k.index()];
            });
            const auto length = static_cast<double>(end - begin);
            all += length;
            counts +=
                gpu == gpus_.end() ? length : upTo(gpu->at, gpu->one_of_ns, end) - upTo(gpu->at, gpu->one_of_ns, begin);
        }
    return all > 0 ? std::min(1.0, counts / all) : 1;
}

} // namespace fusescope
