// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/finding_model.h"

#include "core/base/format.h"
#include "core/draw/names.h"
#include "core/measured/chosen_gain.h"
#include "ui/base/paint.h"
#include "ui/base/tip.h"
#include "ui/fuse/fuse_words.h"
#include "ui/fuse/region_words.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace fusescope {

FindingModel::FindingModel(QObject* parent) : QAbstractListModel(parent) {}

void FindingModel::setAnalysis(AnalysisPtr analysis) {
    beginResetModel();
    analysis_ = std::move(analysis);
    regions_.clear();
    measured_.clear();
    longest_ns_ = 0;
    if (analysis_)
        for (const Finding& f : analysis_->findings) longest_ns_ = std::max(longest_ns_, f.time_ns);
    endResetModel();
}

const Finding* FindingModel::finding(int row) const {
    if (!analysis_ || row < 0 || row >= rowCount()) return nullptr;
    const auto at = static_cast<std::size_t>(row);
    return at < analysis_->findings.size() ? &analysis_->findings[at] : &region(row)->work;
}

const ChosenRegion* FindingModel::region(int row) const {
    if (!analysis_ || row < 0 || row >= rowCount()) return nullptr;
    const auto at = static_cast<std::size_t>(row);
    return at < analysis_->findings.size() ? nullptr : regions_[at - analysis_->findings.size()].get();
}

QString FindingModel::title(int row) const {
    if (const ChosenRegion* own = region(row)) return text(own->title);
    const Finding* f = finding(row);
    return f != nullptr ? titleOf(*f) : QString();
}

void FindingModel::setRegions(std::vector<ChosenPtr> regions) {
    beginResetModel();
    regions_ = std::move(regions);
    measured_.clear();
    endResetModel();
}

void FindingModel::setMeasured(const MeasuredSet& set) {
    measured_.clear();
    for (int row = 0; row < rowCount(); ++row) {
        const Finding& f = *finding(row);
        if (!set.any(f.id)) continue;
        const ChosenRegion* own = region(row);
        MeasuredFinding made =
            own != nullptr ? applyMeasured(*analysis_, *own, set) : applyMeasured(*analysis_, f, set);
        // Results of other shapes than these files have are not of this finding.
        if (std::any_of(made.classes.begin(), made.classes.end(), [](const auto& c) { return c.result != nullptr; }))
            measured_.emplace(row, std::move(made));
    }
    if (rowCount() > 0) Q_EMIT dataChanged(index(0), index(rowCount() - 1));
}

const MeasuredFinding* FindingModel::measured(int row) const {
    const auto at = measured_.find(row);
    return at == measured_.end() ? nullptr : &at->second;
}

double FindingModel::stepNs() const { return analysis_ ? analysis_->stepNs() : 0; }

int FindingModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() || !analysis_ ? 0 : static_cast<int>(analysis_->findings.size() + regions_.size());
}

QVariant FindingModel::data(const QModelIndex& index, int role) const {
    const Finding* f = finding(index.row());
    if (f == nullptr) return {};
    switch (role) {
    case Qt::DisplayRole: return title(index.row());
    case Qt::AccessibleTextRole: {
        if (const ChosenRegion* own = region(index.row())) {
            QString words =
                tr("%1, of your own choice, %2, %3, %4")
                    .arg(text(own->title), regionBadge(*own), regionSavingText(*own), regionCountText(*own));
            if (const MeasuredFinding* m = measured(index.row()))
                words += tr(", measured: %1").arg(regionLine(*own, *m));
            return words;
        }
        const QString range = savingRangeText(*f);
        const MeasuredFinding* m = measured(index.row());
        const bool run = m != nullptr && m->any();
        QString words =
            (run ? tr("%1, %2 as measured, predicted %3 %4, %5") : tr("%1, %2, %3 %4, %5"))
                .arg(titleOf(*f), verdictText(run ? m->verdict : f->verdict), savingText(*f), range, kernelsText(*f));
        if (const QString left = headroomText(*f); !left.isEmpty()) words += QLatin1String(", ") + left;
        if (m != nullptr)
            words += tr(", measured: %1 %2").arg(measuredSavingText(*m), measuredLine(*m)) +
                     (m->speed == SpeedVerdict::NotFaster ? tr(", no clear gain") : QString());
        return words;
    }
    case Qt::ToolTipRole: {
        if (!f->headroom.empty()) return plainTip(text(f->headroom));
        return f->reasons.empty() ? QString() : plainTip(text(f->reasons.front()));
    }
    case SortRole: return index.row();
    case PickIdRole: return static_cast<quint32>(index.row());
    case FilterRole: {
        const MeasuredFinding* m = measured(index.row());
        QString all = title(index.row()) + QLatin1Char(' ') + text(f->id) + QLatin1Char(' ') +
                      verdictText(m != nullptr ? m->verdict : f->verdict);
        for (const std::string& module : f->modules) all += QLatin1Char(' ') + text(module);
        for (const std::string& line : f->source) all += QLatin1Char(' ') + text(line);
        return all;
    }
    default: return {};
    }
}

QString titleOf(const Finding& finding) {
    const CatalogEntry& entry = catalogEntry(finding.pattern);
    QString title = text(entry.title.empty() ? std::string(idOf(finding.pattern)) : entry.title);
    // Several findings of one pattern carry a number: "pointwise_chain.2".
    const std::size_t dot = finding.id.rfind('.');
    if (dot != std::string::npos && dot + 1 < finding.id.size())
        title += QLatin1String(" #") + text(finding.id.substr(dot + 1));
    return title;
}

QString savingText(const Finding& finding) {
    if (finding.verdict == Verdict::AlreadyFused) return FindingModel::tr("already fused");
    if (!(finding.saving_ns.expected > 0)) return FindingModel::tr("no saving");
    return FindingModel::tr("−%1/step").arg(text(formatDuration(finding.saving_ns.expected)));
}

QString savingRangeText(const Finding& finding) {
    if (finding.verdict == Verdict::AlreadyFused || !(finding.saving_ns.expected > 0)) return {};
    if (!(finding.saving_ns.high > finding.saving_ns.low)) return {};
    const QString range = durationRange(finding.saving_ns.low, finding.saving_ns.high);
    return QLatin1Char('(') + range + QLatin1Char(')');
}

QString headroomText(const Finding& finding) {
    if (finding.headroom.empty()) return {};
    return FindingModel::tr("up to −%1/step left").arg(text(formatDuration(finding.headroom_ns)));
}

QString kernelsText(const Finding& finding) {
    const auto count = [](double n) { // an average over the instances
        const QString whole = QString::number(std::llround(n));
        return std::abs(n - std::round(n)) < 0.05 ? whole : QString(QStringLiteral("≈") + whole);
    };
    const QString now = count(finding.kernels_now), fused = count(finding.kernels_fused);
    if (finding.verdict == Verdict::AlreadyFused || now == fused)
        return (now == QLatin1String("1")
                    ? FindingModel::tr("%1× · 1 kernel").arg(finding.instances.size())
                    : FindingModel::tr("%1× · %2 kernels").arg(finding.instances.size()).arg(now));
    return FindingModel::tr("%1× · %2→%3 kernels").arg(finding.instances.size()).arg(now, fused);
}

QString verdictText(Verdict verdict) {
    switch (verdict) {
    case Verdict::WorthIt: return FindingModel::tr("worth it");
    case Verdict::Marginal: return FindingModel::tr("marginal");
    case Verdict::NotBeneficial: return FindingModel::tr("not beneficial");
    case Verdict::AlreadyFused: return FindingModel::tr("already fused");
    }
    return {};
}

ColourRole colourOf(Verdict verdict) {
    switch (verdict) {
    case Verdict::WorthIt: return ColourRole::Flagged; // as its outline in the pictures and its badge in the report
    case Verdict::AlreadyFused: return ColourRole::Good;
    case Verdict::Marginal:
    case Verdict::NotBeneficial: break; // a good answer, no alarm
    }
    return ColourRole::TextMuted;
}

QString durationRange(double low_ns, double high_ns) {
    // Both ends in the unit of the upper one: "0.9–1.4 ms", not "900 µs–1.4 ms".
    const double unit = high_ns >= 1e9 ? 1e9 : high_ns >= 1e6 ? 1e6 : high_ns >= 1e3 ? 1e3 : 1;
    const char* name = unit >= 1e9 ? "s" : unit >= 1e6 ? "ms" : unit >= 1e3 ? "µs" : "ns";
    const double low = low_ns / unit, high = high_ns / unit;
    const int decimals = high >= 100 ? 0 : high >= 10 ? 1 : 2;
    return QStringLiteral("%1–%2 %3")
        .arg(low, 0, 'f', decimals)
        .arg(high, 0, 'f', decimals)
        .arg(QString::fromUtf8(name));
}

} // namespace fusescope
