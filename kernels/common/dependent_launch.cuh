// SPDX-License-Identifier: Apache-2.0
// A second kernel that needs the first one's results but not its launch gap: it is started while the first still runs
// and waits inside (programmatic dependent launch, compute capability 9.0 and later; elsewhere a plain launch).
#pragma once

#include "kernels/common/error.h"
#include "kernels/common/launch.h"

#include <cuda_runtime_api.h>
#include <utility>

namespace fusescope::kernels {

/// In the first kernel: from here on the second may be started. It still sees everything that this grid writes.
__device__ __forceinline__ void allowNextLaunch() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/// In the second kernel, before it touches memory: until the first has ended.
__device__ __forceinline__ void awaitPreviousLaunch() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/// Launches the second kernel, with dynamic shared memory. `what` names it in an error.
template <class... Parameters, class... Values>
FsStatus launchAfterShared(void (*kernel)(Parameters...), dim3 grid, dim3 block, size_t sharedBytes,
                           cudaStream_t stream, const char* what, Values&&... values) {
    DeviceFacts device;
    if (FsStatus s = currentDevice(device); s != FS_OK) return s;
    cudaLaunchAttribute early{};
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config{};
    config.gridDim = grid;
    config.blockDim = block;
    config.dynamicSmemBytes = sharedBytes;
    config.stream = stream;
    config.attrs = &early;
    config.numAttrs = device.computeCapability >= 90 ? 1 : 0;
    (void)cudaLaunchKernelEx(&config, kernel, Parameters(std::forward<Values>(values))...); // checked with the launch
    return checkLaunch(what);
}

template <class... Parameters, class... Values>
FsStatus launchAfter(void (*kernel)(Parameters...), dim3 grid, dim3 block, cudaStream_t stream, const char* what,
                     Values&&... values) {
    return launchAfterShared(kernel, grid, block, 0, stream, what, std::forward<Values>(values)...);
}

} // namespace fusescope::kernels
