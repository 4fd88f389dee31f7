// SPDX-License-Identifier: Apache-2.0
// Hopper's barriers in shared memory and its bulk tensor copies, an instruction each.
#pragma once

#include <cstdint>
#include <cuda.h>

namespace fusescope::kernels::hopper {

__device__ __forceinline__ uint32_t sharedAddress(const void* p) {
    return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

/// Barriers complete phases 0, 1, 0, ... : one when `arrivals` have arrived and all bytes announced have come.
__device__ __forceinline__ void initBarrier(uint32_t barrier, uint32_t arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

/// After the initialisations and before the block's own barrier: the copy engine sees them.
__device__ __forceinline__ void publishBarriers() {
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

__device__ __forceinline__ void arrive(uint32_t barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

/// Arrives and announces the bytes of copies that will complete on the barrier.
__device__ __forceinline__ void arriveExpecting(uint32_t barrier, uint32_t bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

__device__ __forceinline__ bool phaseIsOver(uint32_t barrier, uint32_t phase) {
    uint32_t over;
    asm volatile("{\n"
                 ".reg .pred p;\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
                 "selp.u32 %0, 1, 0, p;\n"
                 "}\n"
                 : "=r"(over)
                 : "r"(barrier), "r"(phase)
                 : "memory");
    return over != 0;
}

/// Waits for the end of the phase of this parity. The phase before a barrier's first counts as over, and is 1.
__device__ __forceinline__ void wait(uint32_t barrier, uint32_t phase) {
    while (!phaseIsOver(barrier, phase)) {
    }
}

/// Copies a box of a tensor of four dimensions into shared memory.
__device__ __forceinline__ void copyBox(uint32_t to, const CUtensorMap* tensor, uint32_t barrier, int c0, int c1,
                                        int c2, int c3) {
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes"
                 " [%0], [%1, {%3, %4, %5, %6}], [%2];" ::"r"(to),
                 "l"(tensor), "r"(barrier), "r"(c0), "r"(c1), "r"(c2), "r"(c3)
                 : "memory");
}

/// Copies bytes that lie side by side, a multiple of 16 at a multiple of 16, into shared memory.
__device__ __forceinline__ void copyBytes(uint32_t to, const void* from, uint32_t bytes, uint32_t barrier) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
                 "l"(from), "r"(bytes), "r"(barrier)
                 : "memory");
}

/// What this thread wrote to shared memory is there for the tensor cores and the copy engine, after a barrier.
__device__ __forceinline__ void publishWrites() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

/// A barrier of some of the block's warps; number 0 is __syncthreads'.
template <int Number, int Threads> __device__ __forceinline__ void meet() {
    asm volatile("bar.sync %0, %1;" ::"n"(Number), "n"(Threads) : "memory");
}

__device__ __forceinline__ void prefetchTensor(const CUtensorMap* tensor) {
    asm volatile("prefetch.tensormap [%0];" ::"l"(tensor) : "memory");
}

/// The registers of each thread of this warpgroup, from here on.
template <int Registers> __device__ __forceinline__ void takeRegisters() {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Registers));
}
template <int Registers> __device__ __forceinline__ void giveRegisters() {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Registers));
}

} // namespace fusescope::kernels::hopper
