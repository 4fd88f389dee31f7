// SPDX-License-Identifier: Apache-2.0
// Projections of one input, merged: y = x W^T with W = [W0; W1; ...], so that q, k and v (or gate and up) lie side by
// side in the rows of one tensor and each is a view of it.
//
// Weights that follow one another in memory are one matrix: one product covers them. Weights apart take a product each,
// which all write into the one y. Backward, gradients that lie side by side in one tensor are merged the same way;
// where the parts of dx come from several products, each after the first is added to dx in memory (a rounding to the
// element type each, as the framework's sum of separate gradients has).
//
// Sums are fp32. fp32 operands are multiplied in fp32 unless TF32 is allowed. Rows need one stride; an output may not
// overlap an input. hint.variant n takes the n-th of cuBLASLt's suggestions (0: its first, or a plain kernel where it
// has none).
#pragma once

#include "kernels/common/abi.h"

#ifdef __cplusplus
extern "C" {
#endif

#define FS_PROJECTION_MAX_PARTS 8

typedef struct FsQkvProjectionForward {
    FsRows x;                                     // [rows][in_features]
    FsRows y;                                     // [rows][sum of features]
    const void* weights[FS_PROJECTION_MAX_PARTS]; // each [features][in_features], contiguous
    int64_t features[FS_PROJECTION_MAX_PARTS];
    int32_t parts;
    int64_t in_features;
    FsDtype dtype;
    int32_t allow_tf32;
    FsLaunchHint hint;
} FsQkvProjectionForward;

// Bytes of workspace that the call needs on the current device.
FUSESCOPE_API FsStatus fusescope_qkv_projection_forward_workspace(const FsQkvProjectionForward* call, size_t* bytes);
FUSESCOPE_API FsStatus fusescope_qkv_projection_forward(const FsQkvProjectionForward* call, void* workspace,
                                                        size_t workspace_bytes, FsStream stream);

// dx = sum over parts of dy W;  dweight = dy^T x.
typedef struct FsQkvProjectionBackward {
    FsRows dy[FS_PROJECTION_MAX_PARTS];           // [rows][features]
    FsRows x;                                     // read for dweights alone
    FsRows dx;                                    // data null: not wanted
    const void* weights[FS_PROJECTION_MAX_PARTS]; // read for dx alone
    void* dweights[FS_PROJECTION_MAX_PARTS];      // overwritten; null: not wanted
    int64_t features[FS_PROJECTION_MAX_PARTS];
    int32_t parts;
    int64_t in_features;
    FsDtype dtype;
    int32_t allow_tf32;
    FsLaunchHint hint;
} FsQkvProjectionBackward;

FUSESCOPE_API FsStatus fusescope_qkv_projection_backward_workspace(const FsQkvProjectionBackward* call, size_t* bytes);
FUSESCOPE_API FsStatus fusescope_qkv_projection_backward(const FsQkvProjectionBackward* call, void* workspace,
                                                         size_t workspace_bytes, FsStream stream);

#ifdef __cplusplus
}
#endif
