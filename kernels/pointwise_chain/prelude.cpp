// SPDX-License-Identifier: Apache-2.0
// What every generated source begins with. It includes nothing, so that no CUDA toolkit is needed where it is compiled.
#include "kernels/pointwise_chain/source.h"

namespace fusescope::kernels::chain {

const char* const preludeText = R"cuda(
// Elements as they lie in memory.
struct F16 { unsigned short bits; };
struct Bf16 { unsigned short bits; };
struct Bool { unsigned char bits; };

template <class T, int N> struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) Pack { T e[N]; };

template <int Bytes> struct WordOf;
template <> struct WordOf<16> { using Type = uint4; };
template <> struct WordOf<8> { using Type = uint2; };
template <> struct WordOf<4> { using Type = unsigned; };
template <> struct WordOf<2> { using Type = unsigned short; };
template <> struct WordOf<1> { using Type = unsigned char; };

// Loads what is read once, past L1; and what other rows read too. By a word of up to 16 bytes.
#define FS_LOAD(NAME, INSTRUCTION)                                                                  \
    template <int N, class T> __device__ __forceinline__ Pack<T, N> NAME(const T* p) {              \
        constexpr int bytes = int(sizeof(T)) * N, step = bytes < 16 ? bytes : 16;                   \
        using Word = typename WordOf<step>::Type;                                                   \
        Pack<T, N> v;                                                                               \
        _Pragma("unroll") for (int i = 0; i < bytes / step; ++i)                                    \
            reinterpret_cast<Word*>(&v)[i] = INSTRUCTION(reinterpret_cast<const Word*>(p) + i);     \
        return v;                                                                                   \
    }
FS_LOAD(loadOnce, __ldcg)
FS_LOAD(loadShared, __ldg)
// Into shared memory while the thread goes on; what it has asked for itself it may read after awaitCopies().
template <class T, int N> __device__ __forceinline__ void copyAhead(Pack<T, N>* to, const T* from) {
#if __CUDA_ARCH__ >= 800
    constexpr int bytes = int(sizeof(T)) * N, step = bytes < 16 ? bytes : 16;
    const unsigned place = unsigned(__cvta_generic_to_shared(to));
    const char* p = reinterpret_cast<const char*>(from);
#pragma unroll
    for (int i = 0; i < bytes; i += step) {
        if constexpr (step == 16)
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(place + i), "l"(p + i) : "memory");
        else
            asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(place + i), "l"(p + i), "n"(step) : "memory");
    }
#else
    *to = loadOnce<N>(from);
#endif
}
__device__ __forceinline__ void awaitCopies() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}
template <int N, class T> __device__ __forceinline__ void store(T* p, const Pack<T, N>& v) {
    constexpr int bytes = int(sizeof(T)) * N, step = bytes < 16 ? bytes : 16;
    using Word = typename WordOf<step>::Type;
#pragma unroll
    for (int i = 0; i < bytes / step; ++i) reinterpret_cast<Word*>(p)[i] = reinterpret_cast<const Word*>(&v)[i];
}

// Half precision: two elements in a word, the first in its lower half. Rounded to nearest even, as the framework does.
__device__ __forceinline__ unsigned pairOf(float a, float b, Bf16) {
    unsigned w;
#if __CUDA_ARCH__ >= 800
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(w) : "f"(b), "f"(a));
#else
    const unsigned ua = __float_as_uint(a), ub = __float_as_uint(b);
    const unsigned ra = a != a ? 0x7fffu : (ua + 0x7fffu + (ua >> 16 & 1)) >> 16;
    const unsigned rb = b != b ? 0x7fffu : (ub + 0x7fffu + (ub >> 16 & 1)) >> 16;
    w = ra | rb << 16;
#endif
    return w;
}
__device__ __forceinline__ unsigned pairOf(float a, float b, F16) {
    unsigned w;
#if __CUDA_ARCH__ >= 800
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(w) : "f"(b), "f"(a));
#else
    unsigned short ra, rb;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(ra) : "f"(a));
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(rb) : "f"(b));
    w = ra | unsigned(rb) << 16;
#endif
    return w;
}
__device__ __forceinline__ float lowerOf(unsigned w, Bf16) { return __uint_as_float(w << 16); }
__device__ __forceinline__ float upperOf(unsigned w, Bf16) { return __uint_as_float(w & 0xffff0000u); }
__device__ __forceinline__ float lowerOf(unsigned w, F16) {
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"((unsigned short)w));
    return f;
}
__device__ __forceinline__ float upperOf(unsigned w, F16) { return lowerOf(w >> 16, F16{}); }

template <class T> struct IsHalf { static constexpr bool value = false; };
template <> struct IsHalf<F16> { static constexpr bool value = true; };
template <> struct IsHalf<Bf16> { static constexpr bool value = true; };

// Elements to the values that are computed with, and back.
template <class T, class V, int N> __device__ __forceinline__ void widen(const Pack<T, N>& pack, V (&v)[N]) {
    if constexpr (IsHalf<T>::value && N > 1) {
#pragma unroll
        for (int i = 0; i < N / 2; ++i) {
            const unsigned w = reinterpret_cast<const unsigned*>(&pack)[i];
            v[2 * i] = lowerOf(w, T{});
            v[2 * i + 1] = upperOf(w, T{});
        }
    } else if constexpr (IsHalf<T>::value) {
        v[0] = lowerOf(pack.e[0].bits, T{});
    } else {
#pragma unroll
        for (int i = 0; i < N; ++i) v[i] = pack.e[i];
    }
}
template <int N> __device__ __forceinline__ void widen(const Pack<Bool, N>& pack, bool (&v)[N]) {
#pragma unroll
    for (int i = 0; i < N; ++i) v[i] = pack.e[i].bits != 0;
}
template <class T, class V, int N> __device__ __forceinline__ Pack<T, N> narrow(const V (&v)[N]) {
    Pack<T, N> pack;
    if constexpr (IsHalf<T>::value && N > 1) {
#pragma unroll
        for (int i = 0; i < N / 2; ++i)
            reinterpret_cast<unsigned*>(&pack)[i] = pairOf(v[2 * i], v[2 * i + 1], T{});
    } else if constexpr (IsHalf<T>::value) {
        pack.e[0].bits = (unsigned short)pairOf(v[0], 0.f, T{});
    } else {
#pragma unroll
        for (int i = 0; i < N; ++i) pack.e[i] = T{v[i]};
    }
    return pack;
}
// What the framework's next operator would read of values written as T.
template <class T, int N> __device__ __forceinline__ void roundTo(float (&v)[N]) {
    const Pack<T, N> pack = narrow<T>(v);
    widen(pack, v);
}
template <class T> __device__ __forceinline__ float rounded(float v) {
    return lowerOf(pairOf(v, 0.f, T{}), T{});
}
template <class To, class From> __device__ __forceinline__ To castTo(From v) { return static_cast<To>(v); }

// Operators. A product of one and a sum of the next must not become a fused multiply-add, so products and sums are
// spelled as instructions that the compiler leaves apart. What one operator of the framework fuses inside is fused here.
__device__ __forceinline__ float add(float a, float b) { return __fadd_rn(a, b); }
__device__ __forceinline__ float sub(float a, float b) { return __fsub_rn(a, b); }
__device__ __forceinline__ float mul(float a, float b) { return __fmul_rn(a, b); }
__device__ __forceinline__ float div(float a, float b) { return __fdiv_rn(a, b); }
__device__ __forceinline__ float mulAdd(float a, float b, float c) { return __fmaf_rn(a, b, c); }
__device__ __forceinline__ double add(double a, double b) { return __dadd_rn(a, b); }
__device__ __forceinline__ double sub(double a, double b) { return __dsub_rn(a, b); }
__device__ __forceinline__ double mul(double a, double b) { return __dmul_rn(a, b); }
__device__ __forceinline__ double div(double a, double b) { return __ddiv_rn(a, b); }
__device__ __forceinline__ double mulAdd(double a, double b, double c) { return __fma_rn(a, b, c); }
#define FS_INTEGER(T)                                                                               \
    __device__ __forceinline__ T add(T a, T b) { return a + b; }                                    \
    __device__ __forceinline__ T sub(T a, T b) { return a - b; }                                    \
    __device__ __forceinline__ T mul(T a, T b) { return a * b; }                                    \
    __device__ __forceinline__ T mulAdd(T a, T b, T c) { return a * b + c; }                        \
    __device__ __forceinline__ T absolute(T a) { return a < 0 ? -a : a; }
FS_INTEGER(int)
FS_INTEGER(long long)

__device__ __forceinline__ float absolute(float a) { return fabsf(a); }
__device__ __forceinline__ double absolute(double a) { return fabs(a); }
__device__ __forceinline__ float reciprocal(float a) { return __frcp_rn(a); }
__device__ __forceinline__ double reciprocal(double a) { return __drcp_rn(a); }
#define FS_UNARY(NAME, FLOAT, DOUBLE)                                                               \
    __device__ __forceinline__ float NAME##Of(float a) { return FLOAT(a); }                         \
    __device__ __forceinline__ double NAME##Of(double a) { return DOUBLE(a); }
FS_UNARY(sqrt, __fsqrt_rn, __dsqrt_rn)
FS_UNARY(rsqrt, rsqrtf, rsqrt)
FS_UNARY(exp, expf, exp)
FS_UNARY(log, logf, log)
FS_UNARY(tanh, tanhf, tanh)
FS_UNARY(erf, erff, erf)
FS_UNARY(sin, sinf, sin)
FS_UNARY(cos, cosf, cos)
FS_UNARY(floor, floorf, floor)
FS_UNARY(ceil, ceilf, ceil)
FS_UNARY(trunc, truncf, trunc)
FS_UNARY(round, rintf, rint)
FS_UNARY(expm1, expm1f, expm1)
FS_UNARY(log1p, log1pf, log1p)
__device__ __forceinline__ float powOf(float a, float b) { return powf(a, b); }
__device__ __forceinline__ double powOf(double a, double b) { return pow(a, b); }

// NaN wins.
template <class T> __device__ __forceinline__ T minimum(T a, T b) { return a != a ? a : b != b ? b : b < a ? b : a; }
template <class T> __device__ __forceinline__ T maximum(T a, T b) { return a != a ? a : b != b ? b : a < b ? b : a; }
__device__ __forceinline__ float minimum(float a, float b) { return a != a ? a : b != b ? b : fminf(a, b); }
__device__ __forceinline__ float maximum(float a, float b) { return a != a ? a : b != b ? b : fmaxf(a, b); }
template <class T> __device__ __forceinline__ T clampMin(T v, T lower) {
    return v != v ? v : lower != lower ? lower : v < lower ? lower : v;
}
template <class T> __device__ __forceinline__ T clampMax(T v, T upper) {
    return v != v ? v : upper != upper ? upper : upper < v ? upper : v;
}

// The quotient by d = 1 + exp(-x). Far from 1 the compiler's division needs a test and a branch for each element; where
// |x| < 80 the short sequence (reciprocal, a step of Newton, remainder) is exact, and one test serves a pack.
template <int N> __device__ __forceinline__ bool allNear(const float (&x)[N]) {
    bool near = true;
#pragma unroll
    for (int i = 0; i < N; ++i) near = near && fabsf(x[i]) < 80.f;
    return near;
}
__device__ __forceinline__ float nearReciprocal(float d) {
    float inverse;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(d));
    return __fmaf_rn(inverse, __fmaf_rn(-d, inverse, 1.f), inverse);
}
template <int N> __device__ __forceinline__ void silu(const float (&x)[N], float (&y)[N]) {
    const bool near = allNear(x);
    float d[N];
#pragma unroll
    for (int i = 0; i < N; ++i) d[i] = 1.f + expf(-x[i]);
    if (near) {
#pragma unroll
        for (int i = 0; i < N; ++i) {
            const float inverse = nearReciprocal(d[i]), q = __fmul_rn(x[i], inverse);
            y[i] = __fmaf_rn(-__fmaf_rn(d[i], q, -x[i]), inverse, q); // so turned, x = -0 keeps its sign
        }
    } else {
#pragma unroll
        for (int i = 0; i < N; ++i) y[i] = __fdiv_rn(x[i], d[i]);
    }
}
template <int N> __device__ __forceinline__ void sigmoid(const float (&x)[N], float (&y)[N]) {
    const bool near = allNear(x);
    float d[N];
#pragma unroll
    for (int i = 0; i < N; ++i) d[i] = 1.f + expf(-x[i]);
    if (near) {
#pragma unroll
        for (int i = 0; i < N; ++i) y[i] = nearReciprocal(d[i]);
    } else {
#pragma unroll
        for (int i = 0; i < N; ++i) y[i] = __frcp_rn(d[i]);
    }
}
template <int N> __device__ __forceinline__ void silu(const double (&x)[N], double (&y)[N]) {
#pragma unroll
    for (int i = 0; i < N; ++i) y[i] = __ddiv_rn(x[i], 1. + exp(-x[i]));
}
template <int N> __device__ __forceinline__ void sigmoid(const double (&x)[N], double (&y)[N]) {
#pragma unroll
    for (int i = 0; i < N; ++i) y[i] = __ddiv_rn(1., 1. + exp(-x[i]));
}

// By a value that the whole row shares. The compiler's division tests and branches for each element; where neither the
// quotient nor a remainder can leave the normal numbers, a product with the reciprocal and two corrections are exact
// (Markstein), and one test serves a pack. Turned so, a zero keeps its sign.
template <int N> __device__ __forceinline__ void divideBy(const float (&a)[N], float b, float (&q)[N]) {
    const float inverse = __frcp_rn(b);
    bool near = b > 0x1p-24f && b < 0x1p24f;
#pragma unroll
    for (int i = 0; i < N; ++i) {
        const float size = fabsf(a[i]);
        near = near && size < 0x1p100f && (size > 0x1p-100f || size == 0.f);
    }
    if (near) {
#pragma unroll
        for (int i = 0; i < N; ++i) {
            float c = __fmul_rn(a[i], inverse);
            c = __fmaf_rn(-__fmaf_rn(b, c, -a[i]), inverse, c);
            q[i] = __fmaf_rn(-__fmaf_rn(b, c, -a[i]), inverse, c);
        }
    } else {
#pragma unroll
        for (int i = 0; i < N; ++i) q[i] = __fdiv_rn(a[i], b);
    }
}
template <int N> __device__ __forceinline__ void divideBy(const double (&a)[N], double b, double (&q)[N]) {
#pragma unroll
    for (int i = 0; i < N; ++i) q[i] = __ddiv_rn(a[i], b);
}
__device__ __forceinline__ float gelu(float x) {
    return __fmul_rn(__fmul_rn(x, 0.5f), 1.f + erff(x * 0.707106781186547524f));
}
__device__ __forceinline__ double gelu(double x) {
    return __dmul_rn(__dmul_rn(x, 0.5), 1. + erf(x * 0.70710678118654752440));
}
__device__ __forceinline__ float geluTanh(float x) {
    const float cube = __fmul_rn(__fmul_rn(x, x), x);
    const float inner = __fmul_rn(0.7978845608028654f, __fmaf_rn(0.044715f, cube, x));
    return __fmul_rn(__fmul_rn(0.5f, x), 1.f + tanhf(inner));
}
__device__ __forceinline__ double geluTanh(double x) {
    const double cube = __dmul_rn(__dmul_rn(x, x), x);
    const double inner = __dmul_rn(0.79788456080286535588, __fma_rn(0.044715, cube, x));
    return __dmul_rn(__dmul_rn(0.5, x), 1. + tanh(inner));
}

// Row reductions, in an order that depends on the launch shape alone.
struct Sum {
    template <class T> static __device__ __forceinline__ T join(T a, T b) { return add(a, b); }
};
struct Maximum {
    template <class T> static __device__ __forceinline__ T join(T a, T b) { return maximum(a, b); }
#if __CUDA_ARCH__ >= 800
    static __device__ __forceinline__ float join(float a, float b) { // which NaN wins does not matter here
        float most;
        asm("max.NaN.f32 %0, %1, %2;" : "=f"(most) : "f"(a), "f"(b));
        return most;
    }
#endif
};
template <class R, int Lanes, class T> __device__ __forceinline__ T joinLanes(T v) {
#pragma unroll
    for (int distance = Lanes / 2; distance > 0; distance /= 2)
        v = R::join(v, __shfl_xor_sync(0xffffffffu, v, distance));
    return v;
}
// Of a block: each warp leaves its part; after a barrier everyone joins the parts.
template <class R, class T> __device__ __forceinline__ void leave(T v, T* scratch) {
    v = joinLanes<R, 32>(v);
    if ((threadIdx.x & 31) == 0) scratch[threadIdx.x / 32] = v;
}
template <class R, class T> __device__ __forceinline__ T joined(const T* scratch) {
    T all = scratch[0];
    for (int w = 1; w < int(blockDim.x / 32); ++w) all = R::join(all, scratch[w]);
    return all;
}

// The kernel that adds the blocks' parts may be started; it waits for their memory itself.
__device__ __forceinline__ void allowNextLaunch() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
// Sums over rows: of a column's elements, each thread its own.
template <class T, int N> __device__ __forceinline__ void storeSums(T* p, const T (&v)[N]) {
    store(p, narrow<T>(v));
}
// Where a thread has more columns than registers, they lie in memory.
template <class T, int N> __device__ __forceinline__ void addToMemory(T* p, const T (&v)[N], bool first) {
    Pack<T, N> sums{};
    if (!first) sums = loadOnce<N>(static_cast<const T*>(p));
#pragma unroll
    for (int i = 0; i < N; ++i) sums.e[i] = add(sums.e[i], v[i]);
    store(p, sums);
}

// Divisions by what does not change during a launch. Below 2^31 a product serves.
struct Divider32 {
    unsigned divisor, magic;
    unsigned long long shift;
};
struct Divider64 {
    unsigned long long divisor, unused;
};
__device__ __forceinline__ int quotient(int n, const Divider32& d) {
    return int((__umulhi(unsigned(n), d.magic) + unsigned(n)) >> unsigned(d.shift));
}
__device__ __forceinline__ long long quotient(long long n, const Divider64& d) {
    return (long long)((unsigned long long)n / d.divisor);
}
)cuda";

} // namespace fusescope::kernels::chain
