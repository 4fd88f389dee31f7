// SPDX-License-Identifier: Apache-2.0
// What is one kernel already: operators that are a fused form (SDPA, F.rms_norm, Liger's functions) and kernels that
// tell it by name (Flash, cuDNN, Inductor's "triton_..._mean_mul_pow_rsqrt"). The names stand in the catalogue.
#include "core/fusion/matchers.h"

#include "core/cost/attention.h"

#include <algorithm>

namespace fusescope::fusion {

bool fits(std::string_view name, std::string_view glob) noexcept {
    std::size_t at = 0;
    while (!glob.empty()) {
        const std::size_t star = glob.find('*');
        const std::string_view part = glob.substr(0, star);
        at = name.find(part, at);
        if (at == std::string_view::npos) return false;
        at += part.size();
        if (star == std::string_view::npos) return true;
        glob.remove_prefix(star + 1);
    }
    return true;
}

namespace {

bool isFusedOp(const CatalogEntry& entry, std::string_view op) {
    return std::find(entry.fused_ops.begin(), entry.fused_ops.end(), op) != entry.fused_ops.end();
}

bool isFusedKernel(const CatalogEntry& entry, std::string_view kernel) {
    return std::any_of(entry.fused_kernels.begin(), entry.fused_kernels.end(),
                       [&](const std::string& glob) { return fits(kernel, glob); });
}

bool tellsBackward(std::string_view kernel) {
    for (const std::string_view part : {"backward", "_bwd", "bprop", "Bwd"})
        if (kernel.find(part) != std::string_view::npos) return true;
    return false;
}

void setShape(Pattern pattern, std::string_view op, const TensorMeta& first, const TensorMeta* second,
              Geometry& shape) {
    if (elements(first) <= 0 || first.sizes.empty()) return;
    if (pattern == Pattern::Attention) {
        if (first.sizes.size() != 4 || second == nullptr || second->sizes.size() != 4) return;
        shape.dtype = first.dtype;
        shape.batch = static_cast<double>(first.sizes[0]);
        shape.heads = static_cast<double>(first.sizes[1]);
        shape.q_len = static_cast<double>(first.sizes[2]);
        shape.head_dim = static_cast<double>(first.sizes[3]);
        shape.kv_heads = static_cast<double>(second->sizes[1]);
        shape.kv_len = static_cast<double>(second->sizes[2]);
    } else if (pattern == Pattern::RmsNorm || pattern == Pattern::AddRmsNorm || pattern == Pattern::SwiGlu) {
        shape.dtype = first.dtype;
        shape.width = lastSize(first);
        shape.rows = elements(first) / shape.width;
        if (op == "fusescope::swiglu_packed") shape.width /= 2; // gate and up side by side
    }
}

// A mask of all scores, the same for every head, of as many queries as keys: only there is_causal may say the same. One
// of padding alone has one row for all queries; one for each head is a bias.
bool readsScoreMask(std::string_view name, const StepOp& op, const Geometry& shape) {
    const TensorMeta* mask = attentionMask(name, op.args);
    if (mask == nullptr || !(shape.q_len > 1) || shape.q_len != shape.kv_len) return false;
    const std::size_t rank = mask->sizes.size();
    return rank >= 2 && static_cast<double>(mask->sizes[rank - 1]) == shape.kv_len &&
           static_cast<double>(mask->sizes[rank - 2]) == shape.q_len && (rank < 3 || mask->sizes[rank - 3] == 1);
}

// SDPA that fell back to separate kernels: the operator's name promises more than ran.
bool ranUnfused(const StepOps& trace, const CatalogEntry& entry, const StepOp& op) {
    bool softmax = false;
    for (const KernelId kernel : op.kernels) {
        const std::string_view name = trace.trace().nameOf(trace.trace().kernels.slice[kernel.index()]);
        if (isFusedKernel(entry, name)) return false;
        softmax =
            softmax || name.find("oftMax") != std::string_view::npos || name.find("softmax") != std::string_view::npos;
    }
    return softmax;
}

std::vector<bool> rowsTaken(const StepOps& trace, const Matches& out, Pattern pattern) {
    std::vector<bool> taken(trace.ops.size(), false);
    for (const Match& match : out.found)
        if (match.pattern == pattern)
            for (const std::uint32_t row : match.ops) taken[row] = true;
    return taken;
}

// q and k of one layer, rotated by kernels of their own, are one instance: no attention runs between them.
void joinRotations(const Matches& attention, std::vector<Match>& found) {
    std::vector<std::uint32_t> borders;
    for (const Match& match : attention.found)
        if (match.pattern == Pattern::Attention && !match.ops.empty()) borders.push_back(match.ops.front());
    std::sort(borders.begin(), borders.end());
    std::vector<Match> joined;
    for (Match& match : found) {
        const std::uint32_t row = match.ops.empty() ? StepOps::kNone : match.ops.front();
        bool same = false;
        if (!joined.empty() && joined.back().ops.size() == 1 && row != StepOps::kNone) {
            const auto border = std::lower_bound(borders.begin(), borders.end(), joined.back().ops.front());
            same = border == borders.end() || *border > row;
        }
        if (same) {
            joined.back().ops.push_back(row);
            joined.back().kernels.insert(joined.back().kernels.end(), match.kernels.begin(), match.kernels.end());
        } else {
            joined.push_back(std::move(match));
        }
    }
    found = std::move(joined);
}

// The optimizer's step is one piece of work, however many kernels it takes.
void joinAll(std::vector<Match>& found) {
    for (std::size_t i = 1; i < found.size(); ++i) {
        found[0].ops.insert(found[0].ops.end(), found[i].ops.begin(), found[i].ops.end());
        found[0].kernels.insert(found[0].kernels.end(), found[i].kernels.begin(), found[i].kernels.end());
    }
    if (found.size() > 1) found.resize(1);
}

} // namespace

void matchFusedForms(const GraphFlow& graph, Matches& out) {
    for (std::size_t p = 0; p < kPatternCount; ++p) {
        const CatalogEntry& entry = catalogEntry(static_cast<Pattern>(p));
        for (std::size_t n = 0; n < graph.size() && !entry.fused_ops.empty(); ++n) {
            if (!isFusedOp(entry, graph.ops().op(NodeId(n)))) continue;
            Match match;
            match.pattern = entry.pattern;
            match.state = FusionState::Fused;
            match.nodes.push_back(NodeId(n));
            const ValueId first = graph.in(NodeId(n), 0), second = graph.in(NodeId(n), 1);
            if (first.valid())
                setShape(entry.pattern, graph.ops().op(NodeId(n)), graph.meta(first),
                         second.valid() ? &graph.meta(second) : nullptr, match.shape);
            out.found.push_back(std::move(match));
        }
    }
}

void matchFusedForms(const StepOps& trace, Matches& out) {
    for (std::size_t p = 0; p < kPatternCount; ++p) {
        const CatalogEntry& entry = catalogEntry(static_cast<Pattern>(p));
        if (entry.fused_ops.empty() && entry.fused_kernels.empty()) continue;
        const std::vector<bool> taken = rowsTaken(trace, out, entry.pattern);
        std::vector<Match> found;
        for (std::size_t i = 0; i < trace.work.size(); ++i) {
            const std::uint32_t row = trace.work[i];
            const StepOp& op = trace.ops[row];
            if (taken[row]) continue;
            const bool by_op = op.id.valid() && isFusedOp(entry, trace.nameOf(op));
            const bool by_kernel = std::any_of(op.kernels.begin(), op.kernels.end(), [&](KernelId kernel) {
                const std::string_view name = trace.trace().nameOf(trace.trace().kernels.slice[kernel.index()]);
                return isFusedKernel(entry, name) && !tellsBackward(name);
            });
            if (!by_op && !by_kernel) continue;
            Match match;
            match.pattern = entry.pattern;
            match.state = FusionState::Fused;
            takeOne(trace, i, match);
            if (by_op && entry.pattern == Pattern::Attention && ranUnfused(trace, entry, op)) {
                match.state = FusionState::Unfused;
                match.note = std::string(trace.nameOf(op)) + " ran separate kernels (its math backend)";
            }
            if (const TensorMeta* first = tensorArg(op, 0); first != nullptr && by_op)
                setShape(entry.pattern, trace.nameOf(op), *first, tensorArg(op, 1), match.shape);
            if (by_op && entry.pattern == Pattern::Attention)
                match.shape.score_mask = readsScoreMask(trace.nameOf(op), op, match.shape);
            if (!by_op) match.note = "known by its kernel's name";
            found.push_back(std::move(match));
        }
        if (entry.pattern == Pattern::Rope) joinRotations(out, found);
        if (entry.pattern == Pattern::Optimizer) joinAll(found);
        out.found.insert(out.found.end(), found.begin(), found.end());
    }
}

} // namespace fusescope::fusion
