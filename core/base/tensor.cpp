// SPDX-License-Identifier: Apache-2.0
#include "core/base/tensor.h"

#include <algorithm>
#include <array>
#include <limits>

namespace fusescope {
namespace {

struct Row {
    DType type;
    int bytes;
    std::string_view short_name, trace_name;
    int export_number;
};
// Export numbers: torch/_export/serde/schema.py, ScalarType. Trace names: c10's C++ type names, as Kineto prints them.
constexpr std::array<Row, 21> kRows{{
    {DType::Unknown, 0, "?", "", 0},
    {DType::Bool, 1, "bool", "bool", 12},
    {DType::UInt8, 1, "u8", "unsigned char", 1},
    {DType::Int8, 1, "i8", "signed char", 2},
    {DType::UInt16, 2, "u16", "unsigned short", 28},
    {DType::Int16, 2, "i16", "short int", 3},
    {DType::UInt32, 4, "u32", "unsigned int", -1},
    {DType::Int32, 4, "i32", "int", 4},
    {DType::UInt64, 8, "u64", "unsigned long", -1},
    {DType::Int64, 8, "i64", "long int", 5},
    {DType::Float16, 2, "f16", "c10::Half", 6},
    {DType::BFloat16, 2, "bf16", "c10::BFloat16", 13},
    {DType::Float32, 4, "f32", "float", 7},
    {DType::Float64, 8, "f64", "double", 8},
    {DType::Complex32, 4, "c32", "c10::complex<c10::Half>", 9},
    {DType::Complex64, 8, "c64", "c10::complex<float>", 10},
    {DType::Complex128, 16, "c128", "c10::complex<double>", 11},
    {DType::Float8E4M3FN, 1, "f8e4m3", "c10::Float8_e4m3fn", 29},
    {DType::Float8E5M2, 1, "f8e5m2", "c10::Float8_e5m2", 30},
    {DType::Float8E4M3FNUZ, 1, "f8e4m3fnuz", "c10::Float8_e4m3fnuz", 31},
    {DType::Float8E5M2FNUZ, 1, "f8e5m2fnuz", "c10::Float8_e5m2fnuz", 32},
}};

const Row& rowOf(DType type) noexcept {
    for (const Row& row : kRows)
        if (row.type == type) return row;
    return kRows.front();
}

// Saturates: sizes come from files.
std::int64_t multiply(std::int64_t a, std::int64_t b) noexcept {
    std::int64_t product = 0;
    return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<std::int64_t>::max() : product;
}

} // namespace

int sizeOf(DType type) noexcept { return rowOf(type).bytes; }
std::string_view shortName(DType type) noexcept { return rowOf(type).short_name; }

DType dtypeFromTraceName(std::string_view name) noexcept {
    if (name.empty()) return DType::Unknown;
    for (const Row& row : kRows)
        if (row.trace_name == name) return row.type;
    if (name == "short") return DType::Int16;
    if (name == "long" || name == "long long") return DType::Int64;
    if (name == "char") return DType::Int8;
    return DType::Unknown;
}

DType dtypeFromExportSchema(std::int64_t number) noexcept {
    if (number <= 0) return DType::Unknown;
    for (const Row& row : kRows)
        if (row.export_number == number) return row.type;
    return DType::Unknown;
}

std::int64_t TensorMeta::numel() const noexcept {
    std::int64_t n = 1;
    for (const std::int64_t size : sizes) {
        if (size < 0) return 0;
        n = multiply(n, size);
    }
    return n;
}

std::int64_t TensorMeta::storedElements() const noexcept {
    if (strides.size() != sizes.size()) return numel();
    std::int64_t n = 1;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        if (sizes[i] < 0) return 0;
        if (strides[i] != 0 || sizes[i] == 0) n = multiply(n, sizes[i]);
    }
    return n;
}

bool TensorMeta::plausible() const noexcept {
    constexpr double kMostBytes = 9007199254740992.0; // 2^53
    return static_cast<double>(numel()) * std::max(1, sizeOf(dtype)) <= kMostBytes;
}

void TensorMeta::forgetSizes() noexcept {
    std::fill(sizes.begin(), sizes.end(), kDynamicSize);
    strides.clear();
}

double TensorMeta::bytes() const noexcept { return static_cast<double>(storedElements()) * sizeOf(dtype); }

} // namespace fusescope
