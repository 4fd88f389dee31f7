// SPDX-License-Identifier: Apache-2.0
#include "core/measured/replay.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <string_view>

namespace fusescope {
namespace {

constexpr std::int64_t kNoLaunch = std::numeric_limits<std::int64_t>::min();

struct Row { // a piece of GPU work
    SliceId slice;
    std::int64_t begin = 0, end = 0;
    std::int64_t launch = kNoLaunch; // begin of the call
    std::size_t rank = 0;            // of the launch, among all; 0: none
    bool removed = false, first = false;
    double length = 0;     // of a removed one: what its fused form takes here (0 but for the first)
    std::int64_t gap = 0;  // that goes before it
    std::size_t place = 0; // of the first one
};

struct CpuEvent { // the launching thread is ahead from `end` on
    std::int64_t begin = 0, end = 0;
    double saved = 0;  // ns, spread over begin..end
    bool wait = false; // until the GPU is through with what was launched before
};

class Replay {
public:
    explicit Replay(const Analysis& analysis) : a_(analysis), trace_(*analysis.trace) {
        const auto step = static_cast<std::size_t>(std::max<std::int16_t>(a_.step, 0));
        out_.begin = a_.steps[step].begin;
        out_.recorded_end = a_.steps[step].end;
        const bool whole = step >= trace_.steps.size();
        cpu_begin_ = whole ? trace_.begin : trace_.steps[step].begin;
        cpu_end_ = whole ? trace_.end : trace_.steps[step].end;
        for (std::size_t k = 0; k < trace_.kernels.size(); ++k)
            addRow(trace_.kernels.slice[k], k < a_.link.kernels.size() ? a_.link.kernels[k].launch : SliceId());
        for (std::size_t c = 0; c < trace_.copies.size(); ++c)
            addRow(trace_.copies.slice[c], c < a_.link.copies.size() ? a_.link.copies[c].launch : SliceId());
        const auto earlier = [](const Row& x, const Row& y) {
            return x.begin != y.begin ? x.begin < y.begin : x.slice < y.slice;
        };
        std::sort(rows_.begin(), rows_.end(), earlier);
        std::vector<std::size_t> launched;
        for (std::size_t i = 0; i < rows_.size(); ++i)
            if (rows_[i].launch != kNoLaunch) launched.push_back(i);
        std::stable_sort(launched.begin(), launched.end(),
                         [&](std::size_t x, std::size_t y) { return rows_[x].launch < rows_[y].launch; });
        for (std::size_t rank = 0; rank < launched.size(); ++rank) rows_[launched[rank]].rank = rank + 1;
    }

    // Puts a change in; false when it shares a kernel with an earlier one, or saves nothing.
    bool add(const FusedChange& change) {
        const Instance* of = instanceOf(a_, change);
        if (of == nullptr || !(change.saved > 0)) return false;
        const Instance& instance = *of;
        std::array<std::vector<std::size_t>, 2> rows;
        for (const std::size_t d : {0U, 1U}) {
            if (change.fused[d] < 0) continue;
            for (const KernelId k : d == 0 ? instance.forward : instance.backward) {
                const std::size_t at = rowOf(k);
                if (at == rows_.size() || rows_[at].removed) return false;
                rows[d].push_back(at);
            }
        }
        if (rows[0].empty() && rows[1].empty()) return false;
        // Kernels that go and fused ones that come make a part of the saving; the rest are waits between the kernels
        // (positive), or the step runs these kernels slower than the runner did (negative).
        double kernels = 0, fused = 0;
        std::array<double, 2> time{};
        for (const std::size_t d : {0U, 1U}) {
            for (const std::size_t row : rows[d]) time[d] += span(rows_[row]);
            if (!rows[d].empty()) fused += change.fused[d];
            kernels += time[d];
        }
        double rest = change.saved - (kernels - fused);
        std::size_t count = 0;
        for (const std::size_t d : {0U, 1U}) {
            count += rows[d].size();
            for (std::size_t i = 1; i < rows[d].size() && rest > 0; ++i) {
                const std::size_t row = rows[d][i];
                const auto gap = static_cast<std::int64_t>(
                    std::min(rest, static_cast<double>(rows_[row].begin - rows_[row - 1].end)));
                if (gap <= 0) continue;
                rows_[row].gap = gap;
                rest -= static_cast<double>(gap);
            }
        }
        for (const std::size_t d : {0U, 1U}) {
            if (rows[d].empty()) continue;
            const double share = kernels > 0 ? time[d] / kernels : 0.5;
            put(change, d == 1, rows[d], std::max(0.0, change.fused[d] - rest * share));
            const double waits = instance.idle_ns > 0 ? change.saved * static_cast<double>(rows[d].size()) /
                                                            static_cast<double>(std::max<std::size_t>(1, count))
                                                      : 0;
            launchEarlier(rows[d], waits);
        }
        out_.measured_ns += change.saved;
        return true;
    }

    TimelineAfter run() {
        addWaits();
        std::sort(events_.begin(), events_.end(), [](const CpuEvent& x, const CpuEvent& y) { return x.end < y.end; });
        latency_ = std::numeric_limits<std::int64_t>::max();
        for (const Row& row : rows_)
            if (row.launch != kNoLaunch) latency_ = std::min(latency_, row.begin - row.launch);
        cpu_.push_back({cpu_begin_, 0});
        out_.cpu.add(cpu_begin_, cpu_begin_);
        out_.gpu.add(out_.begin, out_.begin);
        covered_ = out_.begin;
        for (std::size_t i = 0; i < rows_.size(); ++i) {
            cpuUntil(rows_[i].begin, i);
            gpuRow(i);
        }
        finish();
        std::sort(out_.removed.begin(), out_.removed.end());
        std::sort(out_.places.begin(), out_.places.end(),
                  [](const FusedPlace& x, const FusedPlace& y) { return x.begin < y.begin; });
        return std::move(out_);
    }

private:
    static double span(const Row& row) { return static_cast<double>(row.end - row.begin); }

    void addRow(SliceId slice, SliceId launch) {
        if (a_.step >= 0 && trace_.slices.step[slice.index()] != a_.step) return;
        Row row;
        row.slice = slice;
        row.begin = trace_.slices.ts[slice.index()];
        row.end = trace_.endOf(slice);
        // Untimed work has no place; neither has what lies outside of its step, or in a time that none can have.
        if (row.begin < out_.begin || row.end > out_.recorded_end || row.end < row.begin) return;
        if (launch.valid() && launch.index() < trace_.slices.size() && trace_.slices.ts[launch.index()] <= row.begin)
            row.launch = trace_.slices.ts[launch.index()];
        rows_.push_back(row);
    }

    std::size_t rowOf(KernelId kernel) const {
        if (kernel.index() >= trace_.kernels.size()) return rows_.size();
        const SliceId slice = trace_.kernels.slice[kernel.index()];
        const std::int64_t begin = trace_.slices.ts[slice.index()];
        auto at = std::lower_bound(rows_.begin(), rows_.end(), begin,
                                   [](const Row& row, std::int64_t t) { return row.begin < t; });
        while (at != rows_.end() && at->begin == begin && at->slice != slice) ++at;
        return at != rows_.end() && at->slice == slice ? static_cast<std::size_t>(at - rows_.begin()) : rows_.size();
    }

    void put(const FusedChange& change, bool backward, const std::vector<std::size_t>& rows, double length) {
        for (const std::size_t row : rows) {
            rows_[row].removed = true;
            out_.removed.push_back(rows_[row].slice);
        }
        Row& first = rows_[rows.front()];
        first.first = true;
        first.length = length;
        first.place = out_.places.size();
        FusedPlace place;
        static_cast<FusedOf&>(place) = change;
        place.backward = backward;
        place.track = trace_.slices.track[first.slice.index()];
        place.fused_ns = change.fused[backward ? 1U : 0U];
        place.recorded_begin = first.begin;
        place.recorded_end = rows_[rows.back()].end;
        out_.places.push_back(place);
    }

    // by: at least
    void launchEarlier(const std::vector<std::size_t>& rows, double by) {
        std::int64_t begin = std::numeric_limits<std::int64_t>::max(), end = kNoLaunch;
        double between = 0; // from one launch of the region to its next, nothing else launched on the way
        for (std::size_t i = 0; i < rows.size(); ++i) {
            const Row& row = rows_[rows[i]];
            if (row.launch == kNoLaunch) continue;
            begin = std::min(begin, row.launch);
            end = std::max(end, row.launch);
            if (i > 0 && row.rank == rows_[rows[i - 1]].rank + 1)
                between += static_cast<double>(row.launch - rows_[rows[i - 1]].launch);
        }
        by = std::max(by, between);
        if (by > 0 && end > begin) events_.push_back({begin, end, by, false});
    }

    void addWaits() {
        const SliceTable& s = trace_.slices;
        for (auto at = static_cast<std::size_t>(std::lower_bound(s.ts.begin(), s.ts.end(), cpu_begin_) - s.ts.begin());
             at < s.size() && s.ts[at] <= cpu_end_; ++at) {
            if (s.category[at] != Category::CudaRuntime && s.category[at] != Category::CudaDriver) continue;
            if (trace_.nameOf(SliceId(at)).find("Synchronize") == std::string_view::npos) continue;
            const std::int64_t end = trace_.endOf(SliceId(at));
            if (end <= cpu_end_ && end >= s.ts[at]) events_.push_back({s.ts[at], end, 0, true});
        }
    }

    // How much earlier the launching thread is at a time.
    [[nodiscard]] std::int64_t ahead(std::int64_t t) const {
        const auto after =
            std::upper_bound(cpu_.begin(), cpu_.end(), t, [](std::int64_t x, const Ahead& y) { return x < y.from; });
        return after == cpu_.begin() ? 0 : std::prev(after)->by;
    }

    // rows: those before have run.
    void cpuUntil(std::int64_t t, std::size_t rows) {
        for (; next_event_ < events_.size() && events_[next_event_].end <= t; ++next_event_) {
            const CpuEvent& event = events_[next_event_];
            const std::int64_t now = cpu_.back().by, begin = std::max(event.begin, cpu_.back().from);
            std::int64_t then = now;
            if (event.wait) {
                std::size_t i = rows; // what it waits for: the last that was launched before and had ended by then
                while (i > 0 && (rows_[i - 1].launch >= event.begin || rows_[i - 1].end > event.end)) --i;
                if (i == 0) continue;
                // It ends as long after that work as it did, but not before it begins.
                const Row& work = rows_[i - 1];
                const std::int64_t slack = work.end > event.begin ? 0 : event.end - work.end;
                then = work.end > event.begin ? ends_[i - 1] : std::min(now, ends_[i - 1] + slack);
                then = std::min(then, now + (event.end - begin));
            } else {
                then = now + std::min(static_cast<std::int64_t>(event.saved), event.end - begin);
            }
            out_.cpu.add(begin, begin - now);
            out_.cpu.add(event.end, event.end - then);
            cpu_.push_back({event.end, then});
        }
    }

    // Earliest shift that the launch of a row allows.
    [[nodiscard]] std::int64_t allowed(std::int64_t begin, std::int64_t launch) const {
        if (launch == kNoLaunch) return std::numeric_limits<std::int64_t>::max();
        return begin - launch - latency_ + ahead(launch);
    }

    void shiftTo(std::int64_t shift, std::int64_t begin) { // in the gap before `begin`
        if (shift == shift_) return;
        const std::int64_t from = std::min(covered_, begin);
        out_.gpu.add(from, from - shift_);
        shift_ = shift;
        out_.gpu.add(begin, begin - shift_);
    }

    void gpuRow(std::size_t i) {
        const Row& row = rows_[i];
        if (!row.removed || row.first)
            shiftTo(std::min(shift_, allowed(row.begin, row.launch)), row.begin);
        else if (row.gap > 0)
            shiftTo(shift_ + std::min(row.gap, std::max<std::int64_t>(0, row.begin - covered_)), row.begin);
        if (row.removed) {
            auto gone = static_cast<std::int64_t>(span(row) - row.length);
            std::int64_t from = row.begin, until = row.end;
            if (gone > 0) { // only while nothing else runs
                from = std::max(from, covered_);
                for (std::size_t k = i + 1; k < rows_.size() && rows_[k].begin < row.end; ++k)
                    if (!rows_[k].removed) {
                        until = rows_[k].begin;
                        break;
                    }
                gone = std::min(gone, std::max<std::int64_t>(0, until - from));
            }
            if (row.first) out_.places[row.place].begin = row.begin - shift_;
            if (gone != 0) {
                out_.gpu.add(from, from - shift_);
                shift_ += gone;
                out_.gpu.add(until, until - shift_);
            }
            if (row.first) out_.places[row.place].end = row.end - shift_;
        }
        covered_ = std::max(covered_, row.end);
        ends_.push_back(shift_);
    }

    // The call that launched the work that begins then.
    [[nodiscard]] std::int64_t launchAt(std::int64_t begin) const {
        const auto of = [&](const std::vector<SliceId>& slices, const std::vector<WorkLink>& links) {
            const auto at = std::lower_bound(slices.begin(), slices.end(), begin, [&](SliceId id, std::int64_t t) {
                return trace_.slices.ts[id.index()] < t;
            });
            const auto row = static_cast<std::size_t>(at - slices.begin());
            if (at == slices.end() || trace_.slices.ts[at->index()] != begin || row >= links.size()) return kNoLaunch;
            const SliceId launch = links[row].launch;
            return launch.valid() && launch.index() < trace_.slices.size() ? trace_.slices.ts[launch.index()]
                                                                           : kNoLaunch;
        };
        return std::max(of(trace_.kernels.slice, a_.link.kernels), of(trace_.copies.slice, a_.link.copies));
    }

    // The step ends where the next one can begin: with its first launch, or when GPU and CPU are through.
    void finish() {
        cpuUntil(std::numeric_limits<std::int64_t>::max(), rows_.size());
        const std::int64_t end = out_.recorded_end;
        const auto step = static_cast<std::size_t>(std::max<std::int16_t>(a_.step, 0));
        std::int64_t last = covered_ - shift_;
        if (step + 1 < a_.steps.size())
            last = end - std::min(shift_, allowed(end, launchAt(end)));
        else if (covered_ < end)
            last = std::max(last, std::min(end, cpu_end_) - cpu_.back().by);
        out_.end = std::clamp(last, out_.begin, end);
        out_.gpu.add(covered_, covered_ - shift_);
        out_.gpu.add(end, out_.end);
        out_.gpu.add(end, end);
        out_.cpu.add(cpu_end_, cpu_end_ - cpu_.back().by);
        out_.cpu.add(cpu_end_, cpu_end_);
    }

    struct Ahead {
        std::int64_t from = 0, by = 0;
    };

    const Analysis& a_;
    const TraceStore& trace_;
    TimelineAfter out_;
    std::int64_t cpu_begin_ = 0, cpu_end_ = 0, latency_ = 0;
    std::vector<Row> rows_;
    std::vector<std::int64_t> ends_; // of rows that have run: how much earlier they end
    std::vector<CpuEvent> events_;
    std::size_t next_event_ = 0;
    std::vector<Ahead> cpu_;
    std::int64_t shift_ = 0, covered_ = 0; // how much earlier the GPU is; until when it was busy
};

} // namespace

std::optional<TimelineAfter> replay(const Analysis& analysis, std::span<const FusedChange> changes) {
    if (changes.empty()) return {};
    Replay step(analysis);
    bool any = false;
    for (const FusedChange& change : changes) any = step.add(change) || any;
    if (!any) return {};
    return step.run();
}

} // namespace fusescope
