// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/timeline/timeline_state.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>
#include <utility>

namespace fusescope {
namespace {
constexpr std::int64_t kShortestRange = 50; // ns: one kernel's finest detail is some ten of them
constexpr double kAllDepths = 200;

double spanOf(std::int64_t from, std::int64_t to) noexcept {
    return static_cast<double>(static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(from));
}
} // namespace

TimelineState::TimelineState(Session* session, QObject* parent) : QObject(parent), session_(session) {
    for (const auto change : {&Session::measuredChanged, &Session::regionsChanged})
        connect(session_, change, this, [this] {
            afters_.forget();
            refreshAfter();
        });
    connect(session_, &Session::selectionChanged, this, [this] {
        if (!session_->measured().empty()) refreshAfter();
    });
}

void TimelineState::refreshAfter() {
    const std::shared_ptr<const TimelineAfter> before = std::exchange(
        after_, hasTrace() ? afters_.of(*analysis(), session_->measured(), session_->selection(), session_->regions())
                           : nullptr);
    if (before == after_) return;
    Q_EMIT afterChanged();
    Q_EMIT changed();
}

void TimelineState::setAfter(bool on) {
    if (on == wants_after_) return;
    wants_after_ = on;
    Q_EMIT afterChanged();
    Q_EMIT changed();
}

TimelineView TimelineState::view() const {
    TimelineView v;
    v.t0 = t0_;
    v.t1 = std::max(t1_, t0_ + 1);
    v.width = width_;
    v.height = height_;
    v.scroll_y = scroll_;
    return v;
}

std::int64_t TimelineState::origin() const { return hasTrace() ? analysis()->trace->begin : 0; }
double TimelineState::maxScroll() const { return std::max(0.0, layout_.height + 8 - height_); }

std::int64_t TimelineState::timeAt(double x) const {
    return t0_ + static_cast<std::int64_t>(std::llround(x / std::max(1.0, width_) * spanOf(t0_, t1_)));
}
double TimelineState::xAt(std::int64_t t) const {
    const double d = t >= t0_ ? spanOf(t0_, t) : -spanOf(t, t0_);
    return d * width_ / std::max(1.0, spanOf(t0_, t1_));
}

void TimelineState::load() {
    touched_ = all_depths_ = false;
    options_ = {};
    scroll_ = 0;
    layout_ = {};
    afters_.forget();
    refreshAfter();
    if (hasTrace()) {
        arrange();
        showStep();
    } else {
        t0_ = 0;
        t1_ = 1;
    }
    Q_EMIT changed();
    Q_EMIT rangeChanged();
}

void TimelineState::relayout() {
    options_.depth_limit = all_depths_ ? kAllDepths : options_.depth_limit;
    layout_ = timelineLayout(*analysis(), options_);
    scroll_ = std::clamp(scroll_, 0.0, maxScroll());
}

// As many rows of the CPU threads as leave the GPU streams in sight.
void TimelineState::arrange() {
    TimelineOptions all;
    all.depth_limit = kAllDepths;
    const TimelineLayout full = timelineLayout(*analysis(), all);
    options_.collapsed.clear();
    const auto heightWith = [&](double limit, bool one_thread) {
        double height = full.height + 4;
        bool first = true;
        for (const TimelineRow& row : full.rows) {
            const double shown = one_thread && !row.gpu && !first ? 1 : std::min<double>(row.depths, limit);
            height -= row.line_height * (row.depths - shown);
            first = false;
        }
        return height;
    };
    constexpr std::array<double, 8> limits = {12, 10, 8, 7, 6, 5, 4, 3};
    const auto fitting = [&](bool one_thread) {
        return std::find_if(limits.begin(), limits.end(),
                            [&](double limit) { return heightWith(limit, one_thread) <= height_; });
    };
    auto found = fitting(false);
    const bool one_thread = found == limits.end() || *found < 4;
    if (one_thread) {
        found = fitting(true);
        bool first = true;
        for (const TimelineRow& row : full.rows) {
            if (!row.gpu && !first && row.depths > 1) options_.collapsed.push_back(row.track);
            first = false;
        }
    }
    const double limit = found == limits.end() ? limits.back() : *found;
    options_.depth_limit = limit;
    relayout();
    showGpuRows();
}

// Of merged ranks those of the one whose step it is.
void TimelineState::showGpuRows() {
    const TraceStore& trace = *analysis()->trace;
    const auto step = static_cast<std::size_t>(std::max<std::int16_t>(analysis()->step, 0));
    const bool ranks = trace.several_processes && step < trace.steps.size();
    double bottom = 0, own = 0;
    for (const TimelineRow& row : layout_.rows) {
        if (!row.gpu) continue;
        bottom = std::max(bottom, row.y + row.height);
        if (ranks && trace.tracks[row.track.index()].process == trace.steps[step].pid)
            own = std::max(own, row.y + row.height);
    }
    if (own > 0) bottom = own;
    scroll_ = bottom > height_ ? std::clamp(bottom + 8 - height_, 0.0, maxScroll()) : 0;
}

void TimelineState::setViewport(double width, double height) {
    width = std::max(1.0, width);
    height = std::max(1.0, height);
    if (width == width_ && height == height_) return;
    const bool taller = height != height_;
    width_ = width;
    height_ = height;
    if (hasTrace() && !touched_ && taller) arrange();
    scroll_ = std::clamp(scroll_, 0.0, maxScroll());
    Q_EMIT changed();
}

void TimelineState::setRange(std::int64_t t0, std::int64_t t1) {
    if (!hasTrace()) return;
    const std::int64_t begin = analysis()->trace->begin, end = std::max(analysis()->trace->end, begin + 1);
    if (t1 < t0) std::swap(t0, t1);
    t0 = std::clamp(t0, begin, end);
    t1 = std::clamp(t1, begin, end);
    if (t1 - t0 < kShortestRange) {
        const std::int64_t want = std::min(kShortestRange, end - begin);
        t0 = std::clamp(t0 + (t1 - t0) / 2 - want / 2, begin, end - want);
        t1 = t0 + want;
    }
    if (t0 == t0_ && t1 == t1_) return;
    t0_ = t0;
    t1_ = t1;
    Q_EMIT changed();
    Q_EMIT rangeChanged();
}

void TimelineState::zoomAt(double factor, double x) {
    if (!hasTrace() || !(factor > 0)) return;
    const double span = spanOf(t0_, t1_), share = std::clamp(x / width_, 0.0, 1.0);
    const double whole = spanOf(analysis()->trace->begin, analysis()->trace->end);
    const double wanted = std::clamp(span / factor, static_cast<double>(kShortestRange), std::max(whole, 1.0));
    const std::int64_t fixed = t0_ + static_cast<std::int64_t>(span * share);
    std::int64_t t0 = fixed - static_cast<std::int64_t>(wanted * share);
    const auto length = static_cast<std::int64_t>(wanted);
    const std::int64_t last = std::max(analysis()->trace->begin, analysis()->trace->end - length);
    t0 = std::clamp(t0, analysis()->trace->begin, last);
    setRange(t0, t0 + length);
}

void TimelineState::panBy(double pixels) {
    if (!hasTrace()) return;
    const std::int64_t length = t1_ - t0_;
    const auto by = static_cast<std::int64_t>(pixels / width_ * static_cast<double>(length));
    const std::int64_t begin = analysis()->trace->begin, last = std::max(begin, analysis()->trace->end - length);
    const std::int64_t t0 = std::clamp(t0_ + by, begin, last);
    setRange(t0, t0 + length);
}

void TimelineState::setScroll(double y) {
    y = std::clamp(y, 0.0, maxScroll());
    if (y == scroll_) return;
    scroll_ = y;
    touched_ = true;
    Q_EMIT changed();
}

void TimelineState::scrollTo(TrackId track) {
    for (const TimelineRow& row : layout_.rows) {
        if (row.track != track) continue;
        if (row.y >= scroll_ && row.y + std::min(row.height, height_) <= scroll_ + height_) return;
        setScroll(row.y + row.height / 2 - height_ / 2);
        return;
    }
}

void TimelineState::showStep() {
    if (!hasTrace()) return;
    const Analysis& a = *analysis();
    const auto step = static_cast<std::size_t>(std::max<std::int16_t>(a.step, 0));
    if (a.steps.empty() || step >= a.steps.size() || a.steps[step].end <= a.steps[step].begin) return showAll();
    const StepStats& s = a.steps[step];
    const std::int64_t margin = (s.end - s.begin) / 50;
    setRange(s.begin - margin, s.end + margin);
}

void TimelineState::showAll() {
    if (hasTrace()) setRange(analysis()->trace->begin, analysis()->trace->end);
}

void TimelineState::showSpan(std::int64_t begin, std::int64_t end, bool closer) {
    if (!hasTrace()) return;
    const std::int64_t span = std::max<std::int64_t>(end - begin, 1), length = t1_ - t0_;
    if (closer || span > length) {
        const std::int64_t margin = std::max<std::int64_t>(span / 10, 20);
        setRange(begin - margin, end + margin);
        return;
    }
    const std::int64_t first = analysis()->trace->begin, last = std::max(first, analysis()->trace->end - length);
    const std::int64_t t0 = std::clamp(begin + span / 2 - length / 2, first, last);
    setRange(t0, t0 + length);
}

void TimelineState::toggle(TrackId track) {
    if (!hasTrace()) return;
    const auto found = std::find(options_.collapsed.begin(), options_.collapsed.end(), track);
    if (found != options_.collapsed.end())
        options_.collapsed.erase(found);
    else
        options_.collapsed.push_back(track);
    touched_ = true;
    relayout();
    Q_EMIT changed();
}

void TimelineState::setAllDepths(bool all) {
    if (!hasTrace() || all == all_depths_) return;
    all_depths_ = all;
    touched_ = all;
    if (all) {
        options_.collapsed.clear();
        relayout();
    } else
        arrange();
    Q_EMIT changed();
}

bool TimelineState::selectedSpan(std::int64_t& begin, std::int64_t& end, TrackId& track) const {
    if (!hasTrace()) return false;
    const TraceStore& trace = *analysis()->trace;
    const SelectionSets& selection = session_->selection();
    const auto take = [&](SliceId slice) {
        std::tie(begin, end) = shownSpan(*analysis(), after(), slice);
        track = trace.slices.track[slice.index()];
    };
    if (selection.slice.valid() && selection.slice.index() < trace.slices.size()) {
        take(selection.slice);
        return true;
    }
    const auto kernelsSpan = [&](const std::vector<KernelId>& kernels) {
        bool any = false;
        for (const KernelId kernel : kernels) {
            if (kernel.index() >= trace.kernels.size()) continue;
            const SliceId slice = trace.kernels.slice[kernel.index()];
            if (!any) take(slice);
            const auto [from, to] = shownSpan(*analysis(), after(), slice);
            begin = std::min(begin, from);
            end = std::max(end, to);
            any = true;
        }
        return any;
    };
    // Of a finding its first occurrence: all of them together span the whole step.
    if (selection.pick.kind == PickKind::Finding && selection.pick.id < analysis()->findings.size())
        for (const Instance& instance : analysis()->findings[selection.pick.id].instances)
            if (kernelsSpan(instance.forward) || kernelsSpan(instance.backward)) return true;
    if (selection.pick.kind == PickKind::Kernel || selection.pick.kind == PickKind::Instance)
        return kernelsSpan(selection.kernels);
    if (selection.kernels.empty()) return false;
    // Of anything else the first run of kernels that follow each other.
    std::vector<KernelId> run = {selection.kernels.front()};
    for (std::size_t i = 1; i < selection.kernels.size() && selection.kernels[i].value == run.back().value + 1; ++i)
        run.push_back(selection.kernels[i]);
    return kernelsSpan(run);
}

bool TimelineState::selectionInSight() const {
    const TraceStore& trace = *analysis()->trace;
    const SelectionSets& selection = session_->selection();
    const auto meets = [&](SliceId slice) {
        if (!slice.valid() || slice.index() >= trace.slices.size()) return false;
        const auto [begin, end] = shownSpan(*analysis(), after(), slice);
        return begin <= t1_ && end >= t0_;
    };
    if (selection.slice.valid()) return meets(selection.slice);
    return std::any_of(selection.kernels.begin(), selection.kernels.end(), [&](KernelId kernel) {
        return kernel.index() < trace.kernels.size() && meets(trace.kernels.slice[kernel.index()]);
    });
}

} // namespace fusescope
