// SPDX-License-Identifier: Apache-2.0
// One operator of a region as CUDA source.
#include "kernels/pointwise_chain/rounding.h"
#include "kernels/pointwise_chain/source.h"

#include <charconv>

namespace fusescope::kernels::chain {
namespace {

template <class T> std::string hexadecimal(T value) {
    if (value != value)
        return sizeof(T) == 4 ? "__int_as_float(0x7fc00000)" : "__longlong_as_double(0x7ff8000000000000ll)";
    std::string text = std::signbit(value) ? "-" : "";
    if (std::isinf(value))
        return text + (sizeof(T) == 4 ? "__int_as_float(0x7f800000)" : "__longlong_as_double(0x7ff0000000000000ll)");
    char digits[64]; // std::to_chars heeds no locale
    const auto end = std::to_chars(digits, digits + sizeof digits, std::abs(value), std::chars_format::hex).ptr;
    return text + "0x" + std::string(digits, end) + (sizeof(T) == 4 ? "f" : "");
}

/// A constant in the value type of `dtype`.
std::string literal(const Constant& c, Dtype dtype) {
    switch (dtype) {
    case FS_CHAIN_F32:
    case FS_CHAIN_F16:
    case FS_CHAIN_BF16: return hexadecimal(float(c.value));
    case FS_CHAIN_F64: return hexadecimal(c.value);
    case FS_CHAIN_I64:
        if (c.integer == std::numeric_limits<int64_t>::min()) return "(-9223372036854775807ll - 1)";
        return std::to_string(c.integer) + "ll";
    case FS_CHAIN_I32: return "int(" + std::to_string(c.integer) + "ll)";
    case FS_CHAIN_BOOL: return c.value != 0 ? "true" : "false";
    }
    return {};
}

const char* functionOf(Op op) {
    switch (op) {
    case Op::abs: return "absolute";
    case Op::reciprocal: return "reciprocal";
    case Op::sqrt: return "sqrtOf";
    case Op::rsqrt: return "rsqrtOf";
    case Op::exp: return "expOf";
    case Op::log: return "logOf";
    case Op::tanh: return "tanhOf";
    case Op::gelu: return "gelu";
    case Op::geluTanh: return "geluTanh";
    case Op::erf: return "erfOf";
    case Op::sin: return "sinOf";
    case Op::cos: return "cosOf";
    case Op::floor: return "floorOf";
    case Op::ceil: return "ceilOf";
    case Op::trunc: return "truncOf";
    case Op::round: return "roundOf";
    case Op::expm1: return "expm1Of";
    case Op::log1p: return "log1pOf";
    case Op::minimum: return "minimum";
    case Op::maximum: return "maximum";
    default: return nullptr;
    }
}

const char* signOf(Op op) {
    switch (op) {
    case Op::eq: return " == ";
    case Op::ne: return " != ";
    case Op::lt: return " < ";
    case Op::le: return " <= ";
    case Op::gt: return " > ";
    case Op::ge: return " >= ";
    default: return nullptr;
    }
}

std::string call(const char* function, const std::string& a) { return std::string(function) + "(" + a + ")"; }
std::string call(const char* function, const std::string& a, const std::string& b) {
    return call(function, a + ", " + b);
}

std::string templated(const char* function, const char* type) { return std::string(function) + "<" + type + ">"; }

} // namespace

const char* elementType(Dtype dtype) {
    constexpr const char* names[] = {"float", "F16", "Bf16", "double", "long long", "int", "Bool"};
    return names[dtype];
}

const char* valueType(Dtype dtype) {
    constexpr const char* names[] = {"float", "float", "float", "double", "long long", "int", "bool"};
    return names[dtype];
}

NodeWriter::NodeWriter(const Program& program, const Plan& plan)
    : program_(program), plan_(plan), perRow_(program.nodes.size()), read_(program.nodes.size()) {
    for (size_t i = 0; i < program.nodes.size(); ++i) {
        const Node& node = program.nodes[i];
        perRow_[i] = node.op != Op::input || plan.inputs[i].access == Access::same;
        for (const Operand& o : node.operands) {
            if (o.node < 0) continue;
            read_[size_t(o.node)] = true;
            if (!isReduction(int(i)) && !perRow_[size_t(o.node)]) perRow_[i] = false;
        }
    }
    for (size_t i = 0; i < program.outputs.size(); ++i)
        if (program.summed[i]) read_[size_t(program.outputs[i])] = true; // by the sum
}

bool NodeWriter::isReduction(int node) const {
    return chain::isReduction(program_.nodes[size_t(node)].op) && !plan_.trivial[size_t(node)];
}

std::string NodeWriter::operand(const Node& node, size_t at) const {
    const Operand& o = node.operands[at];
    const Dtype to = node.op == Op::where && at == 0 ? FS_CHAIN_BOOL : node.compute;
    if (o.node < 0) {
        Constant c = o.constant;
        if (roundsConstant(node.op, at)) c.value = roundTo(to, c.value);
        return literal(c, to);
    }
    const Dtype from = program_.nodes[size_t(o.node)].dtype;
    std::string text = element(o.node);
    if (from == to) return text;
    if (std::string(valueType(from)) != valueType(to)) text = call(templated("castTo", valueType(to)).c_str(), text);
    if (isHalf(to) && from != FS_CHAIN_BOOL && plan_.rounding == FS_ROUND_AS_FRAMEWORK)
        text = call(templated("rounded", elementType(to)).c_str(), text);
    return text;
}

bool NodeWriter::needsRounding(int index) const {
    const Node& node = program_.nodes[size_t(index)];
    // A result that is only written is rounded by that.
    if (plan_.rounding != FS_ROUND_AS_FRAMEWORK || !isHalf(node.dtype) || !read_[size_t(index)]) return false;
    if (!factsOf(node.op).selects) return true;
    for (size_t at = node.op == Op::where ? 1 : 0; at < node.operands.size(); ++at)
        if (const int from = node.operands[at].node; from >= 0 && program_.nodes[size_t(from)].dtype != node.dtype)
            return true;
    return false;
}

std::string NodeWriter::roundingOf(int node, const std::string& indent) const {
    if (!needsRounding(node)) return {};
    return indent + "roundTo<" + elementType(program_.nodes[size_t(node)].dtype) + ">(v" + std::to_string(node) +
           ");\n";
}

std::string NodeWriter::power(const Node& node, const std::string& base) const {
    const double exponent = node.operands[1].constant.value;
    if (exponent == 0.5) return call("sqrtOf", base);
    if (exponent == -0.5) return call("rsqrtOf", base);
    if (exponent == -1) return call("reciprocal", base);
    if (exponent == 1) return base;
    if (exponent == 0) return literal({1, 1, true}, node.compute);
    const double seen = roundTo(node.compute, exponent); // from here on as an element
    // The framework's half-precision product rounds, also inside one operator.
    const bool rounds = isHalf(node.compute) && plan_.rounding == FS_ROUND_AS_FRAMEWORK;
    std::string square = call("mul", base, base);
    if (seen == 2) return square;
    if (rounds) square = call(templated("rounded", elementType(node.compute)).c_str(), square);
    if (seen == 3) return call("mul", square, base);
    if (seen == -2) return call("reciprocal", square);
    return call("powOf", base, operand(node, 1));
}

std::string NodeWriter::expression(const Node& node) const {
    std::string a = operand(node, 0);
    const std::string b = node.operands.size() > 1 && !node.operands[1].absent ? operand(node, 1) : "";
    if (const char* sign = signOf(node.op)) return a + sign + b;
    if (const char* function = functionOf(node.op)) return b.empty() ? call(function, a) : call(function, a, b);
    const std::string value = valueType(node.compute);
    const auto factor = [&](double alpha) { // of integers it is whole
        return literal({alpha, isFloating(node.compute) ? 0 : int64_t(alpha), false}, node.compute);
    };
    switch (node.op) {
    case Op::neg: return "-" + a;
    case Op::square: return call("mul", a, a);
    case Op::relu: return call("clampMin", a, literal({0, 0, true}, node.compute));
    case Op::logicalNot: return "!castTo<bool>(" + a + ")";
    case Op::logicalAnd: return "castTo<bool>(" + a + ") && castTo<bool>(" + b + ")";
    case Op::logicalOr: return "castTo<bool>(" + a + ") || castTo<bool>(" + b + ")";
    case Op::sum: // over one element
    case Op::mean:
    case Op::amax: return a;
    case Op::to:
        return valueType(node.dtype) == value ? a : call(templated("castTo", valueType(node.dtype)).c_str(), a);
    case Op::add: return node.alpha == 1 ? call("add", a, b) : call("mulAdd", factor(node.alpha) + ", " + b, a);
    case Op::sub: return node.alpha == 1 ? call("sub", a, b) : call("mulAdd", factor(-node.alpha) + ", " + b, a);
    case Op::mul: return call("mul", a, b);
    case Op::div: // the framework multiplies by a constant's inverse
        if (node.operands[1].node < 0) {
            const double c = node.operands[1].constant.value;
            return call(
                "mul", a,
                literal({node.compute == FS_CHAIN_F64 ? 1 / c : double(1.f / float(c)), 0, false}, node.compute));
        }
        return call("div", a, b);
    case Op::pow: return power(node, a);
    case Op::where: return a + " ? " + b + " : " + operand(node, 2);
    case Op::clamp: {
        const std::string bounded = b.empty() ? a : call("clampMin", a, b);
        return node.operands[2].absent ? bounded : call("clampMax", bounded, operand(node, 2));
    }
    default: return {};
    }
}

std::string NodeWriter::statements(int index, const std::string& indent) const {
    const Node& node = program_.nodes[size_t(index)];
    const std::string number = std::to_string(index), size = perRow(index) ? "1" : "N";
    const std::string name = std::string("v") + number, x = std::string("x") + number;
    auto declared = [&](Dtype dtype, const std::string& array) {
        return indent + valueType(dtype) + " " + array + "[" + size + "];\n";
    };
    auto each = [&](const std::string& array, const std::string& value) {
        if (perRow(index)) return indent + array + "[0] = " + value + ";\n";
        return std::string("#pragma unroll\n") + indent + "for (int i = 0; i < N; ++i) " + array + "[i] = " + value +
               ";\n";
    };
    std::string text = declared(node.dtype, name);
    if (node.op == Op::silu || node.op == Op::sigmoid) { // of a whole pack at once
        text += declared(node.compute, x) + each(x, operand(node, 0));
        text += indent + (node.op == Op::silu ? "silu(" : "sigmoid(") + x + ", " + name + ");\n";
    } else if (node.op == Op::div && node.operands[1].node >= 0 && perRow(node.operands[1].node) && !perRow(index)) {
        text += declared(node.compute, x) + each(x, operand(node, 0));
        text += indent + "divideBy(" + x + ", " + operand(node, 1) + ", " + name + ");\n";
    } else {
        text += each(name, expression(node));
    }
    return text + roundingOf(index, indent);
}

} // namespace fusescope::kernels::chain
