// SPDX-License-Identifier: Apache-2.0
#include "core/io/pt2/pt2_json.h"

#include <array>
#include <charconv>
#include <cmath>

namespace fusescope::pt2 {
namespace {

constexpr std::size_t kMaxDims = 64;

std::string numbered(std::string_view what, std::int64_t number) {
    return std::string(what).append("(").append(std::to_string(number)).append(")");
}

} // namespace

std::optional<Json> member(Json json, std::string_view key) {
    Json found;
    if (!json.is_object() || json.at_key(key).get(found) != simdjson::SUCCESS || found.is_null()) return std::nullopt;
    return found;
}

std::string_view textMember(Json json, std::string_view key) {
    const auto found = member(json, key);
    std::string_view text;
    if (!found || found->get(text) != simdjson::SUCCESS) return {};
    return text;
}

std::optional<JsonArray> arrayMember(Json json, std::string_view key) {
    const auto found = member(json, key);
    JsonArray array;
    if (!found || found->get(array) != simdjson::SUCCESS) return std::nullopt;
    return array;
}

std::optional<JsonObject> objectMember(Json json, std::string_view key) {
    const auto found = member(json, key);
    JsonObject object;
    if (!found || found->get(object) != simdjson::SUCCESS) return std::nullopt;
    return object;
}

bool flagMember(Json json, std::string_view key) {
    const auto found = member(json, key);
    bool flag = false;
    return found && found->get(flag) == simdjson::SUCCESS && flag;
}

std::optional<std::int64_t> integer(Json json) {
    std::int64_t number = 0;
    if (json.get(number) == simdjson::SUCCESS) return number;
    return std::nullopt;
}

Union unionOf(Json json) {
    JsonObject object;
    if (json.get(object) != simdjson::SUCCESS) return {};
    for (const char* const key : {"$type", "type"}) {
        const std::string_view tag = textMember(json, key);
        if (!tag.empty()) return {tag, member(json, key[0] == '$' ? "$value" : "value")};
    }
    Union none;
    for (const auto field : object) {
        if (field.value.is_null()) {
            if (none.tag.empty()) none.tag = field.key;
            continue;
        }
        return {field.key, field.value};
    }
    return none;
}

std::int64_t symbolicInt(Json json) {
    if (const auto number = integer(json)) return *number;
    const Union symbol = unionOf(json);
    if (!symbol.value) return kDynamicSize;
    if (const auto number = integer(*symbol.value)) return *number;
    const auto hint = member(*symbol.value, "hint");
    if (!hint) return kDynamicSize;
    if (const auto number = integer(*hint)) return *number;
    const Union value = unionOf(*hint);
    return value.value ? integer(*value.value).value_or(kDynamicSize) : kDynamicSize;
}

TensorMeta tensorMeta(Json json) {
    TensorMeta meta;
    if (const auto dtype = member(json, "dtype")) meta.dtype = dtypeFromExportSchema(integer(*dtype).value_or(0));
    const auto numbers = [&](std::string_view key, std::vector<std::int64_t>& out) {
        const auto array = arrayMember(json, key);
        if (!array) return;
        for (const Json size : *array) {
            if (out.size() == kMaxDims) break;
            const std::int64_t number = symbolicInt(size);
            out.push_back(number < 0 ? kDynamicSize : number);
        }
    };
    numbers("sizes", meta.sizes);
    numbers("strides", meta.strides);
    if (meta.strides.size() != meta.sizes.size()) meta.strides.clear();
    meta.requires_grad = flagMember(json, "requires_grad");
    return meta;
}

std::string pythonFloat(double number) {
    if (std::isnan(number)) return "nan";
    if (std::isinf(number)) return number < 0 ? "-inf" : "inf";
    std::array<char, 64> buffer{};
    // Python's repr: the shortest digits that read back, in exponent form below 1e-4 and from 1e16 on.
    const double size = std::fabs(number);
    const bool exponent = size != 0 && (size < 1e-4 || size >= 1e16);
    const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number,
                                   exponent ? std::chars_format::scientific : std::chars_format::fixed);
    std::string text(buffer.data(), end.ptr);
    if (!exponent && text.find('.') == std::string::npos) text += ".0";
    return text;
}

std::string torchDType(std::int64_t number) {
    switch (number) {
    case 1: return "torch.uint8";
    case 2: return "torch.int8";
    case 3: return "torch.int16";
    case 4: return "torch.int32";
    case 5: return "torch.int64";
    case 6: return "torch.float16";
    case 7: return "torch.float32";
    case 8: return "torch.float64";
    case 9: return "torch.complex32";
    case 10: return "torch.complex64";
    case 11: return "torch.complex128";
    case 12: return "torch.bool";
    case 13: return "torch.bfloat16";
    case 28: return "torch.uint16";
    case 29: return "torch.float8_e4m3fn";
    case 30: return "torch.float8_e5m2";
    case 31: return "torch.float8_e4m3fnuz";
    case 32: return "torch.float8_e5m2fnuz";
    default: return numbered("torch.dtype", number);
    }
}

std::string torchLayout(std::int64_t number) {
    constexpr std::array kNames{"",
                                "torch.sparse_coo",
                                "torch.sparse_csr",
                                "torch.sparse_csc",
                                "torch.sparse_bsr",
                                "torch.sparse_bsc",
                                "torch._mkldnn",
                                "torch.strided"};
    if (number > 0 && number < static_cast<std::int64_t>(kNames.size()))
        return kNames[static_cast<std::size_t>(number)];
    return numbered("torch.layout", number);
}

std::string torchMemoryFormat(std::int64_t number) {
    constexpr std::array kNames{"", "torch.contiguous_format", "torch.channels_last", "torch.channels_last_3d",
                                "torch.preserve_format"};
    if (number > 0 && number < static_cast<std::int64_t>(kNames.size()))
        return kNames[static_cast<std::size_t>(number)];
    return numbered("torch.memory_format", number);
}

std::string deviceText(Json json) {
    std::string text(textMember(json, "type"));
    if (const auto index = member(json, "index"))
        if (const auto number = integer(*index)) text.append(":").append(std::to_string(*number));
    return text.empty() ? "?" : text;
}

} // namespace fusescope::pt2
