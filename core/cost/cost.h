// SPDX-License-Identifier: Apache-2.0
// FLOPs and bytes of operators from their recorded shapes. Bytes are compulsory traffic: every distinct input element
// read once, every output element written once (caches may do better between kernels, never worse than this for large
// tensors). Unknown is not zero: flops_known / bytes_known say whether a formula exists.
#pragma once

#include "core/base/tensor.h"
#include "core/graph/op_graph.h"
#include "core/link/link.h"
#include "core/trace/trace_store.h"

#include <span>
#include <string_view>
#include <vector>

namespace fusescope {

struct OpCost {
    double flops = 0;        // all floating-point operations (multiply-add = 2; exp, rsqrt ... = 1)
    double tensor_flops = 0; // the part that tensor cores do (matmuls)
    double bytes_read = 0, bytes_written = 0;
    DType dtype = DType::Unknown; // of the arithmetic: picks the peak
    bool flops_known = false, bytes_known = false;
    const char* formula = ""; // "2*B*M*N*K": shown in tooltips
    [[nodiscard]] double bytes() const noexcept { return bytes_read + bytes_written; }
    // Arithmetic intensity, FLOP/byte; 0 when unknown.
    [[nodiscard]] double intensity() const noexcept { return bytes() > 0 ? flops / bytes() : 0; }
};

// op: "aten::mm". inputs in schema order. outputs: known for graph nodes, empty for trace rows (then derived).
[[nodiscard]] OpCost costOfOp(std::string_view op, std::span<const OpArg> inputs,
                              std::span<const TensorMeta> outputs = {});
[[nodiscard]] OpCost costOfNode(const OpGraph& graph, NodeId node); // plumbing costs nothing
// One per kernel: the cost of its leaf op; an op of several kernels is shared out (matmul: to the matmul kernel; else
// by time).
[[nodiscard]] std::vector<OpCost> costOfKernels(const TraceStore& trace, const Link& link);
[[nodiscard]] bool isMatmul(std::string_view op) noexcept; // aten::mm, bmm, addmm, baddbmm, linear, matmul ...

} // namespace fusescope
