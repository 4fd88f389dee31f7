// SPDX-License-Identifier: Apache-2.0
#include "kernels/common/launch.h"

#include "kernels/common/error.h"

#include <algorithm>
#include <array>
#include <mutex>

namespace fusescope::kernels {

FsStatus currentDevice(DeviceFacts& facts) {
    constexpr int maxDevices = 64;
    static std::mutex mutex;
    static std::array<DeviceFacts, maxDevices> known;

    int device = 0;
    if (FsStatus s = check(cudaGetDevice(&device), "cudaGetDevice"); s != FS_OK) return s;
    if (device < 0 || device >= maxDevices) return fail(FS_UNSUPPORTED, "device %d: more than 64 devices", device);

    std::lock_guard lock(mutex);
    DeviceFacts& slot = known[size_t(device)];
    if (slot.multiprocessors == 0) {
        int major = 0, minor = 0;
        DeviceFacts read;
        const struct {
            int* to;
            cudaDeviceAttr what;
        } wanted[] = {{&read.multiprocessors, cudaDevAttrMultiProcessorCount},
                      {&major, cudaDevAttrComputeCapabilityMajor},
                      {&minor, cudaDevAttrComputeCapabilityMinor},
                      {&read.sharedPerBlock, cudaDevAttrMaxSharedMemoryPerBlockOptin}};
        for (const auto& w : wanted)
            if (FsStatus s = check(cudaDeviceGetAttribute(w.to, w.what, device), "cudaDeviceGetAttribute"); s != FS_OK)
                return s;
        read.computeCapability = 10 * major + minor;
        slot = read;
    }
    facts = slot;
    return FS_OK;
}

FsStatus allowShared(const void* kernel, int bytes) {
    static std::mutex mutex; // another thread may set less between the question and the answer
    const std::lock_guard lock(mutex);
    cudaFuncAttributes now{};
    if (FsStatus s = check(cudaFuncGetAttributes(&now, kernel), "cudaFuncGetAttributes"); s != FS_OK) return s;
    // Said also where it is so already: the 48 KB that a kernel has without asking hold its static shared memory too.
    return check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                      std::max(bytes, now.maxDynamicSharedSizeBytes)),
                 "cudaFuncSetAttribute");
}

FsStatus Occupancy::blocksPerSm(const void* kernel, int threads, int sharedBytes, int& blocks) {
    int device = 0;
    if (FsStatus s = check(cudaGetDevice(&device), "cudaGetDevice"); s != FS_OK) return s;
    const int64_t key = (int64_t(device) << 40) | (int64_t(threads) << 28) | (int64_t(sharedBytes) << 8);
    const int64_t known = known_.load(std::memory_order_relaxed);
    if (known >= 0 && (known & ~int64_t{255}) == key) {
        blocks = int(known & 255);
        return FS_OK;
    }
    if (sharedBytes > 32 * 1024) // 48 KB without asking, static shared memory included
        if (FsStatus s = allowShared(kernel, sharedBytes); s != FS_OK) return s;
    const FsStatus s =
        check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, size_t(sharedBytes)),
              "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
    if (s != FS_OK) return s;
    known_.store(key | blocks, std::memory_order_relaxed);
    return FS_OK;
}

} // namespace fusescope::kernels
