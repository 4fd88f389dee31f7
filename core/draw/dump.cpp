// SPDX-License-Identifier: Apache-2.0
#include "core/draw/draw_list.h"

#include <fmt/format.h>

#include <iterator>

namespace fusescope {
namespace {

std::string_view nameOfEmphasis(Emphasis emphasis) noexcept {
    switch (emphasis) {
    case Emphasis::Dimmed: return " dimmed";
    case Emphasis::Selected: return " selected";
    case Emphasis::Normal: break;
    }
    return "";
}

std::string_view nameOfPick(PickKind kind) noexcept {
    switch (kind) {
    case PickKind::Finding: return "finding";
    case PickKind::Instance: return "instance";
    case PickKind::Node: return "node";
    case PickKind::Module: return "module";
    case PickKind::Kernel: return "kernel";
    case PickKind::Op: return "op";
    case PickKind::Slice: return "slice";
    case PickKind::Nodes: return "nodes";
    case PickKind::Region: return "region";
    case PickKind::None: break;
    }
    return "";
}

std::string tail(Emphasis emphasis, int layer, const Pick& pick) {
    std::string text = fmt::format("{} layer {}", nameOfEmphasis(emphasis), layer);
    if (pick.kind != PickKind::None) text += fmt::format(" pick {} {}", nameOfPick(pick.kind), pick.id);
    return text + '\n';
}

} // namespace

std::string dump(const DrawList& list) {
    std::string text = fmt::format("list {:.1f}x{:.1f}\n", list.width, list.height);
    for (const DrawRect& r : list.rects) {
        text += fmt::format("rect {:.1f},{:.1f} {:.1f}x{:.1f}", r.x, r.y, r.width, r.height);
        if (r.filled) text += fmt::format(" fill {}", nameOf(r.fill));
        if (r.stroke_width > 0) text += fmt::format(" stroke {} {:.1f}", nameOf(r.stroke), r.stroke_width);
        if (r.dashed) text += " dashed";
        if (r.hatched) text += " hatched";
        text += tail(r.emphasis, r.layer, r.pick);
    }
    for (const DrawLine& l : list.lines) {
        text += "line";
        for (const auto& [x, y] : l.points) text += fmt::format(" {:.1f},{:.1f}", x, y);
        text += fmt::format(" stroke {} {:.1f}", nameOf(l.stroke), l.width);
        if (l.dashed) text += " dashed";
        if (l.arrow) text += " arrow";
        text += tail(l.emphasis, l.layer, l.pick);
    }
    for (const DrawText& t : list.texts) {
        text += fmt::format("text {:.1f},{:.1f} size {:.0f} {} \"{}\"", t.x, t.y, t.size, nameOf(t.fill), t.text);
        text += tail(t.emphasis, t.layer, t.pick);
    }
    for (const DrawMarker& m : list.markers) {
        text += fmt::format("marker {:.1f},{:.1f} r {:.1f} fill {}", m.x, m.y, m.radius, nameOf(m.fill));
        text += tail(m.emphasis, m.layer, m.pick);
    }
    return text;
}

} // namespace fusescope
