// SPDX-License-Identifier: GPL-3.0-or-later
// Measured results outlive the window, whatever ends it: of each set of inputs a session in the user's data folder,
// written when a result lands, so that what was on the screen is there again. Windows on the same inputs share it.
#pragma once

#include "app/session_file.h"
#include "core/measured/measured_json.h"

#include <QByteArray>
#include <QString>

#include <optional>
#include <string>
#include <vector>

namespace fusescope {

// The file of these inputs with content of these states (OpenedFiles), or as they are now: another content has another
// one. Errors: none, "" without inputs.
[[nodiscard]] QString keptResultsPath(const QString& folder, const std::vector<std::string>& files,
                                      const std::vector<QByteArray>& states);
[[nodiscard]] QString keptResultsPath(const QString& folder, const std::vector<std::string>& files);
enum class Kept { Yes, Busy, No, TooMuch };
// Takes the place of an earlier file in one step, with what other windows have put there (core/measured/merge.h);
// known: what this window last read or wrote of it, and then the session's. Without results the file goes. Of many
// files the oldest go. Busy: another window is writing it for longer than a moment, so nothing was written: try again.
// No: it cannot be written. TooMuch: it could not be read again (sessionJson()); the file stays as it was.
// wait_ms: how long a moment is; more where there is no later.
constexpr int kMomentMs = 30;
[[nodiscard]] Kept keepResults(const QString& path, const SessionFile& session, MeasuredFile& known,
                               int wait_ms = kMomentMs);
// Nothing where there is no such file, or none that can be read.
[[nodiscard]] std::optional<SessionFile> keptResults(const QString& path);

} // namespace fusescope
