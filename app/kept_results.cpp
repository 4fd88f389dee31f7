// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/kept_results.h"

#include "app/opened_files.h"
#include "core/measured/merge.h"
#include "ui/base/paint.h"

#include <QCoreApplication>
#include <QCryptographicHash>
#include <QDateTime>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QLockFile>

#include <cstdio>
#include <utility>

namespace fusescope {
namespace {
constexpr int kMostFiles = 50;
constexpr int kStaleMs = 10'000; // a window holds it for a few milliseconds

void removeOldest(const QDir& folder) {
    const QFileInfoList files =
        folder.entryInfoList({QStringLiteral("*.fusescope"), QStringLiteral("*.part")}, QDir::Files, QDir::Time);
    for (qsizetype i = kMostFiles; i < files.size(); ++i) QFile::remove(files[i].filePath());
}

// Not QSaveFile: it waits for the disk, and this runs between two frames. A rename is enough for a program's end.
bool writeInOneStep(const QString& path, const QByteArray& json) {
    const QString part = path + QStringLiteral(".%1.part").arg(QCoreApplication::applicationPid());
    QFile file(part);
    bool kept = file.open(QIODevice::WriteOnly) && file.write(json) == json.size() && file.flush();
    file.close();
    kept = kept && std::rename(QFile::encodeName(part).constData(), QFile::encodeName(path).constData()) == 0;
    if (!kept) QFile::remove(part);
    return kept;
}
} // namespace

QString keptResultsPath(const QString& folder, const std::vector<std::string>& files) {
    std::vector<QByteArray> states;
    for (const std::string& file : files) states.push_back(fileState(file));
    return keptResultsPath(folder, files, states);
}

QString keptResultsPath(const QString& folder, const std::vector<std::string>& files,
                        const std::vector<QByteArray>& states) {
    if (files.empty()) return {};
    QCryptographicHash hash(QCryptographicHash::Sha256);
    for (std::size_t i = 0; i < files.size(); ++i) {
        hash.addData(QFileInfo(text(files[i])).absoluteFilePath().toUtf8());
        hash.addData(QByteArray(states.at(i) + '\n'));
    }
    return folder + QLatin1Char('/') + QString::fromLatin1(hash.result().toHex().left(32)) +
           QStringLiteral(".fusescope");
}

Kept keepResults(const QString& path, const SessionFile& session, MeasuredFile& known, int wait_ms) {
    const QDir folder = QFileInfo(path).dir();
    if (session.measured.empty() && !QFile::exists(path)) return Kept::Yes;
    if (!folder.mkpath(QStringLiteral("."))) return Kept::No;
    const QString lock_path = path + QStringLiteral(".lock");
    QLockFile lock(lock_path);
    lock.setStaleLockTime(kStaleMs);
    const QDateTime since = QFileInfo(lock_path).lastModified();
    const bool stale = since.isValid() && since.msecsTo(QDateTime::currentDateTime()) > kStaleMs;
    if (!lock.tryLock(wait_ms)) {
        // One that was stale before and is there still cannot be removed: it is no other window, and waiting does not
        // help. One that became stale meanwhile goes the next time.
        const bool stuck = stale && QFileInfo(lock_path).lastModified() == since;
        return lock.error() == QLockFile::LockFailedError && !stuck ? Kept::Busy : Kept::No;
    }
    MeasuredFile own{session.measured, session.regions}, there;
    if (std::optional<SessionFile> kept = keptResults(path))
        there = {std::move(kept->measured), std::move(kept->regions)};
    SessionFile all = session;
    MeasuredFile both = merged(std::move(there), own, known);
    all.measured = std::move(both.set);
    all.regions = std::move(both.regions);
    if (all.measured.empty()) {
        if (QFile::exists(path) && !QFile::remove(path)) return Kept::No;
    } else {
        const Result<QByteArray> json = sessionJson(all);
        if (!json) return Kept::TooMuch;
        if (!writeInOneStep(path, *json)) return Kept::No;
    }
    known = std::move(own);
    removeOldest(folder);
    return Kept::Yes;
}

std::optional<SessionFile> keptResults(const QString& path) {
    if (path.isEmpty()) return std::nullopt;
    Result<SessionFile> session = readSessionFile(path);
    if (!session || session->measured.empty()) return std::nullopt;
    return std::move(*session);
}

} // namespace fusescope
