// SPDX-License-Identifier: Apache-2.0
// Rotary position embedding of q and k in one launch, in the half-rotating (NeoX) form of transformers: with x1 and x2
// the halves of a head, rotate_half(x) = [-x2, x1] and out = x * cos + rotate_half(x) * sin. The tables have head_dim
// columns, as the model builds them; their halves need not be equal.
//
// Rounding. FS_ROUND_AS_FRAMEWORK rounds each of the two products and their sum, as the model's own code does;
// FS_ROUND_ONCE keeps fp32 until the result is written.
#pragma once

#include "kernels/common/heads.h"

#ifdef __cplusplus
extern "C" {
#endif

// An output may be its own input (same data, same strides); any other overlap of outputs and inputs gives wrong
// results. A tensor may have 0 heads.
typedef struct FsRope {
    FsHeads q;     // forward: q;  backward: the gradient of q_out
    FsHeads k;     //
    FsHeads q_out; // forward: the turned q;  backward: the gradient of q. As many heads as q.
    FsHeads k_out; //
    FsRotary rotary;
    int64_t batch;
    int64_t tokens; // of a batch
    int64_t head_dim;
    FsDtype dtype;
    FsRounding rounding;
    FsLaunchHint hint; // threads: of a block, near that;  variant: tokens of a block, or -1 for the kernel of any size
} FsRope;

FUSESCOPE_API FsStatus fusescope_rope_forward(const FsRope* call, FsStream stream);

// dx1 = dy1 * cos1 + dy2 * sin2;  dx2 = dy2 * cos2 - dy1 * sin1.
FUSESCOPE_API FsStatus fusescope_rope_backward(const FsRope* call, FsStream stream);

#ifdef __cplusplus
}
#endif
