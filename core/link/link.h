// SPDX-License-Identifier: Apache-2.0
// kernel -> launch -> cpu op -> module -> graph node -> source line, each with how it was found; forward <-> backward
// by autograd sequence number; phases; the share of GPU time that could not be linked, with reasons.
#pragma once

#include "core/base/progress.h"
#include "core/graph/op_graph.h"
#include "core/link/op_kind.h"
#include "core/trace/trace_store.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace fusescope {

enum class LinkHow : std::uint8_t {
    None,
    Correlation,
    ExternalId,
    TimeContainment,
    SequenceNumber,
    Alignment,
    Name,
};
[[nodiscard]] std::string_view nameOf(LinkHow how) noexcept;

// A part of the step that needs no module: it counts as linked when named.
enum class Phase : std::uint8_t {
    Unknown,
    Forward,
    Loss,
    Backward,
    GradClip,
    Optimizer,
    ZeroGrad,
    Communication,
    Data
};
[[nodiscard]] std::string_view nameOf(Phase phase) noexcept;

struct WorkLink {       // of one kernel or copy
    SliceId launch;     // cuda_runtime / cuda_driver row
    CpuOpId op;         // innermost cpu_op around the launch ("aten::mm"): its shapes describe the kernel
    CpuOpId top_op;     // outermost operator inside the module or autograd node ("aten::linear"); == op if alone
    CpuOpId forward_op; // backward work: the forward operator with the same sequence number
    ModuleId module;    // into Link::modules
    NodeId node;        // into the graph, when there is one
    LinkHow launch_how = LinkHow::None, op_how = LinkHow::None, module_how = LinkHow::None, node_how = LinkHow::None;
    Direction direction = Direction::Other;
    Phase phase = Phase::Unknown;
    OpKind kind = OpKind::Other;
};

struct ModuleCall { // one forward execution of a module on the CPU timeline
    SliceId slice;  // "nn.Module: Qwen3RMSNorm_3"
    ModuleId module;
    std::int16_t step = -1;
};

struct Unlinked {
    std::string reason;
    double time_ns = 0;
    std::uint32_t kernels = 0;
};

struct Link {
    // The graph's tree when there is a graph (trace modules are aligned to it), else the trace's own.
    ModuleTree modules;
    bool modules_from_graph = false;
    std::vector<WorkLink> kernels; // parallel to TraceStore::kernels
    std::vector<WorkLink> copies;  // parallel to TraceStore::copies
    std::vector<ModuleCall> calls; // by time

    // Kernel time (ns) over the whole trace: all of it, with an op, with a module or a named phase, with a graph node.
    double kernel_ns = 0, op_ns = 0, module_ns = 0, graph_ns = 0;
    std::vector<Unlinked> unlinked;

    // Kernels of a graph node (all steps), in time order.
    [[nodiscard]] std::span<const KernelId> kernelsOf(NodeId node) const;
    std::vector<std::uint32_t> node_start; // CSR rows behind kernelsOf; empty without a graph
    std::vector<KernelId> node_kernels;
};

// graph may be null. Never fails on odd traces: what cannot be linked is listed with its reason.
[[nodiscard]] Link linkTrace(const TraceStore& trace, const ModelGraph* graph, Progress& progress);

} // namespace fusescope
