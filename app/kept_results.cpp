// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/kept_results.h"

#include "ui/base/paint.h"

#include <QCoreApplication>
#include <QCryptographicHash>
#include <QDateTime>
#include <QDir>
#include <QFile>
#include <QFileInfo>

#include <cstdio>

namespace fusescope {
namespace {
constexpr int kMostFiles = 50;

void removeOldest(const QDir& folder) {
    const QFileInfoList files =
        folder.entryInfoList({QStringLiteral("*.fusescope"), QStringLiteral("*.part")}, QDir::Files, QDir::Time);
    for (qsizetype i = kMostFiles; i < files.size(); ++i) QFile::remove(files[i].filePath());
}
} // namespace

QString keptResultsPath(const QString& folder, const std::vector<std::string>& files) {
    if (files.empty()) return {};
    QCryptographicHash hash(QCryptographicHash::Sha256);
    for (const std::string& file : files) {
        const QFileInfo info(text(file));
        hash.addData(info.absoluteFilePath().toUtf8());
        const QByteArray state =
            QByteArray::number(info.size()) + ' ' + QByteArray::number(info.lastModified().toMSecsSinceEpoch()) + '\n';
        hash.addData(state);
    }
    return folder + QLatin1Char('/') + QString::fromLatin1(hash.result().toHex().left(32)) +
           QStringLiteral(".fusescope");
}

bool keepResults(const QString& path, const SessionFile& session) {
    if (session.measured.empty()) return !QFile::exists(path) || QFile::remove(path);
    const QDir folder = QFileInfo(path).dir();
    if (!folder.mkpath(QStringLiteral("."))) return false;
    // Not QSaveFile: it waits for the disk, and this runs between two frames. A rename is enough for a program's end.
    // Another window may write of the same files at the same time.
    const QString part = path + QStringLiteral(".%1.part").arg(QCoreApplication::applicationPid());
    const QByteArray json = sessionJson(session);
    QFile file(part);
    bool kept = file.open(QIODevice::WriteOnly) && file.write(json) == json.size() && file.flush();
    file.close();
    kept = kept && std::rename(QFile::encodeName(part).constData(), QFile::encodeName(path).constData()) == 0;
    if (!kept) {
        QFile::remove(part);
        return false;
    }
    removeOldest(folder);
    return true;
}

std::optional<SessionFile> keptResults(const QString& path) {
    if (path.isEmpty()) return std::nullopt;
    Result<SessionFile> session = readSessionFile(path);
    if (!session || session->measured.empty()) return std::nullopt;
    return std::move(*session);
}

} // namespace fusescope
