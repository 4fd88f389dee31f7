// SPDX-License-Identifier: Apache-2.0
// SVG beyond svgText(): what the HTML report needs to show one picture in both themes.
#pragma once

#include "core/draw/draw_list.h"

#include <string>
#include <string_view>

namespace fusescope {

// Escaped for element text and quoted attributes of XML and HTML; made visible first (visibleText).
[[nodiscard]] std::string escapeXml(std::string_view text, std::size_t max_bytes = 4096);

// Colours as classes ("f7" fill, "s7" stroke: the role's number), for a page that defines them with svgThemeCss().
// label: what the picture shows, for screen readers.
[[nodiscard]] std::string svgWithClasses(const DrawList& list, std::string_view label);
// ":root{--c0:#...}" for a theme, and the rules that use the variables.
[[nodiscard]] std::string themeVariablesCss(Theme theme);
[[nodiscard]] std::string svgClassesCss();

} // namespace fusescope
