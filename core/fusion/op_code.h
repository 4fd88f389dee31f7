// SPDX-License-Identifier: Apache-2.0
// What an operator does, as far as the matchers care: one code for all spellings of it in graphs, decomposed graphs,
// traces and kernel names. Shared with core/region, else private to core/fusion.
#pragma once

#include <cstdint>
#include <string_view>

namespace fusescope::fusion {

enum class OpCode : std::uint8_t {
    Other,
    Ignored, // computes nothing: asserts, sizes, profiler rows
    View,    // the same elements under another shape; may copy when the layout asks for it (reshape, contiguous)
    Cast,    // _to_copy and its kin; also a plain copy in a trace
    Dropout,
    Slice,
    Split,
    Cat,
    Add,
    Sub,
    Mul,
    Div,
    Neg,
    Pow,
    Mean,
    Rsqrt,
    Sigmoid,
    Silu,
    Softmax,
    LogSoftmax,
    Linear, // x W^T with a two-dimensional weight: linear, mm, addmm
    Matmul, // matmul of activations: matmul, bmm, baddbmm
    NllLoss,
    CrossEntropy,
    Mask, // where, masked_fill
    Embedding,
};

// op: "aten::mul". Never fails: what is not known is Other.
[[nodiscard]] OpCode opCodeOf(std::string_view op) noexcept;
// The eager kernel's operator by its demangled name, for traces without operators: "...rsqrt_kernel_cuda..." -> Rsqrt.
[[nodiscard]] OpCode opCodeOfKernel(std::string_view kernel) noexcept;

} // namespace fusescope::fusion
