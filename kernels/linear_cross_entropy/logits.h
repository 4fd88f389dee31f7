// SPDX-License-Identifier: Apache-2.0
// Kernels on rows of logits. A row starts at a multiple of 16 bytes and has room up to `stride`, so it is read and
// written in whole vectors; what lies beyond `columns` is never used.
#pragma once

#include "kernels/common/launch.h"

#include <cuda_runtime_api.h>

namespace fusescope::kernels {

/// [rows][stride] elements, of which `columns` are the words from `firstColumn` on.
struct Logits {
    void* data;
    int64_t stride;
    int64_t firstColumn;
    int64_t columns;
};

/// One value a token each.
struct Softmax {
    float* maximum;
    float* sum;   ///< of exp(z - maximum)
    float* label; ///< logit of the label; unset for labels that are ignored or outside the vocabulary
};

struct Tokens {
    const int64_t* labels;
    int64_t count;
    int64_t ignored;
    int64_t vocab;
};

/// What the sum over tokens is divided by: *device if there is one, else `number`, else (negative) the valid labels.
struct Divisor {
    const float* device;
    double number;
};

// state[0] = scale of a logit's gradient, [1] = what the gradients have still to be multiplied by, [2] = valid labels,
// [3] = labels outside the vocabulary. `raise` asks for a scale near 1, the power of two going to state[1].
FsStatus launchCountLabels(const Tokens& t, const Divisor& divisor, bool raise, float* state, cudaStream_t stream);

/// Takes a chunk of columns into the softmax of every token; `first` starts it.
FsStatus launchStatistics(FsDtype dtype, const Logits& z, const Tokens& t, const Softmax& softmax, bool first,
                          cudaStream_t stream);

/// dz = (softmax - onehot) * state[0]; dz may be z itself.
FsStatus launchGradient(FsDtype dtype, const Logits& z, void* dz, const Tokens& t, const Softmax& softmax,
                        const float* state, cudaStream_t stream);

/// Both at once and in place for rows that are whole: each logit is read once. `done` is false, and nothing launched,
/// where the device has no clusters or a row does not fit one.
FsStatus launchSoftmaxGradient(FsDtype dtype, const Logits& z, const Tokens& t, const Softmax& softmax,
                               const float* state, const FsLaunchHint& hint, const DeviceFacts& device, bool& done,
                               cudaStream_t stream);

/// loss = sum over tokens / what launchCountLabels() divided by.
FsStatus launchLoss(const Tokens& t, const Softmax& softmax, const Divisor& divisor, float* loss, cudaStream_t stream);

/// to = from, rounded to `dtype`.
FsStatus launchRound(FsDtype dtype, const float* from, void* to, int64_t count, const DeviceFacts& device,
                     cudaStream_t stream);

/// to = from * dloss[0] * state[1] * factor. In place and by 1, nothing is read or written.
FsStatus launchScale(FsDtype dtype, const void* from, void* to, int64_t count, const float* dloss, const float* state,
                     float factor, const DeviceFacts& device, cudaStream_t stream);

} // namespace fusescope::kernels
