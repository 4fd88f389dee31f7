// SPDX-License-Identifier: Apache-2.0
// SwiGLU: h = silu(gate) * up, element by element, with silu(x) = x / (1 + exp(-x)).
//
// A packed projection [rows][2 * width] gives gate and up as two strided views, and takes dgate and dup the same way.
// Where no tensor has a gap between its rows, they are one run of rows * width elements, whatever the width.
//
// Rounding. FS_ROUND_AS_FRAMEWORK gives PyTorch's bits: silu(gate) is rounded before it is multiplied by up; backward,
// dh * up is rounded before it goes through silu. FS_ROUND_ONCE keeps fp32 until h, dgate and dup are written.
//
// An output may be one of the inputs, the same rows at the same place; an output that overlaps an input in another way
// gives garbage.
#pragma once

#include "kernels/common/abi.h"

#ifdef __cplusplus
extern "C" {
#endif

// hint.variant: 16-byte vectors of each tensor that a thread has under way (1 or 2); negative: one element at a time.
typedef struct FsSwigluForward {
    FsRows gate;
    FsRows up;
    FsRows h;
    int64_t width;
    FsDtype dtype;
    FsRounding rounding;
    FsLaunchHint hint;
} FsSwigluForward;

FUSESCOPE_API FsStatus fusescope_swiglu_forward(const FsSwigluForward* call, FsStream stream);

// dup = dh * silu(gate);  dgate = dh * up * s * (1 + gate * (1 - s)) with s = 1 / (1 + exp(-gate)).
typedef struct FsSwigluBackward {
    FsRows dh;
    FsRows gate;
    FsRows up;
    FsRows dgate;
    FsRows dup;
    int64_t width;
    FsDtype dtype;
    FsRounding rounding;
    FsLaunchHint hint;
} FsSwigluBackward;

FUSESCOPE_API FsStatus fusescope_swiglu_backward(const FsSwigluBackward* call, FsStream stream);

#ifdef __cplusplus
}
#endif
