// SPDX-License-Identifier: Apache-2.0
#include "core/region/chain_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>

namespace fusescope::region {
namespace {

using fusion::GraphFlow;
using fusion::OpCode;

constexpr std::size_t kMostInputs = 24, kMostOutputs = 8, kMostLines = 256, kMostDims = 8;

struct Row {
    std::string_view aten, chain;
};
constexpr std::array kUnary{
    Row{"neg", "neg"},
    Row{"abs", "abs"},
    Row{"reciprocal", "reciprocal"},
    Row{"sqrt", "sqrt"},
    Row{"rsqrt", "rsqrt"},
    Row{"exp", "exp"},
    Row{"log", "log"},
    Row{"tanh", "tanh"},
    Row{"sigmoid", "sigmoid"},
    Row{"silu", "silu"},
    Row{"relu", "relu"},
    Row{"erf", "erf"},
    Row{"square", "square"},
    Row{"sin", "sin"},
    Row{"cos", "cos"},
    Row{"floor", "floor"},
    Row{"ceil", "ceil"},
    Row{"trunc", "trunc"},
    Row{"round", "round"},
    Row{"expm1", "expm1"},
    Row{"log1p", "log1p"},
    Row{"logical_not", "logical_not"},
};
constexpr std::array kBinary{
    Row{"add", "add"},
    Row{"sub", "sub"},
    Row{"mul", "mul"},
    Row{"div", "div"},
    Row{"maximum", "maximum"},
    Row{"minimum", "minimum"},
    Row{"eq", "eq"},
    Row{"ne", "ne"},
    Row{"lt", "lt"},
    Row{"le", "le"},
    Row{"gt", "gt"},
    Row{"ge", "ge"},
    Row{"logical_and", "logical_and"},
    Row{"logical_or", "logical_or"},
    Row{"__and__", "logical_and"},
    Row{"bitwise_and", "logical_and"},
    Row{"__or__", "logical_or"},
    Row{"bitwise_or", "logical_or"},
};

constexpr std::array<std::string_view, 13> kOthers{"gelu",      "rsub",    "pow",         "clamp", "clamp_min",
                                                   "clamp_max", "where",   "masked_fill", "mean",  "sum",
                                                   "amax",      "softmax", "_softmax"};

template <class Table> std::string_view find(const Table& table, std::string_view name) {
    for (const Row& row : table)
        if (row.aten == name) return row.chain;
    return {};
}

std::string_view typeName(DType type) {
    switch (type) {
    case DType::Float32:
    case DType::Float16:
    case DType::BFloat16:
    case DType::Float64:
    case DType::Int64:
    case DType::Int32:
    case DType::Bool: return shortName(type);
    default: return {};
    }
}

bool isFloat(DType type) {
    return type == DType::Float32 || type == DType::Float16 || type == DType::BFloat16 || type == DType::Float64;
}

bool broadcast(std::vector<std::int64_t>& all, const std::vector<std::int64_t>& one) {
    if (one.size() > all.size()) all.insert(all.begin(), one.size() - all.size(), 1);
    for (std::size_t d = 1; d <= one.size(); ++d) {
        std::int64_t& size = all[all.size() - d];
        const std::int64_t other = one[one.size() - d];
        if (size != other && size != 1 && other != 1) return false;
        if (size == 1) size = other;
    }
    return true;
}

std::string numberText(double number) {
    if (std::isnan(number)) return "nan";
    if (std::isinf(number)) return number < 0 ? "-inf" : "inf";
    std::array<char, 40> text{};
    const auto end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
    return {text.data(), end};
}

class Writer {
public:
    Writer(const GraphFlow& graph, const Subgraph& part) : g_(graph), part_(part) {}

    Form write() {
        for (const NodeId node : part_.nodes) // said before anything of shapes
            if (!isKnown(node)) refuse(node, "is no elementwise operator of a chain");
        if (problem_.empty()) addInputs();
        for (const NodeId node : part_.nodes)
            if (problem_.empty()) addNode(node);
        if (problem_.empty()) addOutputs();
        Form form;
        if (!problem_.empty()) {
            form.reason = problem_;
            return form;
        }
        RegionRefs refs;
        for (const ValueId value : inputs_) refs.emplace_back(refTo(value));
        RegionStep step{"fusescope::pointwise_chain",
                        "",
                        {{"inputs", false, std::move(refs)}, {"program", false, text_}},
                        static_cast<std::uint32_t>(part_.outputs.size()),
                        "pointwise_chain"};
        form.steps.push_back(std::move(step));
        for (std::uint32_t i = 0; i < part_.outputs.size(); ++i)
            form.makes.emplace_back(part_.outputs[i], RegionRef{0, i});
        return form;
    }

private:
    void refuse(std::string why) {
        if (problem_.empty()) problem_ = std::move(why);
    }
    void refuse(NodeId node, const std::string& why) {
        refuse(g_.name(node) + " (" + std::string(g_.ops().op(node)) + ") " + why);
    }

    [[nodiscard]] bool isKnown(NodeId node) const {
        std::string_view op = g_.ops().op(node);
        if (op.substr(0, 6) != "aten::" || g_.ops().at(node).outputs != 1) return false;
        op.remove_prefix(6);
        const OpCode code = g_.code(node);
        if (code == OpCode::View || code == OpCode::Cast || !find(kUnary, op).empty() || !find(kBinary, op).empty())
            return true;
        return std::find(kOthers.begin(), kOthers.end(), op) != kOthers.end();
    }

    void addInputs() {
        std::vector<std::int64_t> region;
        for (const NodeId node : part_.nodes)
            for (const GraphArg& arg : g_.ops().argsOf(node)) {
                if (arg.kind != ArgKind::Tensor && arg.kind != ArgKind::TensorList) continue;
                for (const ValueId value : g_.ops().valuesOf(arg)) {
                    if (part_.has(g_.producer(value)) || lines_.contains(value.value)) continue;
                    const TensorMeta& meta = g_.meta(value);
                    const std::string name(g_.ops().strings.view(g_.ops().at(value).name));
                    if (typeName(meta.dtype).empty()) return refuse("%" + name + " has a type that no chain takes");
                    if (meta.sizes.size() > kMostDims || !broadcast(region, meta.sizes))
                        return refuse("%" + name + " has a shape that does not fit the others");
                    lines_[value.value] = inputs_.size();
                    inputs_.push_back(value);
                    text_ += "%" + std::to_string(next_++) + " = input " + std::string(typeName(meta.dtype)) + "\n";
                }
            }
        if (inputs_.empty()) refuse("nothing enters the nodes");
        if (inputs_.size() > kMostInputs) refuse("more than 24 values enter the nodes");
        region_ = std::move(region);
    }

    // A line; its number.
    std::size_t line(std::string_view op, DType type, const std::string& operands) {
        if (next_ >= kMostLines) refuse("more than 256 operators");
        if (operands.empty() || operands.front() == ' ' || operands.back() == ' ') refuse("an operand is missing");
        text_ += "%" + std::to_string(next_) + " = " + std::string(op) + "." + std::string(typeName(type)) + " " +
                 operands + "\n";
        return next_++;
    }

    std::string operand(ValueId value) {
        const auto found = lines_.find(value.value);
        if (found == lines_.end()) {
            refuse("%" + std::string(g_.ops().strings.view(g_.ops().at(value).name)) + " is not known");
            return {};
        }
        return "%" + std::to_string(found->second);
    }

    [[nodiscard]] const GraphArg* argument(NodeId node, std::string_view name, std::size_t position) const {
        std::size_t i = 0;
        for (const GraphArg& arg : g_.ops().argsOf(node)) {
            const std::string_view given = g_.ops().strings.view(arg.name);
            if (given == name || (given.empty() && i == position)) return &arg;
            ++i;
        }
        return nullptr;
    }

    // A tensor's line or a number; "" when the argument is absent or None.
    std::string operandOf(NodeId node, std::string_view name, std::size_t position) {
        const GraphArg* arg = argument(node, name, position);
        if (arg == nullptr) return {};
        if (arg->kind == ArgKind::Tensor) return operand(g_.ops().valuesOf(*arg).front());
        const Result<RegionArgValue> value = valueOfText(g_.ops().strings.view(arg->text), arg->kind);
        if (!value) return {};
        if (const auto* flag = std::get_if<bool>(&*value)) return *flag ? "true" : "false";
        if (const auto* whole = std::get_if<std::int64_t>(&*value)) return std::to_string(*whole);
        if (const auto* number = std::get_if<double>(&*value)) return numberText(*number);
        return {};
    }

    void addNode(NodeId node) {
        const OpGraph& ops = g_.ops();
        const ValueId out = g_.out(node), self = g_.in(node, 0);
        const TensorMeta& meta = g_.meta(out);
        std::string_view op = ops.op(node);
        op.remove_prefix(6); // isKnown()
        if (typeName(meta.dtype).empty()) return refuse(node, "returns a type that no chain has");
        if (meta.sizes.size() > kMostDims) return refuse(node, "has more than 8 dimensions");
        for (std::size_t i = 0; g_.in(node, i).valid(); ++i) {
            const TensorMeta& in = g_.meta(g_.in(node, i));
            if (in.sizes.empty() && in.dtype != meta.dtype && meta.dtype != DType::Bool)
                return refuse(node, "takes a single number of another type");
        }
        const OpCode code = g_.code(node);
        if (code == OpCode::View) {
            const auto seen = lines_.find(self.value);
            if (g_.meta(self).sizes != meta.sizes || seen == lines_.end()) return refuse(node, "changes the shape");
            lines_[out.value] = seen->second;
            return;
        }
        const std::size_t number = operatorOf(node, op, code, meta.dtype);
        if (problem_.empty()) lines_[out.value] = number;
    }

    std::size_t operatorOf(NodeId node, std::string_view op, OpCode code, DType type) {
        const auto self = [&] { return operandOf(node, "self", 0); };
        if (code == OpCode::Cast) return line("to", type, self());
        if (const auto name = find(kUnary, op); !name.empty()) {
            const bool number = name == "neg" || name == "abs" || name == "relu" || name == "square";
            if (name != "logical_not" && !isFloat(type) && (!number || type == DType::Bool))
                refuse(node, "returns a type that no chain has for it");
            return line(name, type, self());
        }
        if (const auto name = find(kBinary, op); !name.empty()) return binary(node, name, type);
        if (op == "gelu") {
            const bool tanh = g_.ops().argText(node, "approximate") == "tanh";
            return line(tanh ? "gelu_tanh" : "gelu", type, self());
        }
        if (op == "rsub" && operandOf(node, "alpha", 9).empty())
            return line("sub", type, operandOf(node, "other", 1) + " " + self());
        if (op == "pow" && g_.in(node, 0).valid() && !g_.in(node, 1).valid()) {
            const std::string exponent = operandOf(node, "exponent", 1);
            if (!exponent.empty() && exponent[0] != '%') return line("pow", type, self() + " " + exponent);
        }
        if (op == "clamp" || op == "clamp_min" || op == "clamp_max") {
            const std::string low = op == "clamp_max" ? "" : operandOf(node, "min", 1);
            const std::string high = op == "clamp_min" ? "" : operandOf(node, "max", op == "clamp" ? 2 : 1);
            if (!low.empty() || !high.empty())
                return line("clamp", type,
                            self() + " " + (low.empty() ? "none" : low) + " " + (high.empty() ? "none" : high));
        }
        if (op == "where" || op == "masked_fill") {
            const bool fill = op == "masked_fill";
            const std::string when = fill ? operandOf(node, "mask", 1) : operandOf(node, "condition", 0),
                              then = fill ? operandOf(node, "value", 2) : operandOf(node, "self", 1),
                              otherwise = fill ? self() : operandOf(node, "other", 2);
            const ValueId condition = g_.in(node, fill ? 1 : 0);
            if (!when.empty() && !then.empty() && !otherwise.empty() && g_.meta(condition).dtype == DType::Bool)
                return line("where", type, when + " " + then + " " + otherwise);
        }
        if (op == "mean" || op == "sum" || op == "amax") return reduction(node, op, type);
        if (op == "softmax" || op == "_softmax") return softmax(node, type);
        refuse(node, "has arguments that no chain takes");
        return 0;
    }

    std::size_t binary(NodeId node, std::string_view name, DType type) {
        const std::string a = operandOf(node, "self", 0), b = operandOf(node, "other", 1);
        const std::string_view rounding = g_.ops().argText(node, "rounding_mode");
        if (a.empty() || b.empty() || (a[0] != '%' && b[0] != '%') || (!rounding.empty() && rounding != "None")) {
            refuse(node, "has operands that no chain takes");
            return 0;
        }
        const bool arithmetic =
            type != DType::Bool || name.size() == 2 || name.substr(0, 8) == "logical_"; // eq, lt ...
        if (!arithmetic || (name == "div" && !isFloat(type))) refuse(node, "returns a type that no chain has for it");
        if (name.substr(0, 8) == "logical_" && g_.ops().op(node).find("logical") == std::string_view::npos &&
            type != DType::Bool)
            refuse(node, "works on bits");
        const std::string alpha = name == "add" || name == "sub" ? operandOf(node, "alpha", 9) : "";
        return line(name, type, a + " " + b + (alpha.empty() || alpha == "1" ? "" : " alpha=" + alpha));
    }

    // Over the last dimension, which stays.
    std::size_t reduction(NodeId node, std::string_view name, DType type) {
        const TensorMeta &in = g_.meta(g_.in(node, 0)), &out = g_.meta(g_.out(node));
        std::vector<std::int64_t> rows = in.sizes;
        if (!rows.empty()) rows.back() = 1;
        const auto dim = g_.scalar(node, "dim");
        const auto rank = static_cast<double>(in.sizes.size());
        if (rows.empty() || type == DType::Bool || (name == "mean" && !isFloat(type)) || out.sizes != rows || !dim ||
            (*dim != -1 && *dim != rank - 1) || in.sizes != region_) {
            refuse(node, "does not reduce the last dimension alone, keeping it");
            return 0;
        }
        std::string from = operandOf(node, "self", 0);
        if (in.dtype != type && name != "amax") from = "%" + std::to_string(line("to", type, from));
        return line(name, type, from);
    }

    std::size_t softmax(NodeId node, DType type) {
        const TensorMeta& in = g_.meta(g_.in(node, 0));
        const auto dim = g_.scalar(node, "dim");
        const auto rank = static_cast<double>(in.sizes.size());
        if (rank == 0 || !dim || (*dim != -1 && *dim != rank - 1) || in.sizes != region_ || !isFloat(type)) {
            refuse(node, "does not run over the last dimension");
            return 0;
        }
        if (in.sizes.back() == 0) { // nothing is the largest of none
            refuse(node, "has rows without elements");
            return 0;
        }
        // As the framework: in f32 (f64), rounded once.
        const DType wide = type == DType::Float64 || in.dtype == DType::Float64 ? DType::Float64 : DType::Float32;
        const auto ref = [](std::size_t n) { return "%" + std::to_string(n); };
        std::string x = operandOf(node, "self", 0);
        if (in.dtype != wide) x = ref(line("to", wide, x));
        const std::string largest = ref(line("amax", wide, x));
        const std::string raised = ref(line("exp", wide, ref(line("sub", wide, x + " " + largest))));
        const std::size_t result = line("div", wide, raised + " " + ref(line("sum", wide, raised)));
        return type == wide ? result : line("to", type, ref(result));
    }

    void addOutputs() {
        std::vector<std::int64_t> rows = region_;
        if (!rows.empty()) rows.back() = 1;
        if (part_.outputs.size() > kMostOutputs) return refuse("more than 8 values leave the nodes");
        std::vector<std::size_t> written;
        for (const ValueId value : part_.outputs) {
            const auto& sizes = g_.meta(value).sizes;
            const std::string name = "%" + std::string(g_.ops().strings.view(g_.ops().at(value).name));
            if (sizes != region_ && sizes != rows)
                return refuse(name + " is neither as large as the region nor one number a row");
            const std::size_t line = lines_[value.value];
            if (line < inputs_.size()) return refuse(name + " is what enters, unchanged");
            if (std::find(written.begin(), written.end(), line) != written.end()) return refuse(name + " leaves twice");
            written.push_back(line);
            text_ += "output %" + std::to_string(line) + "\n";
        }
    }

    const GraphFlow& g_;
    const Subgraph& part_;
    std::vector<ValueId> inputs_;
    std::map<std::uint32_t, std::size_t> lines_; // value -> line
    std::vector<std::int64_t> region_;           // all inputs broadcast together
    std::size_t next_ = 0;
    std::string text_, problem_;
};

} // namespace

Form chainForm(const GraphFlow& graph, const Subgraph& part) { return Writer(graph, part).write(); }

std::string chainBackwardProblem(const GraphFlow& graph, const Fills& fills, const Subgraph& part) {
    for (const NodeId node : part.nodes) {
        if (graph.ops().op(node).substr(0, 11) != "aten::clamp") continue;
        for (std::size_t bound = 1; graph.in(node, bound).valid(); ++bound)
            if (fills.wantsGradient(graph.in(node, bound)))
                return "pointwise_chain has no gradient of a bound of clamp (" + graph.name(node) +
                       "): the forward alone is measured";
    }
    return {};
}

} // namespace fusescope::region
