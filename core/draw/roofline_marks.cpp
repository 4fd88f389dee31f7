// SPDX-License-Identifier: Apache-2.0
// Marks of the roofline, and labels for the biggest ones where they find room.
#include "core/draw/compose.h"
#include "core/draw/names.h"
#include "core/draw/roofline_parts.h"
#include "core/draw/text_fit.h"

#include "core/base/format.h"

#include <fmt/format.h>

#include <array>
#include <string>

namespace fusescope {

std::vector<std::uint32_t> plottableOps(const Analysis& analysis) {
    std::vector<std::uint32_t> rows;
    for (std::uint32_t i = 0; i < analysis.ops.size(); ++i) {
        const OpSummary& op = analysis.ops[i];
        const double ai = op.intensity(), rate = op.achievedFlops();
        if (op.cost.flops > 0 && op.cost.bytes() > 0 && ai > 0 && rate > 0 && std::isfinite(ai) && std::isfinite(rate))
            rows.push_back(i);
    }
    return rows;
}

std::string rooflineEmptyText(const Analysis& analysis) {
    if (!plottableOps(analysis).empty()) return {};
    if (!analysis.trace) return "Open a trace to see its operators under the roof";
    if (analysis.ops.empty()) return "No GPU kernel ran in this step";
    if (analysis.trace->cpu_ops.size() == 0)
        return "The trace has no operators (record ProfilerActivity.CPU): FLOPs and bytes of its kernels are not known";
    return "FLOPs and bytes of no operator are known (record_shapes=True records what they are computed from)";
}

double markRadius(const Analysis& analysis, std::size_t op_row) {
    constexpr double least = 3, most = 18;
    if (op_row >= analysis.ops.size()) return least;
    double longest = 0;
    for (const OpSummary& op : analysis.ops) longest = std::max(longest, op.time_ns);
    const double share = longest > 0 ? std::clamp(analysis.ops[op_row].time_ns / longest, 0.0, 1.0) : 0;
    return std::max(least, most * std::sqrt(share));
}

namespace roofline {
namespace {

constexpr std::size_t kLabels = 14;
constexpr double kSize = 11;

bool overlap(const Area& a, const Area& b) noexcept {
    return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}

std::string labelOf(const OpSummary& op) {
    std::string text(displayOpName(op.op));
    if (!op.module_type.empty()) text += " · " + op.module_type;
    if (op.direction == Direction::Backward) text += " (bwd)";
    return text;
}

std::string tooltipOf(const OpSummary& op) {
    return fmt::format("{}{}{}, {}: {}, {}, {} FLOP/byte, {}, {} ({} bound)", op.op,
                       op.module_type.empty() ? "" : " in ", op.module_type, nameOf(op.direction),
                       formatDuration(op.time_ns), formatCounted(op.calls, "call"), formatSignificant(op.intensity()),
                       formatFlopRate(op.achievedFlops()), formatBandwidth(op.achievedBps()), nameOf(op.bound));
}

} // namespace

void drawMarks(const Analysis& analysis, const Scale& scale, const SelectionSets& selection,
               std::vector<Area> obstacles, DrawList& list) {
    std::vector<std::uint32_t> rows = plottableOps(analysis);
    // Big ones first, so that small ones stay visible on top of them.
    std::stable_sort(rows.begin(), rows.end(), [&](std::uint32_t a, std::uint32_t b) {
        return analysis.ops[a].time_ns > analysis.ops[b].time_ns;
    });
    const bool picking = !selection.ops.empty();
    const auto chosen = [&](std::uint32_t row) {
        return std::binary_search(selection.ops.begin(), selection.ops.end(), row);
    };

    std::vector<Area> marks;
    double longest = 0;
    for (const OpSummary& op : analysis.ops) longest = std::max(longest, op.time_ns);
    for (const std::uint32_t row : rows) {
        const OpSummary& op = analysis.ops[row];
        DrawMarker marker;
        marker.x = scale.x(op.intensity());
        marker.y = scale.y(op.achievedFlops());
        marker.radius = std::max(3.0, 18 * std::sqrt(longest > 0 ? op.time_ns / longest : 0));
        marker.fill = roleOf(op.kind);
        marker.stroke = ColourRole::Surface;
        marker.stroke_width = 1;
        marker.opacity = 0.9;
        marker.pick = {PickKind::Op, row};
        marker.tooltip = tooltipOf(op);
        if (picking) marker.emphasis = chosen(row) ? Emphasis::Selected : Emphasis::Dimmed;
        if (marker.emphasis == Emphasis::Selected) marker.layer = 2;
        marks.push_back(
            {marker.x - marker.radius, marker.y - marker.radius, marker.x + marker.radius, marker.y + marker.radius});
        list.markers.push_back(std::move(marker));
    }

    // Selected ones are labelled before all others.
    std::vector<std::size_t> order(rows.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return picking && chosen(rows[a]) && !chosen(rows[b]); });
    std::size_t labelled = 0;
    for (const std::size_t i : order) {
        if (labelled >= kLabels) break;
        const bool dimmed = picking && !chosen(rows[i]);
        if (dimmed) break;
        const OpSummary& op = analysis.ops[rows[i]];
        if (!picking && op.time_ns < longest * 0.004) break; // small fry would only make noise
        const std::string text = labelOf(op);
        const double width = std::min(textWidth(text, {kSize}), 200.0), height = kSize + 3;
        const Area& m = marks[i];
        const double middle_x = (m.left + m.right) / 2, middle_y = (m.top + m.bottom) / 2;
        const std::array<std::pair<double, double>, 8> places = {{{m.right + 4, middle_y - height / 2},
                                                                  {m.left - 4 - width, middle_y - height / 2},
                                                                  {middle_x - width / 2, m.bottom + 2},
                                                                  {middle_x - width / 2, m.top - 2 - height},
                                                                  {m.right, m.bottom},
                                                                  {m.right, m.top - height},
                                                                  {m.right - width, m.bottom + 12},
                                                                  {middle_x - width / 2, m.bottom + 24}}};
        for (const auto& [x, y] : places) {
            const Area box{x, y, x + width, y + height};
            if (box.left < scale.area.left + 2 || box.right > scale.area.right || box.top < scale.area.top ||
                box.bottom > scale.area.bottom)
                continue;
            const auto hits = [&](const Area& other) { return overlap(box, other); };
            if (std::any_of(obstacles.begin(), obstacles.end(), hits)) continue;
            std::size_t covered = 0;
            for (std::size_t j = 0; j < marks.size(); ++j) covered += j != i && overlap(box, marks[j]) ? 1U : 0U;
            if (covered > 0) continue;
            DrawText& item = compose::elidedText(list, x, y + kSize - 1, text, kSize, ColourRole::Text, width + 2);
            item.pick = {PickKind::Op, rows[i]};
            item.layer = 3;
            obstacles.push_back(box);
            ++labelled;
            break;
        }
    }
}

} // namespace roofline
} // namespace fusescope
