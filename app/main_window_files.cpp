// SPDX-License-Identifier: GPL-3.0-or-later
// Opening, dropping, exporting.
#include "app/main_window_widgets.h"

#include "app/banner.h"
#include "app/loader.h"
#include "app/session_file.h"
#include "app/whole_file.h"
#include "core/report/layout_client.h"
#include "core/report/report.h"
#include "ui/base/paint.h"
#include "ui/base/session.h"

#include <QBuffer>
#include <QCoreApplication>
#include <QDir>
#include <QDragEnterEvent>
#include <QDropEvent>
#include <QFileDialog>
#include <QFileInfo>
#include <QMimeData>
#include <QStatusBar>
#include <QThreadPool>
#include <QUrl>

#include <algorithm>
#include <new>

namespace fusescope {
namespace {

QStringList localFiles(const QMimeData& data) {
    QStringList files;
    const QList<QUrl> urls = data.urls();
    for (const QUrl& url : urls)
        if (url.isLocalFile()) files << url.toLocalFile();
    return files;
}

bool isSession(const QString& path) { return path.endsWith(QLatin1String(".fusescope")); }

} // namespace

QStringList MainWindow::sampleFiles() {
    // Installed beside the program, or in the source tree that build/<preset>/bin lies in.
    const QString here = QCoreApplication::applicationDirPath();
    for (const char* folder : {"/../share/fusescope/samples", "/../../../resources/samples"}) {
        const QDir samples(here + QLatin1String(folder));
        QStringList files;
        const QStringList names =
            samples.entryList({QStringLiteral("*.pt2"), QStringLiteral("*.json.gz")}, QDir::Files, QDir::Name);
        for (const QString& name : names) files << samples.canonicalPath() + QLatin1Char('/') + name;
        if (!files.isEmpty()) return files;
    }
    return {};
}

void MainWindow::openSample() { open(sampleFiles()); }

void MainWindow::chooseFiles() {
    const QStringList files =
        QFileDialog::getOpenFileNames(this, tr("Open traces and model graphs"), settings::lastFolder(),
                                      tr("Traces and graphs (*.json *.gz *.pt2 *.fusescope);;All files (*)"), nullptr,
                                      QFileDialog::ReadOnly); // Qt's own dialog would rename and delete, too
    if (files.isEmpty()) return;
    settings::setLastFolder(QFileInfo(files.front()).absolutePath());
    open(files);
}

void MainWindow::open(const QStringList& paths) {
    if (paths.isEmpty()) return;
    if (paths.size() == 1 && isSession(paths.front())) {
        openSession(paths.front());
        return;
    }
    banner_->clear();
    forgetOpening();
    opening_ = paths;
    std::vector<std::string> names;
    for (const QString& path : paths) {
        const auto bytes = bytes_of_name_.find(path);
        names.push_back(bytes != bytes_of_name_.end() ? bytes->second : QFile::encodeName(path).toStdString());
    }
    loader_->start(std::move(names), {w_->device->currentData().toString().toStdString(), "last"},
                   session_->analysis());
}

// What was on its way to the window gives way to what is wanted now.
void MainWindow::forgetOpening() {
    ++openings_;
    if (reading_session_) statusBar()->clearMessage();
    reading_session_ = false;
    pending_session_.reset();
}

void MainWindow::reanalyse() {
    if (!session_->analysis()) return;
    forgetOpening();
    loader_->start(
        {}, {w_->device->currentData().toString().toStdString(), w_->step->currentData().toString().toStdString()},
        session_->analysis());
}

void MainWindow::showAnalysis(const AnalysisPtr& analysis) {
    for (const Error& error : analysis->file_errors) banner_->show(Banner::Tone::Error, text(error.message()));
    if (analysis->trace)
        for (const Problem& problem : analysis->trace->problems)
            if (problem.kind == "truncated" || problem.kind == "too_many_events" || problem.kind == "file_changed")
                banner_->show(Banner::Tone::Note, text(QFileInfo(text(analysis->trace->path)).fileName().toStdString() +
                                                       ": " + problem.message));
    shown_device_ = w_->device->currentData().toString();
    present(analysis);
    QStringList names;
    for (const std::string& file : analysis->files) names << QFileInfo(text(file)).fileName();
    setWindowTitle(tr("%1 – FuseScope").arg(names.join(QStringLiteral(", "))));
    const bool session = pending_session_ != nullptr;
    opened_files_.note(*analysis);
    restoreSession();
    showKept();
    updateHeadline();
    updateStatus();
    for (const QString& path : std::as_const(opening_)) {
        if (session && isSession(path)) remember(path);
        for (const std::string& used : analysis->files)
            if (QFile::encodeName(path).toStdString() == used) remember(path);
    }
    opening_.clear();
    updateRecent();
}

void MainWindow::remember(const QString& path) {
    if (remember_) settings::addRecentFile(path);
}

// Sets what every view shows. The old analysis may be gigabytes: it is freed in a worker.
void MainWindow::present(const AnalysisPtr& analysis) {
    AnalysisPtr old = session_->analysis();
    keepNow();
    kept_path_.clear(); // what is forgotten now stays kept
    session_->setAnalysis(analysis);
    if (old && old != analysis)
        QThreadPool::globalInstance()->start([gone = std::move(old)]() mutable { gone.reset(); });
    w_->centre->setCurrentIndex(analysis ? 1 : 0);
    w_->close->setEnabled(analysis != nullptr);
    for (QAction* action : w_->exports) action->setEnabled(analysis != nullptr);
}

void MainWindow::closeFiles() {
    forgetOpening();
    loader_->cancel();
    banner_->clear();
    shown_device_.clear();
    present(nullptr);
    setWindowTitle(tr("FuseScope"));
    updateHeadline();
    updateStatus();
    updateRecent();
}

void MainWindow::exportReport(Export kind) {
    const AnalysisPtr& a = session_->analysis();
    if (!a || a->files.empty()) return;
    const QString suffix = kind == Export::Html       ? QStringLiteral("html")
                           : kind == Export::Markdown ? QStringLiteral("md")
                                                      : QStringLiteral("json");
    const QFileInfo input(text(a->files.back()));
    const QString proposal = input.absolutePath() + QLatin1Char('/') +
                             input.fileName().section(QLatin1Char('.'), 0, 0) + QStringLiteral("-fusescope.") + suffix;
    const QString path = askWhere(tr("Export"), proposal, QStringLiteral("*.") + suffix, suffix);
    if (!path.isEmpty()) exportTo(kind, path);
}

void MainWindow::exportTo(Export kind, const QString& path) {
    const AnalysisPtr a = session_->analysis();
    if (isInput(path)) {
        banner_->show(Banner::Tone::Error,
                      tr("%1: expected a report that is not written over an input, found the same file").arg(path));
        Q_EMIT exported(path, false);
        return;
    }
    statusBar()->showMessage(tr("Writing %1").arg(path));
    w_->files.start([this, a, measured = session_->measured(), regions = session_->regions(), kind,
                     path](const Progress& end) -> LooseThreads::Tell {
        QString why;
        try {
            const std::string report = kind == Export::Html ? analysisHtml(*a, layoutWithHelper, measured, regions)
                                       : kind == Export::Markdown ? analysisMarkdown(*a, measured, regions)
                                                                  : analysisJson(*a, measured, regions);
            why = writeWhole(path, QByteArray::fromRawData(report.data(), static_cast<qsizetype>(report.size())), end);
        } catch (const std::bad_alloc&) { // would end the program, out of a thread
            why = tr("out of memory");
        }
        return [this, path, why] { tellWritten(path, why); };
    });
}

void MainWindow::tellWritten(const QString& path, const QString& why) {
    constexpr int kShownMs = 8000;
    const bool ok = why.isEmpty();
    if (ok) {
        statusBar()->showMessage(tr("Wrote %1").arg(path), kShownMs);
        if (isSession(path)) {
            remember(path);
            updateRecent();
        }
    } else {
        statusBar()->clearMessage();
        banner_->show(Banner::Tone::Error, tr("%1: expected a file that can be written, found %2").arg(path, why));
    }
    Q_EMIT exported(path, ok);
}

void MainWindow::saveScreenshot() {
    const QString path =
        askWhere(tr("Save picture"), QStringLiteral("fusescope.png"), QStringLiteral("*.png"), QStringLiteral("png"));
    if (path.isEmpty()) return;
    if (const QString problem = savePicture(path); !problem.isEmpty()) banner_->show(Banner::Tone::Error, problem);
}

QString MainWindow::savePicture(const QString& path) {
    if (isInput(path))
        return tr("%1: expected a picture that is not written over an input, found the same file").arg(path);
    QBuffer png;
    png.open(QIODevice::WriteOnly);
    const QString why =
        grab().save(&png, "PNG") ? writeWhole(path, png.buffer()) : tr("that the picture could not be made");
    return why.isEmpty() ? why : tr("%1: expected a file that can be written, found %2").arg(path, why);
}

QString MainWindow::askWhere(const QString& title, const QString& proposal, const QString& filter,
                             const QString& suffix) {
    QFileDialog dialog(this, title, QFileInfo(proposal).absolutePath(), filter);
    dialog.setAcceptMode(QFileDialog::AcceptSave);
    dialog.setDefaultSuffix(suffix);
    dialog.selectFile(proposal);
    return dialog.exec() == QDialog::Accepted ? dialog.selectedFiles().value(0) : QString();
}

bool MainWindow::isInput(const QString& path) const {
    const AnalysisPtr& a = session_->analysis();
    return a && std::any_of(a->files.begin(), a->files.end(),
                            [&](const std::string& file) { return sameFile(text(file), path); });
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
    if (!localFiles(*event->mimeData()).isEmpty()) event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event) {
    const QStringList files = localFiles(*event->mimeData());
    if (files.isEmpty()) return;
    event->acceptProposedAction();
    open(files);
}

} // namespace fusescope
