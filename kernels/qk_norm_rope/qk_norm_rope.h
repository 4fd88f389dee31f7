// SPDX-License-Identifier: Apache-2.0
// What Qwen3 does between the projections of q and k and attention, in one pass over both: RMSNorm of every head over
// head_dim (weights shared by the heads), then the rotary embedding of rope.h.
//
// Rounding. FS_ROUND_AS_FRAMEWORK rounds where the separate operators of the model write: the normalised head, that
// times the weight, both products of the rotation and their sum; backward likewise. FS_ROUND_ONCE keeps fp32 until the
// result is written.
//
// head_dim 64, 128 and 256 with every head at a multiple of 16 bytes is fast; any other even head_dim works.
#pragma once

#include "kernels/common/heads.h"

#ifdef __cplusplus
extern "C" {
#endif

// q_out may be q itself (same data, same strides), k_out likewise k; any other overlap of outputs and inputs gives
// wrong results. The backward needs q and k as they were. A tensor may have 0 heads.
typedef struct FsQkNormRopeForward {
    FsHeads q;
    FsHeads k;
    FsHeads q_out;        // as many heads as q
    FsHeads k_out;        // as many heads as k
    const void* q_weight; // [head_dim]
    const void* k_weight; // [head_dim]
    FsRotary rotary;
    float* q_rstd; // [batch][tokens][heads of q]: 1 / sqrt(mean(q^2) + eps), for the backward; may be null
    float* k_rstd; // the same of k
    int64_t batch;
    int64_t tokens; // of a batch
    int64_t head_dim;
    FsDtype dtype; // of all but rstd
    double eps;
    FsRounding rounding;
    FsLaunchHint hint; // threads: of a block;  variant: tokens of a block (a power of two), or -1 for any size's kernel
} FsQkNormRopeForward;

FUSESCOPE_API FsStatus fusescope_qk_norm_rope_forward(const FsQkNormRopeForward* call, FsStream stream);

// The rotation's transpose, then RMSNorm's backward. dq may be q or dq_out itself (same data, same strides), dk
// likewise.
typedef struct FsQkNormRopeBackward {
    FsHeads dq_out;
    FsHeads dk_out;
    FsHeads q; // as the forward read it
    FsHeads k;
    FsHeads dq; // for example inside a packed gradient of the projection
    FsHeads dk;
    const void* q_weight;
    const void* k_weight;
    FsRotary rotary;
    const float* q_rstd; // as the forward left it
    const float* k_rstd;
    void* dq_weight; // [head_dim], overwritten; null when it is not wanted
    void* dk_weight;
    int64_t batch;
    int64_t tokens;
    int64_t head_dim;
    FsDtype dtype;
    FsRounding rounding;
    FsLaunchHint hint; // blocks_per_sm;  variant: heads of a token side by side, or -1 for any size's kernel
} FsQkNormRopeBackward;

// Bytes of workspace that the call needs on the current device.
FUSESCOPE_API FsStatus fusescope_qk_norm_rope_backward_workspace(const FsQkNormRopeBackward* call, size_t* bytes);
FUSESCOPE_API FsStatus fusescope_qk_norm_rope_backward(const FsQkNormRopeBackward* call, void* workspace,
                                                       size_t workspace_bytes, FsStream stream);

#ifdef __cplusplus
}
#endif
