// SPDX-License-Identifier: Apache-2.0
// One table of colours. The kinds were chosen by search: each pair keeps its distance in OKLab for normal sight,
// protanopia, deuteranopia and tritanopia, and all carry near-black text, so they are the same in both themes: one
// meaning, one colour.
#include "core/draw/draw_list.h"

#include <array>

namespace fusescope {
namespace {

struct Entry {
    ColourRole role;
    std::string_view name;
    std::uint32_t light, dark; // 0xRRGGBB
};

constexpr std::size_t kRoles = static_cast<std::size_t>(ColourRole::Count_);

constexpr std::array<Entry, kRoles> kTable = {{
    {ColourRole::Background, "Background", 0xf6f7f9, 0x1e1f22},
    {ColourRole::Surface, "Surface", 0xffffff, 0x26282c},
    {ColourRole::SurfaceRaised, "SurfaceRaised", 0xeef0f4, 0x2f3136},
    {ColourRole::Border, "Border", 0xd3d8df, 0x43464d},
    {ColourRole::Grid, "Grid", 0xe5e8ed, 0x34373d},
    {ColourRole::Text, "Text", 0x1b1f24, 0xe6e8eb},
    {ColourRole::TextMuted, "TextMuted", 0x596170, 0xa6acb6},
    {ColourRole::TextOnFill, "TextOnFill", 0x15171a, 0x15171a},
    {ColourRole::Accent, "Accent", 0x2563eb, 0x6ea8fe},
    {ColourRole::Flagged, "Flagged", 0xdb7f07, 0xffb02e},
    {ColourRole::Danger, "Danger", 0xc62828, 0xff7b72},
    {ColourRole::Warning, "Warning", 0x9a5b00, 0xe3b341},
    {ColourRole::Good, "Good", 0x1a7f37, 0x56d364},
    {ColourRole::KindAttention, "KindAttention", 0x4e8acc, 0x4e8acc},
    {ColourRole::KindMatmul, "KindMatmul", 0x67ad9e, 0x67ad9e},
    {ColourRole::KindNorm, "KindNorm", 0xdf5c6c, 0xdf5c6c},
    {ColourRole::KindRope, "KindRope", 0xf0d027, 0xf0d027},
    {ColourRole::KindMlp, "KindMlp", 0x9be787, 0x9be787},
    {ColourRole::KindElementwise, "KindElementwise", 0x70c7fe, 0x70c7fe},
    {ColourRole::KindCopy, "KindCopy", 0x798998, 0x798998},
    {ColourRole::KindEmbedding, "KindEmbedding", 0xcbba97, 0xcbba97},
    {ColourRole::KindLoss, "KindLoss", 0xf29dd4, 0xf29dd4},
    {ColourRole::KindOptimizer, "KindOptimizer", 0xa595f0, 0xa595f0},
    {ColourRole::KindCommunication, "KindCommunication", 0xe5866a, 0xe5866a},
    {ColourRole::KindOther, "KindOther", 0xd6d7d9, 0xd6d7d9},
    {ColourRole::BoundMemory, "BoundMemory", 0x5aa9e6, 0x5aa9e6},
    {ColourRole::BoundCompute, "BoundCompute", 0x57b894, 0x57b894},
    {ColourRole::BoundLaunch, "BoundLaunch", 0xf0946c, 0xf0946c},
    {ColourRole::BoundIdle, "BoundIdle", 0xb4bac4, 0x8d949f},
    {ColourRole::BlockEmbedding, "BlockEmbedding", 0xfde8a9, 0x50441f},
    {ColourRole::BlockEmbeddingStroke, "BlockEmbeddingStroke", 0xe7c56d, 0xb0913f},
    {ColourRole::BlockAttentionMlp, "BlockAttentionMlp", 0xd4e8cf, 0x2f4a2c},
    {ColourRole::BlockAttentionMlpStroke, "BlockAttentionMlpStroke", 0x94c18a, 0x71a566},
    {ColourRole::BlockLayer, "BlockLayer", 0xcfe0f3, 0x28405c},
    {ColourRole::BlockLayerStroke, "BlockLayerStroke", 0x8ab0db, 0x6494c6},
    {ColourRole::BlockNorm, "BlockNorm", 0xf6ced0, 0x582f34},
    {ColourRole::BlockNormStroke, "BlockNormStroke", 0xd98f92, 0xc2757a},
    {ColourRole::BlockPlain, "BlockPlain", 0xf2f4f7, 0x34373d},
    {ColourRole::BlockPlainStroke, "BlockPlainStroke", 0xbfc6d0, 0x646a75},
    {ColourRole::CpuOp, "CpuOp", 0xcdd8e8, 0x3c485b},
    {ColourRole::Launch, "Launch", 0xc6c3ee, 0x4c4a7a},
    {ColourRole::PythonFrame, "PythonFrame", 0xe4e7eb, 0x383b41},
    {ColourRole::Annotation, "Annotation", 0xcfe8e3, 0x2b4d49},
}};

constexpr bool inEnumOrder() {
    for (std::size_t i = 0; i < kRoles; ++i)
        if (static_cast<std::size_t>(kTable[i].role) != i) return false;
    return true;
}
static_assert(inEnumOrder(), "the table of colours must list every role in the order of the enumeration");

const Entry& entryOf(ColourRole role) noexcept {
    const auto row = static_cast<std::size_t>(role);
    return kTable[row < kRoles ? row : 0];
}

} // namespace

Rgb colour(ColourRole role, Theme theme) noexcept {
    const Entry& entry = entryOf(role);
    const std::uint32_t rgb = theme == Theme::Dark ? entry.dark : entry.light;
    return {static_cast<std::uint8_t>(rgb >> 16U), static_cast<std::uint8_t>((rgb >> 8U) & 0xFFU),
            static_cast<std::uint8_t>(rgb & 0xFFU)};
}

std::string_view nameOf(ColourRole role) noexcept { return entryOf(role).name; }

ColourRole roleOf(OpKind kind) noexcept {
    const auto row = static_cast<unsigned>(kind);
    if (row > static_cast<unsigned>(OpKind::Other)) return ColourRole::KindOther;
    return static_cast<ColourRole>(static_cast<unsigned>(ColourRole::KindAttention) + row);
}

ColourRole textOn(ColourRole fill) noexcept {
    if (fill >= ColourRole::KindAttention && fill <= ColourRole::BoundIdle) return ColourRole::TextOnFill;
    switch (fill) {
    case ColourRole::Flagged: return ColourRole::TextOnFill;
    case ColourRole::Accent:
    case ColourRole::Danger:
    case ColourRole::Warning:
    case ColourRole::Good:
    case ColourRole::Text:
    case ColourRole::TextMuted:
        return ColourRole::Background; // strong in light, bright in dark: the page's colour stands out
    default: return ColourRole::Text;
    }
}

std::string hex(Rgb rgb) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text = "#";
    for (const unsigned part : {unsigned{rgb.r}, unsigned{rgb.g}, unsigned{rgb.b}}) {
        text += digits[part >> 4U];
        text += digits[part & 15U];
    }
    return text;
}

} // namespace fusescope
