// SPDX-License-Identifier: Apache-2.0
// One box, one cluster.
#include "core/draw/compose.h"
#include "core/draw/graph_parts.h"
#include "core/draw/text_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace fusescope {

ColourRole blockRole(const ModuleTree& tree, ModuleId module) {
    if (!module.valid() || module.index() >= tree.modules.size()) return ColourRole::BlockPlain;
    const Module& m = tree.at(module);
    const auto has = [](std::string_view text, std::string_view part) {
        return text.find(part) != std::string_view::npos;
    };
    const bool layer = has(m.type, "DecoderLayer") || has(m.type, "EncoderLayer") || has(m.type, "Block");
    if (has(m.type, "Rotary")) return ColourRole::BlockPlain;
    if (has(m.type, "Embedding") || m.name == "lm_head") return ColourRole::BlockEmbedding;
    // One meaning, one colour: an RMSNorm looks the same in a layer and at the model's end.
    if (has(m.type, "RMSNorm")) return ColourRole::BlockNorm;
    if (has(m.type, "Norm")) return ColourRole::BlockEmbedding;
    if (has(m.type, "Attention") || has(m.type, "MLP") || has(m.type, "Mlp")) return ColourRole::BlockAttentionMlp;
    if (layer || m.name == "layers") return ColourRole::BlockLayer;
    return ColourRole::BlockPlain;
}

namespace graphdraw {
namespace {

// Whoever paints elides by max_width: the window knows its font, the report estimates.
DrawText& centred(DrawList& list, const LayoutRect& place, double y, const std::string& text, double size,
                  ColourRole role, double room) {
    DrawText& item = compose::text(list, place.x + place.width / 2, y, text, size, role, TextAlign::Centre);
    item.max_width = room;
    item.layer = kTextLayer;
    return item;
}

bool isLayer(const ModuleTree& tree, ModuleId module) { return blockRole(tree, module) == ColourRole::BlockLayer; }

} // namespace

ColourRole strokeOf(ColourRole block) noexcept {
    if (block < ColourRole::BlockEmbedding || block > ColourRole::BlockPlainStroke) return ColourRole::Border;
    const auto offset = static_cast<unsigned>(block) - static_cast<unsigned>(ColourRole::BlockEmbedding);
    return static_cast<ColourRole>(static_cast<unsigned>(ColourRole::BlockEmbedding) +
                                   (offset | 1U)); // fill, stroke, fill, stroke
}

void drawBox(const Analysis& analysis, const VisibleNode& node, const LayoutRect& place, const BoxFacts& facts,
             DrawList& list) {
    const ModelGraph& model = *analysis.graph;
    const bool terminal = node.kind == VisibleKind::Input || node.kind == VisibleKind::Output;
    DrawRect box;
    box.x = place.x;
    box.y = place.y;
    box.width = place.width;
    box.height = place.height;
    box.radius = terminal ? place.height / 2 : node.kind == VisibleKind::Op ? 4 : 8;
    box.fill = node.kind == VisibleKind::Module ? blockRole(model.modules, node.module)
               : terminal                       ? ColourRole::SurfaceRaised
                                                : ColourRole::BlockPlain;
    box.stroke = terminal ? ColourRole::Border : strokeOf(box.fill);
    box.stroke_width = 1;
    box.layer = kBoxLayer;
    box.emphasis = facts.emphasis;
    if (node.kind == VisibleKind::Module)
        box.pick = {PickKind::Module, node.module.value};
    else if (node.kind == VisibleKind::Op)
        box.pick = {PickKind::Node, node.node.value};
    if (!facts.findings.empty() || facts.fused) {
        box.stroke = facts.fused ? roleOf(*facts.fused) : ColourRole::Flagged;
        box.stroke_width = 2;
    }
    if (node.repeat > 1) {
        for (const double offset : {8.0, 4.0}) { // the cards below
            DrawRect card = box;
            card.x += offset;
            card.y += offset;
            card.emphasis = facts.emphasis == Emphasis::Dimmed ? Emphasis::Dimmed : Emphasis::Normal;
            card.stroke = strokeOf(box.fill);
            card.stroke_width = 1;
            list.rects.push_back(card);
        }
    }
    list.rects.push_back(box);
    if (node.kind == VisibleKind::Op) {
        const OpKind kind = kindOf(model.ops.op(node.node),
                                   node.module.valid() && node.module.index() < model.modules.modules.size()
                                       ? std::string_view(model.modules.at(node.module).type)
                                       : std::string_view(),
                                   Direction::Forward, {});
        DrawRect stripe = box; // the operator's kind, as on the timeline
        stripe.x += 4;
        stripe.y += 4;
        stripe.width = 4;
        stripe.height = std::max(4.0, box.height - 8);
        stripe.radius = 2;
        stripe.fill = roleOf(kind);
        stripe.stroke_width = 0;
        stripe.emphasis = facts.emphasis == Emphasis::Dimmed ? Emphasis::Dimmed : Emphasis::Normal;
        list.rects.push_back(stripe);
    }

    const double room = place.width - (node.kind == VisibleKind::Op ? 24 : 8);
    std::string measured = measuredText(facts, node.repeat, isLayer(model.modules, node.module));
    if (textWidth(measured, {kSmallSize}) > room)
        measured.resize(std::min(measured.size(), measured.find(" · "))); // the time alone
    const bool has_subtitle = !node.subtitle.empty() && node.subtitle != node.title;
    const int fit = std::max(1, static_cast<int>((place.height - 4) / 14));
    const bool show_measured = !measured.empty() && fit >= 2;
    const bool show_subtitle = has_subtitle && fit >= (show_measured ? 3 : 2);
    const int lines = 1 + (show_subtitle ? 1 : 0) + (show_measured ? 1 : 0);
    double y = place.y + place.height / 2 - (lines - 1) * 7.5 + 4.5;
    const Emphasis text_emphasis = facts.emphasis == Emphasis::Dimmed ? Emphasis::Dimmed : Emphasis::Normal;
    const auto put = [&](const std::string& text, double size, ColourRole role, bool bold) {
        DrawText& item = centred(list, place, y, text, size, role, room);
        item.bold = bold;
        item.emphasis = text_emphasis;
        item.pick = box.pick;
        y += 15;
    };
    const ColourRole on_fill = textOn(box.fill);
    put(node.title, node.kind == VisibleKind::Op || terminal ? kOpSize : kTitleSize, on_fill,
        node.kind == VisibleKind::Module);
    if (show_subtitle) put(node.subtitle, kSmallSize, on_fill, false);
    if (show_measured) put(measured, kSmallSize, on_fill, false);
    if (node.repeat > 1)
        pill(list, place.x + 4, place.y - 12, fmt::format("×{}", node.repeat), strokeOf(box.fill), box.pick,
             facts.emphasis);
}

void drawCluster(const Analysis& analysis, const VisibleCluster& cluster, const LayoutRect& place,
                 const BoxFacts& facts, DrawList& list) {
    const ModuleTree& tree = analysis.graph->modules;
    const ColourRole block = blockRole(tree, cluster.module);
    DrawRect frame;
    frame.x = place.x;
    frame.y = place.y;
    frame.width = place.width;
    frame.height = place.height;
    frame.radius = 8;
    frame.fill = ColourRole::Surface;
    frame.stroke = strokeOf(block);
    frame.stroke_width = 1;
    frame.layer = kClusterLayer;
    frame.pick = {PickKind::Module, cluster.module.value};
    if (cluster.repeat > 1) {
        for (const double offset : {8.0, 4.0}) {
            DrawRect card = frame;
            card.x += offset;
            card.y += offset;
            list.rects.push_back(card);
        }
    }
    list.rects.push_back(frame);
    DrawRect header = frame; // an edge passes behind the title, not through it
    header.height = std::min(kHeaderHeight, place.height);
    header.fill = block;
    header.layer = kBoxLayer;
    list.rects.push_back(header);

    const std::string title = clusterTitle(cluster);
    std::string measured = measuredText(facts, cluster.repeat, block == ColourRole::BlockLayer);
    const auto wide = [](const std::string& text) { return text.empty() ? 0 : textWidth(text, {kSmallSize}) + 16; };
    for (const char* end : {" · ", " layers", " copies"}) // the share goes first, then what the title says
        if (0.9 * textWidth(title, {kHeaderSize, true}) + wide(measured) + 24 > place.width) // a wide estimate
            measured.resize(std::min(measured.size(), measured.find(end)));
    const bool has_room = place.width - 24 > wide(measured) + 72;
    DrawText& name = compose::text(list, place.x + 12, place.y + 16.5, title, kHeaderSize, textOn(block));
    name.max_width = place.width - 24 - (has_room ? wide(measured) : 0);
    name.bold = true;
    name.layer = kTextLayer;
    name.pick = frame.pick;
    if (measured.empty() || !has_room) return;
    DrawText& figures = compose::text(list, place.x + place.width - 12, place.y + 16.5, measured, kSmallSize,
                                      textOn(block), TextAlign::Right);
    figures.layer = kTextLayer;
    figures.pick = frame.pick;
}

std::string clusterTitle(const VisibleCluster& cluster) {
    if (cluster.repeat <= 1) return cluster.title;
    std::string title = cluster.title;
    return title.insert(std::min(title.size(), title.find("  ")), fmt::format(" ×{}", cluster.repeat));
}

} // namespace graphdraw
} // namespace fusescope
