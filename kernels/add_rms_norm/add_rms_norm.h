// SPDX-License-Identifier: Apache-2.0
// Residual addition and the norm after it in one pass: sum = x + residual (rounded to the element type: it is the next
// residual), y = rms_norm(sum). Rounding as in rms_norm.h.
#pragma once

#include "kernels/common/abi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct FsAddRmsNormForward {
    FsRows x;        // of `dtype`
    FsRows residual; // of `dtype`
    FsRows sum;      // of `dtype`; may be x or residual itself
    FsRows y;        // of the promoted type: fp32 where the weight is fp32, else `dtype`
    const void* weight;
    float* rstd; // [rows]; may be null
    int64_t width;
    FsDtype dtype;
    FsDtype weight_dtype; // `dtype` or FS_F32
    double eps;
    FsRounding rounding;
    FsLaunchHint hint;
} FsAddRmsNormForward;

FUSESCOPE_API FsStatus fusescope_add_rms_norm_forward(const FsAddRmsNormForward* call, FsStream stream);

// dsum_total = dsum + (gradient of the norm with respect to sum): the gradient of x and of residual alike.
typedef struct FsAddRmsNormBackward {
    FsRows dy;   // of y's type
    FsRows dsum; // of `dtype`: what came back along the residual
    FsRows sum;  // of `dtype`
    FsRows dx;   // of `dtype`; may be dsum itself
    const void* weight;
    const float* rstd;
    void* dweight; // null when it is not wanted
    int64_t width;
    FsDtype dtype;
    FsDtype weight_dtype;
    FsRounding rounding;
    FsLaunchHint hint; // as in rms_norm.h
} FsAddRmsNormBackward;

FUSESCOPE_API FsStatus fusescope_add_rms_norm_backward_workspace(const FsAddRmsNormBackward* call, size_t* bytes);
FUSESCOPE_API FsStatus fusescope_add_rms_norm_backward(const FsAddRmsNormBackward* call, void* workspace,
                                                       size_t workspace_bytes, FsStream stream);

#ifdef __cplusplus
}
#endif
