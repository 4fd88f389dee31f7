// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/base/empty_note.h"

#include "ui/base/paint.h"

#include <QLabel>
#include <QVBoxLayout>

namespace fusescope {

EmptyNote::EmptyNote(Session* session, QWidget* parent)
    : QWidget(parent), session_(session), title_(new QLabel(this)), detail_(new QLabel(this)) {
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(24, 24, 24, 24);
    column->setSpacing(8);
    column->addStretch(2);
    for (QLabel* label : {title_, detail_}) {
        label->setAlignment(Qt::AlignHCenter);
        label->setWordWrap(true);
        label->setTextFormat(Qt::PlainText);
        column->addWidget(label);
    }
    column->addStretch(3);
    connect(session_, &Session::themeChanged, this, &EmptyNote::restyle);
    restyle();
}

EmptyNote::EmptyNote(Session* session, const QString& title, const QString& detail, QWidget* parent)
    : EmptyNote(session, parent) {
    setText(title, detail);
}

void EmptyNote::setText(const QString& title, const QString& detail) {
    title_->setText(title);
    detail_->setText(detail);
    detail_->setVisible(!detail.isEmpty());
    setAccessibleName(title);
    setAccessibleDescription(detail);
}

void EmptyNote::restyle() {
    const auto paint = [&](QLabel* label, ColourRole role, const QFont& font) {
        QPalette palette = paletteOf(session_->theme());
        palette.setColor(QPalette::WindowText, qColor(role, session_->theme()));
        label->setPalette(palette);
        label->setFont(font);
    };
    paint(title_, ColourRole::Text, uiFont(14, true));
    paint(detail_, ColourRole::TextMuted, uiFont(12));
}

} // namespace fusescope
