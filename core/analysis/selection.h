// SPDX-License-Identifier: Apache-2.0
// One selection for all views: picking a finding, node, module, kernel or roofline point selects the others.
#pragma once

#include "core/analysis/analysis.h"

#include <cstdint>
#include <vector>

namespace fusescope {

enum class PickKind : std::uint8_t { None, Finding, Instance, Node, Module, Kernel, Op, Slice, Nodes, Region };

// id: row of findings / NodeId / ModuleId / KernelId / row of ops / SliceId; Instance: finding row << 16 | instance.
// Nodes (several of them) and Region (of the user's own choice): numbers of whoever keeps them; select() knows neither.
struct Pick {
    PickKind kind = PickKind::None;
    std::uint32_t id = 0;
    friend bool operator==(const Pick&, const Pick&) = default;
};

struct SelectionSets { // each sorted ascending
    Pick pick;
    std::vector<std::uint32_t> findings, ops;
    std::vector<NodeId> nodes;
    std::vector<ModuleId> modules;
    std::vector<KernelId> kernels; // of the analysed step
    SliceId slice;                 // the one picked on the timeline, if any
};
[[nodiscard]] SelectionSets select(const Analysis& analysis, Pick pick);
// The same for several nodes and the kernels of the analysed step that they launched.
[[nodiscard]] SelectionSets selectNodes(const Analysis& analysis, Pick pick, const std::vector<NodeId>& nodes);

} // namespace fusescope
