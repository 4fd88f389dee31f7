// SPDX-License-Identifier: Apache-2.0
// Asynchronous copies into shared memory (sm_80 and later). A thread that later reads only what it copied
// itself needs no barrier: it waits for its own groups.
#pragma once

#include <cstdint>

namespace fusescope::kernels {

/// Starts the copy of 16 bytes, past L1.
__device__ __forceinline__ void copyAsync16(void* shared, const void* global) {
    uint32_t to = static_cast<uint32_t>(__cvta_generic_to_shared(shared));
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(global) : "memory");
}

/// The same when `inside`; else the shared memory becomes zero and nothing is read.
__device__ __forceinline__ void copyAsync16(void* shared, const void* global, bool inside) {
    uint32_t to = static_cast<uint32_t>(__cvta_generic_to_shared(shared));
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(global), "r"(inside ? 16 : 0)
                 : "memory");
}

/// 4 bytes, through L1.
__device__ __forceinline__ void copyAsync4(void* shared, const void* global, bool inside) {
    uint32_t to = static_cast<uint32_t>(__cvta_generic_to_shared(shared));
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(global), "r"(inside ? 4 : 0) : "memory");
}

/// Closes the group of the copies started so far (it may be empty).
__device__ __forceinline__ void commitCopies() { asm volatile("cp.async.commit_group;" ::: "memory"); }

/// Waits until at most `Pending` of this thread's groups are under way.
template <int Pending> __device__ __forceinline__ void waitCopies() {
    asm volatile("cp.async.wait_group %0;" ::"n"(Pending) : "memory");
}

} // namespace fusescope::kernels
