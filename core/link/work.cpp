// SPDX-License-Identifier: Apache-2.0
#include "core/link/work.h"

#include "core/link/fusescope_ops.h"
#include "core/link/op_names.h"

namespace fusescope {
namespace {

bool has(std::string_view text, std::string_view part) noexcept { return text.find(part) != std::string_view::npos; }

std::string_view opName(const TraceStore& trace, CpuOpId op) {
    return op.valid() ? trace.nameOf(trace.cpu_ops.slice[op.index()]) : std::string_view{};
}

const CpuContext& contextOf(const WorkTables& t, CpuOpId op) {
    return t.contexts.of(t.trace.cpu_ops.slice[op.index()]);
}

bool isAttentionProduct(std::string_view op) {
    const std::string_view name = shortOpName(op);
    return name == "matmul" || name == "bmm" || name == "baddbmm" || has(name, "scaled_dot_product") ||
           has(name, "flash_attn") || isOwnAttention(op);
}

ModuleId moduleOfFrame(const WorkTables& t, SliceId frame) {
    if (!frame.valid()) return {};
    const auto found = t.frames.find(frame.value);
    return found == t.frames.end() ? ModuleId{} : found->second;
}

// Phase of a forward operator by annotation, Python function, name or place; Unknown = plain forward.
Phase forwardPhase(const WorkTables& t, CpuOpId op, const CpuContext& context) {
    if (context.phase != Phase::Unknown) return context.phase;
    for (const CpuOpId row : {op, context.top_op}) {
        if (!row.valid()) continue;
        if (t.loss_ops[row.index()]) return Phase::Loss;
        const Phase phase = phaseOfOp(opName(t.trace, row));
        // Inside a module such a name means something else (a norm that calls linalg_vector_norm).
        if (phase != Phase::Unknown && (phase == Phase::Loss || !context.frame.valid())) return phase;
    }
    return Phase::Unknown;
}

void placeForward(const WorkTables& t, const CpuContext& context, WorkLink& work) {
    work.module = moduleOfFrame(t, context.frame);
    if (work.module.valid()) work.module_how = LinkHow::TimeContainment;
    if (t.nodes != nullptr && work.op.valid()) {
        work.node = t.nodes->node[work.op.index()];
        if (work.node.valid()) work.node_how = LinkHow::Alignment;
        if (!work.module.valid() && !t.nodes->module.empty()) {
            work.module = t.nodes->module[work.op.index()];
            if (work.module.valid()) work.module_how = LinkHow::Alignment;
        }
    }
    work.phase = forwardPhase(t, work.op, context);
    if (context.frame_in_node) work.phase = Phase::Backward; // run again inside the backward pass
    if (work.phase == Phase::Unknown && (work.module.valid() || (!t.contexts.has_frames && work.op.valid())))
        work.phase = Phase::Forward;
    switch (work.phase) {
    case Phase::Optimizer: work.direction = Direction::Optimizer; break;
    case Phase::Forward:
    case Phase::Loss: work.direction = Direction::Forward; break;
    case Phase::Backward: work.direction = context.frame_in_node ? Direction::Forward : Direction::Backward; break;
    default: work.direction = Direction::Other; break;
    }
}

void placeBackward(const WorkTables& t, const CpuContext& context, WorkLink& work) {
    work.direction = Direction::Backward;
    work.phase = Phase::Backward;
    if (phaseOfOp(opName(t.trace, work.op)) == Phase::Loss) work.phase = Phase::Loss; // nll_loss_backward
    const CpuOpId forward = t.forward_ops[context.node.index()];
    if (!forward.valid()) return;
    work.forward_op = forward;
    const CpuContext& made = contextOf(t, forward);
    work.module = moduleOfFrame(t, made.frame);
    if (work.module.valid()) work.module_how = LinkHow::SequenceNumber;
    if (t.nodes != nullptr) {
        work.node = t.nodes->node[forward.index()];
        if (work.node.valid()) work.node_how = LinkHow::Alignment;
        if (!work.module.valid() && !t.nodes->module.empty()) {
            work.module = t.nodes->module[forward.index()];
            if (work.module.valid()) work.module_how = LinkHow::Alignment;
        }
    }
    if (forwardPhase(t, forward, made) == Phase::Loss) work.phase = Phase::Loss;
}

bool mayBeRope(OpKind kind) {
    return kind == OpKind::Attention || kind == OpKind::Elementwise || kind == OpKind::Copy || kind == OpKind::Other;
}

OpKind kindOfWork(const WorkTables& t, const CpuContext* context, std::string_view kernel, const WorkLink& work) {
    if (work.phase == Phase::Communication) return OpKind::Communication;
    if (work.phase == Phase::Loss) {
        const OpKind kind = kindOf(opName(t.trace, work.op), {}, work.direction, kernel);
        return kind == OpKind::Matmul ? kind : OpKind::Loss;
    }
    const std::string_view type =
        work.module.valid() ? std::string_view(t.modules.at(work.module).type) : std::string_view{};
    OpKind kind = kindOf(opName(t.trace, work.op), type, work.direction, kernel);
    if (!mayBeRope(kind) || kindOfOwnOp(opName(t.trace, work.op))) return kind;

    // Backward work is of the kind of the forward operator that it differentiates.
    const CpuOpId maker = work.direction == Direction::Backward ? work.forward_op : work.op;
    const CpuContext* made = maker.valid() ? &contextOf(t, maker) : context;
    const std::string_view made_by = shortOpName(opName(t.trace, maker));
    const std::string_view top_name = opName(t.trace, made != nullptr ? made->top_op : CpuOpId{});
    const std::string_view top = shortOpName(top_name);
    if (top == "softmax" || has(top, "scaled_dot_product") || isOwnAttention(top_name)) return OpKind::Attention;
    if (top == "to" && has(type, "Attention")) return OpKind::Attention; // the probabilities, to and from float32
    if (made != nullptr && made->rope) return OpKind::Rope;
    const bool moves = made_by == "clone" || made_by == "copy_" || made_by == "reshape" ||
                       made_by == "_reshape_alias" || made_by == "expand" || made_by == "view" ||
                       made_by == "contiguous" || made_by == "transpose";
    if (moves) return kind == OpKind::Attention ? OpKind::Copy : kind;
    if (work.node.valid() && t.rope_nodes != nullptr && (*t.rope_nodes)[work.node.index()]) return OpKind::Rope;
    if (made != nullptr && made->frame.valid() && maker.valid() && has(type, "Attention")) {
        const auto starts = t.attention_starts.find(made->frame.value);
        const std::int64_t ts = t.trace.slices.ts[t.trace.cpu_ops.slice[maker.index()].index()];
        if (starts != t.attention_starts.end() && ts < starts->second) return OpKind::Rope;
    }
    return kind;
}

std::string_view reasonOf(const WorkTables& t, const Launched& launched, SliceId gpu, const WorkLink& work) {
    const bool placed = work.module.valid() ||
                        (work.phase != Phase::Unknown && work.phase != Phase::Forward && work.phase != Phase::Backward);
    if (work.op.valid() && placed) return {};
    if (launched.captured) return "captured graph: no operator recorded";
    if (!work.op.valid()) {
        if (t.trace.cpu_ops.size() == 0) return "the trace has no operators (record ProfilerActivity.CPU)";
        if (!work.launch.valid())
            return t.trace.slices.correlation[gpu.index()] == 0 ? "no correlation recorded"
                                                                : "the launch is not in the trace";
        return "launched outside every operator";
    }
    if (!t.contexts.has_frames) return "no module frames in the trace (record with_stack=True)";
    if (work.direction == Direction::Backward)
        return work.forward_op.valid() ? "backward of an operator outside every module"
                                       : "backward without a forward operator in the trace";
    return "outside every module and named phase";
}

} // namespace

void findAttentionStarts(WorkTables& tables) {
    const TraceStore& trace = tables.trace;
    for (std::size_t i = 0; i < trace.slices.size(); ++i) {
        if (trace.slices.category[i] != Category::CpuOp) continue;
        const CpuContext& context = tables.contexts.of(SliceId(i));
        if (!context.frame.valid() || context.backward() || !isAttentionProduct(trace.nameOf(SliceId(i)))) continue;
        const ModuleId module = moduleOfFrame(tables, context.frame);
        if (!module.valid() || !has(tables.modules.at(module).type, "Attention")) continue;
        tables.attention_starts.emplace(context.frame.value,
                                        trace.slices.ts[i]); // slices are in time order: the first stays
    }
}

std::vector<bool> ropeNodes(const ModelGraph& graph) {
    std::vector<bool> rope(graph.ops.nodes.size(), false), reached(graph.modules.modules.size(), false);
    for (std::size_t n = 0; n < graph.ops.nodes.size(); ++n) {
        const ModuleId module = graph.ops.nodes[n].module;
        if (!module.valid() || module.index() >= reached.size() || !has(graph.modules.at(module).type, "Attention"))
            continue;
        const std::string_view op = graph.ops.op(NodeId(n));
        if (isAttentionProduct(op)) reached[module.index()] = true;
        const std::string_view name = shortOpName(op);
        rope[n] = !reached[module.index()] &&
                  (name == "mul" || name == "add" || name == "neg" || name == "cat" || name == "sub");
    }
    return rope;
}

std::string_view linkWork(const WorkTables& tables, SliceId gpu, WorkLink& work) {
    const std::string_view kernel = tables.trace.nameOf(gpu);
    const Launched launched = linkLaunch(tables.trace, tables.launches, tables.contexts, gpu, work);
    if (launched.context != nullptr) {
        if (launched.context->backward())
            placeBackward(tables, *launched.context, work);
        else
            placeForward(tables, *launched.context, work);
    }
    const Phase by_name = phaseOfKernel(kernel);
    if (by_name == Phase::Communication) {
        work.phase = by_name;
        work.direction = Direction::Other;
    } else if (!work.op.valid() && work.phase == Phase::Unknown && by_name != Phase::Unknown) {
        work.phase = by_name;
        if (by_name == Phase::Optimizer) work.direction = Direction::Optimizer;
    }
    if (work.phase == Phase::Unknown && has(kernel, "HtoD")) work.phase = Phase::Data;
    work.kind = kindOfWork(tables, launched.context, kernel, work);
    return reasonOf(tables, launched, gpu, work);
}

} // namespace fusescope
