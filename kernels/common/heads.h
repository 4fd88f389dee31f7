// SPDX-License-Identifier: Apache-2.0
// Attention's tensors [batch][tokens][heads][head_dim] as projections and attention leave them, and rotary tables.
// Plain C, as abi.h.
#pragma once

#include "kernels/common/abi.h"

#ifdef __cplusplus
extern "C" {
#endif

// The elements of a head lie side by side; head h of token t of batch b starts at element
// b * batch_stride + t * token_stride + h * head_stride. So [batch][heads][tokens][head_dim] memory, and heads inside a
// wider packed projection, are strides too.
typedef struct FsHeads {
    void* data;
    int64_t heads;
    int64_t batch_stride;
    int64_t token_stride;
    int64_t head_stride;
} FsHeads;

// cos and sin of [batch or 1][tokens][head_dim], head_dim side by side, of the element type of what they turn.
// batch_stride is 0 where all batches share one table.
typedef struct FsRotary {
    const void* cos;
    const void* sin;
    int64_t batch_stride;
    int64_t token_stride;
} FsRotary;

#ifdef __cplusplus
}
#endif
