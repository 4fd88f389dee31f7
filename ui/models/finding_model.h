// SPDX-License-Identifier: GPL-3.0-or-later
// The findings as a list, in the order of the analysis. Behind them the regions that the user chose, each as the
// finding that it is described as.
#pragma once

#include "core/analysis/analysis.h"
#include "core/measured/measured.h"
#include "core/region/chosen.h"
#include "ui/models/roles.h"

#include <QAbstractListModel>

#include <map>
#include <vector>

namespace fusescope {

class FindingModel : public QAbstractListModel {
    Q_OBJECT
public:
    explicit FindingModel(QObject* parent = nullptr);
    void setAnalysis(AnalysisPtr analysis);
    void setRegions(std::vector<ChosenPtr> regions);
    [[nodiscard]] const Finding* finding(int row) const;     // null outside
    [[nodiscard]] const ChosenRegion* region(int row) const; // null: a finding, or outside
    [[nodiscard]] QString title(int row) const;
    [[nodiscard]] double longestNs() const { return longest_ns_; } // what the bars are scaled to
    [[nodiscard]] double stepNs() const;
    void setMeasured(const MeasuredSet& set);
    [[nodiscard]] const MeasuredFinding* measured(int row) const; // null where nothing was measured

    [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;

private:
    AnalysisPtr analysis_;
    std::vector<ChosenPtr> regions_;
    std::map<int, MeasuredFinding> measured_; // by row
    double longest_ns_ = 0;
};

// Words about a finding, shared by list, details and the copied text.
[[nodiscard]] QString titleOf(const Finding& finding);
[[nodiscard]] QString savingText(const Finding& finding);      // "−13.1 ms/step"
[[nodiscard]] QString savingRangeText(const Finding& finding); // "(12.0–14.2)", "" when there is no range
[[nodiscard]] QString headroomText(const Finding& finding);    // "up to −3.67 ms/step left", "" when there is none
[[nodiscard]] QString kernelsText(const Finding& finding);     // "72× · 6→1 kernels"
[[nodiscard]] QString verdictText(Verdict verdict);            // "worth it", translated
[[nodiscard]] ColourRole colourOf(Verdict verdict);
// "68.4–71.0 ms": one unit for both ends.
[[nodiscard]] QString durationRange(double low_ns, double high_ns);

} // namespace fusescope
