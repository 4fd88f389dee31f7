// SPDX-License-Identifier: Apache-2.0
// Reads the text of a region and checks what can be checked without shapes.
#include "kernels/pointwise_chain/program.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

namespace fusescope::kernels::chain {
namespace {

using Text = std::string_view;

std::vector<Text> wordsOf(Text line) {
    std::vector<Text> words;
    for (size_t at = 0; at < line.size();) {
        const size_t start = line.find_first_not_of(" \t\r", at);
        if (start == Text::npos || line[start] == '#') break;
        size_t end = line.find_first_of(" \t\r#", start);
        if (end == Text::npos) end = line.size();
        words.push_back(line.substr(start, end - start));
        at = end;
    }
    return words;
}

std::optional<Dtype> dtypeOf(Text word) {
    for (int d = FS_CHAIN_F32; d <= FS_CHAIN_BOOL; ++d)
        if (word == nameOf(Dtype(d))) return Dtype(d);
    return std::nullopt;
}

const OpFacts* operatorOf(Text word) {
    if (word == "clone") return &factsOf(Op::to);
    for (int op = int(Op::neg); op <= int(Op::amax); ++op)
        if (word == factsOf(Op(op)).name) return &factsOf(Op(op));
    return nullptr;
}

template <class T> bool numberOf(Text word, T& value) {
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    return error == std::errc() && end == word.data() + word.size();
}

/// Whether an int64 holds it exactly, and no neighbour rounds to it.
bool isWhole(double value) { return std::abs(value) < 0x1p53 && value == std::trunc(value); }

std::optional<Constant> constantOf(Text word) {
    if (word == "true" || word == "false") return Constant{double(word == "true"), word == "true", true};
    if (int64_t integer; numberOf(word, integer)) return Constant{double(integer), integer, true};
    Constant c;
    if (!numberOf(word, c.value)) return std::nullopt;
    c.integral = isWhole(c.value);
    if (c.integral) c.integer = int64_t(c.value);
    return c;
}

bool allows(Result wanted, Dtype d) {
    switch (wanted) {
    case Result::floating: return isFloating(d);
    case Result::number: return d != FS_CHAIN_BOOL;
    case Result::any: return true;
    case Result::boolean: return d == FS_CHAIN_BOOL;
    }
    return false;
}

class Reader {
public:
    std::variant<Program, std::string> read(Text text) {
        for (size_t at = 0; at <= text.size() && problem_.empty();) {
            const size_t end = std::min(text.find_first_of("\n;", at), text.size());
            ++line_;
            if (const auto words = wordsOf(text.substr(at, end - at)); !words.empty()) readLine(words);
            at = end + 1;
        }
        if (problem_.empty()) checkWhole();
        if (!problem_.empty()) return problem_;
        return std::move(program_);
    }

private:
    void refuse(const char* text) { problem_ = sentence("line %d: %s", line_, text); }
    template <class... A> void refuse(const char* format, A... arguments) {
        problem_ = sentence("line %d: ", line_) + sentence(format, arguments...);
    }

    static std::string quoted(Text word) { return std::string("'").append(word.substr(0, 60)) + "'"; }

    void readLine(const std::vector<Text>& words) {
        if (words[0] == "output") return readOutput(words);
        const size_t n = program_.nodes.size();
        if (words[0].size() < 2 || words[0][0] != '%' || words.size() < 3 || words[1] != "=")
            return refuse("expected '%%N = OPERATOR.TYPE OPERAND...' or 'output %%N', found %s",
                          quoted(words[0]).c_str());
        if (words[0].substr(1) != std::to_string(n))
            return refuse("expected %%%zu, found %s", n, quoted(words[0]).c_str());
        if (!program_.outputs.empty()) return refuse("%%%zu comes after an output", n);
        if (n == FS_CHAIN_MAX_NODES) return refuse("more than %d operators", int(FS_CHAIN_MAX_NODES));
        if (words[2] == "input")
            readInput(words);
        else
            readOperator(words);
    }

    void readInput(const std::vector<Text>& words) {
        const size_t n = program_.nodes.size();
        const auto dtype = words.size() == 4 ? dtypeOf(words[3]) : std::nullopt;
        if (!dtype)
            return refuse("%%%zu: expected 'input' and one of f32 f16 bf16 f64 i64 i32 bool, found %s", n,
                          words.size() > 3 ? quoted(words[3]).c_str() : "nothing");
        if (int(n) != program_.inputs) return refuse("%%%zu: an input comes after an operator", n);
        if (program_.inputs == FS_CHAIN_MAX_INPUTS) return refuse("more than %d inputs", int(FS_CHAIN_MAX_INPUTS));
        ++program_.inputs;
        program_.nodes.push_back({Op::input, *dtype, *dtype, {}, 1});
    }

    void readOutput(const std::vector<Text>& words) {
        const bool summed = words.size() == 3 && words[2] == "summed";
        if (words.size() != 2 && !summed) return refuse("expected 'output %N' or 'output %N summed'");
        size_t n = 0;
        if (words[1][0] != '%' || !numberOf(words[1].substr(1), n) || n >= program_.nodes.size())
            return refuse("output: expected a result before it, found %s", quoted(words[1]).c_str());
        if (program_.outputs.size() == FS_CHAIN_MAX_OUTPUTS)
            return refuse("more than %d outputs", int(FS_CHAIN_MAX_OUTPUTS));
        if (program_.nodes[n].op == Op::input && !summed) return refuse("output %%%zu is an input", n);
        if (summed && !isFloating(program_.nodes[n].dtype))
            return refuse("output %%%zu: a sum over rows is of floating numbers, found %s", n,
                          nameOf(program_.nodes[n].dtype));
        for (size_t i = 0; i < program_.outputs.size(); ++i)
            if (size_t(program_.outputs[i]) == n && program_.summed[i] == summed)
                return refuse("output %%%zu is written twice", n);
        program_.outputs.push_back(int(n));
        program_.summed.push_back(summed);
    }

    void readOperator(const std::vector<Text>& words) {
        const size_t n = program_.nodes.size(), dot = words[2].find('.');
        const Text name = words[2].substr(0, dot);
        const OpFacts* facts = operatorOf(name);
        if (!facts) return refuse("%%%zu: there is no operator %s", n, quoted(name).c_str());
        const auto dtype = dot == Text::npos ? std::nullopt : dtypeOf(words[2].substr(dot + 1));
        if (!dtype) return refuse("%%%zu: %s needs the type of its result, as in %s.bf16", n, facts->name, facts->name);
        if (!allows(facts->result, *dtype)) return refuse("%%%zu: %s cannot return %s", n, facts->name, nameOf(*dtype));

        Node node;
        node.op = facts->op;
        node.dtype = *dtype;
        for (size_t w = 3; w < words.size(); ++w) {
            if (words[w].substr(0, 6) == "alpha=") {
                if ((node.op != Op::add && node.op != Op::sub) || !numberOf(words[w].substr(6), node.alpha))
                    return refuse("%%%zu: only add and sub take alpha, a number", n);
            } else if (!readOperand(words[w], node)) {
                return;
            }
        }
        if (int(node.operands.size()) != facts->operands)
            return refuse("%%%zu: %s takes %d operands, found %zu", n, facts->name, facts->operands,
                          node.operands.size());
        checkOperands(node);
        program_.nodes.push_back(std::move(node));
    }

    bool readOperand(Text word, Node& node) {
        const size_t n = program_.nodes.size();
        Operand operand;
        if (size_t k = 0; word[0] == '%') {
            if (!numberOf(word.substr(1), k) || k >= n)
                return refuse("%%%zu: expected a result before it, found %s", n, quoted(word).c_str()), false;
            operand.node = int(k);
        } else if (word == "none" && node.op == Op::clamp && !node.operands.empty()) {
            operand.absent = true;
        } else if (const auto constant = constantOf(word)) {
            operand.constant = *constant;
        } else {
            return refuse("%%%zu: expected %%N or a number, found %s", n, quoted(word).c_str()), false;
        }
        node.operands.push_back(operand);
        return true;
    }

    void checkOperands(Node& node) {
        const size_t n = program_.nodes.size();
        const char* name = factsOf(node.op).name;
        bool any = false;
        for (const Operand& o : node.operands) any = any || o.node >= 0;
        if (!any) return refuse("%%%zu: %s of constants alone", n, name);

        node.compute = node.dtype;
        if (factsOf(node.op).comparison) {
            std::optional<Dtype> common;
            for (const Operand& o : node.operands)
                if (o.node >= 0) {
                    const Dtype d = program_.nodes[size_t(o.node)].dtype;
                    common = common ? commonType(*common, d) : d;
                }
            node.compute = *common;
        }
        const bool reduction = isReduction(node.op);
        if ((reduction || node.op == Op::clamp) && node.operands[0].node < 0)
            return refuse("%%%zu: %s of a constant", n, name);
        if (node.op == Op::clamp && node.operands[1].absent && node.operands[2].absent)
            return refuse("%%%zu: clamp without bounds", n);
        if (node.op == Op::pow && node.operands[1].node >= 0)
            return refuse("%%%zu: pow: the exponent must be a constant", n);
        for (size_t i = 0; i < node.operands.size(); ++i) {
            const Operand& o = node.operands[i];
            const bool condition = node.op == Op::where && i == 0;
            if (o.node >= 0) {
                const Dtype d = program_.nodes[size_t(o.node)].dtype;
                if (condition && d != FS_CHAIN_BOOL)
                    return refuse("%%%zu: where: expected a bool condition, found %s", n, nameOf(d));
                if (!condition && node.op != Op::to && isFloating(d) && !isFloating(node.compute))
                    return refuse("%%%zu: %s.%s of %s: a cast is needed", n, name, nameOf(node.dtype), nameOf(d));
            } else if (!o.absent && !isFloating(node.compute) && !o.constant.integral && !condition) {
                return refuse("%%%zu: %s of integers and %g: a cast is needed", n, name, o.constant.value);
            } else if (!o.absent && node.compute == FS_CHAIN_I32 && int32_t(o.constant.integer) != o.constant.integer) {
                return refuse("%%%zu: %s of i32 and %lld, which i32 cannot hold", n, name,
                              static_cast<long long>(o.constant.integer));
            }
        }
        if (!isFloating(node.dtype) && !isWhole(node.alpha))
            return refuse("%%%zu: alpha %g for integers", n, node.alpha);
    }

    void checkWhole() {
        if (program_.outputs.empty()) return refuse("there is no output");
        if (program_.inputs == 0) return refuse("there is no input");
        std::vector<bool> used(program_.nodes.size());
        for (int output : program_.outputs) used[size_t(output)] = true;
        for (const Node& node : program_.nodes)
            for (const Operand& o : node.operands)
                if (o.node >= 0) used[size_t(o.node)] = true;
        for (size_t i = 0; i < used.size(); ++i)
            if (!used[i]) return refuse("nothing uses %%%zu (%s)", i, factsOf(program_.nodes[i].op).name);
    }

    Program program_;
    std::string problem_;
    int line_ = 0;
};

} // namespace

std::variant<Program, std::string> parse(std::string_view text) { return Reader().read(text); }

} // namespace fusescope::kernels::chain
