// SPDX-License-Identifier: Apache-2.0
// The backward of an instance: kernels whose autograd node was made by one of its forward operators (sequence number).
//
// Additions of gradients need a closer look. Autograd adds when a tensor had several users; it does so under the node
// whose gradient came last. Such an addition belongs to the instance when the tensor is its own: made inside it, or
// read by several of its operators (the input of q, k and v). The addition of the residual's gradient to a norm's
// belongs to add + norm, which made the sum, and not to the norm alone, which only reads it.
//
// A compiled backward is one autograd node for the whole graph, so nothing in it carries a forward operator's number.
// There the backward of a fused form is told by its kernel's name and given out in reverse order of the forward.
#include "core/fusion/instances.h"
#include "core/fusion/matchers.h"

#include "core/trace/op_args.h"

#include <algorithm>
#include <map>

namespace fusescope::fusion {
namespace {

bool startsWith(std::string_view text, std::string_view part) { return text.substr(0, part.size()) == part; }

// An addition made by the engine itself, not by the node it evaluates.
bool isAccumulation(const TraceStore& trace, CpuOpId op) {
    SliceId slice = trace.cpu_ops.slice[op.index()];
    const std::string_view name = trace.nameOf(slice);
    if (name != "aten::add" && name != "aten::add_") return false;
    for (int guard = 0; guard < 64; ++guard) {
        slice = trace.slices.parent[slice.index()];
        if (!slice.valid()) return false;
        if (trace.slices.category[slice.index()] != Category::CpuOp) continue;
        if (startsWith(trace.nameOf(slice), "autograd::engine::evaluate_function: ")) return true;
        if (trace.slices.detail[slice.index()] < trace.cpu_ops.size() &&
            trace.cpu_ops.fwd_thread[trace.slices.detail[slice.index()]] > 0)
            return false;
    }
    return false;
}

// Rows of an instance that read an activation which others may read too.
std::vector<std::uint32_t> entriesOf(const StepOps& trace, const Draft& draft) {
    switch (draft.instance.pattern) {
    case Pattern::QkvProjection: return draft.rows;
    case Pattern::AddRmsNorm:
    case Pattern::RmsNorm: {
        if (draft.rows.empty()) return {};
        std::vector<std::uint32_t> entries{draft.rows.front()};
        // Without a cast the square and the scaling both read the input.
        if (trace.ops[draft.rows.front()].code == OpCode::Pow)
            for (const std::uint32_t row : draft.rows)
                if (trace.ops[row].code == OpCode::Mul) {
                    entries.push_back(row);
                    break;
                }
        return entries;
    }
    default: return {};
    }
}

bool contains(const std::vector<std::uint32_t>& rows, std::uint32_t row) {
    return std::find(rows.begin(), rows.end(), row) != rows.end();
}

// The backward of a compiled loss has no sequence numbers: its kernels are told by name, its matmuls by the vocabulary.
void addCompiledLoss(const StepOps& step, std::vector<Draft>& drafts) {
    const TraceStore& trace = step.trace();
    int losses = 0;
    for (Draft& draft : drafts) {
        if (draft.instance.pattern != Pattern::LinearCrossEntropy || draft.instance.state != FusionState::Partial)
            continue;
        if (++losses > 1) break; // whose gradient is whose cannot be told
        const auto vocabulary = static_cast<std::int64_t>(draft.shape.width);
        for (std::size_t k = 0; k < trace.kernels.size(); ++k) {
            const WorkLink& work = step.link().kernels[k];
            const SliceId slice = trace.kernels.slice[k];
            if (work.direction != Direction::Backward || !work.op.valid() || !step.inStep(slice)) continue;
            const bool loss = trace.nameOf(slice).find("log_softmax_backward") != std::string_view::npos;
            const OpCode code = opCodeOf(trace.nameOf(trace.cpu_ops.slice[work.op.index()]));
            const bool fill = trace.nameOf(trace.cpu_ops.slice[work.op.index()]) == "aten::fill_";
            if (!loss && code != OpCode::Linear && !fill) continue;
            const std::vector<OpArg> args = parseOpArgs(trace, work.op);
            const bool on_logits = std::any_of(args.begin(), args.end(), [&](const OpArg& arg) {
                return arg.kind == ArgKind::Tensor && vocabulary > 0 &&
                       std::find(arg.tensor.sizes.begin(), arg.tensor.sizes.end(), vocabulary) !=
                           arg.tensor.sizes.end();
            });
            if (loss || on_logits) draft.instance.backward.push_back(KernelId(k));
        }
    }
}

// Kernels whose name is that of a fused form's backward, with those launched by the same operator, go to its instances
// in reverse order, if there are as many of the one as of the other: else whose they are cannot be told.
void addFusedBackward(const StepOps& step, std::vector<Draft>& drafts) {
    const TraceStore& trace = step.trace();
    std::vector<bool> taken(trace.kernels.size(), false); // by sequence number
    for (const Draft& draft : drafts)
        for (const KernelId k : draft.instance.backward) taken[k.index()] = true;
    for (std::size_t p = 0; p < kPatternCount; ++p) {
        const CatalogEntry& entry = catalogEntry(static_cast<Pattern>(p));
        if (entry.backward_kernels.empty()) continue;
        std::vector<Draft*> open; // in the order of the step
        for (Draft& draft : drafts)
            if (draft.instance.pattern == entry.pattern && draft.instance.state == FusionState::Fused &&
                !draft.instance.forward.empty() && draft.instance.backward.empty())
                open.push_back(&draft);
        if (open.empty()) continue;
        std::map<std::uint32_t, std::vector<KernelId>> of_op;
        std::vector<std::vector<KernelId>> units; // by time of their telling kernel
        std::vector<CpuOpId> ops;
        for (std::size_t k = 0; k < trace.kernels.size(); ++k) {
            const SliceId slice = trace.kernels.slice[k];
            const WorkLink& work = step.link().kernels[k];
            if (!step.inStep(slice) || taken[k]) continue;
            if (work.op.valid()) of_op[work.op.value].emplace_back(k);
            const std::string_view name = trace.nameOf(slice);
            const bool tells = std::any_of(entry.backward_kernels.begin(), entry.backward_kernels.end(),
                                           [&](const std::string& glob) { return fits(name, glob); });
            if (!tells || (work.op.valid() && !ops.empty() && ops.back() == work.op)) continue;
            units.push_back({KernelId(k)});
            ops.push_back(work.op);
        }
        if (units.size() != open.size()) continue;
        for (std::size_t i = 0; i < units.size(); ++i) {
            Instance& instance = open[open.size() - 1 - i]->instance;
            instance.backward = ops[i].valid() ? of_op[ops[i].value] : units[i];
        }
    }
}

} // namespace

void addBackward(const StepOps& step, std::vector<Draft>& drafts) {
    const TraceStore& trace = step.trace();
    std::vector<std::vector<std::uint32_t>> of_row(step.ops.size());
    std::vector<std::vector<std::uint32_t>> entries(drafts.size()), done(drafts.size());
    std::vector<bool> residual(drafts.size(), false);
    for (std::size_t d = 0; d < drafts.size(); ++d) {
        entries[d] = entriesOf(step, drafts[d]);
        for (const std::uint32_t row : drafts[d].rows) of_row[row].push_back(static_cast<std::uint32_t>(d));
    }
    for (std::size_t k = 0; k < trace.kernels.size() && k < step.link().kernels.size(); ++k) { // in time order
        const WorkLink& work = step.link().kernels[k];
        if (!work.forward_op.valid() || !work.op.valid() || !step.inStep(trace.kernels.slice[k])) continue;
        const std::uint32_t row = step.rowOf(trace.cpu_ops.slice[work.forward_op.index()]);
        if (row == StepOps::kNone || of_row[row].empty()) continue;
        const bool accumulates = isAccumulation(trace, work.op);
        for (const std::uint32_t d : of_row[row]) {
            const bool entry = contains(entries[d], row);
            if (accumulates && entry) {
                // Its own only if another of its operators has sent a gradient to the same tensor before.
                const bool second =
                    std::any_of(done[d].begin(), done[d].end(), [&](std::uint32_t r) { return r != row; });
                if (!second) continue;
            }
            if (entry && !contains(done[d], row)) done[d].push_back(row);
            // Gradients of the sum meet at the operator that reads it first: one comes along the residual.
            if (accumulates && drafts[d].rows.size() > 1 && drafts[d].rows[1] == row) residual[d] = true;
            drafts[d].instance.backward.push_back(KernelId(k));
        }
    }
    addCompiledLoss(step, drafts);
    addFusedBackward(step, drafts);
    for (std::size_t d = 0; d < drafts.size(); ++d) {
        Draft& draft = drafts[d];
        if (draft.instance.pattern == Pattern::AddRmsNorm) draft.shape.residual_gradient = residual[d];
        std::vector<KernelId>& backward = draft.instance.backward;
        std::sort(backward.begin(), backward.end());
        backward.erase(std::unique(backward.begin(), backward.end()), backward.end());
    }
}

} // namespace fusescope::fusion
