// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/base/tip.h"

#include "core/draw/text_fit.h"
#include "ui/base/paint.h"

#include <QGuiApplication>
#include <QPalette>
#include <QTextDocument>

namespace fusescope {
namespace {
constexpr std::size_t kMaxText = 400; // longer names are elided
}

QString tipText(std::string_view utf8) { return text(visibleText(utf8, kMaxText)).toHtmlEscaped(); }

QString plainTip(const QString& words) {
    if (!Qt::mightBeRichText(words)) return words;
    return QStringLiteral("<div style='white-space:pre-wrap'>") + words.toHtmlEscaped() + QStringLiteral("</div>");
}

QString tipShape(const TensorMeta& meta) {
    QString shape;
    for (const std::int64_t size : meta.sizes) {
        if (!shape.isEmpty()) shape += QChar(u'×');
        shape += size == kDynamicSize ? QStringLiteral("?") : QString::number(size);
    }
    if (shape.isEmpty()) shape = QCoreApplication::translate("fusescope::Tip", "scalar");
    return shape + QChar(u' ') + tipText(shortName(meta.dtype));
}

void TipLines::add(const QString& name, const QString& value) {
    if (value.isEmpty()) return;
    html += QStringLiteral("<tr><td style='padding-right:10px'>") + name + QStringLiteral("</td><td>") + value +
            QStringLiteral("</td></tr>");
}

QString TipLines::under(const QString& title, const QString& note) const {
    const QString below = note.isEmpty()
                              ? QString()
                              : QStringLiteral("<div style='color:%1'>%2</div>")
                                    .arg(QGuiApplication::palette().color(QPalette::PlaceholderText).name(), note);
    return QStringLiteral("<div style='white-space:pre-wrap'><b>") + title + QStringLiteral("</b></div>") + below +
           QStringLiteral("<table cellspacing='0'>") + html + QStringLiteral("</table>");
}

} // namespace fusescope
