// SPDX-License-Identifier: Apache-2.0
#include "core/region/node_step.h"

#include "core/graph/module_path.h"

#include <array>
#include <charconv>
#include <optional>

namespace fusescope::region {
namespace {

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
    return text;
}

bool startsWith(std::string_view text, std::string_view prefix) { return text.substr(0, prefix.size()) == prefix; }

std::string shown(std::string_view text) { return "'" + std::string(text.substr(0, 60)) + "'"; }

// Names of torch's types in Python.
DType torchDType(std::string_view name) {
    struct Row {
        std::string_view name;
        DType type;
    };
    constexpr std::array rows{
        Row{"bool", DType::Bool},
        Row{"uint8", DType::UInt8},
        Row{"int8", DType::Int8},
        Row{"uint16", DType::UInt16},
        Row{"int16", DType::Int16},
        Row{"uint32", DType::UInt32},
        Row{"int32", DType::Int32},
        Row{"uint64", DType::UInt64},
        Row{"int64", DType::Int64},
        Row{"float16", DType::Float16},
        Row{"half", DType::Float16},
        Row{"bfloat16", DType::BFloat16},
        Row{"float32", DType::Float32},
        Row{"float", DType::Float32},
        Row{"float64", DType::Float64},
        Row{"double", DType::Float64},
        Row{"complex32", DType::Complex32},
        Row{"complex64", DType::Complex64},
        Row{"complex128", DType::Complex128},
        Row{"float8_e4m3fn", DType::Float8E4M3FN},
        Row{"float8_e5m2", DType::Float8E5M2},
        Row{"float8_e4m3fnuz", DType::Float8E4M3FNUZ},
        Row{"float8_e5m2fnuz", DType::Float8E5M2FNUZ},
    };
    for (const Row& row : rows)
        if (row.name == name) return row.type;
    return DType::Unknown;
}

using Scalar = std::variant<bool, std::int64_t, double>;

std::optional<Scalar> scalarOf(std::string_view text) {
    if (text == "True" || text == "true") return Scalar(true);
    if (text == "False" || text == "false") return Scalar(false);
    std::int64_t whole = 0;
    auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), whole);
    if (problem == std::errc{} && end == text.data() + text.size()) return Scalar(whole);
    double number = 0; // "1e-06", "inf", "-inf", "nan"
    const auto [stop, wrong] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (wrong == std::errc{} && stop == text.data() + text.size()) return Scalar(number);
    return std::nullopt;
}

Error noForm(std::string_view found) {
    return {ErrorCode::Unsupported, "an argument that a step can hold", shown(found), {}};
}

// The entries of "[a, b]".
std::optional<std::vector<std::string_view>> entriesOf(std::string_view text) {
    text = trimmed(text);
    if (text.size() < 2 || text.front() != '[' || text.back() != ']') return std::nullopt;
    text = text.substr(1, text.size() - 2);
    std::vector<std::string_view> entries;
    if (trimmed(text).empty()) return entries;
    while (true) {
        const std::size_t comma = text.find(',');
        entries.push_back(trimmed(text.substr(0, comma)));
        if (entries.size() > kMaxRegionList) return std::nullopt;
        if (comma == std::string_view::npos) return entries;
        text.remove_prefix(comma + 1);
    }
}

Result<RegionArgValue> listOfText(std::string_view text) {
    const auto entries = entriesOf(text);
    if (!entries) return noForm(text);
    std::vector<Scalar> scalars;
    bool any_double = false, all_bool = !entries->empty();
    for (const std::string_view entry : *entries) {
        const auto scalar = scalarOf(entry);
        if (!scalar) return noForm(text);
        any_double = any_double || std::holds_alternative<double>(*scalar);
        all_bool = all_bool && std::holds_alternative<bool>(*scalar);
        scalars.push_back(*scalar);
    }
    std::vector<bool> bools;
    std::vector<double> doubles;
    std::vector<std::int64_t> whole;
    for (const Scalar& scalar : scalars) {
        if (all_bool) {
            bools.push_back(std::get<bool>(scalar));
        } else if (const auto* flag = std::get_if<bool>(&scalar)) {
            return noForm(*flag ? "a list of numbers and True" : "a list of numbers and False");
        } else if (any_double) {
            const auto* number = std::get_if<std::int64_t>(&scalar);
            doubles.push_back(number != nullptr ? static_cast<double>(*number) : std::get<double>(scalar));
        } else {
            whole.push_back(std::get<std::int64_t>(scalar));
        }
    }
    if (all_bool) return RegionArgValue(std::move(bools));
    if (any_double) return RegionArgValue(std::move(doubles));
    return RegionArgValue(std::move(whole));
}

// Where tensors are is the runner's affair.
bool saysWhere(std::string_view argument) {
    return argument == "device" || argument == "layout" || argument == "pin_memory";
}

Result<RegionArgValue> tensorsOf(const OpGraph& graph, const GraphArg& arg) {
    RegionRefs refs;
    const auto values = graph.valuesOf(arg);
    const std::string_view text = graph.strings.view(arg.text);
    if (text.empty()) {
        for (const ValueId value : values) refs.emplace_back(refTo(value));
        return RegionArgValue(std::move(refs));
    }
    const auto entries = entriesOf(text); // with holes: "[None, %x]"
    std::size_t next = 0;
    if (!entries) return noForm(text);
    for (const std::string_view entry : *entries) {
        if (entry == "None")
            refs.emplace_back(RegionNone{});
        else if (startsWith(entry, "%") && next < values.size())
            refs.emplace_back(refTo(values[next++]));
        else
            return noForm(text);
    }
    if (next != values.size()) return noForm(text);
    return RegionArgValue(std::move(refs));
}

Result<RegionArgValue> valueOfArg(const OpGraph& graph, const GraphArg& arg) {
    const auto values = graph.valuesOf(arg);
    for (const ValueId value : values)
        if (graph.at(value).kind == ValueKind::Symbol)
            return Error{ErrorCode::Unsupported,
                         "sizes that are known",
                         "%" + std::string(graph.strings.view(graph.at(value).name)) +
                             ", known only when the model runs",
                         {}};
    if (arg.kind == ArgKind::Tensor) {
        if (values.size() != 1) return noForm(graph.strings.view(arg.text));
        return RegionArgValue(refTo(values.front()));
    }
    if (arg.kind == ArgKind::TensorList) return tensorsOf(graph, arg);
    const std::string_view text = graph.strings.view(arg.text);
    if (!values.empty()) return noForm(text);
    return valueOfText(text, arg.kind);
}

} // namespace

Result<RegionArgValue> valueOfText(std::string_view text, ArgKind kind) {
    if (kind == ArgKind::None || text == "None") return RegionArgValue(RegionNone{});
    if (kind == ArgKind::ScalarList) return listOfText(text);
    if (kind == ArgKind::Scalar) {
        const auto scalar = scalarOf(trimmed(text));
        if (!scalar) return noForm(text);
        return std::visit([](auto value) { return RegionArgValue(value); }, *scalar);
    }
    if (kind != ArgKind::Text) return noForm(text);
    if (text.size() > 4096 || startsWith(text, "{") || startsWith(text, "%")) return noForm(text);
    if (startsWith(text, "torch.")) {
        const std::string_view name = text.substr(6);
        if (const DType type = torchDType(name); type != DType::Unknown) return RegionArgValue(RegionDType{type});
        return RegionArgValue(std::string(name)); // "contiguous_format"
    }
    return RegionArgValue(std::string(text));
}

Result<Form> formOfNode(const OpGraph& graph, NodeId id) {
    const Node& node = graph.at(id);
    const std::string_view target = graph.strings.view(node.target), op = graph.op(id);
    const auto problem = [&](Error error) {
        error.where = graph.name(id);
        return error;
    };
    if (!startsWith(target, "torch.ops.") || op.find("::") == std::string_view::npos)
        return problem({ErrorCode::Unsupported, "an operator of torch.ops", shown(target), {}});
    Form form;
    RegionStep step;
    step.op = op;
    step.overload = lastComponent(target);
    if (step.overload == "default") step.overload.clear();
    step.label = graph.name(id);
    step.outputs = node.outputs;
    for (const GraphArg& arg : graph.argsOf(id)) {
        const std::string_view name = graph.strings.view(arg.name);
        if (saysWhere(name)) continue;
        Result<RegionArgValue> value = valueOfArg(graph, arg);
        if (!value) return problem(std::move(value).error());
        step.args.push_back({std::string(name), arg.keyword, std::move(*value)});
    }
    // Their other forms do the same without a device, and without changing an input.
    if (step.op == "aten::to" && step.overload == "device") step.overload = "dtype";
    if (step.op == "aten::detach_") step.op = "aten::detach";
    form.steps.push_back(std::move(step));
    for (std::uint32_t output = 0; output < node.outputs; ++output)
        form.makes.emplace_back(graph.output(id, output), RegionRef{0, output});
    return form;
}

} // namespace fusescope::region
