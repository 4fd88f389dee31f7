// SPDX-License-Identifier: Apache-2.0
// Regions of the user's own choice, a card for each.
#include "core/report/html_parts.h"
#include "core/report/own_regions.h"

#include "core/base/format.h"

#include <fmt/format.h>

namespace fusescope::html {

void regionsSection(const Analysis& a, const MeasuredView& measured, std::string& out) {
    if (measured.regions.empty()) return;
    out += "<h2 id=\"regions\">Your regions</h2>\n<p class=\"muted\">Chosen by hand, beyond the findings.</p>\n";
    for (const RegionView& one : measured.regions) {
        out += fmt::format("<article class=\"card\"><header><h3>{}</h3><span class=\"badge not\">{}</span>",
                           esc(one.region->title), esc(regionKind(*one.region)));
        if (one.measured && one.measured->any()) {
            const double saved = one.measured->saving_ns.expected;
            out += saved > 0 ? "<span class=\"gain\">saves " + esc(formatDuration(saved)) + " per step, measured</span>"
                             : std::string("<span class=\"gain\">measured: saves nothing</span>");
        }
        out += "</header><p>" + esc(regionPlace(a, *one.region), 1200) + "</p>";
        if (one.measured) measuredSection(a, *one.measured, out, one.region->swapsIn());
        const std::vector<std::string> notes = regionNotes(one);
        if (!notes.empty()) out += "<ul>";
        for (const std::string& note : notes) out += "<li>" + esc(note, 2000) + "</li>";
        if (!notes.empty()) out += "</ul>";
        out += "</article>\n";
    }
}

} // namespace fusescope::html
