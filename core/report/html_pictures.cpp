// SPDX-License-Identifier: Apache-2.0
// The pictures of the window, from the same draw lists.
#include "core/report/html_parts.h"

#include "core/draw/graph_draw.h"
#include "core/draw/roofline_draw.h"
#include "core/draw/timeline_draw.h"
#include "core/graph/visible_graph.h"
#include "core/measured/after.h"
#include "core/measured/moves.h"

namespace fusescope::html {
namespace {

constexpr double kWidth = 1160; // of the page's column inside a figure

void figure(std::string& out, std::string_view id, std::string_view title, const DrawList& picture,
            std::string_view label, std::string_view caption) {
    out += "<h2 id=\"" + std::string(id) + "\">" + esc(title) + "</h2>\n<figure><div class=\"wide-picture\">";
    out += svgWithClasses(picture, label);
    out += "</div><figcaption>" + esc(caption, 2000) + "</figcaption></figure>\n";
}

} // namespace

void picturesSection(const Analysis& a, const LayoutFunction& layout, const MeasuredSet& set, const MeasuredPlan& plan,
                     ChosenRegions regions, std::string& out) {
    const std::vector<TimelineFused> fused = timelineFused(a, set, {}, regions);
    const std::string measured =
        fused.empty() ? std::string()
                      : " Green: measured fusions, with what the region takes in the step, now and fused.";
    if (a.graph && layout) {
        const VisibleGraph visible = visibleGraph(*a.graph, defaultView(*a.graph));
        const LayoutResult placed = layout(drawnLayoutRequest(visible));
        figure(out, "graph", "Model graph", drawGraph(a, visible, placed, {}, fused, &plan.marked),
               "The model graph with fusable regions marked",
               (a.trace ? "Blocks with the time they took in the step, forward and backward, and its share of all "
                          "kernel time. "
                          "Of identical layers one is shown: "
                          "the figure in its header is for all of them, those inside are for one. Amber: a region "
                          "worth fusing."
                        : "Blocks with their FLOPs. Of identical layers one is shown. Amber: a region worth fusing.") +
                   measured);
    }
    if (!a.trace) return;
    const std::optional<TimelineAfter> after = timelineAfter(a, set, {}, regions);
    std::string moved;
    if (after) {
        moved = " Shown is the " + afterText(*after) +
                ": fused kernels are outlined in green, later work has moved up, dashed outlines below show where the "
                "replaced kernels ran.";
        if (!after->plan_measured) moved += " What is only predicted stays as recorded.";
        if (const std::string held = afterHeldText(*after); !held.empty()) moved += " " + held + ".";
    } else if (!fused.empty()) {
        moved = " Green: fused kernels as measured, over what they replace; later work stands where it was.";
    }
    figure(out, "timeline", after ? "Timeline of the step after fusing" : "Timeline of the step",
           drawTimelinePicture(a, kWidth, fused, after ? &*after : nullptr, &plan.marked),
           "The timeline of the analysed step",
           "CPU threads above, GPU streams below, coloured by what the work is for. Amber bars stand under the kernels "
           "that a worthwhile fusion would "
           "replace. Hatched: several slices too short to tell apart; on a GPU stream they stand as high as the GPU "
           "was busy." +
               moved);
    const std::vector<RooflineMove> moves = rooflineMoves(a, set, regions);
    figure(out, "roofline", "Roofline", drawRoofline(a, kWidth, 560, {}, moves), "The roofline chart",
           "Each mark is an operator in one kind of module, forward or backward; its area is its time. Left of the "
           "ridge the memory bandwidth is the limit: "
           "fusing moves a mark to the right. Marks far below the roof wait for something else, often for launches." +
               std::string(moves.empty() ? "" : " Arrows: from a region as run to its fused form as measured."));
}

} // namespace fusescope::html
