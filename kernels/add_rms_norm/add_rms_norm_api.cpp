// SPDX-License-Identifier: Apache-2.0
#include "kernels/common/checks.h"
#include "kernels/common/error.h"
#include "kernels/rms_norm/norm_rows.h"

using namespace fusescope::kernels;

FsStatus fusescope_add_rms_norm_forward(const FsAddRmsNormForward* call, cudaStream_t stream) {
    beginCall();
    if (FsStatus s = checkPointer(call, "call"); s != FS_OK) return s;
    return normForward({*call, true}, stream);
}

FsStatus fusescope_add_rms_norm_backward_workspace(const FsAddRmsNormBackward* call, size_t* bytes) {
    beginCall();
    if (FsStatus s = checkPointer(call, "call"); s != FS_OK) return s;
    if (FsStatus s = checkPointer(bytes, "bytes"); s != FS_OK) return s;
    return normBackwardWorkspace({*call, true}, *bytes);
}

FsStatus fusescope_add_rms_norm_backward(const FsAddRmsNormBackward* call, void* workspace, size_t workspace_bytes,
                                         cudaStream_t stream) {
    beginCall();
    if (FsStatus s = checkPointer(call, "call"); s != FS_OK) return s;
    return normBackward({*call, true}, workspace, workspace_bytes, stream);
}
