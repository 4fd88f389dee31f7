// SPDX-License-Identifier: Apache-2.0
// Strong 32-bit row numbers. An Id of one table cannot be passed where another is wanted.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace fusescope {

template <class Tag> struct Id {
    static constexpr std::uint32_t kNone = 0xFFFFFFFFu;
    std::uint32_t value = kNone;

    constexpr Id() = default;
    constexpr explicit Id(std::size_t row) : value(static_cast<std::uint32_t>(row)) {}
    [[nodiscard]] constexpr bool valid() const noexcept { return value != kNone; }
    [[nodiscard]] constexpr std::size_t index() const noexcept { return value; }
    friend constexpr auto operator<=>(const Id&, const Id&) = default;
};

using StringId = Id<struct StringTag>; // StringPool
using SliceId = Id<struct SliceTag>;   // TraceStore::slices
using TrackId = Id<struct TrackTag>;   // TraceStore::tracks
using KernelId = Id<struct KernelTag>; // TraceStore::kernels
using CopyId = Id<struct CopyTag>;     // TraceStore::copies
using CpuOpId = Id<struct CpuOpTag>;   // TraceStore::cpu_ops
using NodeId = Id<struct NodeTag>;     // OpGraph::nodes
using ValueId = Id<struct ValueTag>;   // OpGraph::values
using ModuleId = Id<struct ModuleTag>; // ModuleTree::modules

} // namespace fusescope

template <class Tag> struct std::hash<fusescope::Id<Tag>> {
    std::size_t operator()(const fusescope::Id<Tag>& id) const noexcept { return std::hash<std::uint32_t>{}(id.value); }
};
