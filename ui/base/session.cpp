// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/base/session.h"

#include "core/measured/chosen_gain.h"
#include "core/measured/moves.h"

#include <algorithm>

namespace fusescope {
namespace {
constexpr std::size_t kMaxHistory = 200, kMostNodeSets = 10'000;
}

bool sameReading(const AnalysisPtr& a, const AnalysisPtr& b) {
    return a && b && a->files == b->files && a->trace == b->trace && a->graph == b->graph;
}

Session::Session(QObject* parent) : QObject(parent) {}

void Session::setAnalysis(AnalysisPtr analysis) {
    const bool same = sameReading(analysis_, analysis);
    const bool forget = !same && !measured_.empty();
    if (forget) measured_.clear();
    if (!same) regions_.clear();
    analysis_ = std::move(analysis);
    forgetReckoned();
    history_.assign(1, Pick{});
    position_ = 0;
    selection_ = {};
    node_sets_.clear();
    marked_ = {};
    Q_EMIT analysisChanged();
    Q_EMIT selectionChanged();
    if (forget) Q_EMIT measuredChanged();
}

void Session::setMeasured(MeasuredSet measured) {
    measured_ = std::move(measured);
    forgetReckoned();
    Q_EMIT measuredChanged();
}

const MeasuredPlan& Session::measuredPlan() const {
    if (!measured_plan_) measured_plan_ = analysis_ ? applyMeasured(*analysis_, measured_, regions_) : MeasuredPlan{};
    return *measured_plan_;
}

const Session::ShownFused& Session::shownFused() const {
    if (!shown_fused_)
        shown_fused_ = std::make_shared<const std::vector<TimelineFused>>(
            analysis_ ? timelineFused(*analysis_, measured_, selection_, regions_) : std::vector<TimelineFused>());
    return shown_fused_;
}

void Session::forgetReckoned() {
    measured_plan_.reset();
    shown_fused_.reset();
}

void Session::addRegions(std::vector<ChosenPtr> regions) {
    if (regions.empty()) return;
    for (ChosenPtr& region : regions) {
        const auto same =
            std::find_if(regions_.begin(), regions_.end(), [&](const ChosenPtr& one) { return one->id == region->id; });
        if (same != regions_.end())
            *same = std::move(region);
        else
            regions_.push_back(std::move(region));
    }
    forgetReckoned();
    Q_EMIT regionsChanged();
}

void Session::removeRegion(const std::string& id) {
    const auto at = std::find_if(regions_.begin(), regions_.end(), [&](const ChosenPtr& one) { return one->id == id; });
    if (at == regions_.end()) return;
    const bool picked = selection_.pick == Pick{PickKind::Region, numberOf(id)};
    regions_.erase(at);
    forgetReckoned();
    Q_EMIT regionsChanged();
    if (picked) clear();
}

std::size_t Session::workRows() const { return analysis_ ? analysis_->findings.size() + regions_.size() : 0; }

const Finding* Session::workAt(std::size_t row) const {
    if (!analysis_) return nullptr;
    if (row < analysis_->findings.size()) return &analysis_->findings[row];
    const ChosenPtr region = regionAt(row);
    return region ? &region->work : nullptr; // kept alive by regions_
}

ChosenPtr Session::regionAt(std::size_t row) const {
    if (!analysis_ || row < analysis_->findings.size() || row >= workRows()) return nullptr;
    return regions_[row - analysis_->findings.size()];
}

int Session::workRowOf(const std::string& id) const {
    for (std::size_t row = 0; row < workRows(); ++row)
        if (workAt(row)->id == id) return static_cast<int>(row);
    return -1;
}

Pick Session::pickOfWork(std::size_t row) const {
    if (const ChosenPtr region = regionAt(row)) return {PickKind::Region, numberOf(region->id)};
    return workAt(row) != nullptr ? Pick{PickKind::Finding, static_cast<std::uint32_t>(row)} : Pick{};
}

void Session::pickNodes(std::vector<NodeId> nodes) {
    if (nodes.size() == 1) return pick({PickKind::Node, nodes.front().value});
    if (nodes.empty() || node_sets_.size() >= kMostNodeSets) return pick({});
    node_sets_.push_back(std::move(nodes));
    pick({PickKind::Nodes, static_cast<std::uint32_t>(node_sets_.size() - 1)});
}

void Session::setMarkedRange(std::int64_t begin, std::int64_t end) {
    const auto range = std::minmax(begin, end);
    if (marked_ == std::pair(range.first, range.second)) return;
    marked_ = {range.first, range.second};
    Q_EMIT markedRangeChanged();
}

void Session::setTheme(Theme theme) {
    if (theme == theme_) return;
    theme_ = theme;
    Q_EMIT themeChanged();
}

void Session::pick(Pick pick) {
    if (pick == selection_.pick) return;
    history_.resize(position_ + 1); // what was ahead is gone
    history_.push_back(pick);
    if (history_.size() > kMaxHistory) history_.erase(history_.begin());
    position_ = history_.size() - 1;
    show(pick);
}

void Session::show(Pick pick) {
    setMarkedRange(0, 0);
    selection_ = analysis_ ? setsOf(pick) : SelectionSets{};
    shown_fused_.reset();
    Q_EMIT selectionChanged();
}

SelectionSets Session::setsOf(Pick pick) const {
    if (pick.kind == PickKind::Nodes)
        return pick.id < node_sets_.size() ? selectNodes(*analysis_, pick, node_sets_[pick.id]) : SelectionSets{};
    if (pick.kind != PickKind::Region) return select(*analysis_, pick);
    for (const ChosenPtr& region : regions_) {
        if (numberOf(region->id) != pick.id) continue;
        std::vector<NodeId> nodes;
        for (const Instance& one : region->work.instances)
            nodes.insert(nodes.end(), one.nodes.begin(), one.nodes.end());
        SelectionSets sets = selectNodes(*analysis_, pick, nodes);
        sets.findings.clear(); // it is itself what is shown
        return sets;
    }
    return {}; // removed since
}

void Session::back() {
    if (canGoBack()) show(history_[--position_]);
}
void Session::forward() {
    if (canGoForward()) show(history_[++position_]);
}

} // namespace fusescope
