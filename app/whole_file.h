// SPDX-License-Identifier: GPL-3.0-or-later
// Writing a file whole or not at all.
#pragma once

#include <QByteArray>
#include <QString>

namespace fusescope {

// Beside its name and renamed, so that a reader never sees half of it; a device or a pipe is written to. Any thread.
// "" when all of it is there, else why not, in a few words: "No space left on device".
[[nodiscard]] QString writeWhole(const QString& path, const QByteArray& bytes);

} // namespace fusescope
