// SPDX-License-Identifier: Apache-2.0
#include "kernels/common/checks.h"
#include "kernels/common/error.h"
#include "kernels/common/heads_checks.h"
#include "kernels/qk_norm_rope/qk_norm_rope_call.h"

using namespace fusescope::kernels;

namespace {

struct Tensor {
    const FsHeads* heads;
    const char* name;
    bool written;
};

/// The tensors of q, or of k: every one as many heads as the first.
template <size_t N> FsStatus checkAlike(const Tensor (&tensors)[N], const HeadShape& shape) {
    for (const Tensor& t : tensors) {
        if (FsStatus s = checkHeads(*t.heads, t.name, shape, t.written); s != FS_OK) return s;
        if (t.heads->heads != tensors[0].heads->heads)
            return fail(FS_INVALID_ARGUMENT, "%s has %lld heads, %s has %lld", tensors[0].name,
                        static_cast<long long>(tensors[0].heads->heads), t.name,
                        static_cast<long long>(t.heads->heads));
    }
    return FS_OK;
}

bool some(const HeadShape& shape, const FsHeads& heads) { return shape.batch * shape.tokens * heads.heads > 0; }

FsStatus checkForward(const FsQkNormRopeForward& c) {
    const HeadShape shape{c.batch, c.tokens, c.head_dim};
    FsStatus s = checkDtype(c.dtype, "q");
    if (s == FS_OK) s = checkHeadShape(shape);
    if (s == FS_OK) s = checkAlike({{&c.q, "q", false}, {&c.q_out, "q_out", true}}, shape);
    if (s == FS_OK) s = checkAlike({{&c.k, "k", false}, {&c.k_out, "k_out", true}}, shape);
    if (s == FS_OK) s = checkRotary(c.rotary, shape);
    if (s == FS_OK && some(shape, c.q)) s = checkPointer(c.q_weight, "q_weight");
    if (s == FS_OK && some(shape, c.k)) s = checkPointer(c.k_weight, "k_weight");
    return s;
}

FsStatus checkBackward(const FsQkNormRopeBackward& c) {
    const HeadShape shape{c.batch, c.tokens, c.head_dim};
    FsStatus s = checkDtype(c.dtype, "q");
    if (s == FS_OK) s = checkHeadShape(shape);
    if (s == FS_OK) s = checkAlike({{&c.q, "q", false}, {&c.dq_out, "dq_out", false}, {&c.dq, "dq", true}}, shape);
    if (s == FS_OK) s = checkAlike({{&c.k, "k", false}, {&c.dk_out, "dk_out", false}, {&c.dk, "dk", true}}, shape);
    if (s == FS_OK) s = checkRotary(c.rotary, shape);
    if (s == FS_OK && some(shape, c.q)) s = checkPointer(c.q_weight, "q_weight");
    if (s == FS_OK && some(shape, c.q)) s = checkPointer(c.q_rstd, "q_rstd");
    if (s == FS_OK && some(shape, c.k)) s = checkPointer(c.k_weight, "k_weight");
    if (s == FS_OK && some(shape, c.k)) s = checkPointer(c.k_rstd, "k_rstd");
    return s;
}

} // namespace

FsStatus fusescope_qk_norm_rope_forward(const FsQkNormRopeForward* call, cudaStream_t stream) {
    beginCall();
    if (FsStatus s = checkPointer(call, "call"); s != FS_OK) return s;
    if (FsStatus s = checkForward(*call); s != FS_OK) return s;
    if (call->batch * call->tokens * (call->q.heads + call->k.heads) == 0) return FS_OK;
    return launchQkNormRopeForward(*call, stream);
}

FsStatus fusescope_qk_norm_rope_backward_workspace(const FsQkNormRopeBackward* call, size_t* bytes) {
    beginCall();
    if (FsStatus s = checkPointer(call, "call"); s != FS_OK) return s;
    if (FsStatus s = checkPointer(bytes, "bytes"); s != FS_OK) return s;
    if (FsStatus s = checkBackward(*call); s != FS_OK) return s;
    return qkNormRopeBackwardBytes(*call, *bytes);
}

FsStatus fusescope_qk_norm_rope_backward(const FsQkNormRopeBackward* call, void* workspace, size_t workspace_bytes,
                                         cudaStream_t stream) {
    beginCall();
    if (FsStatus s = checkPointer(call, "call"); s != FS_OK) return s;
    if (FsStatus s = checkBackward(*call); s != FS_OK) return s;
    return launchQkNormRopeBackward(*call, workspace, workspace_bytes, stream);
}
