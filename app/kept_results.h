// SPDX-License-Identifier: GPL-3.0-or-later
// Measured results outlive the window, whatever ends it: of each set of inputs a session in the user's data folder,
// written when a result lands, so that what was on the screen is there again.
#pragma once

#include "app/session_file.h"

#include <QString>

#include <optional>
#include <string>
#include <vector>

namespace fusescope {

// The file of these inputs as they are now: another content has another one. Errors: none, "" without inputs.
[[nodiscard]] QString keptResultsPath(const QString& folder, const std::vector<std::string>& files);
// Takes the place of an earlier one in one step; without results the file goes. Of many files the oldest go. False: it
// could not be written.
bool keepResults(const QString& path, const SessionFile& session);
// Nothing where there is no such file, or none that can be read.
[[nodiscard]] std::optional<SessionFile> keptResults(const QString& path);

} // namespace fusescope
