// SPDX-License-Identifier: Apache-2.0
// Attention's backward pass on Hopper's tensor cores (sm_90a), for the forward of attention_hopper.h or any other that
// gives lse. Products and sums are fp32; the softmax's weights and the gradients of the scores are rounded to the
// element type for their products. dk and dv are summed in order; the sums of dq meet in memory by atomic additions, in
// any order: the last bits of dq differ from run to run.
#pragma once

#include "kernels/common/abi.h"

#ifdef __cplusplus
extern "C" {
#endif

// Tensors as FsAttention has them; dout and dq are like q and out, dk and dv like k and v.
typedef struct FsAttentionBackward {
    const void* q;
    const void* k;
    const void* v;
    const void* out;
    const void* dout;
    const float* lse; // [batch][q_heads][q_tokens] dense, as the forward gives it
    void* dq;
    void* dk;
    void* dv;
    int64_t q_stride[3]; // from batch to batch, token to token, head to head, in elements; head_dim lies side by side
    int64_t k_stride[3];
    int64_t v_stride[3];
    int64_t out_stride[3];
    int64_t dout_stride[3];
    int64_t dq_stride[3];
    int64_t dk_stride[3];
    int64_t dv_stride[3];
    int64_t batch;
    int64_t q_heads;
    int64_t kv_heads; // divides q_heads
    int64_t q_tokens;
    int64_t kv_tokens;
    int64_t head_dim;
    float scale;
    int32_t causal; // 1: query i sees keys 0 to i, also where q_tokens and kv_tokens differ
    FsDtype dtype;
} FsAttentionBackward;

// Bytes of workspace: 520 for each head of each token, q_tokens rounded up to a multiple of 64, and at most 768 more.
FUSESCOPE_API FsStatus fusescope_attention_hopper_backward_atomic_workspace(const FsAttentionBackward* call,
                                                                            size_t* bytes);

FUSESCOPE_API FsStatus fusescope_attention_hopper_backward_atomic(const FsAttentionBackward* call, void* workspace,
                                                                  size_t workspace_bytes, FsStream stream);

#ifdef __cplusplus
}
#endif
