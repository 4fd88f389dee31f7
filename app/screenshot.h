// SPDX-License-Identifier: GPL-3.0-or-later
// The window drawn into a PNG, for machines without a display and for the documentation.
#pragma once

#include <QSize>
#include <QString>
#include <QStringList>

namespace fusescope {

class MainWindow;

struct ScreenshotOptions {
    QString path;
    QString select;  // "finding:rms_norm", "module:model.layers.0.mlp", "kernel:17", ""
    QString fuse;    // what to measure before the picture: "rms_norm,swiglu", "plan", ""
    QString session; // where to save it, ""
    QSize size;
    int wait_ms = 250; // after everything is drawn
};

[[nodiscard]] bool parseSize(const QString& text, QSize& size);
// Opens, waits until everything is drawn, saves, prints the absolute path. An ExitCode.
[[nodiscard]] int takeScreenshot(MainWindow& window, const QStringList& files, const ScreenshotOptions& options);

} // namespace fusescope
