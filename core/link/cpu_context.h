// SPDX-License-Identifier: Apache-2.0
// Where each CPU row stands: the operators, the module frame, the autograd node and the phase around it.
// One pass over the slices (parents come first), one 32-bit number per slice. Private to core/link.
#pragma once

#include "core/link/link.h"

#include <cstdint>
#include <vector>

namespace fusescope {

struct CpuContext {
    CpuOpId op;                   // innermost operator
    CpuOpId top_op;               // outermost operator of interest inside the same module frame or autograd node
    CpuOpId node;                 // innermost autograd node around (its rows carry the sequence number)
    SliceId frame;                // innermost nn.Module frame
    SliceId root_frame;           // outermost nn.Module frame: one forward pass
    Phase phase = Phase::Unknown; // by annotation or Python function
    bool frame_in_node = false;   // the frame is inside the autograd node: a forward recomputed by checkpointing
    bool rope = false;            // inside apply_rotary_pos_emb

    // Work of the backward pass itself (not a forward recomputed in it).
    [[nodiscard]] bool backward() const noexcept { return node.valid() && !frame_in_node; }
};

struct CpuContexts {
    std::vector<std::uint32_t> of_slice; // index into all; 0 = nothing around
    std::vector<CpuContext> all;
    bool has_frames = false; // any nn.Module frame in the trace
    [[nodiscard]] const CpuContext& of(SliceId slice) const { return all[of_slice[slice.index()]]; }
};

[[nodiscard]] CpuContexts cpuContexts(const TraceStore& trace, Progress& progress);

} // namespace fusescope
