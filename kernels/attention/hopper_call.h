// SPDX-License-Identifier: Apache-2.0
// What the Hopper kernels of attention ask of a call, and how they tell the copy engine of a tensor.
#pragma once

#include "kernels/common/abi.h"
#include "kernels/common/launch.h"

#include <cuda.h>

namespace fusescope::kernels {

/// One of a call's tensors: [batch][tokens][heads][head_dim] by strides in elements, head_dim side by side.
struct HeadTensor {
    const char* name;
    const void* data;
    const int64_t* stride; ///< from batch to batch, token to token, head to head
    bool ofKeys;           ///< kv_tokens and kv_heads
    bool written;
};

/// Sizes and settings of a call.
struct HeadProblem {
    int64_t batch, queryHeads, keyHeads, queryTokens, keyTokens, headDim;
    float scale;
    int causal;
    FsDtype dtype;
};

/// FS_OK, FS_UNSUPPORTED where the kernels are not for it (the device, element type, head_dim, scale, alignment, size),
/// or what is wrong with it.
FsStatus checkHopperCall(const HeadProblem& problem, const HeadTensor* tensors, int count);

/// Boxes of `rows` tokens by half a head. Needs 16-byte aligned heads.
FsStatus describeTensor(CUtensorMap& map, const HeadTensor& tensor, const HeadProblem& problem, int rows);

} // namespace fusescope::kernels
