// SPDX-License-Identifier: Apache-2.0
// The page around the sections. One file, no scripts, nothing fetched: it can be mailed and opened anywhere, years
// later.
#include "core/report/html_parts.h"

#include "core/base/format.h"
#include "core/draw/draw_list.h"
#include "core/draw/names.h"
#include "embedded/report.h"

#include <fmt/format.h>

#include <utility>

namespace fusescope {
namespace html {
namespace {

std::string variables(Theme theme) {
    constexpr std::pair<std::string_view, ColourRole> names[] = {{"bg", ColourRole::Background},
                                                                 {"surface", ColourRole::Surface},
                                                                 {"raised", ColourRole::SurfaceRaised},
                                                                 {"border", ColourRole::Border},
                                                                 {"grid", ColourRole::Grid},
                                                                 {"text", ColourRole::Text},
                                                                 {"muted", ColourRole::TextMuted},
                                                                 {"onfill", ColourRole::TextOnFill},
                                                                 {"accent", ColourRole::Accent},
                                                                 {"flagged", ColourRole::Flagged},
                                                                 {"good", ColourRole::Good},
                                                                 {"b-memory", ColourRole::BoundMemory},
                                                                 {"b-compute", ColourRole::BoundCompute},
                                                                 {"b-launch", ColourRole::BoundLaunch}};
    std::string css;
    for (const auto& [name, role] : names) css += fmt::format("--{}:{};", name, hex(colour(role, theme)));
    return css + themeVariablesCss(theme);
}

} // namespace

std::string styleSheet() {
    std::string css = ":root{" + variables(Theme::Light) + "}\n@media screen and (prefers-color-scheme:dark){:root{" +
                      variables(Theme::Dark) + "}}\n";
    for (const report::EmbeddedFile& file : report::embeddedFiles())
        if (file.path == "report/report.css") css += file.bytes;
    return css + svgClassesCss() + '\n';
}

std::string orDash(std::string text) { return text.empty() ? "–" : text; }

std::string badge(Verdict verdict) {
    std::string_view style = "not";
    switch (verdict) {
    case Verdict::WorthIt: style = "worth"; break;
    case Verdict::Marginal: style = "marginal"; break;
    case Verdict::NotBeneficial: break;
    case Verdict::AlreadyFused: style = "fused"; break;
    }
    return fmt::format("<span class=\"badge {}\">{}</span>", style, esc(nameOf(verdict)));
}

std::string boundBadge(Bound bound) {
    if (bound == Bound::Unknown) return "<span class=\"muted\">unknown</span>";
    const std::string name = esc(nameOf(bound));
    return fmt::format("<span class=\"badge bound b-{}\">{}</span>", name, name);
}

std::string kindDot(OpKind kind) {
    return fmt::format("<span class=\"dot\" style=\"background:var(--c{})\" title=\"{}\"></span>",
                       static_cast<int>(roleOf(kind)), esc(nameOf(kind)));
}

std::string shareBar(double share) {
    const double width = share > 0 ? std::min(share, 1.0) * 100 : 0;
    return fmt::format("<span class=\"nowrap\"><span class=\"share\"><i style=\"width:{:.1f}%\"></i></span>{}</span>",
                       width, percent(share));
}

} // namespace html

std::string analysisHtml(const Analysis& analysis, const LayoutFunction& layout, const MeasuredSet& measured,
                         ChosenRegions regions) {
    using namespace html;
    const MeasuredView view = viewOf(analysis, measured, regions);
    std::string title = "FuseScope report";
    if (!analysis.files.empty()) title = std::string(fileName(analysis.files.front())) + " – " + title;
    std::string out;
    out.reserve(std::size_t{1} << 20);
    out += "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
           "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">"
           "<meta name=\"color-scheme\" content=\"light dark\"><meta name=\"generator\" content=\"FuseScope\">"
           // Names in the files are hostile until proven otherwise: even a slip in escaping could run nothing.
           "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
           "img-src data:\">"
           "<title>" +
           esc(title, 200) + "</title><style>\n" + styleSheet() + "</style></head><body>\n";
    headerSection(analysis, view, out);
    out += "<main id=\"main\">\n";
    findingsSection(analysis, view, out);
    regionsSection(analysis, view, out);
    picturesSection(analysis, layout, measured, view.plan, regions, out);
    tablesSection(analysis, out);
    linkSection(analysis, out);
    methodSection(analysis, view, out);
    out += "</main>\n<div class=\"foot\">Written by FuseScope. This page holds everything it shows; it loads nothing "
           "and runs no script.</div>\n</body></html>\n";
    return out;
}

} // namespace fusescope
