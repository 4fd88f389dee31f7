// SPDX-License-Identifier: Apache-2.0
#include "kernels/common/error.h"

#include <cstdarg>
#include <cstdio>

namespace fusescope::kernels {
namespace {

thread_local char sentence[400] = "";

} // namespace

void beginCall() { sentence[0] = '\0'; }

FsStatus fail(FsStatus status, const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    return status;
}

FsStatus check(cudaError_t error, const char* what) {
    if (error == cudaSuccess) return FS_OK;
    (void)cudaGetLastError(); // told here; else the next launch would be blamed for it
    return fail(FS_CUDA_ERROR, "%s: %s (%s)", what, cudaGetErrorString(error), cudaGetErrorName(error));
}

FsStatus checkLaunch(const char* kernel) { return check(cudaGetLastError(), kernel); }

} // namespace fusescope::kernels

const char* fusescope_last_error(void) { return fusescope::kernels::sentence; }

const char* fusescope_status_name(FsStatus status) {
    switch (status) {
    case FS_OK: return "FS_OK";
    case FS_INVALID_ARGUMENT: return "FS_INVALID_ARGUMENT";
    case FS_UNSUPPORTED: return "FS_UNSUPPORTED";
    case FS_WORKSPACE_TOO_SMALL: return "FS_WORKSPACE_TOO_SMALL";
    case FS_CUDA_ERROR: return "FS_CUDA_ERROR";
    case FS_LIBRARY_ERROR: return "FS_LIBRARY_ERROR";
    }
    return "unknown status";
}
