// SPDX-License-Identifier: GPL-3.0-or-later
// What the window shows: the current analysis, the one selection, the theme. Views listen to it and never to each
// other.
#pragma once

#include "core/analysis/analysis.h"
#include "core/analysis/selection.h"
#include "core/draw/draw_list.h"
#include "core/measured/measured.h"

#include <QObject>

#include <optional>
#include <vector>

namespace fusescope {

class Session : public QObject {
    Q_OBJECT
public:
    explicit Session(QObject* parent = nullptr);

    // Null until something is opened.
    [[nodiscard]] const AnalysisPtr& analysis() const { return analysis_; }
    [[nodiscard]] const SelectionSets& selection() const { return selection_; }
    [[nodiscard]] Theme theme() const { return theme_; }

    // What runners measured of the files; another step or device of the same files keeps it.
    [[nodiscard]] const MeasuredSet& measured() const { return measured_; }
    // The analysis' plan with it; reckoned once. Empty without an analysis.
    [[nodiscard]] const MeasuredPlan& measuredPlan() const;

    void setAnalysis(AnalysisPtr analysis); // clears the selection and its history
    void setMeasured(MeasuredSet measured);
    void setTheme(Theme theme);
    void pick(Pick pick); // what a click anywhere does; the same pick again changes nothing
    void clear() { pick({}); }
    void wantFused(std::uint32_t finding) { Q_EMIT fuseWanted(finding); } // what "Fuse" in any view does

    // Earlier and later selections, as a browser does.
    void back();
    void forward();
    [[nodiscard]] bool canGoBack() const { return position_ > 0; }
    [[nodiscard]] bool canGoForward() const { return position_ + 1 < history_.size(); }

Q_SIGNALS:
    void analysisChanged();
    void selectionChanged();
    void themeChanged();
    void measuredChanged();
    void fuseWanted(quint32 finding);

private:
    void show(Pick pick);

    AnalysisPtr analysis_;
    SelectionSets selection_;
    MeasuredSet measured_;
    mutable std::optional<MeasuredPlan> measured_plan_; // none: not reckoned yet
    Theme theme_ = Theme::Light;
    std::vector<Pick> history_{Pick{}};
    std::size_t position_ = 0;
};

} // namespace fusescope
