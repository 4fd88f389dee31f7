// SPDX-License-Identifier: Apache-2.0
#include "core/measured/replay.h"

#include "core/analysis/step_stats.h"
#include "core/measured/replay_work.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <string_view>

namespace fusescope {
namespace {

constexpr std::ptrdiff_t kMostBack = 4096; // rows that are looked at for a wait: it is for one of the last

struct Lane {                            // a device
    std::int64_t shift = 0, covered = 0; // how much earlier it is; until when it was busy
    std::vector<std::size_t> ran;
    std::size_t met = kNoRow;   // the last row that met others
    std::int64_t met_begin = 0; // when that begins now; of a collective: when it has all
    TimeMap map;
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
        work_ = gpuWork(a_, out_.begin, out_.recorded_end);
        lanes_.resize(work_.devices.size());
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
                const std::size_t at = rowOf(a_, work_, k);
                if (at == kNoRow || work_.rows[at].removed) return false;
                rows[d].push_back(at);
                if (work_.rows[at].device != work_.rows[rows[d].front()].device) return false; // no one kernel does it
            }
        }
        if (rows[0].empty() && rows[1].empty()) return false;
        // Kernels that go and fused ones that come make a part of the saving; the rest are waits between the kernels
        // (positive), or the step runs these kernels slower than the runner did (negative).
        double kernels = 0, fused = 0;
        std::array<double, 2> time{};
        for (const std::size_t d : {0U, 1U}) {
            for (const std::size_t row : rows[d]) time[d] += span(work_.rows[row]);
            if (!rows[d].empty()) fused += change.fused[d];
            kernels += time[d];
        }
        double rest = change.saved - (kernels - fused);
        std::size_t count = 0;
        for (const std::size_t d : {0U, 1U}) {
            count += rows[d].size();
            for (std::size_t i = 1; i < rows[d].size() && rest > 0; ++i) {
                const std::size_t row = rows[d][i];
                const auto gap = static_cast<std::int64_t>(std::min(rest, static_cast<double>(work_.rows[row].idle)));
                if (gap <= 0) continue;
                work_.rows[row].gap = gap;
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
        for (const GpuRow& row : work_.rows)
            if (row.launch != kNoLaunch) latency_ = std::min(latency_, row.begin - row.launch);
        cpu_.push_back({cpu_begin_, 0});
        out_.cpu.add(cpu_begin_, cpu_begin_);
        for (Lane& lane : lanes_) {
            lane.map.add(out_.begin, out_.begin);
            lane.covered = out_.begin;
        }
        for (std::size_t i = 0; i < work_.rows.size(); ++i) {
            cpuUntil(work_.rows[i].begin);
            gpuRow(i);
        }
        finish();
        std::sort(out_.removed.begin(), out_.removed.end());
        std::sort(out_.places.begin(), out_.places.end(),
                  [](const FusedPlace& x, const FusedPlace& y) { return x.begin < y.begin; });
        return std::move(out_);
    }

private:
    static double span(const GpuRow& row) { return static_cast<double>(row.end - row.begin); }

    void put(const FusedChange& change, bool backward, const std::vector<std::size_t>& rows, double length) {
        for (const std::size_t row : rows) {
            work_.rows[row].removed = true;
            out_.removed.push_back(work_.rows[row].slice);
        }
        GpuRow& first = work_.rows[rows.front()];
        first.first = true;
        first.length = length;
        first.place = out_.places.size();
        FusedPlace place;
        static_cast<FusedOf&>(place) = change;
        place.backward = backward;
        place.track = trace_.slices.track[first.slice.index()];
        place.fused_ns = change.fused[backward ? 1U : 0U];
        place.recorded_begin = first.begin;
        place.recorded_end = work_.rows[rows.back()].end;
        out_.places.push_back(place);
    }

    // by: at least
    void launchEarlier(const std::vector<std::size_t>& rows, double by) {
        std::int64_t begin = std::numeric_limits<std::int64_t>::max(), end = kNoLaunch;
        double between = 0; // from one launch of the region to its next, nothing else launched on the way
        for (std::size_t i = 0; i < rows.size(); ++i) {
            const GpuRow& row = work_.rows[rows[i]];
            if (row.launch == kNoLaunch) continue;
            begin = std::min(begin, row.launch);
            end = std::max(end, row.launch);
            if (i > 0 && row.rank == work_.rows[rows[i - 1]].rank + 1)
                between += static_cast<double>(row.launch - work_.rows[rows[i - 1]].launch);
        }
        by = std::max(by, between);
        if (by > 0 && end > begin) events_.push_back({begin, end, by, false});
    }

    void addWaits() {
        const SliceTable& s = trace_.slices;
        for (auto at = static_cast<std::size_t>(std::lower_bound(s.ts.begin(), s.ts.end(), cpu_begin_) - s.ts.begin());
             at < s.size() && s.ts[at] <= cpu_end_; ++at) {
            if (s.category[at] != Category::CudaRuntime && s.category[at] != Category::CudaDriver) continue;
            if (!trace_.steps.empty() && s.step[at] != a_.step) continue; // another process's
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

    // What a wait is for: what was launched before and had ended by then, last on each device, latest of all.
    [[nodiscard]] std::size_t workBefore(const CpuEvent& wait) const {
        std::size_t last = kNoRow;
        for (const Lane& lane : lanes_) {
            const auto stop = lane.ran.rbegin() + std::min(kMostBack, lane.ran.rend() - lane.ran.rbegin());
            const auto at = std::find_if(lane.ran.rbegin(), stop, [&](std::size_t i) {
                return work_.rows[i].launch < wait.begin && work_.rows[i].end <= wait.end;
            });
            if (at != stop && (last == kNoRow || work_.rows[*at].end > work_.rows[last].end)) last = *at;
        }
        return last;
    }

    void cpuUntil(std::int64_t t) {
        for (; next_event_ < events_.size() && events_[next_event_].end <= t; ++next_event_) {
            const CpuEvent& event = events_[next_event_];
            const std::int64_t now = cpu_.back().by, begin = std::max(event.begin, cpu_.back().from);
            std::int64_t then = now;
            if (event.wait) {
                const std::size_t i = workBefore(event);
                if (i == kNoRow) continue;
                // It ends as long after that work as it did, but not before it begins.
                const GpuRow& work = work_.rows[i];
                const std::int64_t slack = work.end > event.begin ? 0 : event.end - work.end;
                then = work.end > event.begin ? ends_[i] : std::min(now, ends_[i] + slack);
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

    static void shiftTo(Lane& lane, std::int64_t shift, std::int64_t begin) { // in the gap before `begin`
        if (shift == lane.shift) return;
        const std::int64_t from = std::min(lane.covered, begin);
        lane.map.add(from, from - lane.shift);
        lane.shift = shift;
        lane.map.add(begin, begin - lane.shift);
    }

    // The shift of a row's device before it. A device that idled until another one had copied to it, or had left a
    // collective, waited for that.
    [[nodiscard]] std::int64_t shiftBefore(const GpuRow& row) const {
        const Lane& own = lanes_[row.device];
        std::int64_t shift = own.shift;
        for (const Lane& lane : lanes_) {
            if (&lane == &own || lane.met == kNoRow) continue;
            const std::int64_t done = work_.rows[lane.met].end;
            if (done > own.covered && done <= row.begin)
                shift = std::max(shift, std::min(ends_[lane.met], own.shift + done - own.covered));
        }
        return shift;
    }

    // No device leaves a collective before the last one has come to it.
    void collective(std::size_t i) {
        const std::int64_t begin = work_.rows[i].begin;
        const auto meets = [&](const Lane& lane) {
            return lane.met != kNoRow && work_.rows[lane.met].meets == Meets::All && work_.rows[lane.met].end > begin;
        };
        std::int64_t all = std::numeric_limits<std::int64_t>::min(); // are there
        for (const Lane& lane : lanes_)
            if (meets(lane)) all = std::max(all, lane.met_begin);
        for (Lane& lane : lanes_) {
            if (!meets(lane)) continue;
            shiftTo(lane, std::min(lane.shift, begin - all), begin);
            lane.met_begin = all;
            if (lane.met < i) ends_[lane.met] = lane.shift;
        }
    }

    void gpuRow(std::size_t i) {
        const GpuRow& row = work_.rows[i];
        Lane& lane = lanes_[row.device];
        if (!row.removed || row.first)
            shiftTo(lane, std::min(shiftBefore(row), allowed(row.begin, row.launch)), row.begin);
        else if (row.gap > 0)
            shiftTo(lane, lane.shift + std::min(row.gap, std::max<std::int64_t>(0, row.begin - lane.covered)),
                    row.begin);
        if (row.meets != Meets::Nobody) {
            lane.met = i;
            lane.met_begin = row.begin - lane.shift;
            if (row.meets == Meets::All) collective(i);
        }
        if (row.removed) {
            auto gone = static_cast<std::int64_t>(span(row) - row.length);
            std::int64_t from = row.begin, until = row.end;
            if (gone > 0) { // only while nothing else runs on the device
                from = std::max(from, lane.covered);
                for (std::size_t k = i + 1; k < work_.rows.size() && work_.rows[k].begin < row.end; ++k)
                    if (!work_.rows[k].removed && work_.rows[k].device == row.device) {
                        until = work_.rows[k].begin;
                        break;
                    }
                gone = std::min(gone, std::max<std::int64_t>(0, until - from));
            }
            if (row.first) out_.places[row.place].begin = row.begin - lane.shift;
            if (gone != 0) {
                lane.map.add(from, from - lane.shift);
                lane.shift += gone;
                lane.map.add(until, until - lane.shift);
            }
            if (row.first) out_.places[row.place].end = row.end - lane.shift;
        }
        lane.covered = std::max(lane.covered, row.end);
        lane.ran.push_back(i);
        ends_.push_back(lane.shift);
    }

    // The step ends where the next one can begin: with its first launch, or when GPUs and CPU are through.
    void finish() {
        cpuUntil(std::numeric_limits<std::int64_t>::max());
        const std::int64_t end = out_.recorded_end;
        const auto step = static_cast<std::size_t>(std::max<std::int16_t>(a_.step, 0));
        std::int64_t last = out_.begin, covered = out_.begin;
        for (const Lane& lane : lanes_) {
            last = std::max(last, lane.covered - lane.shift);
            covered = std::max(covered, lane.covered);
        }
        if (const std::size_t after = nextStep(trace_, step); after < a_.steps.size()) {
            const NextWork next = workAt(a_, end, after);
            const auto lane = static_cast<std::size_t>(
                std::find(work_.devices.begin(), work_.devices.end(), next.device) - work_.devices.begin());
            // On a device that has done nothing in the step it comes as long after all others as it did.
            const std::int64_t shift = lane < lanes_.size() ? lanes_[lane].shift : covered - last;
            last = std::max(last, end - std::min(shift, allowed(end, next.launch)));
        } else if (covered < end) {
            last = std::max(last, std::min(end, cpu_end_) - cpu_.back().by);
        }
        out_.end = std::clamp(last, out_.begin, end);
        for (std::size_t i = 0; i < lanes_.size(); ++i) {
            Lane& lane = lanes_[i];
            lane.map.add(lane.covered, lane.covered - lane.shift);
            lane.map.add(end, out_.end);
            lane.map.add(end, end);
            out_.gpus.push_back({work_.devices[i], std::move(lane.map)});
        }
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
    GpuWork work_;
    std::vector<Lane> lanes_;
    std::vector<std::int64_t> ends_; // of rows that have run: how much earlier they end
    std::vector<CpuEvent> events_;
    std::size_t next_event_ = 0;
    std::vector<Ahead> cpu_;
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
