// SPDX-License-Identifier: Apache-2.0
#include "core/cost/op_call.h"

#include "core/cost/fusescope_kernels.h"

#include <algorithm>
#include <charconv>

namespace fusescope {
namespace {

const OpArg* argument(const OpCall& call, std::size_t i, std::string_view arg_name) {
    if (!call.names.empty() && !arg_name.empty()) {
        for (std::size_t a = 0; a < std::min(call.names.size(), call.in.size()); ++a)
            if (call.names[a] == arg_name) return &call.in[a];
        return nullptr; // a default: not listed
    }
    return i < call.in.size() ? &call.in[i] : nullptr;
}

int category(DType type) noexcept { // 0 unknown, 1 bool, 2 integer, 3 floating, 4 complex
    switch (type) {
    case DType::Unknown: return 0;
    case DType::Bool: return 1;
    case DType::UInt8:
    case DType::Int8:
    case DType::UInt16:
    case DType::Int16:
    case DType::UInt32:
    case DType::Int32:
    case DType::UInt64:
    case DType::Int64: return 2;
    case DType::Complex32:
    case DType::Complex64:
    case DType::Complex128: return 4;
    default: return 3;
    }
}

DType promotedPair(DType a, DType b) noexcept {
    if (a == b || b == DType::Unknown) return a;
    if (a == DType::Unknown) return b;
    if (category(a) != category(b)) return category(a) > category(b) ? a : b;
    if ((a == DType::Float16 && b == DType::BFloat16) || (a == DType::BFloat16 && b == DType::Float16))
        return DType::Float32;
    return sizeOf(a) >= sizeOf(b) ? a : b;
}

} // namespace

OpCall callOf(std::string_view op) {
    OpCall call;
    const std::size_t at = op.rfind("::");
    call.name = at == std::string_view::npos ? op : op.substr(at + 2);
    call.own = isOwnOp(op);
    return call;
}

const TensorMeta* OpCall::tensor(std::size_t i, std::string_view arg_name) const {
    const OpArg* arg = argument(*this, i, arg_name);
    return arg != nullptr && arg->kind == ArgKind::Tensor ? &arg->tensor : nullptr;
}

std::string_view OpCall::text(std::size_t i, std::string_view arg_name) const {
    const OpArg* arg = argument(*this, i, arg_name);
    return arg != nullptr ? arg->text : std::string_view{};
}

bool OpCall::flag(std::size_t i, std::string_view arg_name) const {
    const std::string_view t = text(i, arg_name);
    return t == "True" || t == "true" || t == "1";
}

bool OpCall::inPlace() const { return name.size() > 1 && name.back() == '_' && name[name.size() - 2] != '_'; }

TensorMeta OpCall::output(std::vector<std::int64_t> sizes, DType dtype) const {
    if (!out.empty()) return out.front();
    TensorMeta meta;
    meta.sizes = std::move(sizes);
    meta.dtype = dtype;
    return meta;
}

bool isFloating(DType type) noexcept { return category(type) >= 3; }

DType promoted(std::span<const TensorMeta* const> tensors) noexcept {
    DType dimensioned = DType::Unknown, scalar = DType::Unknown;
    for (const TensorMeta* t : tensors) {
        DType& kind = t->sizes.empty() ? scalar : dimensioned;
        kind = promotedPair(kind, t->dtype);
    }
    if (dimensioned == DType::Unknown) return scalar;
    if (category(scalar) <= category(dimensioned)) return dimensioned;
    // A Python float beside an integer tensor gives the default type.
    return scalar == DType::Float64 ? DType::Float32 : scalar;
}

std::vector<std::int64_t> broadcastSizes(std::span<const TensorMeta* const> tensors) {
    std::vector<std::int64_t> sizes;
    for (const TensorMeta* t : tensors) {
        if (t->sizes.size() > sizes.size()) sizes.insert(sizes.begin(), t->sizes.size() - sizes.size(), 1);
        const std::size_t shift = sizes.size() - t->sizes.size();
        for (std::size_t d = 0; d < t->sizes.size(); ++d)
            if (sizes[shift + d] == 1) sizes[shift + d] = t->sizes[d];
    }
    return sizes;
}

std::vector<std::int64_t> integersIn(std::string_view text) {
    std::vector<std::int64_t> out;
    const char *p = text.data(), *end = p + text.size();
    while (p != end) {
        std::int64_t value = 0;
        const auto [next, error] = std::from_chars(p, end, value);
        if (error == std::errc{}) {
            out.push_back(value);
            p = next;
        } else {
            ++p;
        }
    }
    return out;
}

} // namespace fusescope
