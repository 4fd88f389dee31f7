// SPDX-License-Identifier: GPL-3.0-or-later
// The program's line icons, drawn in the text colour of the palette at the time of painting: sharp at any scale, right
// in either theme.
#pragma once

#include <QIcon>
#include <QString>

namespace fusescope {

[[nodiscard]] QIcon lineIcon(const QString& name); // "open": resources/icons/open.svg
[[nodiscard]] QIcon appIcon();

} // namespace fusescope
