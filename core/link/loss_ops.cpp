// SPDX-License-Identifier: Apache-2.0
#include "core/link/loss_ops.h"

#include "core/link/fusescope_ops.h"
#include "core/link/op_names.h"

namespace fusescope {

std::vector<bool> lossOps(const TraceStore& trace, const CpuContexts& contexts) {
    std::vector<bool> loss(trace.cpu_ops.size(), false);
    if (contexts.has_frames) return loss;                         // Python frames tell better
    std::vector<std::vector<CpuOpId>> since(trace.tracks.size()); // operators since the last matrix product, per thread
    for (std::size_t i = 0; i < trace.slices.size(); ++i) {
        if (trace.slices.category[i] != Category::CpuOp || trace.slices.detail[i] >= trace.cpu_ops.size()) continue;
        const CpuOpId op(trace.slices.detail[i]);
        const CpuContext& context = contexts.of(SliceId(i));
        if (context.node.valid() || context.phase != Phase::Unknown || context.top_op != op) continue;
        const std::size_t track = trace.slices.track[i].index();
        if (track >= since.size()) continue;
        const std::string_view full = trace.nameOf(SliceId(i)), name = shortOpName(full);
        if (isOwnLoss(full)) {
            loss[op.index()] = true; // its projection is inside: what ran before is the model's
            since[track].clear();
        } else if (isOwnProjection(full)) {
            since[track].clear();
        } else if (name == "linear" || name == "matmul" || name == "mm" || name == "addmm" || name == "bmm") {
            since[track].clear();
        } else if (phaseOfOp(full) == Phase::Loss) {
            for (const CpuOpId before : since[track]) loss[before.index()] = true;
            loss[op.index()] = true;
            since[track].clear();
        } else {
            since[track].push_back(op);
        }
    }
    return loss;
}

} // namespace fusescope
