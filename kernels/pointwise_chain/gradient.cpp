// SPDX-License-Identifier: Apache-2.0
#include "kernels/pointwise_chain/gradient.h"

#include "kernels/pointwise_chain/rounding.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

namespace fusescope::kernels::chain {
namespace {

/// A value of the text under construction. Adjoints have all leading dimensions of the region; `wide` tells whether
/// they have the last one as well.
struct Value {
    int line = -1;
    bool wide = false;
    std::string constant; // in its place
};

struct Output {
    int line = 0;
    bool summed = false; // over rows
};

/// As the text has it: printf would heed the locale.
std::string textOf(double value) {
    char digits[64];
    std::string text(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
    return text == "-0" ? "-0.0" : text; // the former is the integer 0
}

std::string textOf(const Constant& c) {
    return c.integral && c.integer != 0 ? std::to_string(c.integer) : textOf(c.value);
}

Value number(double value) { return {-1, false, textOf(value)}; }

class Writer {
public:
    Writer(const Program& program, const std::vector<int64_t>& last)
        : program_(program), forward_(program.nodes.size()) {
        for (size_t i = 0; i < size_t(program.inputs); ++i) forward_[i] = input(program.nodes[i].dtype, last[i] != 1);
        for (const Node& node : program.nodes) {
            int64_t size = node.op == Op::input ? last[last_.size()] : 1;
            if (!isReduction(node.op))
                for (const Operand& o : node.operands)
                    if (o.node >= 0 && size == 1) size = last_[size_t(o.node)];
            last_.push_back(size);
        }
    }

    /// Before all other lines.
    Value input(Dtype dtype, bool wide) {
        lines_.push_back({sentence("input %s", nameOf(dtype)), {}, {}});
        inputs_ = int(lines_.size());
        return {inputs_ - 1, wide, {}};
    }

    Value emit(const char* op, Dtype type, const std::vector<Value>& operands, const std::string& after = {}) {
        Value result{int(lines_.size()), false, {}};
        for (const Value& v : operands) result.wide = result.wide || v.wide;
        const std::string_view name = op;
        if (name == "sum" || name == "mean" || name == "amax") result.wide = false;
        lines_.push_back({sentence("%s.%s", op, nameOf(type)), operands, after});
        return result;
    }

    Value in(Dtype type, const Value& v, Dtype now) {
        if (type == now || v.line < 0) return v;
        // Half precision taken to fp32 and back, as the formulas of operators in a row ask for, is what it was.
        if (const auto found = widened_.find(v.line); found != widened_.end() && found->second.first == type)
            return found->second.second;
        Value made = emit("to", type, {v});
        if (isHalf(now) && type == FS_CHAIN_F32) widened_[made.line] = {now, v};
        return made;
    }

    /// A node of the region, computed anew where it is first asked for.
    Value forward(int node) {
        Value& known = forward_[size_t(node)];
        if (known.line >= 0) return known;
        const Node& n = program_.nodes[size_t(node)];
        std::vector<Value> operands;
        for (const Operand& o : n.operands) operands.push_back(operand(o));
        Value made = emit(factsOf(n.op).name, n.dtype, operands, n.alpha == 1 ? "" : " alpha=" + textOf(n.alpha));
        made.wide = wide(node);
        return forward_[size_t(node)] = made;
    }

    Value operand(const Operand& o) {
        if (o.node >= 0) return forward(o.node);
        return {-1, false, o.absent ? std::string("none") : textOf(o.constant)};
    }

    bool wide(int node) const { return last_[size_t(node)] != 1; }
    int64_t last(int node) const { return last_[size_t(node)]; }
    bool isInput(const Value& v) const { return v.line < inputs_; }

    /// Of each line, whether the outputs need it.
    std::vector<bool> neededBy(const std::vector<Output>& outputs) const {
        std::vector<bool> needed(lines_.size());
        for (const Output& o : outputs) needed[size_t(o.line)] = true;
        for (size_t i = lines_.size(); i-- > 0;)
            for (const Value& v : lines_[i].operands)
                if (needed[i] && v.line >= 0) needed[size_t(v.line)] = true;
        return needed;
    }

    /// The lines that the outputs need, numbered anew, and in `used` the inputs among them.
    std::string text(const std::vector<Output>& outputs, std::vector<int>& used) const {
        const std::vector<bool> needed = neededBy(outputs);
        std::vector<int> number(lines_.size(), -1);
        std::string text;
        int next = 0;
        for (size_t i = 0; i < lines_.size(); ++i) {
            if (!needed[i]) continue;
            if (int(i) < inputs_) used.push_back(int(i));
            number[i] = next++;
            text += sentence("%%%d = ", number[i]) + lines_[i].head;
            for (const Value& v : lines_[i].operands)
                text += ' ' + (v.line >= 0 ? sentence("%%%d", number[size_t(v.line)]) : v.constant);
            text += lines_[i].after + '\n';
        }
        for (const Output& o : outputs)
            text += sentence("output %%%d%s\n", number[size_t(o.line)], o.summed ? " summed" : "");
        return text;
    }

private:
    struct Line {
        std::string head; // "mul.f32"
        std::vector<Value> operands;
        std::string after;
    };

    const Program& program_;
    std::vector<Value> forward_;
    std::vector<int64_t> last_;
    std::vector<Line> lines_;
    std::map<int, std::pair<Dtype, Value>> widened_; // line -> what it was made of
    int inputs_ = 0;
};

/// What an operator hands to each of its operands, given the gradient of its result: in the type of computation.
class Rules {
public:
    Rules(Writer& writer, const Program& program, int node, const Value& gradient)
        : w_(writer), program_(program), node_(node), n_(program.nodes[size_t(node)]),
          type_(isHalf(n_.dtype) ? FS_CHAIN_F32 : n_.dtype), g_(writer.in(type_, gradient, n_.dtype)) {}

    Dtype type() const { return type_; }

    /// Nothing: none flows there. A sentence: it cannot be said.
    std::optional<Value> of(size_t at, std::string& refused) {
        const auto a = [&] { return at_(0); };
        const auto b = [&] { return at_(1); };
        const auto y = [&] { return w_.in(type_, w_.forward(node_), n_.dtype); };
        switch (n_.op) {
        case Op::neg: return one("neg", g_);
        case Op::abs: {
            const Value otherwise = where(test("lt", a(), number(0)), one("neg", g_), number(0));
            return where(test("gt", a(), number(0)), g_, otherwise);
        }
        case Op::reciprocal: return one("neg", mul(g_, mul(y(), y())));
        case Op::sqrt: return div(g_, mul(y(), number(2)));
        case Op::rsqrt: return mul(mul(g_, number(-0.5)), mul(y(), mul(y(), y())));
        case Op::exp: return mul(g_, y());
        case Op::log: return div(g_, a());
        case Op::tanh: return mul(g_, minus(number(1), mul(y(), y())));
        case Op::sigmoid: return mul(g_, mul(minus(number(1), y()), y()));
        case Op::silu: {
            const Value s = one("sigmoid", a());
            return mul(g_, mul(s, plus(mul(a(), minus(number(1), s)), number(1))));
        }
        case Op::gelu: {
            const Value cdf = mul(plus(one("erf", mul(a(), number(0.70710678118654752))), number(1)), number(0.5));
            const Value pdf = mul(one("exp", mul(mul(a(), a()), number(-0.5))), number(0.39894228040143268));
            return mul(g_, plus(cdf, mul(a(), pdf)));
        }
        case Op::geluTanh: {
            constexpr double beta = 0.79788456080286536, kappa = 0.044715;
            const Value square = mul(a(), a());
            const Value t = one("tanh", mul(mul(a(), plus(mul(square, number(kappa)), number(1))), number(beta)));
            const Value slope = mul(plus(mul(square, number(3 * kappa)), number(1)), number(beta));
            const Value left = mul(plus(t, number(1)), number(0.5));
            const Value right = mul(mul(a(), number(0.5)), mul(minus(number(1), mul(t, t)), slope));
            return mul(g_, plus(left, right));
        }
        case Op::relu: return where(test("le", y(), number(0)), number(0), g_); // NaN passes
        case Op::erf: return mul(g_, mul(one("exp", one("neg", mul(a(), a()))), number(1.1283791670955126)));
        case Op::square: return mul(g_, mul(a(), number(2)));
        case Op::sin: return mul(g_, one("cos", a()));
        case Op::cos: return one("neg", mul(g_, one("sin", a())));
        case Op::expm1: return mul(g_, plus(y(), number(1)));
        case Op::log1p: return div(g_, plus(a(), number(1)));
        case Op::to: return g_;
        case Op::add:
        case Op::sub: {
            const double factor = at == 0 ? 1 : n_.op == Op::add ? n_.alpha : -n_.alpha;
            return factor == 1 ? g_ : factor == -1 ? one("neg", g_) : mul(g_, number(factor));
        }
        case Op::mul: return mul(g_, at == 0 ? b() : a());
        case Op::div: return at == 0 ? div(g_, b()) : one("neg", mul(g_, div(div(a(), b()), b())));
        case Op::minimum:
        case Op::maximum: {
            const Value mine = at_(at), other = at_(1 - at);
            const Value loses = test(n_.op == Op::minimum ? "gt" : "lt", mine, other); // beside NaN, neither does
            return where(loses, number(0), where(test("eq", mine, other), mul(g_, number(0.5)), g_));
        }
        case Op::pow: {
            const double exponent = n_.operands[1].constant.value;
            if (exponent == 0) return std::nullopt;
            const Value power = exponent == 1   ? number(1)
                                : exponent == 2 ? a()
                                                : w_.emit("pow", type_, {a(), number(exponent - 1)});
            return mul(g_, exponent == 1 ? power : mul(power, number(exponent)));
        }
        case Op::where:
            if (at == 0) return std::nullopt;
            return at == 1 ? where(w_.operand(n_.operands[0]), g_, number(0))
                           : where(w_.operand(n_.operands[0]), number(0), g_);
        case Op::clamp: {
            if (at != 0) {
                refused = "pointwise_chain: there is no gradient of a bound of clamp";
                return std::nullopt;
            }
            Value result = g_;
            if (!n_.operands[1].absent) result = where(test("ge", a(), b()), result, number(0));
            if (!n_.operands[2].absent) result = where(test("le", a(), at_(2)), result, number(0));
            return result;
        }
        case Op::sum: return g_;
        case Op::mean: return div(g_, number(double(w_.last(n_.operands[0].node))));
        case Op::amax: { // shared by all that are largest
            const Value mask = w_.in(type_, test("eq", a(), y()), FS_CHAIN_BOOL);
            return mul(div(g_, w_.emit("sum", type_, {mask})), mask);
        }
        case Op::floor:
        case Op::ceil:
        case Op::trunc:
        case Op::round:
        case Op::input:
        case Op::logicalNot:
        case Op::eq:
        case Op::ne:
        case Op::lt:
        case Op::le:
        case Op::gt:
        case Op::ge:
        case Op::logicalAnd:
        case Op::logicalOr: break;
        }
        return std::nullopt;
    }

private:
    Value at_(size_t i) {
        const Operand& o = n_.operands[i];
        if (o.node >= 0) return w_.in(type_, w_.forward(o.node), program_.nodes[size_t(o.node)].dtype);
        // What the forward has rounded to its type is compared so here, where computation is wider.
        if (roundsConstant(n_.op, i) && isHalf(n_.compute)) return number(roundTo(n_.compute, o.constant.value));
        return w_.operand(o);
    }
    Value one(const char* op, const Value& x) { return w_.emit(op, type_, {x}); }
    Value mul(const Value& x, const Value& y) { return w_.emit("mul", type_, {x, y}); }
    Value div(const Value& x, const Value& y) { return w_.emit("div", type_, {x, y}); }
    Value plus(const Value& x, const Value& y) { return w_.emit("add", type_, {x, y}); }
    Value minus(const Value& x, const Value& y) { return w_.emit("sub", type_, {x, y}); }
    Value test(const char* op, const Value& x, const Value& y) { return w_.emit(op, FS_CHAIN_BOOL, {x, y}); }
    Value where(const Value& test, const Value& x, const Value& y) { return w_.emit("where", type_, {test, x, y}); }

    Writer& w_;
    const Program& program_;
    int node_;
    const Node& n_;
    Dtype type_;
    Value g_;
};

/// Nodes that lie between a wanted input and an output's gradient.
std::vector<bool> neededOf(const Program& program, const std::vector<bool>& wanted) {
    std::vector<bool> needed;
    for (const Node& node : program.nodes) {
        bool on = node.op == Op::input && wanted[needed.size()];
        for (const Operand& o : node.operands) on = on || (o.node >= 0 && needed[size_t(o.node)]);
        needed.push_back(on && isFloating(node.dtype));
    }
    return needed;
}

/// A softmax over rows as its operators: exp(exponent) / sum(exp(exponent)).
struct Softmax {
    int exponent = 0;
    int shift = -1; // the row's largest, subtracted in the exponent alone: the result does not depend on it
};

/// Of each node: the softmax that it ends.
std::vector<std::optional<Softmax>> softmaxOf(const Program& program) {
    const std::vector<Node>& nodes = program.nodes;
    std::vector<int> uses(nodes.size());
    for (const Node& node : nodes)
        for (const Operand& o : node.operands)
            if (o.node >= 0) ++uses[size_t(o.node)];
    for (const int output : program.outputs) ++uses[size_t(output)];
    const auto operand = [&](int node, size_t at, Op op, int used) { // that is `op` and serves nothing else
        const int o = nodes[size_t(node)].operands[at].node;
        return o >= 0 && nodes[size_t(o)].op == op && uses[size_t(o)] == used ? o : -1;
    };
    std::vector<std::optional<Softmax>> found(nodes.size());
    for (int node = 0; node < int(nodes.size()); ++node) {
        const Node& n = nodes[size_t(node)];
        if (n.op != Op::div || isHalf(n.dtype) || !isFloating(n.dtype)) continue;
        const int power = operand(node, 0, Op::exp, 2), sum = operand(node, 1, Op::sum, 1);
        if (power < 0 || sum < 0 || nodes[size_t(sum)].operands[0].node != power) continue;
        Softmax s{nodes[size_t(power)].operands[0].node, -1};
        const auto same = [&](int other) { return nodes[size_t(other)].dtype == n.dtype; };
        if (s.exponent < 0 || !same(power) || !same(sum) || !same(s.exponent)) continue;
        if (const Node& difference = nodes[size_t(s.exponent)];
            difference.op == Op::sub && difference.alpha == 1 && uses[size_t(s.exponent)] == 1) {
            const int shift = operand(s.exponent, 1, Op::amax, 1);
            if (shift >= 0 && same(shift) && nodes[size_t(shift)].operands[0].node == difference.operands[0].node)
                s.shift = shift;
        }
        found[size_t(node)] = s;
    }
    return found;
}

} // namespace

std::variant<Gradient, std::string> gradientOf(const Program& program, const std::vector<int64_t>& last,
                                               const std::vector<bool>& row, const std::vector<bool>& wanted) {
    std::vector<bool> needed = neededOf(program, wanted);
    const std::vector<std::optional<Softmax>> softmax = softmaxOf(program);
    for (const auto& s : softmax)
        if (s && s->shift >= 0) needed[size_t(s->shift)] = false;
    Writer w(program, last);
    std::vector<std::optional<Value>> adjoint(program.nodes.size());
    const auto add = [&](int node, const Value& v, Dtype type) {
        const Dtype own = program.nodes[size_t(node)].dtype;
        const Value typed = w.in(own, v, type);
        std::optional<Value>& sum = adjoint[size_t(node)];
        sum = sum ? w.emit("add", own, {*sum, typed}) : typed;
    };
    std::vector<Value> given;
    for (const int output : program.outputs)
        if (isFloating(program.nodes[size_t(output)].dtype))
            given.push_back(w.input(program.nodes[size_t(output)].dtype, w.wide(output)));
    size_t next = 0;
    for (const int output : program.outputs)
        if (const Dtype type = program.nodes[size_t(output)].dtype; isFloating(type)) add(output, given[next++], type);

    for (int node = int(program.nodes.size()) - 1; node >= program.inputs; --node) {
        const Node& n = program.nodes[size_t(node)];
        if (!adjoint[size_t(node)] || !needed[size_t(node)]) continue;
        if (const auto& s = softmax[size_t(node)]; s && w.wide(s->exponent)) {
            const Value y = w.forward(node), &g = *adjoint[size_t(node)];
            const Value dot = w.emit("sum", n.dtype, {w.emit("mul", n.dtype, {g, y})});
            add(s->exponent, w.emit("mul", n.dtype, {w.emit("sub", n.dtype, {g, dot}), y}), n.dtype);
            continue;
        }
        Rules rules(w, program, node, *adjoint[size_t(node)]);
        for (size_t at = 0; at < n.operands.size(); ++at) {
            const int operand = n.operands[at].node;
            if (operand < 0 || !needed[size_t(operand)]) continue;
            std::string refused;
            std::optional<Value> v = rules.of(at, refused);
            if (!refused.empty()) return refused;
            if (!v) continue;
            if (!w.wide(operand) && w.wide(node)) // the operand was broadcast over the row
                v = v->wide ? w.emit("sum", rules.type(), {*v})
                            : w.emit("mul", rules.type(), {*v, number(double(w.last(node)))});
            add(operand, *v, rules.type());
        }
    }

    Gradient result;
    std::vector<Output> outputs;
    std::map<std::pair<int, bool>, int> told; // line, whether it is summed -> output
    const auto tell = [&](int input, const Value& v, bool summed) {
        const auto [at, first] = told.try_emplace({v.line, summed}, int(outputs.size()));
        if (first) outputs.push_back({v.line, summed});
        result.of.push_back({input, at->second, summed});
    };
    const auto has = [&](int i) { return wanted[size_t(i)] && adjoint[size_t(i)]; };
    const auto summed = [&](int i) { return row[size_t(i)] && adjoint[size_t(i)]->wide; };
    for (int i = 0; i < program.inputs; ++i)
        if (has(i) && !w.isInput(*adjoint[size_t(i)])) tell(i, *adjoint[size_t(i)], summed(i));
    // What passes through is summed here when it is read here anyway.
    const std::vector<bool> read = w.neededBy(outputs);
    for (int i = 0; i < program.inputs; ++i) {
        if (!has(i) || !w.isInput(*adjoint[size_t(i)])) continue;
        const Value& v = *adjoint[size_t(i)];
        if (summed(i) && read[size_t(v.line)])
            tell(i, v, true);
        else
            result.of.push_back({i, -1 - v.line});
    }
    std::sort(result.of.begin(), result.of.end(), [](const auto& a, const auto& b) { return a.input < b.input; });
    if (!outputs.empty()) result.text = w.text(outputs, result.from);
    return result;
}

} // namespace fusescope::kernels::chain
