// SPDX-License-Identifier: Apache-2.0
// AdamW: one step of many tensors, in as few launches as their pointers need (600 tensors a launch). Element by
// element, with g = grad / grad_scale, negated to maximize:
//   param      -= lr * weight_decay * param
//   exp_avg     = beta1 * exp_avg + (1 - beta1) * g
//   exp_avg_sq  = beta2 * exp_avg_sq + (1 - beta2) * g * g
//   param      -= lr / (1 - beta1^step) * exp_avg / (sqrt(exp_avg_sq) / sqrt(1 - beta2^step) + eps)
//
// Rounding. Arithmetic is fp32, the scalars rounded to fp32 first, in the order and with the fused multiply-adds of
// PyTorch's _fused_adamw_, so that param, exp_avg and exp_avg_sq get its bits. What is written is rounded once. Unlike
// _fused_adamw_ this leaves the gradients as they are when there is a grad_scale.
//
// The tensors of a call may lie anywhere and have any size; those whose four pointers are 16-byte aligned are read and
// written in vectors. No two of them may overlap where one is written to.
#pragma once

#include "kernels/common/abi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct FsAdamWTensor {
    void* param;       // of `dtype`, updated
    const void* grad;  // of `dtype`
    void* exp_avg;     // of `state_dtype`, updated
    void* exp_avg_sq;  // of `state_dtype`, updated
    const float* step; // on the device: how many steps this one makes (1 in the first); null: the call's `step`
    int64_t numel;
} FsAdamWTensor;

// hint.variant: 16-byte vectors of each tensor that a thread has under way (1 or 2); negative: one element at a time.
typedef struct FsAdamW {
    const FsAdamWTensor* tensors; // [count], on the host; read before the call returns
    int64_t count;
    FsDtype dtype;
    FsDtype state_dtype; // `dtype` or FS_F32
    double lr;
    double beta1; // in [0, 1)
    double beta2; // in [0, 1)
    double eps;
    double weight_decay;
    double step;             // of tensors without a step of their own
    int32_t maximize;        // not 0: up the gradient
    const float* grad_scale; // on the device: what the gradients were multiplied by; may be null
    const float* found_inf;  // on the device: 1 leaves everything as it is; may be null
    int64_t chunk;           // elements a block works on, a multiple of 8; 0: chosen here
    FsLaunchHint hint;
} FsAdamW;

FUSESCOPE_API FsStatus fusescope_adamw(const FsAdamW* call, FsStream stream);

#ifdef __cplusplus
}
#endif
