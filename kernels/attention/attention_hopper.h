// SPDX-License-Identifier: Apache-2.0
// Attention's forward pass on Hopper's tensor cores (sm_90a): out = softmax(scale * q k^T) v, a tile of keys at a time.
// Products and sums are fp32; the softmax's weights are rounded to the element type for their product with v.
#pragma once

#include "kernels/common/abi.h"

#ifdef __cplusplus
extern "C" {
#endif

// q and out: [batch][q_tokens][q_heads][head_dim], k and v: [batch][kv_tokens][kv_heads][head_dim], in any order of
// memory that strides can tell. Query head h reads key head h / (q_heads / kv_heads).
typedef struct FsAttention {
    const void* q;
    const void* k;
    const void* v;
    void* out;
    float* lse;          // [batch][q_heads][q_tokens] dense: ln(sum over keys of exp(scale * q.k)); may be null
    int64_t q_stride[3]; // from batch to batch, token to token, head to head, in elements; head_dim lies side by side
    int64_t k_stride[3];
    int64_t v_stride[3];
    int64_t out_stride[3];
    int64_t batch;
    int64_t q_heads;
    int64_t kv_heads; // divides q_heads
    int64_t q_tokens;
    int64_t kv_tokens; // 0: out is 0 and lse -inf
    int64_t head_dim;
    float scale;
    int32_t causal; // 1: query i sees keys 0 to i, also where q_tokens and kv_tokens differ
    FsDtype dtype;
    FsLaunchHint hint; // variant: 1 or 2 of attention_hopper.cu, 0 chooses; the rest is not used
} FsAttention;

FUSESCOPE_API FsStatus fusescope_attention_hopper_forward(const FsAttention* call, FsStream stream);

// Whether the function above would run this call on the current device: FS_OK, FS_UNSUPPORTED with a sentence, or what
// is wrong with the call. Launches nothing.
FUSESCOPE_API FsStatus fusescope_attention_hopper_supported(const FsAttention* call);

#ifdef __cplusplus
}
#endif
