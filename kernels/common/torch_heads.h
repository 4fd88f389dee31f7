// SPDX-License-Identifier: Apache-2.0
// Between Torch tensors and attention's tensors of the C interface. Used by the <op>_torch.cpp files alone.
#pragma once

#include "kernels/common/heads.h"
#include "kernels/common/torch_support.h"

namespace fusescope::kernels {

/// Which dimension of a tensor with four holds the heads: [batch, tokens, heads, head_dim] or
/// [batch, heads, tokens, head_dim]. (A transposed view would do, but making one costs the CPU as much as a launch.)
enum class HeadsAt { two, one };
constexpr int64_t headDimension(HeadsAt at) { return at == HeadsAt::two ? 2 : 1; }
constexpr int64_t tokenDimension(HeadsAt at) { return at == HeadsAt::two ? 1 : 2; }

/// Torch's error unless q and k are such tensors of one element type with the same batch, tokens and even head_dim, and
/// cos and sin are [batch or 1, tokens, head_dim] of that type.
void checkHeadTensors(const char* op, const at::Tensor& q, const at::Tensor& k, const at::Tensor& cos,
                      const at::Tensor& sin, HeadsAt at = HeadsAt::two);

/// Such a tensor, or a contiguous copy of it where the elements of a head are not side by side. Keep the tensor as long
/// as the heads.
struct HeadTensor {
    explicit HeadTensor(const at::Tensor& t, HeadsAt at = HeadsAt::two);
    at::Tensor tensor;
    FsHeads heads;
};

/// cos and sin, or contiguous copies where their layouts differ.
struct RotaryTensors {
    RotaryTensors(const at::Tensor& cosines, const at::Tensor& sines);
    at::Tensor cos, sin;
    FsRotary rotary;
};

/// cos or sin as contiguous fp64 [batch * tokens, head_dim] on the CPU, for the references.
at::Tensor tableAsDouble(const at::Tensor& table, int64_t batch);

} // namespace fusescope::kernels
