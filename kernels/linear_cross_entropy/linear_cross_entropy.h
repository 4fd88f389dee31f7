// SPDX-License-Identifier: Apache-2.0
// Output projection and cross entropy in one: z = x weight^T, loss = sum over tokens of (lse(z) - z[label]) / N, with
// the gradients of x and weight, and no fp32 copy of the logits anywhere.
//
// The forward computes the gradients for d(loss) = 1 and the backward scales them: the logits need not be kept, nor
// computed twice. Both gradients are optional; without any, only the loss is computed.
//
// Rounding is the framework's: logits are rounded to the element type by the product that makes them, softmax and loss
// are fp32 with the row's own maximum subtracted, the logits' gradient is rounded to the element type, and each element
// of dx and dweight is rounded once, from an fp32 sum over all that it adds up.
//
// Modes, by the memory they need beside dx and dweight (T tokens, V words, H hidden, E bytes an element):
//   fast  T * V * E               every logit once, each gradient one product
//   lean  a few hundred columns' worth of T * E up to about 160 MB, and T * H * 4
//         A vocabulary chunk at a time. A first pass leaves each token's maximum and sum, a second the gradients. The
//         memory of dweight holds the logits between the passes where it can (all of them when T <= H); the others are
//         computed again.
// Two modes' losses differ as far as the products' order of summation does.
//
// Labels equal to ignore_index (compared first, so it may be any number) add nothing, and their tokens' gradients are
// zeros. When all are ignored the mean is 0 / 0: the loss is NaN, the gradients are zeros, as PyTorch's are. Any other
// label outside [0, vocab) makes the loss and the gradients that depend on its token NaN; state[3] counts such labels.
// Nothing is read or written out of bounds for them.
#pragma once

#include "kernels/common/abi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum FsLinearCrossEntropyMode {
    FS_LINEAR_CROSS_ENTROPY_AUTO = 0, // fast when workspace, dx and dweight fit memory_limit, else lean
    FS_LINEAR_CROSS_ENTROPY_FAST = 1,
    FS_LINEAR_CROSS_ENTROPY_LEAN = 2
} FsLinearCrossEntropyMode;

// What the sum over tokens is divided by.
typedef enum FsLinearCrossEntropyDivisor {
    FS_DIVIDE_BY_VALID = 0,  // labels that are not ignored
    FS_DIVIDE_BY_NUMBER = 1, // num_items
    FS_DIVIDE_BY_DEVICE = 2  // *num_items_device
} FsLinearCrossEntropyDivisor;

// floats that the forward leaves in `state`
enum { FS_LINEAR_CROSS_ENTROPY_STATE = 4 };

typedef struct FsLinearCrossEntropyForward {
    const void* x; // [tokens][hidden]
    int64_t x_stride;
    const void* weight; // [vocab][hidden]
    int64_t weight_stride;
    const int64_t* labels; // [tokens]
    int64_t tokens;
    int64_t hidden;
    int64_t vocab;
    FsDtype dtype; // of x, weight, dx and dweight
    int64_t ignore_index;
    FsLinearCrossEntropyDivisor divisor;
    double num_items;
    const float* num_items_device;
    float* loss;   // one element
    float* state;  // gradient's scale, what the gradients are short of, valid labels, labels outside the vocabulary
    void* dx;      // [tokens][hidden], side by side; null when it is not wanted; not final before the backward's call
    void* dweight; // [vocab][hidden], side by side; likewise; scratch until then, so it may be no other operand
    FsLinearCrossEntropyMode mode;
    uint64_t memory_limit; // bytes, for FS_LINEAR_CROSS_ENTROPY_AUTO
    int64_t chunk;         // columns of logits at a time in lean mode; 0 leaves it to the library
    FsLaunchHint hint; // fast mode: variant 1 is softmax and gradient in two kernels, 2, 4 and 8 are one kernel with
                       // a row's softmax spread over so many blocks of a cluster
} FsLinearCrossEntropyForward;

// Bytes of workspace, and the mode that `mode` comes to (`mode` may be null).
FUSESCOPE_API FsStatus fusescope_linear_cross_entropy_workspace(const FsLinearCrossEntropyForward* call, size_t* bytes,
                                                                FsLinearCrossEntropyMode* mode);
// The first call on a device makes a cuBLASLt handle, so it should not be the one that a CUDA graph captures.
FUSESCOPE_API FsStatus fusescope_linear_cross_entropy_forward(const FsLinearCrossEntropyForward* call, void* workspace,
                                                              size_t workspace_bytes, FsStream stream);

// Multiplies the forward's gradients by d(loss). In bf16 and fp32 the forward leaves them final for d(loss) = 1, and in
// place the kernel then reads and writes none of them. In fp16 it leaves them larger by powers of two, since
// (softmax - onehot) / N underflows fp16 before a loss scale could help; the same pass takes these out again.
typedef struct FsLinearCrossEntropyBackward {
    const float* dloss;  // one element
    const float* state;  // as the forward left it
    const void* dx;      // as the forward left it, or null
    const void* dweight; // likewise
    void* dx_final;      // may be dx itself
    void* dweight_final; // may be dweight itself
    int64_t tokens;
    int64_t hidden;
    int64_t vocab;
    FsDtype dtype;
} FsLinearCrossEntropyBackward;

FUSESCOPE_API FsStatus fusescope_linear_cross_entropy_backward(const FsLinearCrossEntropyBackward* call,
                                                               FsStream stream);

#ifdef __cplusplus
}
#endif
