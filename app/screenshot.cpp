// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/screenshot.h"

#include "app/banner.h"
#include "app/loader.h"
#include "app/main_window.h"
#include "app/session_file.h"
#include "core/ipc/exit_codes.h"
#include "ui/base/paint.h"
#include "ui/base/session.h"
#include "ui/fuse/fuse_queue.h"
#include "ui/fuse/fuse_words.h"
#include "ui/panels/findings_panel.h"

#include <QElapsedTimer>
#include <QEventLoop>
#include <QFileInfo>
#include <QTimer>

#include <cstdio>
#include <utility>
#include <vector>

namespace fusescope {
namespace {

constexpr int kTimeoutMs = 120'000, kMeasureMs = 600'000;

// Lets events pass until ready, at most so long.
template <class Ready> bool waitFor(Ready ready, int timeout_ms) {
    QElapsedTimer clock;
    clock.start();
    while (!ready()) {
        if (clock.elapsed() > timeout_ms) return false;
        QEventLoop loop;
        QTimer::singleShot(10, &loop, &QEventLoop::quit);
        loop.exec();
    }
    return true;
}

// What stands in the window's banner.
void complain(MainWindow& window) {
    const QStringList sentences = window.banner().sentences();
    for (const QString& sentence : sentences) std::fprintf(stderr, "fusescope: %s\n", qUtf8Printable(sentence));
}

// Rows of the findings that "rms_norm,swiglu" or "plan" names; empty when a name is not there.
std::vector<std::size_t> rowsOf(const Analysis& analysis, const QString& what) {
    std::vector<std::size_t> rows;
    for (const QString& name : what.split(QLatin1Char(','))) {
        const std::size_t before = rows.size();
        for (std::size_t row = 0; row < analysis.findings.size(); ++row) {
            const std::string& id = analysis.findings[row].id;
            if (name == text(id) || (name == QLatin1String("plan") && planPartOf(analysis.plan, id) != nullptr))
                rows.push_back(row);
        }
        if (rows.size() == before) {
            std::fprintf(stderr, "fusescope: expected --fuse to name findings or plan, found '%s'\n",
                         qUtf8Printable(name));
            return {};
        }
    }
    return rows;
}

// A place in the model as --select names it becomes a region and is on its way; none when it cannot be one.
std::vector<std::size_t> rowOfPlace(MainWindow& window, const QString& what) {
    const Analysis& analysis = *window.session().analysis();
    RegionWish wish;
    wish.nodes = nodesOf(analysis, what);
    if (const Pick pick = pickOf(analysis, what); pick.kind == PickKind::Module) wish.module = ModuleId(pick.id);
    if (wish.empty()) {
        std::fprintf(stderr, "fusescope: expected --fuse to name something in these files, found '%s'\n",
                     qUtf8Printable(what));
        return {};
    }
    window.session().clear();
    window.session().wantRegion(wish);
    waitFor([&] { return !window.fuseQueue().choosing(); }, kTimeoutMs);
    if (const int row = window.findings().chosen(); row >= 0) return {static_cast<std::size_t>(row)};
    complain(window);
    return {};
}

// Chooses each finding and presses Fuse, one after the other as a user would, and tells how long each took until its
// result stood in the window. An ExitCode; what failed is on stderr.
int measure(MainWindow& window, const QString& what) {
    const Analysis& analysis = *window.session().analysis();
    FuseQueue& queue = window.fuseQueue();
    waitFor([&] { return queue.prepared(); }, kTimeoutMs);
    const bool place = what.startsWith(QLatin1String("module:")) || what.startsWith(QLatin1String("nodes:"));
    const std::vector<std::size_t> rows = place ? rowOfPlace(window, what) : rowsOf(analysis, what);
    if (rows.empty()) return kExitUsage;
    bool ok = true;
    for (const std::size_t row : rows) {
        const char* id = window.session().workAt(row)->id.c_str();
        if (const QString against = queue.reasonAgainst(row); !against.isEmpty()) {
            std::fprintf(stderr, "fusescope: %s: %s\n", id, qUtf8Printable(against));
            ok = ok && rows.size() > 1; // the others are measured
            continue;
        }
        QElapsedTimer clock;
        clock.start();
        if (!place) {
            window.session().pick(window.session().pickOfWork(row));
            window.findings().fuseChosen();
        }
        waitFor([&] { return !queue.job(row).active() && window.settled(); }, kMeasureMs);
        if (const FuseJob job = queue.job(row); job.state == FuseJob::State::Failed) {
            std::fprintf(stderr, "fusescope: %s: %s\n", id, qUtf8Printable(errorWords(job.error).long_text));
            ok = false;
        } else {
            std::fprintf(stderr, "fusescope: %s: measured in %.2f s\n", id,
                         static_cast<double>(clock.elapsed()) / 1000);
        }
    }
    return ok ? kExitOk : kExitRunnerFailed;
}

// False when --select names nothing in these files; nothing asked for is well.
bool selected(MainWindow& window, const QString& what) {
    if (what.isEmpty() || window.select(what)) return true;
    std::fprintf(stderr, "fusescope: expected --select to name something in these files, found '%s'\n",
                 qUtf8Printable(what));
    return false;
}

bool saveSession(MainWindow& window, const QString& path) {
    bool ended = false, saved = false;
    QObject::connect(&window, &MainWindow::exported, &window, [&](const QString&, bool ok) {
        ended = true;
        saved = ok;
    });
    if (!window.session().analysis()) {
        std::fputs("fusescope: expected files for --save-session, found none\n", stderr);
        return false;
    }
    window.banner().clear();
    window.saveSession(path);
    if (waitFor([&] { return ended; }, kTimeoutMs) && saved) return true;
    complain(window);
    return false;
}

} // namespace

bool parseSize(const QString& text, QSize& size) {
    bool wide = false, high = false;
    const QStringList parts = text.split(QLatin1Char('x'));
    if (parts.size() != 2) return false;
    size = QSize(parts[0].toInt(&wide), parts[1].toInt(&high));
    return wide && high && size.width() >= 1100 && size.width() <= 7680 && size.height() >= 700 &&
           size.height() <= 4320;
}

int takeScreenshot(MainWindow& window, const QStringList& files, const ScreenshotOptions& options) {
    for (const QString& file : files) // whether or not it can be opened
        if (sameFile(file, options.path)) {
            std::fprintf(stderr, "fusescope: %s: expected a picture that is not written over an input\n",
                         qUtf8Printable(options.path));
            return kExitUsage;
        }
    window.resize(options.size);
    window.show();
    window.resetLayout();
    if (!files.isEmpty()) {
        window.open(files);
        if (!waitFor([&] { return window.settled(); }, kTimeoutMs)) {
            std::fputs("fusescope: expected the files to be drawn within two minutes, found them still loading\n",
                       stderr);
            return kExitNoInput;
        }
        if (!window.session().analysis()) {
            complain(window);
            return kExitNoInput;
        }
    }
    for (const auto& [option, value] : {std::pair{"--select", options.select}, std::pair{"--fuse", options.fuse}})
        if (!value.isEmpty() && !window.session().analysis()) {
            std::fprintf(stderr, "fusescope: expected files for %s, found none\n", option);
            return kExitNoInput;
        }
    if (!selected(window, options.select)) return kExitUsage;
    int status = kExitOk;
    if (!options.fuse.isEmpty()) {
        status = measure(window, options.fuse);
        selected(window, options.select); // measuring selects what it measures
    }
    QElapsedTimer rest;
    rest.start();
    waitFor([&] { return rest.elapsed() >= options.wait_ms && window.settled(); }, kTimeoutMs);
    if (const QString problem = window.savePicture(options.path); !problem.isEmpty()) {
        std::fprintf(stderr, "fusescope: %s\n", qUtf8Printable(problem));
        return kExitUsage;
    }
    std::printf("%s\n", qUtf8Printable(QFileInfo(options.path).absoluteFilePath()));
    if (!options.session.isEmpty() && !saveSession(window, options.session)) return kExitUsage;
    return status;
}

} // namespace fusescope
