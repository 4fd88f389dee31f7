// SPDX-License-Identifier: Apache-2.0
#include "kernels/pointwise_chain/passes.h"

#include "kernels/pointwise_chain/source.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>

namespace fusescope::kernels::chain {
namespace {

constexpr int mostKept = 2; // each takes a register for every element that a thread has
constexpr int worthKeeping = 6;

/// Instructions for an element, about.
int costOf(const Node& node, FsRounding rounding) {
    const int rounds = rounding == FS_ROUND_AS_FRAMEWORK && isHalf(node.dtype) ? 2 : 0;
    switch (node.op) {
    case Op::input: return 0;
    case Op::to: return rounds;
    case Op::reciprocal:
    case Op::sqrt:
    case Op::rsqrt:
    case Op::exp:
    case Op::log:
    case Op::tanh:
    case Op::sigmoid:
    case Op::silu:
    case Op::gelu:
    case Op::geluTanh:
    case Op::erf:
    case Op::sin:
    case Op::cos:
    case Op::expm1:
    case Op::log1p: return 8 + rounds;
    case Op::div: return node.operands[1].node < 0 ? 1 + rounds : 8 + rounds;
    case Op::pow: {
        const double exponent = node.operands[1].constant.value;
        return (exponent == 2 || exponent == 1 || exponent == 3 ? 2 : 8) + rounds;
    }
    default: return 1 + rounds;
    }
}

class Finder {
public:
    Finder(const Program& program, const Plan& plan)
        : program_(program), plan_(plan), writer_(program, plan), computed_(program.nodes.size()) {}

    Passes find(bool keeps) {
        levels();
        shareScratch();
        passes_.nodes.resize(size_t(passes_.last) + 2);
        passes_.kept.resize(size_t(passes_.last) + 2);
        for (int pass = 1; pass <= passes_.last + 1; ++pass) {
            const std::vector<int> wanted = wantedBy(pass);
            std::vector<int>& kept = passes_.kept[size_t(pass)];
            if (keeps) kept = worth(wanted);
            passes_.nodes[size_t(pass)] = neededBy(wanted, kept);
            for (int node : passes_.nodes[size_t(pass)]) computed_[size_t(node)] = true;
        }
        return std::move(passes_);
    }

private:
    void levels() {
        passes_.level.resize(program_.nodes.size());
        for (size_t i = 0; i < program_.nodes.size(); ++i) {
            int& level = passes_.level[i];
            for (const Operand& o : program_.nodes[i].operands)
                if (o.node >= 0) level = std::max(level, passes_.level[size_t(o.node)]);
            if (writer_.isReduction(int(i))) ++level;
            passes_.last = std::max(passes_.last, level);
        }
    }

    /// Every second pass takes the same, as far as types are alike.
    void shareScratch() {
        std::map<std::tuple<int, std::string, int>, int> first; // parity, type, place in the pass
        std::map<std::pair<int, std::string>, int> places;      // taken in a pass
        passes_.scratch.assign(program_.nodes.size(), -1);
        for (size_t i = 0; i < program_.nodes.size(); ++i) {
            if (!writer_.isReduction(int(i))) continue;
            const int pass = passes_.level[i];
            const std::string type = valueType(program_.nodes[i].dtype);
            const int place = places[{pass, type}]++;
            passes_.scratch[i] = first.try_emplace({pass % 2, type, place}, int(i)).first->second;
        }
    }

    std::vector<int> wantedBy(int pass) const {
        std::vector<int> wanted;
        if (pass > passes_.last) {
            for (size_t i = 0; i < program_.outputs.size(); ++i)
                if (plan_.outputs[i].summed || !plan_.outputs[i].perRow) wanted.push_back(program_.outputs[i]);
            return wanted;
        }
        for (size_t i = 0; i < program_.nodes.size(); ++i)
            if (passes_.level[i] == pass && writer_.isReduction(int(i)))
                wanted.push_back(program_.nodes[i].operands[0].node);
        return wanted;
    }

    /// The nodes with a value for each element that the given ones need, themselves included, in order; `leaves` need
    /// nothing.
    std::vector<int> neededBy(const std::vector<int>& wanted, const std::vector<int>& leaves) const {
        std::vector<bool> is(program_.nodes.size());
        for (int node : wanted) is[size_t(node)] = true;
        std::vector<int> nodes;
        for (int i = int(is.size()) - 1; i >= 0; --i) {
            if (!is[size_t(i)] || writer_.perRow(i)) continue;
            nodes.push_back(i);
            if (std::find(leaves.begin(), leaves.end(), i) != leaves.end()) continue;
            for (const Operand& o : program_.nodes[size_t(i)].operands)
                if (o.node >= 0) is[size_t(o.node)] = true;
        }
        std::reverse(nodes.begin(), nodes.end());
        return nodes;
    }

    /// Of what earlier passes have computed, what this one reads first and would pay most for.
    std::vector<int> worth(const std::vector<int>& wanted) const {
        const std::vector<int> nodes = neededBy(wanted, {});
        std::vector<bool> read(program_.nodes.size()); // by what is new, or wanted itself
        for (int node : wanted) read[size_t(node)] = true;
        for (int node : nodes)
            if (!computed_[size_t(node)])
                for (const Operand& o : program_.nodes[size_t(node)].operands)
                    if (o.node >= 0) read[size_t(o.node)] = true;
        std::vector<std::pair<int, int>> found; // cost, node
        for (int node : nodes) {
            if (!read[size_t(node)] || !computed_[size_t(node)]) continue;
            int cost = 0;
            for (int part : neededBy({node}, {})) cost += costOf(program_.nodes[size_t(part)], plan_.rounding);
            if (cost >= worthKeeping) found.emplace_back(-cost, node);
        }
        std::sort(found.begin(), found.end());
        if (found.size() > mostKept) found.resize(mostKept);
        std::vector<int> kept;
        for (const auto& [cost, node] : found) kept.push_back(node);
        return kept;
    }

    const Program& program_;
    const Plan& plan_;
    NodeWriter writer_;
    std::vector<bool> computed_;
    Passes passes_;
};

} // namespace

Passes passesOf(const Program& program, const Plan& plan, bool keeps) { return Finder(program, plan).find(keeps); }

} // namespace fusescope::kernels::chain
