// SPDX-License-Identifier: Apache-2.0
#include "kernels/pointwise_chain/program.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>

namespace fusescope::kernels::chain {
namespace {

constexpr OpFacts table[] = {
    {Op::input, "input", 0, Result::any},
    {Op::neg, "neg", 1, Result::number, false, true},
    {Op::abs, "abs", 1, Result::number, false, true},
    {Op::reciprocal, "reciprocal", 1, Result::floating},
    {Op::sqrt, "sqrt", 1, Result::floating},
    {Op::rsqrt, "rsqrt", 1, Result::floating},
    {Op::exp, "exp", 1, Result::floating},
    {Op::log, "log", 1, Result::floating},
    {Op::tanh, "tanh", 1, Result::floating},
    {Op::sigmoid, "sigmoid", 1, Result::floating},
    {Op::silu, "silu", 1, Result::floating},
    {Op::gelu, "gelu", 1, Result::floating},
    {Op::geluTanh, "gelu_tanh", 1, Result::floating},
    {Op::relu, "relu", 1, Result::number, false, true},
    {Op::erf, "erf", 1, Result::floating},
    {Op::square, "square", 1, Result::number},
    {Op::sin, "sin", 1, Result::floating},
    {Op::cos, "cos", 1, Result::floating},
    {Op::floor, "floor", 1, Result::floating},
    {Op::ceil, "ceil", 1, Result::floating},
    {Op::trunc, "trunc", 1, Result::floating},
    {Op::round, "round", 1, Result::floating},
    {Op::expm1, "expm1", 1, Result::floating},
    {Op::log1p, "log1p", 1, Result::floating},
    {Op::logicalNot, "logical_not", 1, Result::boolean, true},
    {Op::to, "to", 1, Result::any, true},
    {Op::add, "add", 2, Result::number},
    {Op::sub, "sub", 2, Result::number},
    {Op::mul, "mul", 2, Result::number},
    {Op::div, "div", 2, Result::floating},
    {Op::minimum, "minimum", 2, Result::number, false, true},
    {Op::maximum, "maximum", 2, Result::number, false, true},
    {Op::pow, "pow", 2, Result::floating},
    {Op::eq, "eq", 2, Result::boolean, true},
    {Op::ne, "ne", 2, Result::boolean, true},
    {Op::lt, "lt", 2, Result::boolean, true},
    {Op::le, "le", 2, Result::boolean, true},
    {Op::gt, "gt", 2, Result::boolean, true},
    {Op::ge, "ge", 2, Result::boolean, true},
    {Op::logicalAnd, "logical_and", 2, Result::boolean, true},
    {Op::logicalOr, "logical_or", 2, Result::boolean, true},
    {Op::where, "where", 3, Result::any, false, true},
    {Op::clamp, "clamp", 3, Result::number, false, true},
    {Op::sum, "sum", 1, Result::number},
    {Op::mean, "mean", 1, Result::floating},
    {Op::amax, "amax", 1, Result::number, false, true},
};

int rankOf(Dtype d) {
    switch (d) {
    case FS_CHAIN_F64: return 5;
    case FS_CHAIN_F32: return 4;
    case FS_CHAIN_F16:
    case FS_CHAIN_BF16: return 3;
    case FS_CHAIN_I64: return 2;
    case FS_CHAIN_I32: return 1;
    case FS_CHAIN_BOOL: return 0;
    }
    return 0;
}

/// a and b broadcast together into a; false when they do not fit.
bool broadcast(Shape& a, const Shape& b) {
    Shape both;
    both.dims = a.dims > b.dims ? a.dims : b.dims;
    for (int d = 0; d < both.dims; ++d) { // counted from the last
        const int64_t sa = d < a.dims ? a.size[size_t(a.dims - 1 - d)] : 1;
        const int64_t sb = d < b.dims ? b.size[size_t(b.dims - 1 - d)] : 1;
        if (sa != sb && sa != 1 && sb != 1) return false;
        both.size[size_t(both.dims - 1 - d)] = sa == 1 ? sb : sa;
    }
    a = both;
    return true;
}

} // namespace

const char* nameOf(Dtype dtype) {
    constexpr const char* names[] = {"f32", "f16", "bf16", "f64", "i64", "i32", "bool"};
    return int(dtype) >= 0 && int(dtype) < 7 ? names[dtype] : "no type";
}

int sizeOf(Dtype dtype) {
    constexpr int sizes[] = {4, 2, 2, 8, 8, 4, 1};
    return sizes[dtype];
}

Dtype commonType(Dtype a, Dtype b) {
    if (a == b) return a;
    if (isHalf(a) && isHalf(b)) return FS_CHAIN_F32;
    return rankOf(a) > rankOf(b) ? a : b;
}

const OpFacts& factsOf(Op op) { return table[size_t(op)]; }

int64_t Shape::count() const {
    int64_t n = 1;
    for (int d = 0; d < dims; ++d) n *= size[size_t(d)];
    return n;
}

bool Shape::operator==(const Shape& other) const {
    if (dims != other.dims) return false;
    for (size_t d = 0; d < size_t(dims); ++d)
        if (size[d] != other.size[d]) return false;
    return true;
}

std::string textOf(const Shape& shape) {
    std::string text = "[";
    for (int d = 0; d < shape.dims; ++d) text += (d ? ", " : "") + std::to_string(shape.size[size_t(d)]);
    return text + "]";
}

Shape outputShape(const Program& program, const Shapes& shapes, size_t output) {
    if (!program.summed[output]) return shapes.nodes[size_t(program.outputs[output])];
    Shape row;
    row.dims = 1;
    row.size[0] = shapes.region.last();
    return row;
}

FsChainTensor contiguous(const Shape& shape, Dtype dtype) {
    FsChainTensor t{};
    t.dims = shape.dims;
    t.dtype = dtype;
    int64_t stride = 1;
    for (int d = shape.dims - 1; d >= 0; --d) {
        t.size[d] = shape.size[size_t(d)];
        t.stride[d] = stride;
        stride *= std::max<int64_t>(1, t.size[d]);
    }
    return t;
}

std::variant<Shapes, std::string> shapesOf(const Program& program, const FsChainTensor* inputs) {
    constexpr int64_t most = int64_t{1} << 46; // far beyond any device, far from overflow
    Shapes shapes;
    for (size_t i = 0; i < program.nodes.size(); ++i) {
        const Node& node = program.nodes[i];
        Shape shape;
        if (node.op == Op::input) {
            const FsChainTensor& t = inputs[i];
            if (t.dtype != node.dtype)
                return sentence("%%%zu: expected %s, found %s", i, nameOf(node.dtype), nameOf(t.dtype));
            if (t.dims < 0 || t.dims > FS_CHAIN_MAX_DIMS)
                return sentence("%%%zu: %d dimensions: at most %d", i, int(t.dims), int(FS_CHAIN_MAX_DIMS));
            shape.dims = t.dims;
            for (size_t d = 0; d < size_t(t.dims); ++d) {
                shape.size[d] = t.size[d];
                if (t.size[d] < 0 || t.size[d] > most)
                    return sentence("%%%zu: a dimension of %lld elements cannot be", i,
                                    static_cast<long long>(t.size[d]));
            }
            Shape before = shapes.region;
            if (!broadcast(shapes.region, shape))
                return sentence("%%%zu: its shape %s does not broadcast with %s of the inputs before it", i,
                                textOf(shape).c_str(), textOf(before).c_str());
            double elements = 1; // as if no dimension were 0, so that no product of some of them overflows
            for (int d = 0; d < shapes.region.dims; ++d)
                elements *= double(std::max<int64_t>(1, shapes.region.size[size_t(d)]));
            if (elements > double(most))
                return sentence("the region's shape %s has too many elements", textOf(shapes.region).c_str());
        } else {
            for (const Operand& operand : node.operands)
                if (operand.node >= 0) broadcast(shape, shapes.nodes[size_t(operand.node)]);
            if (isReduction(node.op)) {
                if (shape.dims == 0) return sentence("%%%zu: %s of a 0-d tensor", i, factsOf(node.op).name);
                if (node.op == Op::amax && shape.last() == 0)
                    return sentence("%%%zu: amax of rows without elements", i);
                shape.size[size_t(shape.dims) - 1] = 1;
            }
        }
        shapes.nodes.push_back(shape);
    }
    shapes.row = shapes.region;
    if (shapes.row.dims > 0) shapes.row.size[size_t(shapes.row.dims) - 1] = 1;
    for (size_t i = 0; i < program.outputs.size(); ++i) {
        const int output = program.outputs[i];
        const Shape& shape = shapes.nodes[size_t(output)];
        if (program.summed[i]) {
            if (shape == shapes.region && shape.dims > 0) continue;
            return sentence("output %%%d: its shape %s is not the region's %s, over whose rows it is summed", output,
                            textOf(shape).c_str(), textOf(shapes.region).c_str());
        }
        if (shape == shapes.region || shape == shapes.row) continue;
        return sentence("output %%%d: its shape %s is neither the region's %s nor that of its rows", output,
                        textOf(shape).c_str(), textOf(shapes.region).c_str());
    }
    return shapes;
}

std::string sentence(const char* format, ...) {
    char text[400];
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return text;
}

} // namespace fusescope::kernels::chain
