// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/base/legend.h"

#include "core/draw/fused_of.h"
#include "core/draw/text_fit.h"
#include "ui/base/paint.h"

#include <QHelpEvent>
#include <QPainter>
#include <QToolTip>

#include <algorithm>
#include <array>
#include <numeric>

namespace fusescope {
namespace {

constexpr int kStripHeight = 24, kCardMargin = 16, kCardWidth = 320, kLeft = 16;
constexpr double kTextSize = 11;
constexpr std::size_t kKinds = static_cast<std::size_t>(OpKind::Other) + 1;

double roomOf(const std::string& name) { return 10 + 6 + textWidth(name, {kTextSize}) + 16; } // as drawLegend()

} // namespace

compose::Legend kindsOf(const Analysis& analysis) {
    std::array<double, kKinds> time{};
    for (const KernelSummary& k : analysis.kernels)
        time[std::min(static_cast<std::size_t>(k.kind), kKinds - 1)] += k.total_ns;
    for (const OpSummary& op : analysis.ops) // a kernel name may serve several kinds
        time[std::min(static_cast<std::size_t>(op.kind), kKinds - 1)] += op.time_ns;
    std::array<std::size_t, kKinds> order{};
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return time[a] > time[b]; });
    compose::Legend legend;
    for (const std::size_t kind : order)
        if (time[kind] > 0)
            legend.entries.emplace_back(roleOf(static_cast<OpKind>(kind)),
                                        std::string(nameOf(static_cast<OpKind>(kind))));
    if (!legend.entries.empty())
        legend.entries.emplace_back(ColourRole::Flagged, LegendStrip::tr("one kernel could do it").toStdString());
    return legend;
}

LegendStrip::LegendStrip(Session* session, QWidget* parent) : QWidget(parent), session_(session) {
    setObjectName(QStringLiteral("legendStrip"));
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    connect(session_, &Session::themeChanged, this, qOverload<>(&QWidget::update));
    const auto load = [this] {
        legend_ = session_->analysis() ? kindsOf(*session_->analysis()) : compose::Legend();
        if (!legend_.entries.empty() && !session_->measured().empty())
            legend_.entries.emplace_back(ColourRole::Good, tr("fused, as measured").toStdString());
        QStringList names;
        for (const auto& [role, name] : legend_.entries) names << text(name);
        setAccessibleName(tr("Colours: %1").arg(names.join(QStringLiteral(", "))));
        update();
    };
    connect(session_, &Session::analysisChanged, this, load);
    connect(session_, &Session::measuredChanged, this, load);
    load();
}

QSize LegendStrip::sizeHint() const { return {400, kStripHeight}; }

void LegendStrip::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.fillRect(rect(), qColor(ColourRole::Background, session_->theme()));
    // Marks always have their place; of the kinds, the shortest give way.
    compose::Legend shown = legend_;
    const auto marks = std::count_if(shown.entries.begin(), shown.entries.end(), [](const auto& entry) {
        return entry.first == ColourRole::Flagged || entry.first == ColourRole::Good;
    });
    double wide = kLeft;
    for (const auto& [role, name] : shown.entries) wide += roomOf(name);
    while (wide > width() && static_cast<std::ptrdiff_t>(shown.entries.size()) > marks + 1) {
        const auto last = shown.entries.end() - 1 - marks;
        wide -= roomOf(last->second);
        shown.entries.erase(last);
    }
    DrawList list;
    compose::drawLegend(list, shown, kLeft, (kStripHeight - 20) / 2.0, 1e6);
    paintDrawList(painter, list, session_->theme());
}

bool LegendStrip::event(QEvent* event) {
    if (event->type() != QEvent::ToolTip) return QWidget::event(event);
    QToolTip::showText(static_cast<QHelpEvent*>(event)->globalPos(),
                       tr("What the colours of kernels, operators and roofline marks mean, longest time first.\n"
                          "All colours: the tool bar's Legend."),
                       this);
    return true;
}

LegendCard::LegendCard(const Session* session, QWidget* parent) : QWidget(parent), session_(session) {
    setObjectName(QStringLiteral("legendCard"));
    setAccessibleName(tr("What the colours mean"));
    connect(session_, &Session::themeChanged, this, qOverload<>(&QWidget::update));
}

DrawList LegendCard::picture() const {
    DrawList list;
    double y = kCardMargin;
    const auto section = [&](const QString& title, const compose::Legend& legend) {
        compose::text(list, kCardMargin, y + 12, title.toStdString(), 12, ColourRole::Text).bold = true;
        y = compose::drawLegend(list, legend, kCardMargin, y + 20, kCardWidth - 2.0 * kCardMargin) + 8;
    };
    const auto named = [](ColourRole role, const QString& name) { return std::pair(role, name.toStdString()); };
    compose::Legend kinds;
    for (std::size_t kind = 0; kind < kKinds; ++kind)
        kinds.entries.emplace_back(roleOf(static_cast<OpKind>(kind)), std::string(nameOf(static_cast<OpKind>(kind))));
    section(tr("Kinds of work: kernels, operators, roofline"), kinds);
    section(tr("Blocks of the model graph"),
            {{named(ColourRole::BlockEmbedding, tr("embedding, head, other norms")),
              named(ColourRole::BlockAttentionMlp, tr("attention, MLP")), named(ColourRole::BlockLayer, tr("layer")),
              named(ColourRole::BlockNorm, tr("RMSNorm")), named(ColourRole::BlockPlain, tr("anything else"))}});
    section(tr("CPU threads"),
            {{named(ColourRole::CpuOp, tr("operator")), named(ColourRole::Launch, tr("launch")),
              named(ColourRole::PythonFrame, tr("Python")), named(ColourRole::Annotation, tr("annotation")),
              named(ColourRole::BoundIdle, tr("waiting"))}});
    section(tr("Marks"),
            {{named(ColourRole::Flagged, tr("outline: one kernel could do it")),
              named(ColourRole::Good, tr("outline: fused, as measured")),
              named(roleOf(FusedSpeed::NoGain), tr("fused without a gain")),
              named(roleOf(FusedSpeed::Slower), tr("fused, slower")), named(ColourRole::Accent, tr("selected"))}});
    const auto note = [&](const QString& words) {
        compose::text(list, kCardMargin, y + 4, words.toStdString(), kTextSize, ColourRole::TextMuted);
        y += 16;
    };
    note(tr("Hatched: several slices, too short to tell apart."));
    note(tr("A low box on a stream: the GPU was busy for that part."));
    list.width = kCardWidth;
    list.height = y + 4;
    return list;
}

QSize LegendCard::sizeHint() const { return {kCardWidth, static_cast<int>(picture().height)}; }

void LegendCard::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.fillRect(rect(), qColor(ColourRole::Surface, session_->theme()));
    paintDrawList(painter, picture(), session_->theme());
}

} // namespace fusescope
