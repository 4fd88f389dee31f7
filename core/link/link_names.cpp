// SPDX-License-Identifier: Apache-2.0
// Texts of the link's enumerations, as the report and the window show them.
#include "core/link/link.h"

namespace fusescope {

std::string_view nameOf(LinkHow how) noexcept {
    switch (how) {
    case LinkHow::None: return "none";
    case LinkHow::Correlation: return "correlation";
    case LinkHow::ExternalId: return "external id";
    case LinkHow::TimeContainment: return "time containment";
    case LinkHow::SequenceNumber: return "sequence number";
    case LinkHow::Alignment: return "alignment";
    case LinkHow::Name: return "name";
    }
    return "none";
}

std::string_view nameOf(Phase phase) noexcept {
    switch (phase) {
    case Phase::Unknown: return "unknown";
    case Phase::Forward: return "forward";
    case Phase::Loss: return "loss";
    case Phase::Backward: return "backward";
    case Phase::GradClip: return "gradient clipping";
    case Phase::Optimizer: return "optimizer";
    case Phase::ZeroGrad: return "zero grad";
    case Phase::Communication: return "communication";
    case Phase::Data: return "data";
    }
    return "unknown";
}

std::span<const KernelId> Link::kernelsOf(NodeId node) const {
    if (!node.valid() || node.index() + 1 >= node_start.size()) return {};
    const std::uint32_t begin = node_start[node.index()];
    return {node_kernels.data() + begin, node_start[node.index() + 1] - begin};
}

} // namespace fusescope
