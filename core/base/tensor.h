// SPDX-License-Identifier: Apache-2.0
// Element types and tensor descriptions shared by graphs and traces.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace fusescope {

enum class DType : std::uint8_t {
    Unknown,
    Bool,
    UInt8,
    Int8,
    UInt16,
    Int16,
    UInt32,
    Int32,
    UInt64,
    Int64,
    Float16,
    BFloat16,
    Float32,
    Float64,
    Complex32,
    Complex64,
    Complex128,
    Float8E4M3FN,
    Float8E5M2,
    Float8E4M3FNUZ,
    Float8E5M2FNUZ,
};

// Bytes of one element; 0 for Unknown.
[[nodiscard]] int sizeOf(DType type) noexcept;
// "bf16", "f32", "i64", "bool": the short names of FX's printouts.
[[nodiscard]] std::string_view shortName(DType type) noexcept;
// Names of profiler traces: "c10::BFloat16", "float", "long int", "bool" ...
[[nodiscard]] DType dtypeFromTraceName(std::string_view name) noexcept;
// Numbers of torch.export's schema (NOT c10's ScalarType numbers).
[[nodiscard]] DType dtypeFromExportSchema(std::int64_t number) noexcept;

constexpr std::int64_t kDynamicSize = -1; // a size known only as a symbol

struct TensorMeta {
    DType dtype = DType::Unknown;
    std::vector<std::int64_t> sizes;   // elements; kDynamicSize where symbolic without a hint
    std::vector<std::int64_t> strides; // elements; empty when not recorded
    bool requires_grad = false;

    // Logical elements; 0 if a size is dynamic.
    [[nodiscard]] std::int64_t numel() const noexcept;
    // Distinct elements in memory: dimensions of stride 0 (expand) count once. Equals numel() without strides.
    [[nodiscard]] std::int64_t storedElements() const noexcept;
    // storedElements() * sizeOf(dtype).
    [[nodiscard]] double bytes() const noexcept;
    // At most 2^53 bytes (9 PB), far above any memory. Larger sizes are damage, and whatever is computed from them is.
    [[nodiscard]] bool plausible() const noexcept;
    // Keeps the rank only: every size becomes kDynamicSize.
    void forgetSizes() noexcept;
};

enum class ArgKind : std::uint8_t { None, Tensor, TensorList, Scalar, ScalarList, Text };

// One positional argument of an operator call, from a graph node or from a recorded cpu_op.
struct OpArg {
    ArgKind kind = ArgKind::None;
    TensorMeta tensor;            // Tensor
    std::vector<TensorMeta> list; // TensorList (empty list with truncated = true: recorded as unknown)
    bool truncated = false;
    std::string_view text; // Scalar, ScalarList, Text: as recorded ("1e-06", "[0, 1]", "True")
};

} // namespace fusescope
