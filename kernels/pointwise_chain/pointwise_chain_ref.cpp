// SPDX-License-Identifier: Apache-2.0
#include "kernels/pointwise_chain/pointwise_chain_ref.h"

#include "kernels/pointwise_chain/rounding.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace fusescope::kernels::reference {
namespace {

using namespace chain;

/// A result as its type holds it.
double held(Dtype dtype, double v, bool round) {
    if (dtype == FS_CHAIN_BOOL) return v != 0;
    if (isInteger(dtype)) return std::trunc(v);
    return round ? roundTo(dtype, v) : v;
}

/// Integers wrap around, as in the framework: of an operator whose operands and result are such. Nothing: another one.
std::optional<double> wrapped(const Node& node, double a, double b) {
    const auto whole = [](double v) { // beyond 64 bits there is no integer
        return std::abs(v) < 0x1p63 ? uint64_t(int64_t(v)) : uint64_t{0};
    };
    const uint64_t x = whole(a), y = whole(b);
    uint64_t bits = 0;
    switch (node.op) {
    case Op::add: bits = x + whole(node.alpha) * y; break;
    case Op::sub: bits = x - whole(node.alpha) * y; break;
    case Op::mul: bits = x * y; break;
    case Op::neg: bits = 0 - x; break;
    case Op::abs: bits = a < 0 ? 0 - x : x; break;
    case Op::to: bits = x; break;
    default: return std::nullopt;
    }
    return node.dtype == FS_CHAIN_I32 ? double(int32_t(uint32_t(bits))) : double(int64_t(bits));
}

double gelu(double x) { return x * 0.5 * (1 + std::erf(x * std::sqrt(0.5))); }

double geluTanh(double x) {
    const double inner = std::sqrt(2 / std::acos(-1.)) * (x + 0.044715 * x * x * x);
    return 0.5 * x * (1 + std::tanh(inner));
}

double evaluate(const Node& node, const double* v) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const double a = v[0], b = v[1];
    switch (node.op) {
    case Op::neg: return -a;
    case Op::abs: return std::abs(a);
    case Op::reciprocal: return 1 / a;
    case Op::sqrt: return std::sqrt(a);
    case Op::rsqrt: return 1 / std::sqrt(a);
    case Op::exp: return std::exp(a);
    case Op::log: return std::log(a);
    case Op::tanh: return std::tanh(a);
    case Op::sigmoid: return 1 / (1 + std::exp(-a));
    case Op::silu: return a / (1 + std::exp(-a));
    case Op::gelu: return gelu(a);
    case Op::geluTanh: return geluTanh(a);
    case Op::relu: return a < 0 ? 0 : a;
    case Op::erf: return std::erf(a);
    case Op::square: return a * a;
    case Op::sin: return std::sin(a);
    case Op::cos: return std::cos(a);
    case Op::floor: return std::floor(a);
    case Op::ceil: return std::ceil(a);
    case Op::trunc: return std::trunc(a);
    case Op::round: return std::nearbyint(a);
    case Op::expm1: return std::expm1(a);
    case Op::log1p: return std::log1p(a);
    case Op::logicalNot: return a == 0;
    case Op::to: return a;
    case Op::add: return a + node.alpha * b;
    case Op::sub: return a - node.alpha * b;
    case Op::mul: return a * b;
    case Op::div: return a / b;
    case Op::minimum: return a != a || b != b ? nan : std::min(a, b);
    case Op::maximum: return a != a || b != b ? nan : std::max(a, b);
    case Op::pow: return std::pow(a, b);
    case Op::eq: return a == b;
    case Op::ne: return a != b;
    case Op::lt: return a < b;
    case Op::le: return a <= b;
    case Op::gt: return a > b;
    case Op::ge: return a >= b;
    case Op::logicalAnd: return a != 0 && b != 0;
    case Op::logicalOr: return a != 0 || b != 0;
    case Op::where: return a != 0 ? b : v[2];
    case Op::clamp: {
        double bounded = a;
        for (int side : {1, 2}) {
            if (node.operands[size_t(side)].absent || bounded != bounded) continue;
            const double bound = v[side];
            if (bound != bound || (side == 1 ? bounded < bound : bound < bounded)) bounded = bound;
        }
        return bounded;
    }
    case Op::input:
    case Op::sum:
    case Op::mean:
    case Op::amax: break;
    }
    return nan;
}

/// Walks over the elements of a shape; tells where each lies in an operand that is broadcast to it.
class Broadcast {
public:
    Broadcast(const Shape& to, const Shape& from) : to_(to) {
        int64_t stride = 1;
        for (int d = from.dims - 1; d >= 0; --d) {
            const size_t at = size_t(d + to.dims - from.dims);
            stride_[at] = from.size[size_t(d)] == 1 ? 0 : stride;
            stride *= from.size[size_t(d)];
        }
    }
    int64_t operator()(int64_t element) const {
        int64_t place = 0;
        for (int d = to_.dims - 1; d >= 0; --d) {
            const int64_t size = to_.size[size_t(d)];
            place += element % size * stride_[size_t(d)];
            element /= size;
        }
        return place;
    }

private:
    Shape to_;
    std::array<int64_t, FS_CHAIN_MAX_DIMS> stride_{};
};

std::vector<double> reduced(const Node& node, const std::vector<double>& of, int64_t width, int64_t rows) {
    std::vector<double> result;
    for (int64_t row = 0; row < rows; ++row) {
        double all = node.op == Op::amax ? -std::numeric_limits<double>::infinity() : 0;
        for (int64_t i = 0; i < width; ++i) {
            const double v = of[size_t(row * width + i)];
            if (node.op != Op::amax)
                all += v;
            else if (v != v || all != all)
                all = std::numeric_limits<double>::quiet_NaN();
            else
                all = std::max(all, v);
        }
        result.push_back(node.op == Op::mean ? all / double(width) : all);
    }
    return result;
}

} // namespace

std::vector<std::vector<double>> pointwiseChain(const Program& program, const Shapes& shapes,
                                                const std::vector<const double*>& inputs, bool round) {
    std::vector<std::vector<double>> values(program.nodes.size());
    for (size_t i = 0; i < program.nodes.size(); ++i) {
        const Node& node = program.nodes[i];
        const Shape& shape = shapes.nodes[i];
        const int64_t count = shape.count();
        if (node.op == Op::input) {
            values[i].assign(inputs[i], inputs[i] + count);
            continue;
        }
        if (isReduction(node.op)) {
            const size_t of = size_t(node.operands[0].node);
            values[i] = reduced(node, values[of], shapes.nodes[of].last(), count);
            for (double& v : values[i]) v = held(node.dtype, v, round);
            continue;
        }
        std::vector<Broadcast> places;
        for (const Operand& o : node.operands)
            places.emplace_back(shape, o.node >= 0 ? shapes.nodes[size_t(o.node)] : Shape{});
        for (int64_t e = 0; e < count; ++e) {
            double v[3] = {};
            for (size_t at = 0; at < node.operands.size(); ++at) {
                const Operand& o = node.operands[at];
                const bool condition = node.op == Op::where && at == 0;
                v[at] = o.node >= 0 ? values[size_t(o.node)][size_t(places[at](e))] : o.constant.value;
                if (!condition && (o.node >= 0 || roundsConstant(node.op, at)))
                    v[at] = held(node.compute, v[at], round);
            }
            const bool integers = isInteger(node.dtype) && isInteger(node.compute);
            const std::optional<double> integer = integers ? wrapped(node, v[0], v[1]) : std::nullopt;
            values[i].push_back(integer ? *integer : held(node.dtype, evaluate(node, v), round));
        }
    }
    std::vector<std::vector<double>> outputs;
    for (size_t i = 0; i < program.outputs.size(); ++i) {
        const size_t node = size_t(program.outputs[i]);
        outputs.push_back(values[node]);
        if (!program.summed[i]) continue;
        std::vector<double> sums(size_t(shapes.region.last()));
        for (size_t e = 0; e < values[node].size(); ++e) sums[e % sums.size()] += values[node][e];
        for (double& v : sums) v = held(program.nodes[node].dtype, v, round);
        outputs.back() = std::move(sums);
    }
    return outputs;
}

} // namespace fusescope::kernels::reference
