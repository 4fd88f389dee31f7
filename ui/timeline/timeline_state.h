// SPDX-License-Identifier: GPL-3.0-or-later
// What of the trace is in sight: the time range, the rows and how far they are scrolled. The strips of the panel share
// it.
#pragma once

#include "core/draw/timeline_draw.h"
#include "core/measured/after.h"
#include "ui/base/session.h"

#include <QObject>

#include <cstdint>
#include <memory>

namespace fusescope {

class TimelineState : public QObject {
    Q_OBJECT
public:
    explicit TimelineState(Session* session, QObject* parent = nullptr);

    [[nodiscard]] Session* session() const { return session_; }
    [[nodiscard]] const AnalysisPtr& analysis() const { return session_->analysis(); }
    [[nodiscard]] bool hasTrace() const { return analysis() && analysis()->trace && analysis()->index; }
    [[nodiscard]] const TimelineLayout& layout() const { return layout_; }
    [[nodiscard]] TimelineView view() const;
    [[nodiscard]] std::int64_t t0() const { return t0_; }
    [[nodiscard]] std::int64_t t1() const { return t1_; }
    [[nodiscard]] std::int64_t origin() const; // zero of the ruler
    [[nodiscard]] double scroll() const { return scroll_; }
    [[nodiscard]] double maxScroll() const;
    [[nodiscard]] std::int64_t timeAt(double x) const;
    [[nodiscard]] double xAt(std::int64_t t) const;

    void load(); // the session's analysis is another one
    void setViewport(double width, double height);
    void setRange(std::int64_t t0, std::int64_t t1); // clamped to the trace
    void zoomAt(double factor, double x);            // factor > 1: closer; what is under x stays there
    void panBy(double pixels);                       // to later times
    void setScroll(double y);
    void scrollTo(TrackId track); // only if it is out of sight
    void showStep();
    void showAll();
    void showSpan(std::int64_t begin, std::int64_t end,
                  bool closer); // closer: zooms in to it, else only as far as needed
    void toggle(TrackId track); // collapsed or not
    void setAllDepths(bool all);
    [[nodiscard]] bool allDepths() const { return all_depths_; }
    // First span of the selected kernels; false if there is none on this trace.
    bool selectedSpan(std::int64_t& begin, std::int64_t& end, TrackId& track) const;
    [[nodiscard]] bool selectionInSight() const;

    // The step with what was measured in it. Shown from the first result on that saves something: whoever fuses wants
    // to see the step get shorter; until the user says otherwise. Times in sight are then shown times.
    [[nodiscard]] bool canShowAfter() const { return after_ != nullptr; }
    [[nodiscard]] const TimelineAfter* after() const { return wants_after_ ? after_.get() : nullptr; } // shown
    void setAfter(bool on);

Q_SIGNALS:
    void changed(); // anything that needs painting anew
    void rangeChanged();
    void afterChanged(); // another one, or shown or not

private:
    void refreshAfter();
    void arrange(); // rows that fit the height, until the user has chosen
    void relayout();
    void showGpuRows();

    Session* session_;
    TimelineLayout layout_;
    TimelineOptions options_;
    std::int64_t t0_ = 0, t1_ = 1;
    double width_ = 800, height_ = 200, scroll_ = 0;
    AfterCache afters_;
    std::shared_ptr<const TimelineAfter> after_;
    bool wants_after_ = true;
    bool touched_ = false, all_depths_ = false; // touched: the user collapsed, expanded or scrolled
};

} // namespace fusescope
