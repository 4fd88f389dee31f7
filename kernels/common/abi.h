// SPDX-License-Identifier: Apache-2.0
// What every operator's C interface shares: status codes, element types, rows, rounding.
// Plain C, no Torch and no CUDA headers: a stream is passed as the opaque pointer that cudaStream_t is.
//
// Every function of the interface
//  - checks its arguments first and launches nothing when one is wrong,
//  - launches on the stream it is given and does not wait for it,
//  - allocates nothing: what it needs beside its inputs and outputs is the workspace, whose size a function beside it
//    tells (a workspace is 256-byte aligned and may be reused once the stream has passed the call),
//  - gives bit-identical results when repeated on the same device, but for what is named *_atomic: its header says
//    which of them differ in their last bits.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define FUSESCOPE_API __attribute__((visibility("default")))
#else
#define FUSESCOPE_API
#endif

typedef enum FsStatus {
    FS_OK = 0,
    FS_INVALID_ARGUMENT = 1,    // a pointer, size or stride that cannot be
    FS_UNSUPPORTED = 2,         // a valid request that this library has no kernel for
    FS_WORKSPACE_TOO_SMALL = 3, // see the operator's *_workspace function
    FS_CUDA_ERROR = 4,          // a launch failed, or an earlier kernel of the stream had
    FS_LIBRARY_ERROR = 5        // cuBLASLt or NVRTC refused, or the host has no memory
} FsStatus;

// What CUDA's headers call cudaStream_t; null is the default stream.
typedef struct CUstream_st* FsStream;

typedef enum FsDtype { FS_F32 = 0, FS_F16 = 1, FS_BF16 = 2 } FsDtype;

// Where a result is rounded to the element type. Arithmetic is fp32 in both.
typedef enum FsRounding {
    FS_ROUND_AS_FRAMEWORK =
        0,            // wherever PyTorch's eager form of the model writes a tensor, also if it stays inside here
    FS_ROUND_ONCE = 1 // only what is written to memory
} FsRounding;

// Rows whose elements lie side by side. Row r = o * inner + i starts at element o * outer_stride + i * inner_stride of
// `data`: [tokens][heads][head_dim] inside a wider packed projection has inner = heads, inner_stride = head_dim and
// outer_stride = the projection's width. A plain matrix has inner = 1. Strides count elements.
typedef struct FsRows {
    void* data;
    int64_t outer;
    int64_t inner;
    int64_t outer_stride;
    int64_t inner_stride;
} FsRows;

// Overrides what the library chooses for itself, for tuning and tests; zeros leave the choice to it.
typedef struct FsLaunchHint {
    int32_t threads;       // per block
    int32_t blocks_per_sm; // of a persistent grid
    int32_t variant;       // an operator's own
} FsLaunchHint;

// One English sentence on the last failure of the calling thread ("" when its last call succeeded).
FUSESCOPE_API const char* fusescope_last_error(void);
// "FS_OK", ...
FUSESCOPE_API const char* fusescope_status_name(FsStatus status);

#ifdef __cplusplus
}
#endif
