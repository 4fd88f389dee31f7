// SPDX-License-Identifier: Apache-2.0
// What launches need to know of the device they run on.
#pragma once

#include "kernels/common/abi.h"

#include <atomic>
#include <cuda_runtime_api.h>

namespace fusescope::kernels {

struct DeviceFacts {
    int multiprocessors = 0;
    int computeCapability = 0; ///< 90 for 9.0
    int sharedPerBlock = 0;    ///< bytes a block may have after opting in
};

/// Facts of the current device, read once a device. FS_CUDA_ERROR without one.
FsStatus currentDevice(DeviceFacts& facts);

/// Blocks of a persistent grid: at most `blocksPerSm` on every multiprocessor, and no more than there is work.
inline int persistentGrid(const DeviceFacts& device, int blocksPerSm, int64_t work) {
    const int64_t all = int64_t(device.multiprocessors) * blocksPerSm;
    return int(work < all ? work : all);
}

/// Lets the kernel have so many bytes of dynamic shared memory on the current device. The limit never falls, so that
/// another thread's launch between this and the caller's own loses nothing.
FsStatus allowShared(const void* kernel, int bytes);

/// What a kernel's blocks may hold of a multiprocessor, found once for each device and shared-memory size, since asking
/// CUDA costs more than a launch. One static object a kernel and block size.
class Occupancy {
public:
    /// Blocks of `threads` with `sharedBytes` of dynamic shared memory that fit a multiprocessor; raises the kernel's
    /// limit of dynamic shared memory when that is needed. 0 when none fits.
    FsStatus blocksPerSm(const void* kernel, int threads, int sharedBytes, int& blocks);

private:
    std::atomic<int64_t> known_{-1}; // device, threads, bytes and the answer in one word
};

} // namespace fusescope::kernels
