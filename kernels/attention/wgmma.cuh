// SPDX-License-Identifier: Apache-2.0
// Products of a warpgroup: 64 rows by 128 or 64 columns by 16, accumulated in registers while the warps go on.
//
// Accumulators. Warp w of the group has rows 16 w to 16 w + 15; of these lane l has row l / 4 in elements 4 i and
// 4 i + 1, and row l / 4 + 8 in elements 4 i + 2 and 4 i + 3, of columns 8 i + 2 (l % 4) and the one after it. The left
// operand in registers has the same shape, two elements a register, so accumulators become operands by rounding alone.
#pragma once

#include "kernels/common/vector_io.cuh"

#include <cstdint>
#include <type_traits>

namespace fusescope::kernels::hopper {

/// Where an operand lies in shared memory: rows of 128 bytes, eight of them (1024 bytes, on a multiple of that) a
/// swizzled square as copies with CU_TENSOR_MAP_SWIZZLE_128B write it. The squares of eight rows follow each other; for
/// an operand whose rows are the product's inner dimension, `wide` is the distance of the next 64 columns. Others do
/// without it (16).
__device__ __forceinline__ uint64_t operandAt(uint32_t address, uint32_t wide) {
    constexpr uint64_t swizzled128 = uint64_t{1} << 62, nextSquare = uint64_t{1024 >> 4} << 32;
    return swizzled128 | nextSquare | (uint64_t(wide >> 4) << 16) | ((address & 0x3ffff) >> 4);
}

/// Before products: what was written to their registers is theirs.
__device__ __forceinline__ void beginProducts() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

/// Closes a group of products.
__device__ __forceinline__ void commitProducts() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

/// Waits until at most `Pending` groups are under way.
template <int Pending> __device__ __forceinline__ void waitProducts() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Pending) : "memory");
}

/// After waiting: reads of the registers stay behind the wait, and they have no other use before it.
template <int N> __device__ __forceinline__ void settle(float (&registers)[N]) {
#pragma unroll
    for (int i = 0; i < N; ++i) asm volatile("" : "+f"(registers[i])::"memory");
}
template <int N> __device__ __forceinline__ void settle(uint32_t (&registers)[N]) {
#pragma unroll
    for (int i = 0; i < N; ++i) asm volatile("" : "+r"(registers[i])::"memory");
}

// clang-format off
#define FS_ACCUMULATORS                                                                                     \
    "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "                               \
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "                      \
    "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "                      \
    "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}"
#define FS_8(IO, i) IO(d[i]), IO(d[i + 1]), IO(d[i + 2]), IO(d[i + 3]), \
                    IO(d[i + 4]), IO(d[i + 5]), IO(d[i + 6]), IO(d[i + 7])
#define FS_32(IO) FS_8(IO, 0), FS_8(IO, 8), FS_8(IO, 16), FS_8(IO, 24)
#define FS_64(IO) FS_32(IO), FS_8(IO, 32), FS_8(IO, 40), FS_8(IO, 48), FS_8(IO, 56)

// Both operands in shared memory with the inner dimension side by side.
#define FS_PRODUCT_SHARED(ELEMENT, IO)                                                                          \
    asm volatile("{\n"                                                                                      \
                 ".reg .pred add;\n"                                                                        \
                 "setp.ne.b32 add, %66, 0;\n"                                                               \
                 "wgmma.mma_async.sync.aligned.m64n128k16.f32." ELEMENT "." ELEMENT " "                     \
                 FS_ACCUMULATORS ", %64, %65, add, 1, 1, 0, 0;\n"                                           \
                 "}\n"                                                                                      \
                 : FS_64(IO) : "l"(a), "l"(b), "r"(int(Add)) : "memory")

// The left operand in registers, the right one in shared memory with its columns side by side.
#define FS_PRODUCT_REGISTERS(ELEMENT)                                                                       \
    asm volatile("{\n"                                                                                      \
                 ".reg .pred add;\n"                                                                        \
                 "setp.ne.b32 add, %69, 0;\n"                                                               \
                 "wgmma.mma_async.sync.aligned.m64n128k16.f32." ELEMENT "." ELEMENT " "                     \
                 FS_ACCUMULATORS ", {%64, %65, %66, %67}, %68, add, 1, 1, 1;\n"                             \
                 "}\n"                                                                                      \
                 : FS_64("+f") : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(1) : "memory")
// clang-format on

/// d = a b, or d += a b. What is only written is not said to be read: without a value before, it would take up its
/// registers all along a loop.
template <class T, bool Add> __device__ __forceinline__ void product(float (&d)[64], uint64_t a, uint64_t b) {
    if constexpr (std::is_same_v<T, Bf16> && Add)
        FS_PRODUCT_SHARED("bf16", "+f");
    else if constexpr (std::is_same_v<T, Bf16>)
        FS_PRODUCT_SHARED("bf16", "=f");
    else if constexpr (Add)
        FS_PRODUCT_SHARED("f16", "+f");
    else
        FS_PRODUCT_SHARED("f16", "=f");
}

/// d += a b.
template <class T> __device__ __forceinline__ void product(float (&d)[64], const uint32_t* a, uint64_t b) {
    if constexpr (std::is_same_v<T, Bf16>)
        FS_PRODUCT_REGISTERS("bf16");
    else
        FS_PRODUCT_REGISTERS("f16");
}

// 64 columns, both operands in shared memory; across is 1 where the right one's columns lie side by side.
// clang-format off
#define FS_PRODUCT_64(ELEMENT, IO)                                                                              \
    asm volatile("{\n"                                                                                      \
                 ".reg .pred add;\n"                                                                        \
                 "setp.ne.b32 add, %34, 0;\n"                                                               \
                 "wgmma.mma_async.sync.aligned.m64n64k16.f32." ELEMENT "." ELEMENT " "                      \
                 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "                  \
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}"          \
                 ", %32, %33, add, 1, 1, 0, %35;\n"                                                         \
                 "}\n"                                                                                      \
                 : FS_32(IO)                                                                                \
                 : "l"(a), "l"(b), "r"(int(Add)), "n"(int(Across)) : "memory")
// clang-format on

/// d = a b or d += a b of 64 columns, which lie side by side in b's rows where `Across`.
template <class T, bool Add, bool Across>
__device__ __forceinline__ void product(float (&d)[32], uint64_t a, uint64_t b) {
    if constexpr (std::is_same_v<T, Bf16> && Add)
        FS_PRODUCT_64("bf16", "+f");
    else if constexpr (std::is_same_v<T, Bf16>)
        FS_PRODUCT_64("bf16", "=f");
    else if constexpr (Add)
        FS_PRODUCT_64("f16", "+f");
    else
        FS_PRODUCT_64("f16", "=f");
}

#undef FS_PRODUCT_64
#undef FS_PRODUCT_REGISTERS
#undef FS_PRODUCT_SHARED
#undef FS_64
#undef FS_32
#undef FS_8
#undef FS_ACCUMULATORS

/// Two elements in a register, the first in its lower half.
template <class T> __device__ __forceinline__ uint32_t roundPair(float low, float high) {
    uint32_t both;
    if constexpr (std::is_same_v<T, Bf16>)
        asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
    else
        asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
    return both;
}

} // namespace fusescope::kernels::hopper
