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
    const auto isLayer = [&](const Module& x) {
        return has(x.type, "DecoderLayer") || has(x.type, "EncoderLayer") || has(x.type, "Block");
    };
    if (has(m.type, "Rotary")) return ColourRole::BlockPlain;
    if (has(m.type, "Embedding") || m.name == "lm_head") return ColourRole::BlockEmbedding;
    if (has(m.type, "Norm")) {
        // The final norm belongs to the model's head, not to a layer; the article colours it like the embedding.
        for (ModuleId at = m.parent; at.valid() && at.index() < tree.modules.size(); at = tree.at(at).parent)
            if (isLayer(tree.at(at))) return ColourRole::BlockNorm;
        return m.parent.valid() ? ColourRole::BlockEmbedding : ColourRole::BlockNorm;
    }
    if (has(m.type, "Attention") || has(m.type, "MLP") || has(m.type, "Mlp")) return ColourRole::BlockAttentionMlp;
    if (isLayer(m) || m.name == "layers") return ColourRole::BlockLayer;
    return ColourRole::BlockPlain;
}

namespace graphdraw {
namespace {

constexpr double kTitle = 13, kSmall = 11, kBadge = 10;

DrawText& centred(DrawList& list, const LayoutRect& place, double y, const std::string& text, double size,
                  ColourRole role, double room) {
    DrawText& item =
        compose::text(list, place.x + place.width / 2, y, elided(text, {size}, room), size, role, TextAlign::Centre);
    item.max_width = room;
    item.layer = kTextLayer;
    return item;
}

// A pill whose right end stands at x; returns its left end.
double pill(DrawList& list, double x, double y, const std::string& text, ColourRole fill, Pick pick,
            Emphasis emphasis) {
    const double width = textWidth(text, {kBadge, true}) + 12;
    DrawRect rect;
    rect.x = x - width;
    rect.y = y;
    rect.width = width;
    rect.height = 16;
    rect.radius = 8;
    rect.fill = fill;
    rect.layer = kBadgeLayer;
    rect.pick = pick;
    rect.emphasis = emphasis == Emphasis::Dimmed ? Emphasis::Dimmed : Emphasis::Normal;
    list.rects.push_back(rect);
    DrawText& item = compose::text(list, rect.x + width / 2, y + 11.5, text, kBadge, textOn(fill), TextAlign::Centre);
    item.bold = true;
    item.layer = kBadgeLayer;
    item.pick = pick;
    item.emphasis = rect.emphasis;
    return rect.x;
}

void badges(const Analysis& analysis, const LayoutRect& place, const BoxFacts& facts, DrawList& list) {
    if (facts.badges.empty()) return;
    std::string text = catalogEntry(analysis.findings[facts.badges.front()].pattern).title;
    if (facts.badges.size() > 1) text += fmt::format(" +{}", facts.badges.size() - 1);
    text = elided(text, {kBadge, true}, std::max(160.0, place.width / 2));
    // Edges enter in the middle of the upper side: the badge keeps to the right of it, over the corner if it must.
    const double width = textWidth(text, {kBadge, true}) + 12;
    const double right = std::max(place.x + place.width - 4, place.x + place.width / 2 + 12 + width);
    pill(list, right, place.y - 12, text, ColourRole::Flagged, facts.flag, facts.emphasis);
}

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
    if (!facts.findings.empty()) {
        box.stroke = ColourRole::Flagged;
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
    std::string measured = measuredText(facts);
    if (textWidth(measured, {kSmall}) > room)
        measured.resize(std::min(measured.size(), measured.find(" · "))); // the time alone
    const bool has_subtitle = !node.subtitle.empty() && node.subtitle != node.title;
    int lines = 1 + (has_subtitle ? 1 : 0) + (measured.empty() ? 0 : 1);
    const int fit = std::max(1, static_cast<int>((place.height - 4) / 14));
    const bool show_measured = !measured.empty() && fit >= 2;
    const bool show_subtitle = has_subtitle && fit >= (show_measured ? 3 : 2);
    lines = 1 + (show_subtitle ? 1 : 0) + (show_measured ? 1 : 0);
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
    put(node.title, node.kind == VisibleKind::Op || terminal ? 12 : kTitle, on_fill, node.kind == VisibleKind::Module);
    if (show_subtitle) put(node.subtitle, kSmall, on_fill, false);
    if (show_measured) put(measured, kSmall, on_fill, false);
    if (node.repeat > 1)
        pill(list, place.x + 34, place.y - 12, fmt::format("×{}", node.repeat), strokeOf(box.fill), box.pick,
             facts.emphasis);
    badges(analysis, place, facts, list);
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
    DrawRect header = frame;
    header.height = std::min(24.0, place.height);
    header.fill = block;
    list.rects.push_back(header);

    std::string measured = measuredText(facts);
    const double title_width = textWidth(cluster.title, {12, true}) + (cluster.repeat > 1 ? 36 : 0);
    if (title_width + textWidth(measured, {kSmall}) + 40 > place.width)
        measured.resize(std::min(measured.size(), measured.find(" · ")));
    const double measured_width = measured.empty() ? 0 : textWidth(measured, {kSmall}) + 16;
    const bool has_room = place.width - 24 > measured_width + 72;
    const double room = place.width - 24 - (has_room ? measured_width : 0);
    // How often the layer repeats is what the title may not lose.
    const std::string repeat = cluster.repeat > 1 ? fmt::format(" ×{}", cluster.repeat) : std::string();
    const std::string title = elided(cluster.title, {12, true}, room - textWidth(repeat, {12, true})) + repeat;
    DrawText& name = compose::text(list, place.x + 12, place.y + 16.5, title, 12, textOn(block));
    name.bold = true;
    name.pick = frame.pick;
    if (measured_width > 0 && has_room)
        compose::text(list, place.x + place.width - 12, place.y + 16.5, measured, kSmall, textOn(block),
                      TextAlign::Right)
            .pick = frame.pick;
}

} // namespace graphdraw
} // namespace fusescope
