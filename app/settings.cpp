// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/settings.h"

#include <QFileInfo>
#include <QSettings>
#include <QStandardPaths>

namespace fusescope::settings {
namespace {
constexpr int kMaxRecent = 12;
QString key(const char* name) { return QLatin1String(name); }
} // namespace

ThemeChoice theme() {
    const QString name = QSettings().value(key("theme")).toString();
    return name == QLatin1String("light")  ? ThemeChoice::Light
           : name == QLatin1String("dark") ? ThemeChoice::Dark
                                           : ThemeChoice::System;
}
void setTheme(ThemeChoice choice) {
    const char* name = choice == ThemeChoice::Light ? "light" : choice == ThemeChoice::Dark ? "dark" : "system";
    QSettings().setValue(key("theme"), QLatin1String(name));
}

QStringList recentFiles() {
    QStringList there;
    const QStringList all = QSettings().value(key("recent")).toStringList();
    for (const QString& path : all)
        if (QFileInfo::exists(path)) there << path;
    return there;
}
void addRecentFile(const QString& path) {
    const QString absolute = QFileInfo(path).absoluteFilePath();
    QStringList all = QSettings().value(key("recent")).toStringList();
    all.removeAll(absolute);
    all.prepend(absolute);
    while (all.size() > kMaxRecent) all.removeLast();
    QSettings().setValue(key("recent"), all);
}
void clearRecentFiles() { QSettings().remove(key("recent")); }

QByteArray geometry() { return QSettings().value(key("window/geometry")).toByteArray(); }
QByteArray windowState() { return QSettings().value(key("window/state")).toByteArray(); }
void setWindow(const QByteArray& geometry, const QByteArray& state) {
    QSettings().setValue(key("window/geometry"), geometry);
    QSettings().setValue(key("window/state"), state);
}
QString runnerCommand() { return QSettings().value(key("runner")).toString(); }
void setRunnerCommand(const QString& command) {
    if (command.trimmed().isEmpty())
        QSettings().remove(key("runner"));
    else
        QSettings().setValue(key("runner"), command.trimmed());
}
FuseEffort fuseEffort() {
    const FuseEffort usual;
    const auto kept = [](const char* name, double otherwise, double most) {
        bool number = false;
        const double value = QSettings().value(key(name)).toDouble(&number);
        return number && value >= 1 && value <= most ? value : otherwise;
    };
    return {static_cast<int>(kept("measuring/rounds", usual.rounds, kMostFuseRounds)),
            kept("measuring/time_limit_s", usual.time_limit_s, kMostFuseSeconds)};
}
void setFuseEffort(const FuseEffort& effort) {
    QSettings().setValue(key("measuring/rounds"), effort.rounds);
    QSettings().setValue(key("measuring/time_limit_s"), effort.time_limit_s);
}
QString keptFolder() {
    return QStandardPaths::writableLocation(QStandardPaths::AppLocalDataLocation) + QStringLiteral("/measured");
}

QString lastFolder() { return QSettings().value(key("folder")).toString(); }
void setLastFolder(const QString& folder) { QSettings().setValue(key("folder"), folder); }

} // namespace fusescope::settings
