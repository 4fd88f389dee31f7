// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/base/session.h"

namespace fusescope {
namespace {
constexpr std::size_t kMaxHistory = 200;
}

Session::Session(QObject* parent) : QObject(parent) {}

void Session::setAnalysis(AnalysisPtr analysis) {
    const bool same_files = analysis_ && analysis && analysis_->files == analysis->files;
    const bool forget = !same_files && !measured_.empty();
    if (forget) measured_.clear();
    analysis_ = std::move(analysis);
    measured_plan_.reset();
    history_.assign(1, Pick{});
    position_ = 0;
    selection_ = {};
    Q_EMIT analysisChanged();
    Q_EMIT selectionChanged();
    if (forget) Q_EMIT measuredChanged();
}

void Session::setMeasured(MeasuredSet measured) {
    measured_ = std::move(measured);
    measured_plan_.reset();
    Q_EMIT measuredChanged();
}

const MeasuredPlan& Session::measuredPlan() const {
    if (!measured_plan_) measured_plan_ = analysis_ ? applyMeasured(*analysis_, measured_) : MeasuredPlan{};
    return *measured_plan_;
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
    selection_ = analysis_ ? select(*analysis_, pick) : SelectionSets{};
    Q_EMIT selectionChanged();
}

void Session::back() {
    if (canGoBack()) show(history_[--position_]);
}
void Session::forward() {
    if (canGoForward()) show(history_[++position_]);
}

} // namespace fusescope
