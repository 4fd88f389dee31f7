// SPDX-License-Identifier: GPL-3.0-or-later
#include "arguments.h"

#include "torch_type.h"

#include <ATen/ScalarOps.h>
#include <ATen/core/jit_type.h>
#include <c10/core/Layout.h>
#include <c10/core/MemoryFormat.h>

#include <cmath>
#include <optional>

namespace fusescope::runner {
namespace {

using c10::IValue;
using c10::TypeKind;
using c10::TypePtr;

// The type inside Optional[...].
TypePtr bare(const TypePtr& type, bool& optional) {
    TypePtr inner = type;
    while (inner->kind() == TypeKind::OptionalType) {
        optional = true;
        inner = inner->castRaw<c10::OptionalType>()->getElementType();
    }
    return inner;
}

bool isDevice(const c10::Argument& wanted) {
    bool optional = false;
    return bare(wanted.real_type(), optional)->kind() == TypeKind::DeviceObjType;
}

// Devices, layouts and pinned memory are the runner's, whatever a step says.
std::optional<IValue> runnersOwn(const c10::Argument& wanted, const Target& target) {
    bool optional = false;
    const TypeKind kind = bare(wanted.real_type(), optional)->kind();
    if (isDevice(wanted)) return IValue(target.device);
    if (optional && (kind == TypeKind::LayoutType || wanted.name() == "pin_memory")) return IValue();
    if (kind == TypeKind::GeneratorType || kind == TypeKind::StreamObjType) return IValue();
    return std::nullopt;
}

std::string describe(const RegionArgValue& value) {
    struct {
        std::string operator()(RegionNone) const { return "None"; }
        std::string operator()(const RegionRef&) const { return "a tensor"; }
        std::string operator()(const RegionRefs&) const { return "a list of tensors"; }
        std::string operator()(bool) const { return "a bool"; }
        std::string operator()(std::int64_t number) const { return std::to_string(number); }
        std::string operator()(double number) const { return std::to_string(number); }
        std::string operator()(const std::string& text) const { return "'" + text.substr(0, 60) + "'"; }
        std::string operator()(RegionDType) const { return "a type of elements"; }
        std::string operator()(const std::vector<std::int64_t>&) const { return "a list of whole numbers"; }
        std::string operator()(const std::vector<double>&) const { return "a list of numbers"; }
        std::string operator()(const std::vector<bool>&) const { return "a list of bools"; }
    } const text;
    return std::visit(text, value);
}

std::optional<std::int64_t> wholeOf(const RegionArgValue& value) {
    if (const auto* number = std::get_if<std::int64_t>(&value)) return *number;
    if (const auto* flag = std::get_if<bool>(&value)) return *flag ? 1 : 0;
    if (const auto* number = std::get_if<double>(&value))
        if (std::floor(*number) == *number && std::fabs(*number) < 9e15) return static_cast<std::int64_t>(*number);
    return std::nullopt;
}

std::optional<double> numberOf(const RegionArgValue& value) {
    if (const auto* number = std::get_if<double>(&value)) return *number;
    if (const auto whole = wholeOf(value)) return static_cast<double>(*whole);
    return std::nullopt;
}

std::optional<at::Scalar> scalarOf(const RegionArgValue& value) {
    if (const auto* flag = std::get_if<bool>(&value)) return at::Scalar(*flag);
    if (const auto* number = std::get_if<std::int64_t>(&value)) return at::Scalar(*number);
    if (const auto* number = std::get_if<double>(&value)) return at::Scalar(*number);
    return std::nullopt;
}

std::optional<IValue> dtypeOf(const RegionArgValue& value, const Target& target) {
    c10::ScalarType type = c10::ScalarType::Undefined;
    if (const auto* named = std::get_if<RegionDType>(&value)) type = torchType(named->type);
    // Traces record Torch's own numbers.
    if (const auto* number = std::get_if<std::int64_t>(&value))
        if (*number >= 0 && *number < static_cast<std::int64_t>(c10::ScalarType::Undefined))
            type = static_cast<c10::ScalarType>(*number);
    if (type == c10::ScalarType::Undefined) return std::nullopt;
    if (target.float64 && c10::isFloatingType(type)) type = c10::ScalarType::Double;
    return IValue(static_cast<std::int64_t>(type));
}

std::optional<IValue> memoryFormatOf(const RegionArgValue& value) {
    if (const auto* number = std::get_if<std::int64_t>(&value)) return IValue(*number);
    const auto* text = std::get_if<std::string>(&value);
    if (text == nullptr) return std::nullopt;
    using c10::MemoryFormat;
    std::optional<MemoryFormat> format;
    if (*text == "contiguous_format") format = MemoryFormat::Contiguous;
    if (*text == "preserve_format") format = MemoryFormat::Preserve;
    if (*text == "channels_last") format = MemoryFormat::ChannelsLast;
    if (*text == "channels_last_3d") format = MemoryFormat::ChannelsLast3d;
    if (!format) return std::nullopt;
    return IValue(static_cast<std::int64_t>(*format));
}

// A number where a tensor is wanted, as Python passes it: without a say in the type of the result.
IValue wrapped(const at::Scalar& number) {
    const at::Tensor tensor = at::scalar_to_tensor(number);
    tensor.unsafeGetTensorImpl()->set_wrapped_number(true);
    return tensor;
}

std::optional<IValue> single(TypeKind kind, const RegionArgValue& value, const Target& target) {
    switch (kind) {
    case TypeKind::NumberType:
        if (const auto number = scalarOf(value)) return IValue(*number);
        return std::nullopt;
    case TypeKind::TensorType:
        if (const auto number = scalarOf(value)) return wrapped(*number);
        return std::nullopt;
    case TypeKind::FloatType:
    case TypeKind::SymFloatType:
        if (const auto number = numberOf(value)) return IValue(*number);
        return std::nullopt;
    case TypeKind::IntType:
    case TypeKind::SymIntType:
        if (const auto number = wholeOf(value)) return IValue(*number);
        return std::nullopt;
    case TypeKind::BoolType:
    case TypeKind::SymBoolType:
        if (const auto number = wholeOf(value); number && (*number == 0 || *number == 1)) return IValue(*number == 1);
        return std::nullopt;
    case TypeKind::StringType:
        if (const auto* text = std::get_if<std::string>(&value)) return IValue(*text);
        return std::nullopt;
    case TypeKind::ScalarTypeType: return dtypeOf(value, target);
    case TypeKind::MemoryFormatType: return memoryFormatOf(value);
    case TypeKind::LayoutType: return IValue(static_cast<std::int64_t>(c10::Layout::Strided));
    default: return std::nullopt;
    }
}

// The entries of a list, each as a value; a single number stands for a list of it (`int[1] dim`).
std::optional<std::vector<RegionArgValue>> entriesOf(const RegionArgValue& value) {
    std::vector<RegionArgValue> entries;
    if (const auto* ints = std::get_if<std::vector<std::int64_t>>(&value))
        entries.assign(ints->begin(), ints->end());
    else if (const auto* floats = std::get_if<std::vector<double>>(&value))
        entries.assign(floats->begin(), floats->end());
    else if (const auto* bools = std::get_if<std::vector<bool>>(&value))
        for (const bool flag : *bools) entries.emplace_back(flag);
    else if (const auto* refs = std::get_if<RegionRefs>(&value); refs != nullptr && refs->empty())
        return entries;
    else if (scalarOf(value))
        entries.push_back(value);
    else
        return std::nullopt;
    return entries;
}

template <class T> std::optional<IValue> listOf(const std::vector<IValue>& items, T (*get)(const IValue&)) {
    c10::List<T> list;
    for (const IValue& item : items) list.push_back(get(item));
    return IValue(std::move(list));
}

std::optional<IValue> listOf(const TypePtr& element, const RegionArgValue& value, const Target& target) {
    const auto entries = entriesOf(value);
    if (!entries) return std::nullopt;
    const TypeKind kind = element->kind();
    std::vector<IValue> items;
    for (const RegionArgValue& entry : *entries) {
        const auto item = single(kind, entry, target);
        if (!item) return std::nullopt;
        items.push_back(*item);
    }
    switch (kind) {
    case TypeKind::IntType:
    case TypeKind::SymIntType: return listOf<std::int64_t>(items, [](const IValue& i) { return i.toInt(); });
    case TypeKind::FloatType: return listOf<double>(items, [](const IValue& i) { return i.toDouble(); });
    case TypeKind::BoolType: return listOf<bool>(items, [](const IValue& i) { return i.toBool(); });
    case TypeKind::TensorType: return listOf<at::Tensor>(items, [](const IValue& i) { return i.toTensor(); });
    case TypeKind::NumberType: {
        c10::impl::GenericList list(c10::NumberType::get());
        for (const IValue& item : items) list.push_back(item);
        return IValue(std::move(list));
    }
    default: return std::nullopt;
    }
}

Error mismatch(const c10::Argument& wanted, const RegionArgValue& value) {
    return {
        ErrorCode::Unsupported, "'" + wanted.name() + "' of type " + wanted.real_type()->str(), describe(value), {}};
}

} // namespace

Result<Argument> convert(const RegionArgValue& value, const c10::Argument& wanted, const Target& target) {
    if (auto own = runnersOwn(wanted, target)) return Argument(std::move(*own));
    bool optional = false;
    const TypePtr type = bare(wanted.real_type(), optional);
    if (std::holds_alternative<RegionNone>(value)) {
        if (optional) return Argument(IValue());
        return mismatch(wanted, value);
    }
    if (type->kind() == TypeKind::TensorType)
        if (const auto* ref = std::get_if<RegionRef>(&value)) return Argument(Binding{*ref, false});
    if (type->kind() != TypeKind::ListType) {
        if (auto constant = single(type->kind(), value, target)) return Argument(std::move(*constant));
        return mismatch(wanted, value);
    }
    bool holes = false;
    const TypePtr element = bare(type->castRaw<c10::ListType>()->getElementType(), holes);
    if (element->kind() == TypeKind::TensorType) {
        if (const auto* ref = std::get_if<RegionRef>(&value)) return Argument(Binding{RegionRefs{*ref}, holes});
        if (const auto* refs = std::get_if<RegionRefs>(&value)) {
            for (const auto& item : *refs)
                if (!holes && std::holds_alternative<RegionNone>(item)) return mismatch(wanted, value);
            return Argument(Binding{*refs, holes});
        }
        if (const auto entries = entriesOf(value); entries && entries->empty())
            return Argument(Binding{RegionRefs{}, holes});
        return mismatch(wanted, value);
    }
    if (auto list = listOf(element, value, target)) return Argument(std::move(*list));
    return mismatch(wanted, value);
}

Result<c10::IValue> absent(const c10::Argument& wanted, const Target& target) {
    if (auto own = runnersOwn(wanted, target)) return std::move(*own);
    if (wanted.default_value()) return *wanted.default_value();
    bool optional = false;
    (void)bare(wanted.real_type(), optional);
    if (optional) return IValue();
    return Error{ErrorCode::Unsupported, "the argument '" + wanted.name() + "'", "none", {}};
}

} // namespace fusescope::runner
