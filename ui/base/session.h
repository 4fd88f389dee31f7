// SPDX-License-Identifier: GPL-3.0-or-later
// What the window shows: the current analysis, the one selection, the theme. Views listen to it and never to each
// other.
#pragma once

#include "core/analysis/analysis.h"
#include "core/analysis/selection.h"
#include "core/draw/draw_list.h"
#include "core/draw/timeline_draw.h"
#include "core/measured/measured.h"
#include "core/region/chosen.h"

#include <QObject>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace fusescope {

// Whether both are of the same reading of the same files, at whatever step and for whatever device: a file that was
// opened once more may hold something else by now.
[[nodiscard]] bool sameReading(const AnalysisPtr& a, const AnalysisPtr& b);

class Session : public QObject {
    Q_OBJECT
public:
    explicit Session(QObject* parent = nullptr);

    // Null until something is opened.
    [[nodiscard]] const AnalysisPtr& analysis() const { return analysis_; }
    [[nodiscard]] const SelectionSets& selection() const { return selection_; }
    [[nodiscard]] Theme theme() const { return theme_; }

    // What runners measured of the files; another step or device of the same reading keeps it.
    [[nodiscard]] const MeasuredSet& measured() const { return measured_; }
    // The analysis' plan with it and with regions(); reckoned once. Empty without an analysis.
    [[nodiscard]] const MeasuredPlan& measuredPlan() const;
    // timelineFused() of what is shown and selected, for every view that draws it; reckoned once. Not null; empty
    // without an analysis. The same pointer as before is the same fusions.
    using ShownFused = std::shared_ptr<const std::vector<TimelineFused>>;
    [[nodiscard]] const ShownFused& shownFused() const;

    // What the user chose to run beyond the findings. Files that are opened anew begin without; whoever makes regions
    // brings them to another step of the same files.
    [[nodiscard]] const std::vector<ChosenPtr>& regions() const { return regions_; }
    void addRegions(std::vector<ChosenPtr> regions); // each in the place of one of that id, else last
    void removeRegion(const std::string& id);
    // Rows of whatever can be measured: findings, then regions.
    [[nodiscard]] std::size_t workRows() const;
    [[nodiscard]] const Finding* workAt(std::size_t row) const; // null: there is no such row
    [[nodiscard]] ChosenPtr regionAt(std::size_t row) const;    // null: a finding, or no such row
    [[nodiscard]] int workRowOf(const std::string& id) const;   // -1: none
    [[nodiscard]] Pick pickOfWork(std::size_t row) const;

    void setAnalysis(AnalysisPtr analysis); // clears the selection and its history
    void setMeasured(MeasuredSet measured);
    void setTheme(Theme theme);
    void pick(Pick pick);                      // what a click anywhere does; the same pick again changes nothing
    void pickNodes(std::vector<NodeId> nodes); // several at once
    void clear() { pick({}); }
    void wantFused(std::uint32_t finding) { Q_EMIT fuseWanted(finding); }  // what "Fuse" in any view does
    void wantRegion(const RegionWish& wish) { Q_EMIT regionWanted(wish); } // what "Fuse this" does

    // The range marked on the timeline, ns; equal: none. Whatever is picked later takes its place.
    [[nodiscard]] std::pair<std::int64_t, std::int64_t> markedRange() const { return marked_; }
    void setMarkedRange(std::int64_t begin, std::int64_t end);

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
    void regionsChanged();
    void markedRangeChanged();
    void fuseWanted(quint32 finding);
    void regionWanted(const fusescope::RegionWish& wish);

private:
    void show(Pick pick);
    void forgetReckoned();
    [[nodiscard]] SelectionSets setsOf(Pick pick) const;

    AnalysisPtr analysis_;
    SelectionSets selection_;
    MeasuredSet measured_;
    mutable std::optional<MeasuredPlan> measured_plan_; // none: not reckoned yet
    mutable ShownFused shown_fused_;                    // null: not reckoned yet
    std::vector<ChosenPtr> regions_;
    std::vector<std::vector<NodeId>> node_sets_; // by the number of a pick of several nodes
    std::pair<std::int64_t, std::int64_t> marked_{};
    Theme theme_ = Theme::Light;
    std::vector<Pick> history_{Pick{}};
    std::size_t position_ = 0;
};

} // namespace fusescope
