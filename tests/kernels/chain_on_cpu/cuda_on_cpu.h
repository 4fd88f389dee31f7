// SPDX-License-Identifier: Apache-2.0
// What a generated region needs of CUDA, on the CPU: each CUDA thread is a thread, so that a sanitizer sees what they
// share. The text takes the paths for compute capability 7.0, which need no assembly.
#pragma once

#include <barrier>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#define __CUDA_ARCH__ 700
#define __device__
#define __forceinline__ inline
#define __global__
#define __launch_bounds__(...)
#define __grid_constant__
#define __shared__ static
#define asm(...) // of half precision alone, which no case here has

namespace cuda_on_cpu {

struct Index3 {
    unsigned x;
};

/// One block at a time.
struct Block {
    explicit Block(unsigned threads) : all(threads), slots(2, std::vector<double>(threads)) {
        for (unsigned w = 0; w < threads / 32; ++w) warps.push_back(std::make_unique<std::barrier<>>(32));
    }
    std::barrier<> all;
    std::vector<std::unique_ptr<std::barrier<>>> warps;
    std::vector<std::vector<double>> slots; ///< of two exchanges one after another
};

inline Block* block = nullptr;
inline thread_local unsigned exchanges = 0;

} // namespace cuda_on_cpu

inline thread_local cuda_on_cpu::Index3 threadIdx{};
inline cuda_on_cpu::Index3 blockIdx{}, blockDim{}, gridDim{};

struct uint4 {
    unsigned x, y, z, w;
};
struct uint2 {
    unsigned x, y;
};

inline void __syncthreads() { cuda_on_cpu::block->all.arrive_and_wait(); }
template <class T> T __shfl_xor_sync(unsigned, T v, int distance) {
    auto& slots = cuda_on_cpu::block->slots[cuda_on_cpu::exchanges++ % 2];
    std::memcpy(&slots[threadIdx.x], &v, sizeof v);
    cuda_on_cpu::block->warps[threadIdx.x / 32]->arrive_and_wait();
    T other;
    std::memcpy(&other, &slots[threadIdx.x ^ unsigned(distance)], sizeof other);
    return other;
}
template <class T> T __ldcg(const T* p) { return *p; }
template <class T> T __ldg(const T* p) { return *p; }

inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __fmaf_rn(float a, float b, float c) { return std::fma(a, b, c); }
inline float __frcp_rn(float a) { return 1 / a; }
inline float __fsqrt_rn(float a) { return std::sqrt(a); }
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dsub_rn(double a, double b) { return a - b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline double __ddiv_rn(double a, double b) { return a / b; }
inline double __fma_rn(double a, double b, double c) { return std::fma(a, b, c); }
inline double __drcp_rn(double a) { return 1 / a; }
inline double __dsqrt_rn(double a) { return std::sqrt(a); }
inline float rsqrtf(float a) { return 1 / std::sqrt(a); }
inline double rsqrt(double a) { return 1 / std::sqrt(a); }
inline unsigned __umulhi(unsigned a, unsigned b) { return unsigned(uint64_t(a) * b >> 32); }
template <class To, class From> To bitsAs(From from) {
    static_assert(sizeof(To) == sizeof(From));
    To to;
    std::memcpy(&to, &from, sizeof to);
    return to;
}
inline float __int_as_float(int v) { return bitsAs<float>(v); }
inline float __uint_as_float(unsigned v) { return bitsAs<float>(v); }
inline unsigned __float_as_uint(float v) { return bitsAs<unsigned>(v); }
inline double __longlong_as_double(long long v) { return bitsAs<double>(v); }
