// SPDX-License-Identifier: GPL-3.0-or-later
// Writing a file whole or not at all.
#pragma once

#include "core/base/progress.h"

#include <QByteArray>
#include <QString>

namespace fusescope {

// Beside its name and renamed, so that a reader never sees half of it; a device or a pipe is written to. Any thread.
// Ends soon after `end` is cancelled, also in the middle of a pipe that nobody reads; of a file nothing is left then.
// "" when all of it is there, else why not, in a few words: "No space left on device".
[[nodiscard]] QString writeWhole(const QString& path, const QByteArray& bytes, const Progress& end = {});

} // namespace fusescope
