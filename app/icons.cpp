// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/icons.h"

#include <QApplication>
#include <QFile>
#include <QIconEngine>
#include <QPainter>
#include <QPalette>
#include <QPixmap>
#include <QSvgRenderer>

static void initResources() { Q_INIT_RESOURCE(icons); } // outside of any namespace: of a static library

namespace fusescope {
namespace {

class LineIconEngine : public QIconEngine {
public:
    explicit LineIconEngine(QByteArray svg) : svg_(std::move(svg)) {}

    void paint(QPainter* painter, const QRect& rect, QIcon::Mode mode, QIcon::State) override {
        const QPalette::ColorGroup group = mode == QIcon::Disabled ? QPalette::Disabled : QPalette::Active;
        QByteArray inked = svg_;
        inked.replace("#000", QApplication::palette().color(group, QPalette::ButtonText).name().toLatin1());
        QSvgRenderer(inked).render(painter, QRectF(rect));
    }
    QPixmap pixmap(const QSize& size, QIcon::Mode mode, QIcon::State state) override {
        QPixmap pixels(size);
        pixels.fill(Qt::transparent);
        QPainter painter(&pixels);
        paint(&painter, QRect(QPoint(), size), mode, state);
        return pixels;
    }
    [[nodiscard]] QIconEngine* clone() const override { return new LineIconEngine(svg_); }

private:
    QByteArray svg_;
};

} // namespace

QIcon lineIcon(const QString& name) {
    initResources();
    QFile file(QStringLiteral(":/icons/%1.svg").arg(name));
    return file.open(QIODevice::ReadOnly) ? QIcon(new LineIconEngine(file.readAll())) : QIcon();
}

QIcon appIcon() {
    initResources();
    QSvgRenderer svg(QStringLiteral(":/icons/app.svg"));
    QIcon icon;
    for (const int size : {16, 24, 32, 48, 64, 128, 256}) {
        QPixmap pixels(size, size);
        pixels.fill(Qt::transparent);
        QPainter painter(&pixels);
        svg.render(&painter, QRectF(0, 0, size, size));
        painter.end();
        icon.addPixmap(pixels);
    }
    return icon;
}

} // namespace fusescope
