// SPDX-License-Identifier: Apache-2.0
// Which backend computes an attention: decided from the device, the element type and the shapes alone. No setting is
// changed; PyTorch's switches for its own choice (torch.nn.attention.sdpa_kernel) have no say here.
#pragma once

#include <cstdint>
#include <string_view>

namespace fusescope::kernels {

enum class AttentionBackend { cudnn, flash, efficient, math, hopper };

std::string_view nameOf(AttentionBackend backend);

enum class AttentionType { half, bfloat16, single, other };

/// Lengths come as what matters of them, so that a graph compiled for changing lengths is bound to no single one.
struct AttentionProblem {
    int capability = 0; ///< of the device: 90 for 9.0
    long cudnn = 0;     ///< version of the cuDNN that PyTorch loaded: 91900 for 9.19.0; 0 without one
    AttentionType type = AttentionType::other;
    int64_t headDim = 0;
    bool empty = false;       ///< a tensor without elements
    bool oneQuery = false;    ///< of every head: decoding
    bool oneKey = false;      ///< after cutting off the keys that causal hides from every query
    bool moreQueries = false; ///< more queries than keys
    bool keyTail64 = false;   ///< number of keys = 64 modulo 128; asked for where causal does not hide the last ones
    bool causal = false;
    bool mask = false;
    bool maskGradient = false;
    bool gradient = false;      ///< of q, k or v
    bool deterministic = false; ///< torch.use_deterministic_algorithms
    bool positiveScale = true;  ///< and finite, in fp32
    bool transform = false;     ///< torch.func.grad, vmap and the like are at work
};

/// Null, or a sentence why the backend may not be used. The problem is not empty.
const char* whyNot(AttentionBackend backend, const AttentionProblem& problem);

struct AttentionChoice {
    AttentionBackend backend;
    const char* reason; ///< a sentence
};

AttentionChoice chooseAttention(const AttentionProblem& problem);

/// Whose backward the Hopper kernel's forward takes: cuDNN's, or else flash attention's.
bool hopperTakesCudnnBackward(const AttentionProblem& problem);

} // namespace fusescope::kernels
