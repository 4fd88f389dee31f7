// SPDX-License-Identifier: Apache-2.0
#include "kernels/common/checks.h"
#include "kernels/common/error.h"
#include "kernels/rms_norm/norm_rows.h"

using namespace fusescope::kernels;

namespace {

NormForward forwardOf(const FsRmsNormForward& c) {
    NormForward n{};
    n.call.x = c.x;
    n.call.y = c.y;
    n.call.weight = c.weight;
    n.call.rstd = c.rstd;
    n.call.width = c.width;
    n.call.dtype = c.dtype;
    n.call.weight_dtype = c.weight_dtype;
    n.call.eps = c.eps;
    n.call.rounding = c.rounding;
    n.call.hint = c.hint;
    return n;
}

NormBackward backwardOf(const FsRmsNormBackward& c) {
    NormBackward n{};
    n.call.dy = c.dy;
    n.call.sum = c.x;
    n.call.dx = c.dx;
    n.call.weight = c.weight;
    n.call.rstd = c.rstd;
    n.call.dweight = c.dweight;
    n.call.width = c.width;
    n.call.dtype = c.dtype;
    n.call.weight_dtype = c.weight_dtype;
    n.call.rounding = c.rounding;
    n.call.hint = c.hint;
    return n;
}

} // namespace

FsStatus fusescope_rms_norm_forward(const FsRmsNormForward* call, cudaStream_t stream) {
    beginCall();
    if (FsStatus s = checkPointer(call, "call"); s != FS_OK) return s;
    return normForward(forwardOf(*call), stream);
}

FsStatus fusescope_rms_norm_backward_workspace(const FsRmsNormBackward* call, size_t* bytes) {
    beginCall();
    if (FsStatus s = checkPointer(call, "call"); s != FS_OK) return s;
    if (FsStatus s = checkPointer(bytes, "bytes"); s != FS_OK) return s;
    return normBackwardWorkspace(backwardOf(*call), *bytes);
}

FsStatus fusescope_rms_norm_backward(const FsRmsNormBackward* call, void* workspace, size_t workspace_bytes,
                                     cudaStream_t stream) {
    beginCall();
    if (FsStatus s = checkPointer(call, "call"); s != FS_OK) return s;
    return normBackward(backwardOf(*call), workspace, workspace_bytes, stream);
}
