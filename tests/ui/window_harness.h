// SPDX-License-Identifier: GPL-3.0-or-later
// What the tests of the whole window share: files, waiting, and a clock that notices when the event loop stands still.
#pragma once

#include "app/banner.h"
#include "app/loader.h"
#include "app/main_window.h"
#include "ui/base/session.h"

#include <QApplication>
#include <QDir>
#include <QElapsedTimer>
#include <QStringList>
#include <QStyleFactory>
#include <QTemporaryDir>
#include <QTest>
#include <QTimer>

#include <algorithm>
#include <memory>

namespace fusescope {

inline QString sample(const char* suffix) {
    const QDir folder(QStringLiteral(FUSESCOPE_SAMPLES_DIR));
    const QStringList names = folder.entryList({QLatin1String("*") + QLatin1String(suffix)}, QDir::Files, QDir::Name);
    return names.isEmpty() ? QString() : folder.filePath(names.front());
}
inline QString sampleTrace() { return sample(".json.gz"); }
inline QString sampleGraph() { return sample(".pt2"); }
inline QString badFile(const char* name) {
    return QDir(QStringLiteral(FUSESCOPE_TEST_DATA_DIR)).filePath(QLatin1String("bad/") + QLatin1String(name));
}
inline QStringList filesIn(const QString& folder) { return QDir(folder).entryList(QDir::Files); }

// Without what this user has set or calibrated.
inline void prepareApplication() {
    static const QTemporaryDir configuration;
    qputenv("XDG_CONFIG_HOME", QFile::encodeName(configuration.path()));
    QCoreApplication::setOrganizationName(QStringLiteral("FuseScope"));
    QCoreApplication::setApplicationName(QStringLiteral("FuseScope"));
    QApplication::setStyle(QStyleFactory::create(QStringLiteral("Fusion")));
}

constexpr int kLoadMs = 40'000;

// Opens the files and waits until they are analysed and drawn.
inline bool openAndSettle(MainWindow& window, const QStringList& files) {
    window.open(files);
    return QTest::qWaitFor([&] { return window.settled(); }, kLoadMs);
}

// A window with the bundled sample in it; none when it could not be opened.
inline std::unique_ptr<MainWindow> windowOnSample() {
    prepareApplication();
    auto window = std::make_unique<MainWindow>(false);
    window->resize(1600, 1000);
    window->show();
    if (!openAndSettle(*window, {sampleTrace(), sampleGraph()})) window.reset();
    return window;
}

// The longest time between two beats of a 5 ms timer: how long the window did not answer.
class Heartbeat : public QObject {
public:
    Heartbeat() {
        beat_.setTimerType(Qt::PreciseTimer);
        beat_.setInterval(5);
        connect(&beat_, &QTimer::timeout, this, [this] { longest_ = std::max(longest_, clock_.restart()); });
        clock_.start();
        beat_.start();
    }
    [[nodiscard]] qint64 longestMs() const { return std::max(longest_, clock_.elapsed()); }

private:
    QTimer beat_;
    QElapsedTimer clock_;
    qint64 longest_ = 0;
};

} // namespace fusescope
