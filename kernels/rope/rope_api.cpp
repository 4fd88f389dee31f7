// SPDX-License-Identifier: Apache-2.0
#include "kernels/common/checks.h"
#include "kernels/common/error.h"
#include "kernels/common/heads_checks.h"
#include "kernels/rope/rope_call.h"

using namespace fusescope::kernels;

namespace {

FsStatus checkSameHeads(const FsHeads& a, const char* nameA, const FsHeads& b, const char* nameB) {
    if (a.heads == b.heads) return FS_OK;
    return fail(FS_INVALID_ARGUMENT, "%s has %lld heads, %s has %lld", nameA, asLong(a.heads), nameB, asLong(b.heads));
}

FsStatus run(const FsRope* call, bool backward, cudaStream_t stream) {
    beginCall();
    FsStatus s = checkPointer(call, "call");
    if (s != FS_OK) return s;
    const HeadShape shape{call->batch, call->tokens, call->head_dim};
    s = checkDtype(call->dtype, "q");
    if (s == FS_OK) s = checkHeadShape(shape);
    if (s == FS_OK) s = checkHeads(call->q, "q", shape, false);
    if (s == FS_OK) s = checkHeads(call->k, "k", shape, false);
    if (s == FS_OK) s = checkHeads(call->q_out, "q_out", shape, true);
    if (s == FS_OK) s = checkHeads(call->k_out, "k_out", shape, true);
    if (s == FS_OK) s = checkSameHeads(call->q, "q", call->q_out, "q_out");
    if (s == FS_OK) s = checkSameHeads(call->k, "k", call->k_out, "k_out");
    if (s == FS_OK) s = checkRotary(call->rotary, shape);
    if (s != FS_OK || shape.batch * shape.tokens * (call->q.heads + call->k.heads) == 0) return s;
    return launchRope(*call, backward, stream);
}

} // namespace

FsStatus fusescope_rope_forward(const FsRope* call, cudaStream_t stream) { return run(call, false, stream); }

FsStatus fusescope_rope_backward(const FsRope* call, cudaStream_t stream) { return run(call, true, stream); }
