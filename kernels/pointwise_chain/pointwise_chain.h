// SPDX-License-Identifier: Apache-2.0
// A region of elementwise operators and row reductions as one kernel, compiled at run time (NVRTC) from the operators
// themselves. Nothing is known of the region in advance.
//
// The region is text, one operator a line, in the order of evaluation. RMSNorm as transformers writes it:
//
//     %0 = input bf16
//     %1 = input bf16                 # the weight, [width]
//     %2 = to.f32 %0
//     %3 = pow.f32 %2 2
//     %4 = mean.f32 %3                # of a row, the last dimension kept
//     %5 = add.f32 %4 1e-6
//     %6 = rsqrt.f32 %5
//     %7 = mul.f32 %2 %6
//     %8 = to.bf16 %7
//     %9 = mul.bf16 %1 %8
//     output %9
//
//  - A line is `%N = input TYPE`, `%N = OPERATOR.TYPE OPERAND... [alpha=C]` or `output %N [summed]`. N counts up from 0
//  without
//    gaps, inputs come first, outputs last. `#` starts a comment; `;` ends a line too.
//  - TYPE: f32 f16 bf16 f64 i64 i32 bool. The type of an operator is that of its result in the framework.
//  - An operand is %N or a scalar constant: 2, -0.5, 1e-6, inf, nan, true. At least one is %N.
//  - Operators of one operand: neg abs reciprocal sqrt rsqrt exp log tanh sigmoid silu gelu gelu_tanh relu erf square
//    sin cos floor ceil trunc round expm1 log1p logical_not to clone
//    of two: add sub mul div minimum maximum pow (a constant exponent) eq ne lt le gt ge logical_and logical_or
//    of three: where (condition, then, else); clamp (value, lower, upper; `none` leaves a side open)
//    row reductions: sum mean amax, over the last dimension, which stays with size 1. Several are allowed (softmax has
//    two); the sum's order depends on the launch shape alone.
//  - Arithmetic operators take operands to the type of their result; comparisons to the common type of both.
//    An operator that the framework evaluates in another type (0-d tensors do that) needs a `to` that says so.
//
// Shapes are no part of the text: inputs broadcast as in the framework, over any dimension. An output has the shape of
// all inputs broadcast together, or that shape with the last dimension 1 (what follows a reduction), or is summed.
//
// Rounding. FS_ROUND_AS_FRAMEWORK rounds every result to its type, as the framework would have written it; each
// operator has the bits of PyTorch's CUDA kernel, sums apart (another order). FS_ROUND_ONCE keeps half precision in
// fp32 until it is written.
//
// Sums over rows. `output %N summed` is the sum of %N, which has the shape of all inputs together, over all dimensions
// but the last: of shape [width], its terms as %N's type holds them, added in fp32 (f64 in f64) in an order that
// depends on the launch shape alone, and rounded once. The gradient of a weight is such a sum.
//
// An output may be an input's memory when the two are laid out alike and that input is not broadcast.
//
// The first call of a region on a kind of device compiles it (some tenths of a second) or reads it from the cache on
// disk; do that before a stream is captured into a graph (fusescope_pointwise_chain_prepare). The backward of a region
// is itself a region, which gradient.h writes and the Torch binding runs.
#pragma once

#include "kernels/common/abi.h"

#ifdef __cplusplus
extern "C" {
#endif

// The first three are FsDtype's.
typedef enum FsChainDtype {
    FS_CHAIN_F32 = 0,
    FS_CHAIN_F16 = 1,
    FS_CHAIN_BF16 = 2,
    FS_CHAIN_F64 = 3,
    FS_CHAIN_I64 = 4,
    FS_CHAIN_I32 = 5,
    FS_CHAIN_BOOL = 6
} FsChainDtype;

// A backward takes a region's inputs and the gradients of its outputs, and several operators for each of the region's:
// regions of up to 24 inputs and some 100 operators always have one.
enum { FS_CHAIN_MAX_DIMS = 8, FS_CHAIN_MAX_INPUTS = 32, FS_CHAIN_MAX_OUTPUTS = 8, FS_CHAIN_MAX_NODES = 2048 };

// Strides count elements; 0 for a dimension that is expanded.
typedef struct FsChainTensor {
    void* data;
    int64_t size[FS_CHAIN_MAX_DIMS];
    int64_t stride[FS_CHAIN_MAX_DIMS];
    int32_t dims;
    FsChainDtype dtype;
} FsChainTensor;

// A region that has been read; may be used by many threads at once.
typedef struct FsChain FsChain;

// FS_INVALID_ARGUMENT with a sentence that names the line when the text is no region.
FUSESCOPE_API FsStatus fusescope_pointwise_chain_create(const char* text, FsChain** chain);
FUSESCOPE_API void fusescope_pointwise_chain_destroy(FsChain* chain);
FUSESCOPE_API int32_t fusescope_pointwise_chain_inputs(const FsChain* chain);
FUSESCOPE_API int32_t fusescope_pointwise_chain_outputs(const FsChain* chain);

// Fills outputs[] (contiguous, no data) for inputs of these shapes; the inputs' data is not looked at.
FUSESCOPE_API FsStatus fusescope_pointwise_chain_shapes(const FsChain* chain, const FsChainTensor* inputs,
                                                        FsChainTensor* outputs);

typedef struct FsPointwiseChain {
    const FsChain* chain;
    const FsChainTensor* inputs;
    const FsChainTensor* outputs;
    FsRounding rounding;
    // variant: 16-byte vectors a thread has under way (of a row when there are reductions); -1: element by element
    FsLaunchHint hint;
} FsPointwiseChain;

// Bytes of workspace that the call needs on the current device; 0 without sums over rows.
FUSESCOPE_API FsStatus fusescope_pointwise_chain_workspace(const FsPointwiseChain* call, size_t* bytes);
FUSESCOPE_API FsStatus fusescope_pointwise_chain(const FsPointwiseChain* call, void* workspace, size_t workspace_bytes,
                                                 FsStream stream);

// Compiles and loads what the call needs, and launches nothing.
FUSESCOPE_API FsStatus fusescope_pointwise_chain_prepare(const FsPointwiseChain* call);

// The CUDA source that the call compiles, ended by a zero. `size` tells its length with the zero; the text is cut at
// `capacity`. Needs no device: without one, sizes are chosen for an H200.
FUSESCOPE_API FsStatus fusescope_pointwise_chain_source(const FsPointwiseChain* call, char* text, size_t capacity,
                                                        size_t* size);

// The machine code of the call's source for a compute capability (90 is 9.0), from the cache or by NVRTC. Needs no
// device.
FUSESCOPE_API FsStatus fusescope_pointwise_chain_binary(const FsPointwiseChain* call, int32_t compute_capability,
                                                        void* code, size_t capacity, size_t* size);

// Where compiled kernels are kept between processes. Null: $XDG_CACHE_HOME/fusescope/kernels, or that in ~/.cache;
// "": nowhere. Holds for the process.
FUSESCOPE_API FsStatus fusescope_pointwise_chain_cache_folder(const char* folder);

#ifdef __cplusplus
}
#endif
