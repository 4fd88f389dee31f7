// SPDX-License-Identifier: GPL-3.0-or-later
// Saving and opening sessions.
#include "app/main_window_widgets.h"

#include "app/banner.h"
#include "app/kept_results.h"
#include "app/loader.h"
#include "app/session_file.h"
#include "app/whole_file.h"
#include "core/cost/device.h"
#include "ui/base/paint.h"
#include "ui/base/session.h"
#include "ui/fuse/fuse_queue.h"

#include <QDir>
#include <QFileDialog>
#include <QFileInfo>
#include <QSet>
#include <QStatusBar>

#include <algorithm>
#include <cmath>
#include <new>

namespace fusescope {
namespace {

QString pattern() { return MainWindow::tr("FuseScope sessions (*.fusescope)"); }

struct Opened { // what a worker found
    SessionFile session;
    QStringList paths, missing, changed;
    QString problem;   // not "": it is no session
    QString no_device; // not "": why its GPU is not used
};

Opened readSession(const QString& path, const Progress& end) {
    Opened out;
    Result<SessionFile> session = readSessionFile(path);
    if (!session) {
        out.problem = text(session.error().message());
        return out;
    }
    out.session = std::move(*session);
    // Else it would stay chosen, and nothing could be opened any more.
    if (const std::string device = out.session.device.toStdString(); !device.empty())
        if (const Result<DeviceSpec> known = deviceByName(device); !known) {
            out.no_device = text(known.error().message());
            out.session.device.clear();
        }
    for (const SessionInput& input : out.session.inputs) {
        const QString found = foundInput(input, path);
        if (found.isEmpty()) {
            out.missing << input.path;
            continue;
        }
        out.paths << found;
        if (input.sha256.isEmpty() || sha256Of(found, end) != input.sha256) out.changed << found;
    }
    return out;
}

bool isBeside(Qt::DockWidgetArea area) { return area == Qt::LeftDockWidgetArea || area == Qt::RightDockWidgetArea; }

} // namespace

void MainWindow::chooseSaveSession() {
    const AnalysisPtr& a = session_->analysis();
    if (!a || a->files.empty()) return;
    const QFileInfo input(text(a->files.back()));
    const QString proposal = input.absolutePath() + QLatin1Char('/') +
                             input.fileName().section(QLatin1Char('.'), 0, 0) + QStringLiteral(".fusescope");
    const QString path = askWhere(tr("Save session"), proposal, pattern(), QStringLiteral("fusescope"));
    if (!path.isEmpty()) saveSession(path);
}

void MainWindow::chooseOpenSession() {
    const QString path = QFileDialog::getOpenFileName(this, tr("Open session"), settings::lastFolder(), pattern(),
                                                      nullptr, QFileDialog::ReadOnly);
    if (path.isEmpty()) return;
    settings::setLastFolder(QFileInfo(path).absolutePath());
    openSession(path);
}

SessionFile MainWindow::sessionNow() const {
    const Analysis& a = *session_->analysis();
    SessionFile session;
    session.device = w_->device->currentData().toString();
    session.step = w_->step->currentData().toString();
    session.selection = pickText(a, session_->selection());
    session.marked = session_->markedRange();
    session.window_state = saveState();
    session.window_size = size();
    for (QDockWidget* d : {w_->model, w_->roofline, w_->findings, w_->timeline, w_->tables})
        if (!d->isFloating() && d->isVisible())
            session.dock_sizes[d->objectName()] = isBeside(dockWidgetArea(d)) ? d->width() : d->height();
    session.measured = session_->measured();
    for (const ChosenPtr& region : session_->regions()) session.regions.push_back(*region);
    for (ChosenRegion& region : fuse_->awaited()) // of another step those that are here still, too
        if (region.id.empty() || session_->workRowOf(region.id) < 0) session.regions.push_back(std::move(region));
    if (const Pick pick = session_->selection().pick; pick.kind == PickKind::Region)
        for (const ChosenPtr& region : session_->regions())
            if (numberOf(region->id) == pick.id) session.selection = QLatin1String("region:") + text(region->id);
    for (const std::string& file : a.files) session.inputs.append({QFileInfo(text(file)).absoluteFilePath(), {}});
    return session;
}

void MainWindow::saveSession(const QString& path) {
    if (!session_->analysis()) return;
    SessionFile session = sessionNow();
    if (isInput(path)) {
        banner_->show(Banner::Tone::Error,
                      tr("%1: expected a session that is not written over an input, found the same file").arg(path));
        Q_EMIT exported(path, false);
        return;
    }
    statusBar()->showMessage(tr("Writing %1").arg(path));
    QSet<QString> changed; // what is there now is not what was measured: the session names no content
    for (const std::string& file : session_->analysis()->files) {
        if (!opened_files_.changed(file)) continue;
        changed.insert(QFileInfo(text(file)).absoluteFilePath());
        banner_->show(Banner::Tone::Note,
                      tr("%1 has changed since it was opened: with it as it is now, the session will "
                         "leave out what is measured")
                          .arg(text(file)));
    }
    // Hashing reads the inputs whole.
    w_->files.start([this, path, session, changed](const Progress& end) mutable -> LooseThreads::Tell {
        QString why;
        try {
            for (SessionInput& input : session.inputs)
                if (!changed.contains(input.path)) input.sha256 = sha256Of(input.path, end);
            if (const Result<QByteArray> json = sessionJson(session))
                why = writeWhole(path, *json, end);
            else
                why = tr("more than a session holds: %1").arg(text(json.error().message()));
        } catch (const std::bad_alloc&) { // would end the program, out of a thread
            why = tr("out of memory");
        }
        return [this, path, why] { tellWritten(path, why); };
    });
}

void MainWindow::openSession(const QString& path) {
    banner_->clear();
    statusBar()->showMessage(tr("Opening %1").arg(path));
    reading_session_ = true;
    pending_session_.reset();
    w_->files.start([this, path, opening = ++openings_](const Progress& end) -> LooseThreads::Tell {
        auto opened = std::make_shared<Opened>();
        try {
            *opened = readSession(path, end);
        } catch (const std::bad_alloc&) { // would end the program, out of a thread
            *opened = {};
            opened->problem = tr("%1: expected a session that fits into memory, found too little of it").arg(path);
        }
        return [this, path, opened, opening] {
            if (opening != openings_) return;
            statusBar()->clearMessage();
            reading_session_ = false;
            if (!opened->problem.isEmpty()) {
                banner_->show(Banner::Tone::Error, opened->problem);
                return;
            }
            for (const QString& file : opened->missing)
                banner_->show(Banner::Tone::Error,
                              tr("%1: expected an input of the session there or beside it, found none").arg(file));
            if (opened->paths.isEmpty()) return;
            if (!opened->no_device.isEmpty())
                banner_->show(Banner::Tone::Note,
                              tr("%1. The session is shown for the GPU of the trace.").arg(opened->no_device));
            for (const QString& file : opened->changed)
                banner_->show(Banner::Tone::Note,
                              tr("%1 is not the file that the session was saved with: what was measured then is "
                                 "left out")
                                  .arg(file));
            if (!opened->changed.isEmpty()) { // times are others there, too
                opened->session.measured = {};
                opened->session.marked = {};
            }
            pending_session_ = std::make_unique<SessionFile>(std::move(opened->session));
            // The list of GPUs is filled with the analysis: it keeps the one that is chosen.
            const QString device = pending_session_->device;
            if (w_->device->findData(device) < 0) w_->device->addItem(device, device);
            w_->device->setCurrentIndex(w_->device->findData(device));
            std::vector<std::string> names;
            for (const QString& file : opened->paths) names.push_back(QFile::encodeName(file).toStdString());
            opening_ = opened->paths + QStringList{path};
            AnalyzeOptions options{device.toStdString(), pending_session_->step.toStdString()};
            options.step_may_lack = true; // a trace may be gone, or recorded anew
            loader_->start(std::move(names), std::move(options), nullptr);
        };
    });
}

// Docks keep their pixels: of a larger window's session they would leave the graph no room, so each gets the share of
// the window that it had.
void MainWindow::restoreLayout(const SessionFile& session) {
    if (session.window_state.isEmpty() || !restoreState(session.window_state)) return;
    const QSize then = session.window_size;
    if (then.isEmpty() || then == size()) return;
    // One side after the other: given both, Qt 6.4 shares out wrongly.
    for (const Qt::DockWidgetArea area :
         {Qt::LeftDockWidgetArea, Qt::RightDockWidgetArea, Qt::TopDockWidgetArea, Qt::BottomDockWidgetArea}) {
        const int whole = isBeside(area) ? then.width() : then.height();
        const double share = 1.0 * (isBeside(area) ? width() : height()) / whole;
        QList<QDockWidget*> docks;
        QList<int> sizes;
        for (QDockWidget* d : {w_->model, w_->roofline, w_->findings, w_->timeline, w_->tables}) {
            const int pixels = std::min(session.dock_sizes.value(d->objectName()), whole); // the file may say anything
            if (d->isFloating() || dockWidgetArea(d) != area || pixels <= 0) continue;
            docks << d;
            sizes << std::max(1, static_cast<int>(std::lround(pixels * share)));
        }
        if (!docks.isEmpty()) resizeDocks(docks, sizes, isBeside(area) ? Qt::Horizontal : Qt::Vertical);
    }
}

// After the analysis of a session's inputs is shown.
void MainWindow::restoreSession() {
    if (!pending_session_) return;
    const std::unique_ptr<SessionFile> session = std::move(pending_session_);
    restoreLayout(*session);
    session_->setMeasured(std::move(session->measured));
    select(session->selection);
    const auto [begin, end] = session->marked;
    if (const TracePtr& trace = session_->analysis()->trace; trace && begin < end)
        session_->setMarkedRange(std::clamp(begin, trace->begin, trace->end),
                                 std::clamp(end, trace->begin, trace->end));
    const QString region = QStringLiteral("region:");
    if (!session->regions.empty())
        fuse_->restoreRegions(std::move(session->regions), session->selection.startsWith(region)
                                                               ? session->selection.mid(region.size()).toStdString()
                                                               : std::string());
}

bool MainWindow::select(const QString& what) {
    const AnalysisPtr& a = session_->analysis();
    if (!a) return false;
    const Pick pick = pickOf(*a, what);
    std::vector<NodeId> several = nodesOf(*a, what);
    if (several.size() > 1)
        session_->pickNodes(std::move(several));
    else if (pick.kind != PickKind::None)
        session_->pick(pick);
    else
        return false;
    return true;
}

void MainWindow::keepResultsIn(const QString& folder) { kept_folder_ = folder; }

void MainWindow::keepMeasured() { keepWithin(kMomentMs); }

// A window that writes the same file holds it for milliseconds.
void MainWindow::keepNow() {
    constexpr int kLastWaitMs = 2000;
    if (keep_again_.isActive() || keep_soon_.isActive()) keepWithin(kLastWaitMs);
    keep_again_.stop();
    keep_soon_.stop();
}

void MainWindow::keepWithin(int wait_ms) {
    if (kept_path_.isEmpty()) return;
    const Kept kept = keepResults(kept_path_, sessionNow(), kept_known_, wait_ms);
    if (kept == Kept::Yes) return;
    if (kept == Kept::Busy) {
        keep_again_.start();
        return;
    }
    if (kept == Kept::TooMuch) { // of it something may be removed
        banner_->show(Banner::Tone::Error,
                      tr("What was measured last is more than one file holds: it lasts as long as this window."));
        return;
    }
    banner_->show(Banner::Tone::Error,
                  tr("%1: expected a folder for measured results that can be written; they last as long as this window")
                      .arg(kept_folder_));
    kept_path_.clear();
}

// Results of an earlier window with the same inputs, unless others are shown already.
void MainWindow::showKept() {
    const AnalysisPtr a = session_->analysis();
    if (kept_folder_.isEmpty() || !a) return;
    kept_path_ = keptResultsPath(kept_folder_, a->files, opened_files_.states(a->files));
    kept_known_ = {};
    if (!session_->measured().empty()) {
        keepMeasured();
        return;
    }
    std::optional<SessionFile> kept = keptResults(kept_path_);
    if (!kept) return;
    kept_known_ = {kept->measured, kept->regions};
    const std::size_t count = kept->measured.results().size();
    if (!kept->regions.empty()) fuse_->restoreRegions(std::move(kept->regions));
    session_->setMeasured(std::move(kept->measured)); // is kept at once, with the regions
    banner_->show(Banner::Tone::Note,
                  count == 1 ? tr("A result that was measured earlier with these files is shown.")
                             : tr("%1 results that were measured earlier with these files are shown.").arg(count),
                  tr("Clear"), [this] { fuse_->clearMeasured(); });
}

} // namespace fusescope
