// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/welcome.h"

#include "ui/base/paint.h"
#include "ui/base/tip.h"

#include <QEvent>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>

namespace fusescope {
namespace {
constexpr int kWidth = 480, kLeastWidth = 240, kShownRecent = 5;
}

Welcome::Welcome(QWidget* parent) : QWidget(parent) {
    auto* outer = new QVBoxLayout(this);
    auto* column = new QWidget(this);
    column->setMaximumWidth(kWidth);
    column->setMinimumWidth(kLeastWidth); // the graph shares this place: what this needs, the docks cannot have
    auto* rows = new QVBoxLayout(column);
    rows->setSpacing(8);

    auto* title = new QLabel(tr("Drop a trace and a model here"), column);
    title->setFont(uiFont(20, true));
    auto* hint =
        new QLabel(tr("A torch.profiler trace (.pt.trace.json, also .gz) shows where the step's time goes. "
                      "A model graph (.pt2 from torch.export) shows what runs. Together they show which regions "
                      "one kernel could do. Either alone works too."),
                   column);
    hint->setWordWrap(true);
    auto* open = new QPushButton(tr("Open files…"), column);
    open->setDefault(true);
    open->setMinimumHeight(32);
    connect(open, &QPushButton::clicked, this, &Welcome::openRequested);
    auto* sample = new QPushButton(tr("Open the bundled sample"), column);
    sample->setMinimumHeight(32);
    sample->setToolTip(tr("Two layers of Qwen3-8B, two training steps recorded on an H200"));
    connect(sample, &QPushButton::clicked, this, &Welcome::sampleRequested);
    sample_ = sample;

    rows->addWidget(title);
    rows->addWidget(hint);
    rows->addSpacing(8);
    rows->addWidget(open);
    rows->addWidget(sample);
    rows->addSpacing(16);
    recent_ = new QVBoxLayout;
    recent_->setSpacing(0);
    rows->addLayout(recent_);
    outer->addStretch(2);
    auto* middle = new QHBoxLayout;
    middle->addStretch(1);
    middle->addWidget(column, 100);
    middle->addStretch(1);
    outer->addLayout(middle);
    outer->addStretch(3);
}

// As much of the name as there is room for.
void Welcome::elide(QPushButton& link) {
    link.setText(link.fontMetrics()
                     .elidedText(link.accessibleName(), Qt::ElideMiddle, link.width())
                     .replace(QLatin1Char('&'), QLatin1String("&&")));
}

bool Welcome::eventFilter(QObject* watched, QEvent* event) {
    if (auto* link = qobject_cast<QPushButton*>(watched); link != nullptr && event->type() == QEvent::Resize)
        elide(*link);
    return QWidget::eventFilter(watched, event);
}

void Welcome::setSampleAvailable(bool available) { sample_->setVisible(available); }

void Welcome::setRecent(const QStringList& files) {
    while (QLayoutItem* item = recent_->takeAt(0)) {
        if (item->widget() != nullptr) item->widget()->deleteLater();
        delete item;
    }
    if (files.isEmpty()) return;
    auto* heading = new QLabel(tr("Recent"), this);
    heading->setFont(uiFont(12, true));
    recent_->addWidget(heading);
    for (const QString& path : files.mid(0, kShownRecent)) {
        auto* link = new QPushButton(this);
        link->setObjectName(QStringLiteral("recent"));
        link->setAccessibleName(QFileInfo(path).fileName());
        link->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed); // a long name does not widen the window
        link->installEventFilter(this);
        elide(*link);
        link->setFlat(true);
        link->setStyleSheet(QStringLiteral("text-align: left; padding: 4px 0;"));
        link->setCursor(Qt::PointingHandCursor);
        link->setToolTip(plainTip(path));
        connect(link, &QPushButton::clicked, this, [this, path] { Q_EMIT fileRequested(path); });
        recent_->addWidget(link);
    }
}

} // namespace fusescope
