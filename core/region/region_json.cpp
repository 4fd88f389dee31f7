// SPDX-License-Identifier: Apache-2.0
#include "core/region/region_json.h"

#include "core/region/region_json_read.h"

#include <array>
#include <charconv>
#include <limits>
#include <utility>

namespace fusescope {
namespace {

using json::Element;
using json::Reader;

constexpr std::int64_t kInt64Least = std::numeric_limits<std::int64_t>::min(),
                       kInt64Most = std::numeric_limits<std::int64_t>::max();

DType dtypeFromShortName(std::string_view name) {
    for (int i = static_cast<int>(DType::Bool); i <= static_cast<int>(DType::Float8E5M2FNUZ); ++i)
        if (shortName(static_cast<DType>(i)) == name) return static_cast<DType>(i);
    return DType::Unknown;
}

// --- writing --------------------------------------------------------------------------------------------------------

// Numbers that JSON cannot say, and those whose shortest text has more digits than a JSON reader takes as one, as text.
void writeFloat(JsonWriter& json, double number) {
    if (std::isfinite(number) && std::fabs(number) < 1e15) {
        json.value(number);
        return;
    }
    std::array<char, 40> text{};
    const auto end = std::to_chars(text.data(), text.data() + text.size(), number, std::chars_format::scientific).ptr;
    json.value(std::string_view(text.data(), static_cast<std::size_t>(end - text.data())));
}

void writeRef(JsonWriter& json, const RegionRef& ref) {
    json.beginArray();
    if (ref.step >= 0) json.value(std::int64_t{ref.step});
    json.value(std::uint64_t{ref.index}).endArray();
}

struct ValueWriter {
    JsonWriter& json;
    void operator()(RegionNone) const { json.null(); }
    void operator()(const RegionRef& ref) const { writeRef(json, ref); }
    void operator()(bool flag) const { json.value(flag); }
    void operator()(std::int64_t number) const { json.value(number); }
    void operator()(const std::string& text) const { json.value(text); }
    void operator()(double number) const {
        json.beginObject().key("f");
        writeFloat(json, number);
        json.endObject();
    }
    void operator()(RegionDType dtype) const { json.beginObject().member("dtype", shortName(dtype.type)).endObject(); }
    void operator()(const RegionRefs& refs) const {
        json.beginObject().key("refs").beginArray();
        for (const auto& item : refs) {
            if (const auto* ref = std::get_if<RegionRef>(&item))
                writeRef(json, *ref);
            else
                json.null();
        }
        json.endArray().endObject();
    }
    void operator()(const std::vector<std::int64_t>& list) const {
        json.beginObject().key("ints").beginArray();
        for (const std::int64_t number : list) json.value(number);
        json.endArray().endObject();
    }
    void operator()(const std::vector<double>& list) const {
        json.beginObject().key("floats").beginArray();
        for (const double number : list) writeFloat(json, number);
        json.endArray().endObject();
    }
    void operator()(const std::vector<bool>& list) const {
        json.beginObject().key("bools").beginArray();
        for (const bool flag : list) json.value(flag);
        json.endArray().endObject();
    }
};

void writeSizes(JsonWriter& json, const std::vector<std::int64_t>& sizes) {
    json.beginArray();
    for (const std::int64_t size : sizes) json.value(size);
    json.endArray();
}

void writeInput(JsonWriter& json, const RegionInput& input) {
    json.beginObject().member("name", input.name).member("dtype", shortName(input.meta.dtype)).key("sizes");
    writeSizes(json, input.meta.sizes);
    if (!input.meta.strides.empty()) {
        json.key("strides");
        writeSizes(json, input.meta.strides);
    }
    json.member("fill", nameOf(input.fill)).member("scale", input.scale);
    if (input.bound != 0) json.member("bound", input.bound);
    json.member("gradient", input.gradient).endObject();
}

void writeProgram(JsonWriter& json, const RegionProgram& program) {
    json.beginObject().key("steps").beginArray();
    for (const RegionStep& step : program.steps) {
        json.beginArray().value(step.overload.empty() ? step.op : step.op + "." + step.overload);
        json.value(std::uint64_t{step.outputs}).value(step.label).beginArray();
        for (const RegionArg& arg : step.args) {
            json.beginArray().value(arg.name);
            std::visit(ValueWriter{json}, arg.value);
            if (arg.keyword) json.value(true);
            json.endArray();
        }
        json.endArray().endArray();
    }
    json.endArray().key("outputs").beginArray();
    for (const RegionRef& ref : program.outputs) writeRef(json, ref);
    json.endArray().endObject();
}

// --- reading --------------------------------------------------------------------------------------------------------

bool readRef(Reader& reader, Element item, RegionRef& out) {
    json::Array array;
    if (item.get(array) != simdjson::SUCCESS || array.size() < 1 || array.size() > 2)
        return reader.fail("a value as [input] or [step, output]", json::describe(item));
    std::int64_t first = 0, second = 0;
    if (!reader.whole(array.at(0).value_unsafe(), first, 0, 0x7FFFFFFF)) return false;
    if (array.size() == 1) {
        out = {-1, static_cast<std::uint32_t>(first)};
        return true;
    }
    if (!reader.whole(array.at(1).value_unsafe(), second, 0, 0x7FFFFFFF)) return false;
    out = {static_cast<std::int32_t>(first), static_cast<std::uint32_t>(second)};
    return true;
}

bool readFloat(Reader& reader, Element item, double& out) {
    std::string_view text;
    if (item.get(text) != simdjson::SUCCESS) return reader.number(item, out, -1e300, 1e300);
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), out);
    if (problem != std::errc{} || end != text.data() + text.size())
        return reader.fail("a number as text", json::describe(item));
    out += 0.0; // no -0
    return true;
}

bool readDType(Reader& reader, Element item, DType& out) {
    std::string name;
    if (!reader.text(item, name, 32)) return false;
    out = dtypeFromShortName(name);
    return out != DType::Unknown || reader.fail("a type of elements as bf16", "'" + name + "'");
}

template <class T, class One> bool readList(Reader& reader, Element item, RegionArgValue& out, One one) {
    std::vector<T> list;
    if (!reader.each(item, kMaxRegionList, [&](Element entry) {
            T value{};
            if (!one(entry, value)) return false;
            list.push_back(value);
            return true;
        }))
        return false;
    out = std::move(list);
    return true;
}

bool readTagged(Reader& reader, Element item, RegionArgValue& out) {
    if (const auto number = Reader::find(item, "f")) {
        double value = 0;
        if (!readFloat(reader, *number, value)) return false;
        out = value;
        return true;
    }
    if (const auto name = Reader::find(item, "dtype")) {
        RegionDType dtype;
        if (!readDType(reader, *name, dtype.type)) return false;
        out = dtype;
        return true;
    }
    if (const auto list = Reader::find(item, "refs")) {
        RegionRefs refs;
        if (!reader.each(*list, kMaxRegionList, [&](Element entry) {
                RegionRef ref;
                if (entry.is_null()) return refs.emplace_back(RegionNone{}), true;
                return readRef(reader, entry, ref) && (refs.emplace_back(ref), true);
            }))
            return false;
        out = std::move(refs);
        return true;
    }
    if (const auto list = Reader::find(item, "ints"))
        return readList<std::int64_t>(reader, *list, out, [&](Element entry, std::int64_t& value) {
            return reader.whole(entry, value, kInt64Least, kInt64Most);
        });
    if (const auto list = Reader::find(item, "floats"))
        return readList<double>(reader, *list, out,
                                [&](Element entry, double& value) { return readFloat(reader, entry, value); });
    if (const auto list = Reader::find(item, "bools"))
        return readList<bool>(reader, *list, out, [&](Element entry, auto&& value) {
            bool flag = false;
            if (entry.get(flag) != simdjson::SUCCESS) return reader.fail("true or false", json::describe(entry));
            value = flag;
            return true;
        });
    return reader.fail("a value with one of f, dtype, refs, ints, floats, bools", "an object without them");
}

bool readValue(Reader& reader, Element item, RegionArgValue& out) {
    bool flag = false;
    std::int64_t number = 0;
    std::string text;
    RegionRef ref;
    using Type = simdjson::dom::element_type;
    switch (item.type()) {
    case Type::NULL_VALUE: return out = RegionNone{}, true;
    case Type::BOOL: return item.get(flag) == simdjson::SUCCESS && (out = flag, true);
    case Type::STRING: return reader.text(item, text, kMaxRegionText) && (out = std::move(text), true);
    case Type::ARRAY: return readRef(reader, item, ref) && (out = ref, true);
    case Type::OBJECT: return readTagged(reader, item, out);
    default: return reader.whole(item, number, kInt64Least, kInt64Most) && (out = number, true);
    }
}

bool readArg(Reader& reader, Element item, RegionArg& out) {
    json::Array array;
    if (item.get(array) != simdjson::SUCCESS || array.size() < 2 || array.size() > 3)
        return reader.fail("an argument as [name, value] or [name, value, true]", json::describe(item));
    bool flag = false;
    if (array.size() == 3 && array.at(2).get(flag) != simdjson::SUCCESS)
        return reader.fail("true or false", "something else");
    out.keyword = flag;
    return reader.text(array.at(0).value_unsafe(), out.name, kMaxRegionName) &&
           readValue(reader, array.at(1).value_unsafe(), out.value);
}

bool readStep(Reader& reader, Element item, RegionStep& out) {
    json::Array array;
    if (item.get(array) != simdjson::SUCCESS || array.size() < 4)
        return reader.fail("a step as [operator, outputs, label, arguments]", json::describe(item));
    std::int64_t outputs = 0;
    if (!reader.text(array.at(0).value_unsafe(), out.op, kMaxRegionName) ||
        !reader.whole(array.at(1).value_unsafe(), outputs, 0, kMaxRegionList) ||
        !reader.text(array.at(2).value_unsafe(), out.label, kMaxRegionName))
        return false;
    out.outputs = static_cast<std::uint32_t>(outputs);
    if (const std::size_t dot = out.op.find('.'); dot != std::string::npos) {
        out.overload = out.op.substr(dot + 1);
        out.op.resize(dot);
    }
    const Reader::At at(reader, "args");
    return reader.each(array.at(3).value_unsafe(), kMaxRegionArgs,
                       [&](Element arg) { return readArg(reader, arg, out.args.emplace_back()); });
}

bool readProgram(Reader& reader, Element object, RegionProgram& out) {
    if (!object.is_object()) return reader.fail("a program", json::describe(object));
    return reader.each(object, "steps", kMaxRegionSteps, [&](Element step) {
        return readStep(reader, step, out.steps.emplace_back());
    }) && reader.each(object, "outputs", kMaxRegionSteps, [&](Element ref) {
        return readRef(reader, ref, out.outputs.emplace_back());
    });
}

bool readSizes(Reader& reader, Element object, const char* key, std::vector<std::int64_t>& out) {
    return reader.each(object, key, kMaxRegionDims,
                       [&](Element size) { return reader.whole(size, out.emplace_back(), 0, std::int64_t{1} << 52); });
}

bool readInput(Reader& reader, Element object, RegionInput& out) {
    if (!object.is_object()) return reader.fail("an input", json::describe(object));
    const auto dtype = reader.need(object, "dtype");
    std::string fill = "normal";
    if (!dtype || !readDType(reader, *dtype, out.meta.dtype) || !reader.need(object, "sizes") ||
        !reader.text(object, "name", out.name, kMaxRegionName) || !readSizes(reader, object, "sizes", out.meta.sizes) ||
        !readSizes(reader, object, "strides", out.meta.strides) || !reader.text(object, "fill", fill, 32) ||
        !reader.number(object, "scale", out.scale) || !reader.whole(object, "bound", out.bound, 0, kInt64Most) ||
        !reader.flag(object, "gradient", out.gradient))
        return false;
    out.meta.requires_grad = out.gradient;
    for (int i = 0; i <= static_cast<int>(Fill::NearOne); ++i) {
        if (nameOf(static_cast<Fill>(i)) != fill) continue;
        out.fill = static_cast<Fill>(i);
        return true;
    }
    return reader.fail("a fill as normal or causal", "'" + fill + "'");
}

} // namespace

void writeRegion(JsonWriter& json, const Region& region) {
    json.beginObject().member("id", region.id).member("pattern", region.pattern).member("title", region.title);
    json.key("inputs").beginArray();
    for (const RegionInput& input : region.inputs) writeInput(json, input);
    json.endArray().key("baseline");
    writeProgram(json, region.baseline);
    if (!region.fused.steps.empty()) {
        json.key("fused");
        writeProgram(json, region.fused);
    }
    json.member("reason", region.reason);
    json.member("fused_bytes", region.fused_bytes).member("fused_backward_bytes", region.fused_backward_bytes);
    json.member("fused_flops", region.fused_flops).member("fused_backward_flops", region.fused_backward_flops);
    json.member("backward", region.backward).member("numerics", region.numerics).endObject();
}

std::string regionJson(const Region& region) {
    JsonWriter json;
    writeRegion(json, region);
    return std::move(json).take();
}

bool readRegion(Reader& reader, Element object, Region& out) {
    if (!object.is_object()) return reader.fail("a region", json::describe(object));
    if (!reader.text(object, "id", out.id, kMaxRegionName) ||
        !reader.text(object, "pattern", out.pattern, kMaxRegionName) ||
        !reader.text(object, "title", out.title, kMaxRegionText) ||
        !reader.each(object, "inputs", kMaxRegionInputs,
                     [&](Element input) { return readInput(reader, input, out.inputs.emplace_back()); }))
        return false;
    for (const auto& [key, program] : {std::pair("baseline", &out.baseline), std::pair("fused", &out.fused)}) {
        const Reader::At at(reader, key);
        const auto value = Reader::find(object, key);
        if (value && !readProgram(reader, *value, *program)) return false;
    }
    if (!reader.text(object, "reason", out.reason, kMaxRegionText) ||
        !reader.amount(object, "fused_bytes", out.fused_bytes) ||
        !reader.amount(object, "fused_backward_bytes", out.fused_backward_bytes) ||
        !reader.amount(object, "fused_flops", out.fused_flops) ||
        !reader.amount(object, "fused_backward_flops", out.fused_backward_flops) ||
        !reader.flag(object, "backward", out.backward) ||
        !reader.text(object, "numerics", out.numerics, kMaxRegionName))
        return false;
    if (const Status status = checkRegion(out); !status)
        return reader.fail(status.error().expected, status.error().found + " (" + status.error().where + ")",
                           status.error().code);
    return true;
}

Result<Region> regionFromJson(std::string_view text, std::size_t most_bytes) {
    simdjson::dom::parser parser;
    Reader reader("region");
    Region region;
    const auto root = reader.parse(parser, text, most_bytes);
    if (!root || !readRegion(reader, *root, region)) return reader.error();
    return region;
}

} // namespace fusescope
