// SPDX-License-Identifier: GPL-3.0-or-later
// What the program remembers between runs.
#pragma once

#include "core/ipc/fuse_effort.h"

#include <QByteArray>
#include <QString>
#include <QStringList>

namespace fusescope::settings {

enum class ThemeChoice { System, Light, Dark };

[[nodiscard]] ThemeChoice theme();
void setTheme(ThemeChoice choice);
[[nodiscard]] QStringList recentFiles(); // newest first; files that are gone are left out
void addRecentFile(const QString& path);
void clearRecentFiles();
[[nodiscard]] QByteArray geometry();
[[nodiscard]] QByteArray windowState();
void setWindow(const QByteArray& geometry, const QByteArray& state);
[[nodiscard]] QString runnerCommand(); // "": look for one
void setRunnerCommand(const QString& command);
[[nodiscard]] FuseEffort fuseEffort(); // within its bounds, whatever the file says
void setFuseEffort(const FuseEffort& effort);
[[nodiscard]] QString keptFolder(); // of kept results (app/kept_results.h)
[[nodiscard]] QString lastFolder();
void setLastFolder(const QString& folder);

} // namespace fusescope::settings
