// SPDX-License-Identifier: Apache-2.0
#include "core/link/align.h"

#include "core/graph/visible_graph.h"
#include "core/link/op_names.h"

#include <algorithm>

namespace fusescope {
namespace {

constexpr std::uint64_t kMaxCells = std::uint64_t{1} << 26; // of one table (one byte each)
constexpr std::uint64_t kMaxCellsInAll = std::uint64_t{1} << 31;

std::uint32_t weightOf(const TraceOp& op, const OpAlphabet& alphabet) {
    const std::uint32_t base = alphabet.plumbing(op.letter) ? 1 : 8;
    return op.top ? base * 4 : base;
}

enum Move : std::uint8_t { SkipOp, SkipNode, Match };

std::vector<std::int32_t> table(const std::vector<TraceOp>& ops, const std::vector<std::uint32_t>& nodes,
                                const OpAlphabet& alphabet) {
    const std::size_t n = ops.size(), m = nodes.size();
    std::vector<std::uint8_t> move(n * m);
    std::vector<std::uint32_t> below(m + 1, 0), here(m + 1, 0); // best weight of the suffixes
    for (std::size_t i = n; i-- > 0;) {
        const std::uint32_t weight = weightOf(ops[i], alphabet);
        here[m] = 0;
        for (std::size_t j = m; j-- > 0;) {
            std::uint32_t best = below[j];
            std::uint8_t how = SkipOp;
            if (here[j + 1] > best) {
                best = here[j + 1];
                how = SkipNode;
            }
            if (ops[i].letter == nodes[j] && below[j + 1] + weight >= best) { // ties: the earliest match
                best = below[j + 1] + weight;
                how = Match;
            }
            here[j] = best;
            move[i * m + j] = how;
        }
        std::swap(below, here);
    }
    std::vector<std::int32_t> out(n, -1);
    for (std::size_t i = 0, j = 0; i < n && j < m;) {
        switch (move[i * m + j]) {
        case Match: out[i++] = static_cast<std::int32_t>(j++); break;
        case SkipOp: ++i; break;
        default: ++j; break;
        }
    }
    return out;
}

// For sequences beyond the table's bounds: the next equal node within a window, or none.
std::vector<std::int32_t> scan(const std::vector<TraceOp>& ops, const std::vector<std::uint32_t>& nodes) {
    constexpr std::size_t kWindow = 64;
    std::vector<std::int32_t> out(ops.size(), -1);
    std::size_t j = 0;
    for (std::size_t i = 0; i < ops.size() && j < nodes.size(); ++i) {
        if (!ops[i].top) continue;
        for (std::size_t k = j; k < std::min(nodes.size(), j + kWindow); ++k)
            if (nodes[k] == ops[i].letter) {
                out[i] = static_cast<std::int32_t>(k);
                j = k + 1;
                break;
            }
    }
    return out;
}

} // namespace

std::uint32_t OpAlphabet::of(std::string_view op) {
    const auto [at, fresh] = known_.try_emplace(std::string(op), 0);
    if (!fresh) return at->second;
    const auto [letter, unseen] = canonical_.try_emplace(canonicalOp(op), static_cast<std::uint32_t>(plumbing_.size()));
    if (unseen) plumbing_.push_back(isPlumbing(op));
    at->second = letter->second;
    return at->second;
}

std::uint32_t Aligner::sequence(std::vector<std::uint32_t> nodes) {
    const auto [at, fresh] = numbers_.try_emplace(nodes, static_cast<std::uint32_t>(sequences_.size()));
    if (fresh) sequences_.push_back(std::move(nodes));
    return at->second;
}

const std::vector<std::int32_t>& Aligner::align(const std::vector<TraceOp>& ops, std::uint32_t sequence,
                                                const OpAlphabet& alphabet) {
    std::string key;
    key.reserve((ops.size() + 1) * 4);
    const auto push = [&key](std::uint32_t v) {
        for (int shift = 0; shift < 32; shift += 8) key += static_cast<char>((v >> shift) & 0xFF);
    };
    push(sequence);
    for (const TraceOp& op : ops) push(op.letter * 2 + (op.top ? 1 : 0));
    const auto [at, fresh] = memo_.try_emplace(std::move(key));
    if (!fresh) return at->second;

    const std::vector<std::uint32_t>& nodes = sequences_[sequence];
    const std::uint64_t cells = static_cast<std::uint64_t>(ops.size()) * nodes.size();
    if (cells <= kMaxCells && cells_ + cells <= kMaxCellsInAll) {
        cells_ += cells;
        at->second = table(ops, nodes, alphabet);
    } else {
        at->second = scan(ops, nodes);
    }
    return at->second;
}

} // namespace fusescope
