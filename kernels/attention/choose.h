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
    bool gradient = false;         ///< of q, k or v
    bool deterministic = false;    ///< torch.use_deterministic_algorithms
    bool positiveScale = true;     ///< and finite, in fp32
    bool transform = false;        ///< torch.func.grad, vmap and the like are at work
    bool ownBackwardFills = false; ///< see ownBackwardFills(); asked where mayTakeOwnBackward()
};

/// Null, or a sentence why the backend may not be used. The problem is not empty.
const char* whyNot(AttentionBackend backend, const AttentionProblem& problem);

struct AttentionChoice {
    AttentionBackend backend;
    const char* reason; ///< a sentence
};

AttentionChoice chooseAttention(const AttentionProblem& problem);

/// Whose backward the Hopper kernel's forward takes.
enum class HopperBackward { own, cudnn, flash };

std::string_view nameOf(HopperBackward backward);

HopperBackward chooseHopperBackward(const AttentionProblem& problem);

/// Whether the choice of the backward asks for ownBackwardFills at all.
bool mayTakeOwnBackward(const AttentionProblem& problem);

/// Whether our own backward's blocks, one a multiprocessor of an H100 or H200, are busy most of the time. A block works
/// on 128 keys of a head of k, with all queries that see them, of all heads of q that share it. `Int` is an integer, or
/// one that a compiled graph does not know yet; `heads` are those of k, of all batches.
///
/// Measured with an H200: causal, ours is 5% faster than cuDNN's at 76% (3072 tokens of 8 heads) and 16% slower at 52%
/// (2048); not causal, 14% slower at 73% (3072) and 15% faster at 97% (2048). The limits lie between.
template <class Int> auto ownBackwardFills(const Int& heads, const Int& queries, const Int& keys, bool causal) {
    constexpr int64_t blocks = 132;
    const Int keyTiles = (keys + 127) / 128, queryTiles = (queries + 63) / 64;
    if (!causal) return heads * keyTiles * 10 >= (heads * keyTiles + (blocks - 1)) / blocks * (9 * blocks);
    // A tile of keys is seen by two tiles of queries less than the one before it. The first takes longest.
    return heads * keyTiles * (queryTiles - (keyTiles - 1)) * 10 >= queryTiles * (7 * blocks);
}

} // namespace fusescope::kernels
