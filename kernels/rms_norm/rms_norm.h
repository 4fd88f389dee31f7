// SPDX-License-Identifier: Apache-2.0
// RMSNorm: y = weight * x / sqrt(mean(x^2) + eps), row by row.
//
// Rounding. FS_ROUND_AS_FRAMEWORK is the model's own code (transformers' Qwen3RMSNorm): x / rms is computed in fp32,
// rounded to x's type, then multiplied by the weight and rounded again; backward, dy * weight and dy * xhat are rounded
// before they go on. FS_ROUND_ONCE keeps fp32 until y, dx and dweight are written.
#pragma once

#include "kernels/common/abi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct FsRmsNormForward {
    FsRows x;           // of `dtype`
    FsRows y;           // of the promoted type: fp32 where the weight is fp32, else `dtype`; may be x itself
    const void* weight; // [width]
    float* rstd;        // [rows]: 1 / sqrt(mean(x^2) + eps), for the backward; may be null
    int64_t width;
    FsDtype dtype;
    FsDtype weight_dtype; // `dtype` or FS_F32
    double eps;
    FsRounding rounding;
    FsLaunchHint hint;
} FsRmsNormForward;

FUSESCOPE_API FsStatus fusescope_rms_norm_forward(const FsRmsNormForward* call, FsStream stream);

// dx = rstd * (g - xhat * mean(g * xhat)) with g = dy * weight, xhat = x * rstd;  dweight = sum over rows of dy * xhat.
typedef struct FsRmsNormBackward {
    FsRows dy; // of y's type
    FsRows x;  // of `dtype`
    FsRows dx; // of `dtype`; may be dy itself
    const void* weight;
    const float* rstd; // as the forward left it
    void* dweight;     // [width] of `weight_dtype`, overwritten; null when it is not wanted
    int64_t width;
    FsDtype dtype;
    FsDtype weight_dtype;
    FsRounding rounding;
    FsLaunchHint hint; // variant: 1 for one launch (where dx lies apart from dy and x), 2 for two, -1 for any width's
} FsRmsNormBackward;

// Bytes of workspace that the call needs on the current device.
FUSESCOPE_API FsStatus fusescope_rms_norm_backward_workspace(const FsRmsNormBackward* call, size_t* bytes);
FUSESCOPE_API FsStatus fusescope_rms_norm_backward(const FsRmsNormBackward* call, void* workspace,
                                                   size_t workspace_bytes, FsStream stream);

#ifdef __cplusplus
}
#endif
