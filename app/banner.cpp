// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/banner.h"

#include "ui/base/paint.h"
#include "ui/base/tip.h"

#include <QFrame>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QStringList>
#include <QToolButton>

#include <utility>

namespace fusescope {
namespace {
constexpr int kMaxRows = 4;
const char* const kSentence = "sentence";
const char* const kTone = "tone";
} // namespace

Banner::Banner(Session* session, QWidget* parent) : QWidget(parent), session_(session), rows_(new QVBoxLayout(this)) {
    rows_->setContentsMargins(0, 0, 0, 0);
    rows_->setSpacing(1);
    connect(session_, &Session::themeChanged, this, &Banner::recolour);
    setVisible(false);
}

void Banner::show(Tone tone, const QString& sentence, const QString& action, std::function<void()> act) {
    if (sentences().contains(sentence)) return;
    while (rows_->count() >= kMaxRows) {
        QLayoutItem* oldest = rows_->takeAt(0);
        oldest->widget()->deleteLater();
        delete oldest;
    }
    auto* row = new QFrame(this);
    row->setProperty(kSentence, sentence);
    row->setProperty(kTone, static_cast<int>(tone));
    row->setAutoFillBackground(true);
    auto* line = new QHBoxLayout(row);
    line->setContentsMargins(16, 8, 8, 8);
    auto* label = new QLabel(sentence, row);
    label->setTextFormat(Qt::PlainText); // file names are hostile
    label->setWordWrap(true);
    label->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    // A long name does not widen the window; what is cut is in the tooltip.
    QSizePolicy narrow(QSizePolicy::Ignored, QSizePolicy::Preferred);
    narrow.setHeightForWidth(true);
    label->setSizePolicy(narrow);
    label->setToolTip(plainTip(sentence));
    label->setAccessibleName(tone == Tone::Error ? tr("Error") : tr("Note"));
    auto* close = new QToolButton(row);
    close->setText(QStringLiteral("✕"));
    close->setAutoRaise(true);
    close->setToolTip(tr("Dismiss"));
    close->setAccessibleName(tr("Dismiss message"));
    line->addWidget(label, 1);
    line->addWidget(close, 0, Qt::AlignTop);
    const auto dismiss = [this, row] {
        rows_->removeWidget(row);
        row->deleteLater();
        setVisible(rows_->count() > 0);
    };
    connect(close, &QToolButton::clicked, this, dismiss);
    if (!action.isEmpty()) {
        auto* button = new QPushButton(action, row);
        line->insertWidget(1, button, 0, Qt::AlignTop);
        connect(button, &QPushButton::clicked, this, [dismiss, act = std::move(act)] {
            dismiss();
            act();
        });
    }
    rows_->addWidget(row);
    recolour();
    setVisible(true);
}

void Banner::clear() {
    while (QLayoutItem* item = rows_->takeAt(0)) {
        item->widget()->deleteLater();
        delete item;
    }
    setVisible(false);
}

QStringList Banner::sentences() const {
    QStringList all;
    for (int i = 0; i < rows_->count(); ++i) all << rows_->itemAt(i)->widget()->property(kSentence).toString();
    return all;
}

void Banner::recolour() {
    for (int i = 0; i < rows_->count(); ++i) {
        QWidget* row = rows_->itemAt(i)->widget();
        const bool error = row->property(kTone).toInt() == static_cast<int>(Tone::Error);
        const QColor edge = qColor(error ? ColourRole::Danger : ColourRole::Warning, session_->theme());
        const QColor surface = qColor(ColourRole::SurfaceRaised, session_->theme());
        row->setStyleSheet(
            QStringLiteral(
                "QFrame { background: %1; border: none; border-left: 4px solid %2; } QLabel { border: none; }")
                .arg(surface.name(), edge.name()));
    }
}

} // namespace fusescope
