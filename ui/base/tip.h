// SPDX-License-Identifier: GPL-3.0-or-later
// Tooltips as a title over a table. Every text from a file passes through tipText(): visible, bounded, escaped.
#pragma once

#include "core/base/tensor.h"

#include <QString>

#include <string_view>

namespace fusescope {

[[nodiscard]] QString tipText(std::string_view utf8);
// A tooltip of lines: with what would be taken for markup (a name in a file, a runner's answer) as it is written.
[[nodiscard]] QString plainTip(const QString& words);
[[nodiscard]] QString tipShape(const TensorMeta& meta); // "1×4096×4096 bf16"

struct TipLines {
    QString html;
    void add(const QString& name, const QString& value); // both HTML already; an empty value adds nothing
    // note: a smaller line below the title, HTML as well
    [[nodiscard]] QString under(const QString& title, const QString& note = {}) const;
};

} // namespace fusescope
