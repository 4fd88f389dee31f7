// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/roofline/roofline_panel.h"

#include "core/base/format.h"
#include "core/draw/names.h"
#include "core/measured/moves.h"
#include "ui/base/empty_note.h"
#include "ui/base/paint.h"
#include "ui/base/tip.h"
#include "ui/roofline/roofline_moves.h"
#include "ui/roofline/roofline_scene.h"
#include "ui/roofline/roofline_view.h"

#include <QChart>
#include <QGraphicsLayout>
#include <QLabel>
#include <QLineSeries>
#include <QStackedLayout>
#include <QTextDocument>
#include <QToolTip>
#include <QVBoxLayout>
#include <QValueAxis>

#include <algorithm>
#include <cmath>

namespace fusescope {
namespace {

constexpr double kLeft = 80, kTop = 8, kRight = 32, kBottom = 40; // around the plot

double topPeak(const DeviceSpec& device) {
    return device.bf16_tensor > 0 ? device.bf16_tensor : std::max(device.fp16_tensor, device.fp32);
}

} // namespace

struct RooflinePanel::Impl {
    Impl(RooflinePanel* owner, Session* s) : panel(owner), session(s) {}

    RooflinePanel* panel;
    Session* session;
    QLabel *device = nullptr, *note = nullptr;
    RooflineView* view = nullptr;
    QChart* chart = nullptr;
    QValueAxis *x = nullptr, *y = nullptr;
    QLineSeries *memory = nullptr, *copy = nullptr, *compute = nullptr, *plain = nullptr, *drop = nullptr;
    RooflineGridItem* grid = nullptr;
    RooflineMarksItem* marks = nullptr;
    RooflineMovesItem* moves = nullptr;
    EmptyNote* empty = nullptr;
    QWidget* content = nullptr;
    QStackedLayout* stack = nullptr;

    QString sourceText(DeviceSource source) const {
        switch (source) {
        case DeviceSource::Trace: return tr("preset, named in the trace");
        case DeviceSource::Preset: return tr("preset");
        case DeviceSource::Calibrated: return tr("peaks measured here");
        case DeviceSource::Assumed: break;
        }
        return tr("assumed: the trace names no known device");
    }

    QLineSeries* addLine() const {
        auto* line = new QLineSeries(chart);
        chart->addSeries(line);
        line->attachAxis(x);
        line->attachAxis(y);
        return line;
    }

    void build() {
        content = new QWidget(panel);
        auto* column = new QVBoxLayout(content);
        column->setContentsMargins(0, 8, 0, 0);
        column->setSpacing(0);
        for (QLabel** label : {&device, &note}) {
            *label = new QLabel(content);
            (*label)->setTextFormat(Qt::PlainText);
            (*label)->setContentsMargins(16, 0, 16, 0);
            (*label)->setWordWrap(true); // on two lines rather than cut
            (*label)->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Minimum);
        }
        column->addWidget(device);
        view = new RooflineView(content);
        view->setAccessibleName(tr("Roofline"));
        view->setAccessibleDescription(tr(
            "Operators by arithmetic intensity and achieved FLOP/s under the device's roofs. M goes from one measured "
            "fusion to the next."));
        column->addWidget(view, 1);
        column->addWidget(note);

        chart = new QChart;
        chart->legend()->hide();
        chart->setMargins({});
        chart->setBackgroundRoundness(0);
        chart->setAnimationOptions(QChart::NoAnimation);
        if (chart->layout() != nullptr) chart->layout()->setContentsMargins(0, 0, 0, 0);
        x = new QValueAxis(chart);
        y = new QValueAxis(chart);
        for (QValueAxis* axis : {x, y}) { // the grid item draws labels: QValueAxis would show logarithms
            axis->setLabelsVisible(false);
            axis->setGridLineVisible(false);
            axis->setLineVisible(false);
        }
        chart->addAxis(x, Qt::AlignBottom);
        chart->addAxis(y, Qt::AlignLeft);
        drop = addLine();
        plain = addLine();
        copy = addLine();
        memory = addLine();
        compute = addLine();
        view->setChart(chart);
        grid = new RooflineGridItem(chart, memory, session);
        grid->setZValue(1); // above the background, below the series
        marks = new RooflineMarksItem(chart, memory, session);
        marks->setZValue(100);
        moves = new RooflineMovesItem(chart, memory, session);
        moves->setZValue(101);
        marks->others = [this] { return moves->chosenMarks(); };
        moves->occupied = [this] { return marks->occupied(); };

        view->show_range = [this](const QRectF& range) {
            x->setRange(range.left(), range.right());
            y->setRange(range.top(), range.bottom());
            grid->update();
            marks->update();
            moves->update();
        };
        view->mark_at = [this](QPointF at) {
            const int move = moves->moveAt(at);
            return move >= 0 ? -2 - move : marks->markAt(at);
        };
        QObject::connect(view, &RooflineView::resized, panel, [this] { placePlot(); });
        QObject::connect(view, &RooflineView::clicked, panel, [this](int mark) {
            if (mark < -1)
                session->pick(pickOfWork(moves->moves()[static_cast<std::size_t>(-2 - mark)]));
            else if (mark >= 0)
                session->pick({PickKind::Op, marks->marks()[static_cast<std::size_t>(mark)].row});
            else if (session->selection().pick.kind == PickKind::Op)
                session->clear();
        });
        QObject::connect(view, &RooflineView::hovered, panel, [this](int mark, QPoint global) {
            marks->setHovered(std::max(mark, -1));
            if (mark < -1 && session->analysis())
                QToolTip::showText(
                    global, moveTip(*session->analysis(), moves->moves()[static_cast<std::size_t>(-2 - mark)]), view);
            else if (mark >= 0 && session->analysis())
                QToolTip::showText(
                    global, markTip(*session->analysis(), marks->marks()[static_cast<std::size_t>(mark)].row), view);
            else
                QToolTip::hideText();
        });

        QObject::connect(view, &RooflineView::moveWanted, panel, [this](int by) { stepMoves(by); });

        empty = new EmptyNote(session, panel);
        stack = new QStackedLayout(panel);
        stack->setContentsMargins(0, 0, 0, 0);
        stack->addWidget(empty);
        stack->addWidget(content);
        QObject::connect(session, &Session::analysisChanged, panel, [this] { showAnalysis(); });
        QObject::connect(session, &Session::selectionChanged, panel, [this] {
            marks->update();
            moves->update();
        });
        QObject::connect(session, &Session::measuredChanged, panel, [this] { showMoves(); });
        QObject::connect(session, &Session::regionsChanged, panel, [this] { showMoves(); });
        QObject::connect(session, &Session::themeChanged, panel, [this] { restyle(); });
        restyle();
        showAnalysis();
    }

    void placePlot() const {
        const QSizeF size = view->viewport()->size();
        chart->resize(size);
        chart->setPlotArea(QRectF(kLeft, kTop, std::max(40.0, size.width() - kLeft - kRight),
                                  std::max(40.0, size.height() - kTop - kBottom)));
    }

    void restyle() {
        const auto colour = [this](ColourRole role) { return qColor(role, session->theme()); };
        chart->setBackgroundBrush(colour(ColourRole::Background));
        chart->setBackgroundPen(Qt::NoPen);
        view->setBackgroundBrush(colour(ColourRole::Background));
        QPen dashed(colour(ColourRole::TextMuted), 1);
        dashed.setDashPattern({4, 4});
        drop->setPen(dashed);
        copy->setPen(dashed);
        plain->setPen(dashed);
        memory->setPen(QPen(colour(ColourRole::Text), 2));
        compute->setPen(QPen(colour(ColourRole::Text), 2));
        QPalette palette = content->palette();
        palette.setColor(QPalette::Window, colour(ColourRole::Background));
        content->setAutoFillBackground(true);
        content->setPalette(palette);
        const auto words = [&](QLabel* label, ColourRole role, const QFont& font) {
            QPalette own = label->palette();
            own.setColor(QPalette::WindowText, colour(role));
            label->setPalette(own);
            label->setFont(font);
        };
        words(device, ColourRole::TextMuted, uiFont(12));
        words(note, ColourRole::TextMuted, uiFont(11));
        grid->update();
        marks->update();
    }

    // By keys: from arrow to arrow, each with its words, for the eye and for screen readers.
    void stepMoves(int by) const {
        const auto count = static_cast<int>(moves->moves().size());
        if (count == 0 || !session->analysis()) return;
        int at = by > 0 ? -1 : count;
        for (int i = 0; i < count; ++i)
            if (session->selection().pick == pickOfWork(moves->moves()[static_cast<std::size_t>(i)])) at = i;
        at = (at + by + count) % count;
        const RooflineMove move = moves->moves()[static_cast<std::size_t>(at)]; // picking may make new ones
        session->pick(pickOfWork(move));
        const QString words = moveTip(*session->analysis(), move);
        const QPointF end = chart->mapToScene(moves->endOf(at));
        QToolTip::showText(view->mapToGlobal(view->mapFromScene(end)), words, view);
        QTextDocument plain_words;
        plain_words.setHtml(words);
        view->setAccessibleDescription(plain_words.toPlainText());
    }

    void showMoves() const {
        const AnalysisPtr& analysis = session->analysis();
        moves->setMoves(analysis ? rooflineMoves(*analysis, session->measured(), session->regions())
                                 : std::vector<RooflineMove>());
    }

    void showAnalysis() {
        const AnalysisPtr& analysis = session->analysis();
        marks->setAnalysis(analysis);
        showMoves();
        const bool some = analysis && !analysis->ops.empty();
        stack->setCurrentWidget(some ? content : static_cast<QWidget*>(empty));
        if (!analysis)
            empty->setText(tr("No trace open"),
                           tr("Open a profiler trace to see how close its operators come to the device's limits."));
        else
            empty->setText(tr("No measured operators"),
                           tr("The roofline needs measured times: open a profiler trace with GPU kernels."));
        if (!some) return;

        const DeviceSpec& d = analysis->device;
        device->setText((d.name.empty() ? tr("Unknown device") : text(d.name)) + QStringLiteral(" · ") +
                        sourceText(d.source));
        device->setToolTip(plainTip(tr("%1\nHBM %2, a plain copy reaches %3\nbf16 tensor cores %4, fp32 %5")
                                        .arg(text(d.name), text(formatBandwidth(d.bandwidth_Bps)),
                                             text(formatBandwidth(d.practicalBandwidth())),
                                             text(formatFlopRate(d.bf16_tensor)), text(formatFlopRate(d.fp32)))));
        double all = 0, shown = 0;
        for (const OpSummary& op : analysis->ops) all += op.time_ns;
        for (const RooflineMark& mark : marks->marks()) shown += analysis->ops[mark.row].time_ns;
        const std::size_t missing = analysis->ops.size() - marks->marks().size();
        const std::size_t below = opsBelowAxes(*analysis).size();
        const QString time = text(shareText(all > 0 ? std::max(0.0, all - shown) / all : 0));
        QStringList notes;
        if (const std::string why = rooflineEmptyText(*analysis); !why.empty())
            notes << text(why);
        else if (missing > 0)
            notes << (missing == 1
                          ? tr("1 operator without arithmetic left out (%1 of the time)").arg(time)
                          : tr("%1 operators without arithmetic left out (%2 of the time)").arg(missing).arg(time));
        if (below > 0)
            notes << (below == 1 ? tr("1 below the axis (under 0.1%)")
                                 : tr("%1 below the axis (under 0.1% each)").arg(below));
        note->setVisible(!notes.isEmpty());
        note->setContentsMargins(16, 0, 16, 8);
        note->setText(notes.join(QStringLiteral("; ")));
        note->setToolTip(below > 0 ? tr("Short and slow operators lie below the axis: zoom out or move to see them")
                                   : note->text());
        showRoofs(*analysis);
        placePlot();
    }

    void showRoofs(const Analysis& analysis) {
        const RooflineAxes axes = rooflineAxes(analysis);
        QRectF home(QPointF(std::log10(axes.min_ai), std::log10(axes.min_flops)),
                    QPointF(std::log10(axes.max_ai), std::log10(axes.max_flops)));
        const DeviceSpec& d = analysis.device;
        const double peak = topPeak(d);
        if (peak > 0) home.setBottom(std::max(home.bottom(), std::log10(peak) + 0.8)); // room for the roof's figure
        for (QLineSeries* line : {memory, copy, compute, plain, drop}) line->clear();
        if (peak > 0 && d.bandwidth_Bps > 0) {
            const double top = std::log10(peak);
            const double far_left = home.left() - 4, far_right = home.right() + 4; // panning never finds an end
            const auto slope = [&](QLineSeries* line, double bandwidth, double to) {
                const double b = std::log10(bandwidth);
                line->replace(QList<QPointF>{{far_left, far_left + b}, {to - b, to}});
            };
            slope(memory, d.bandwidth_Bps, top);
            slope(copy, d.practicalBandwidth(), top);
            const double ridge = top - std::log10(d.bandwidth_Bps);
            compute->replace(QList<QPointF>{{ridge, top}, {far_right, top}});
            drop->replace(QList<QPointF>{{ridge, top}, {ridge, home.top() - 4}});
            if (d.fp32 > 0 && d.fp32 < peak) // pointwise work cannot use tensor cores
                plain->replace(QList<QPointF>{{std::log10(d.fp32 / d.bandwidth_Bps), std::log10(d.fp32)},
                                              {far_right, std::log10(d.fp32)}});
        }
        view->setHome(home);
    }
};

RooflinePanel::RooflinePanel(Session* session, QWidget* parent)
    : QWidget(parent), impl_(std::make_unique<Impl>(this, session)) {
    impl_->build();
}
RooflinePanel::~RooflinePanel() = default;

void RooflinePanel::resetZoom() { impl_->view->reset(); }

} // namespace fusescope
