// SPDX-License-Identifier: Apache-2.0
// AdamW over many tensors at once. The pointers of all tensors travel in the kernel's parameters (up to 32,764 bytes
// since CUDA 12.1), and a block works on one chunk of one tensor, which it finds by bisection. Each element is read and
// written once, 16 bytes at a time; the first vectors are under way while one warp computes what depends on the step.
#include "kernels/adamw/adamw.h"
#include "kernels/adamw/adamw_math.cuh"
#include "kernels/common/checks.h"
#include "kernels/common/error.h"
#include "kernels/common/launch.h"
#include "kernels/swiglu/elementwise.cuh"

namespace fusescope::kernels {
namespace {

constexpr int maxTensors = 600; // of a launch
constexpr int maxThreads = 256;
constexpr int64_t mostBlocks = 0x7fffffff;

struct Arguments {
    AdamWConstants constants;
    float step;             // of tensors without their own
    const float* gradScale; // may be null
    const float* foundInf;  // may be null
    int64_t chunk;          // elements
    bool vectors;           // false: one element at a time
    int count;
    uint32_t firstBlock[maxTensors]; // of each tensor
    FsAdamWTensor tensors[maxTensors];
};
static_assert(sizeof(Arguments) <= 32764);

/// The last tensor whose first block is not behind this one.
__device__ __forceinline__ int tensorOf(const Arguments& a, uint32_t block) {
    int low = 0, high = a.count - 1;
    while (low < high) {
        const int middle = (low + high + 1) / 2;
        if (a.firstBlock[middle] <= block)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/// By the whole block; its first warp computes.
__device__ __forceinline__ AdamWScalars scalarsOfBlock(const Arguments& a, const float* stepOfTensor) {
    __shared__ AdamWScalars shared;
    if (threadIdx.x < 32) {
        const AdamWConstants& c = a.constants;
        const float step = stepOfTensor ? *stepOfTensor : a.step;
        const float gradScale = a.gradScale ? *a.gradScale : 1.f;
        const bool skip = a.foundInf && *a.foundInf == 1.f;
        const float correction = 1 - powf(threadIdx.x == 0 ? c.beta1 : c.beta2, step);
        const float correction2 = __shfl_sync(0xffffffffu, correction, 1);
        if (threadIdx.x == 0) {
            shared = scalarsOf(c, correction, correction2, gradScale);
            shared.skip = skip;
        }
    }
    __syncthreads();
    return shared;
}

template <class T, class S> struct Pointers {
    T* param;
    const T* grad;
    S* expAvg;
    S* expAvgSq;
};

/// Few elements, whatever their values. Reads them anew: kept in registers they would cost the common path its speed.
template <class T, class S>
__device__ void oneByOne(const AdamWConstants& c, const AdamWScalars& s, const Pointers<T, S>& to, int first,
                         int count) {
#pragma unroll 1
    for (int i = first; i < first + count; ++i) {
        float param = toFloat(to.param[i]), expAvg = toFloat(to.expAvg[i]), expAvgSq = toFloat(to.expAvgSq[i]);
        exactly(c, s, param, toFloat(to.grad[i]), expAvg, expAvgSq);
        to.param[i] = fromFloat<T>(param);
        to.expAvg[i] = fromFloat<S>(expAvg);
        to.expAvgSq[i] = fromFloat<S>(expAvgSq);
    }
}

template <class T, int N> __device__ __forceinline__ void toFloats(const Pack<T, N>& v, float (&f)[N]) {
    if constexpr (N == 1)
        f[0] = toFloat(v.e[0]);
    else
        unpack(v, f);
}

template <class T, int N> __device__ __forceinline__ Pack<T, N> fromFloats(const float (&f)[N]) {
    if constexpr (N == 1)
        return {{fromFloat<T>(f[0])}};
    else
        return packed<T>(f);
}

/// A chunk of `packs` times N elements, by the whole block. Returns false when there is nothing to be done.
template <class T, class S, int N, int InFlight>
__device__ __forceinline__ bool walk(const Arguments& a, const Pointers<T, S>& to, const float* step, int packs,
                                     AdamWScalars& s) {
    Pack<T, N> param[InFlight], grad[InFlight];
    Pack<S, N> expAvg[InFlight], expAvgSq[InFlight];
    const auto load = [&](int first) {
#pragma unroll
        for (int u = 0; u < InFlight; ++u) {
            const int i = first + u * int(blockDim.x);
            if (i >= packs) continue;
            param[u] = loadPack<N>(to.param + i * N);
            grad[u] = loadPack<N>(const_cast<T*>(to.grad) + i * N);
            expAvg[u] = loadPack<N>(to.expAvg + i * N);
            expAvgSq[u] = loadPack<N>(to.expAvgSq + i * N);
        }
    };
    int first = int(threadIdx.x);
    load(first);
    s = scalarsOfBlock(a, step);
    if (s.skip) return false;
    for (;;) {
#pragma unroll
        for (int u = 0; u < InFlight; ++u) {
            const int i = first + u * int(blockDim.x);
            if (i >= packs) continue;
            float p[N], g[N], m[N], v[N];
            toFloats<T, N>(param[u], p);
            toFloats<T, N>(grad[u], g);
            toFloats<S, N>(expAvg[u], m);
            toFloats<S, N>(expAvgSq[u], v);
            bool holds = s.near;
#pragma unroll
            for (int e = 0; e < N; ++e) holds &= nearly(a.constants, s, p[e], g[e], m[e], v[e]);
            if (!holds) {
                oneByOne(a.constants, s, to, i * N, N);
                continue;
            }
            storePack<N>(to.param + i * N, fromFloats<T, N>(p));
            storePack<N>(to.expAvg + i * N, fromFloats<S, N>(m));
            storePack<N>(to.expAvgSq + i * N, fromFloats<S, N>(v));
        }
        first += InFlight * int(blockDim.x);
        if (first >= packs) return true;
        load(first);
    }
}

template <class T, class S, int InFlight>
__global__ void __launch_bounds__(maxThreads, InFlight == 1 ? 4 : 3) adamwStep(const __grid_constant__ Arguments a) {
    const int t = tensorOf(a, blockIdx.x);
    const FsAdamWTensor& tensor = a.tensors[t];
    const int64_t offset = int64_t(blockIdx.x - a.firstBlock[t]) * a.chunk;
    const int count = int(min(tensor.numel - offset, a.chunk));
    const Pointers<T, S> to{static_cast<T*>(tensor.param) + offset, static_cast<const T*>(tensor.grad) + offset,
                            static_cast<S*>(tensor.exp_avg) + offset, static_cast<S*>(tensor.exp_avg_sq) + offset};
    const auto address = [](const void* p) { return reinterpret_cast<uintptr_t>(p); };
    const bool aligned = ((address(to.param) | address(to.grad) | address(to.expAvg) | address(to.expAvgSq)) & 15) == 0;
    AdamWScalars s;
    if (!aligned || !a.vectors) {
        walk<T, S, 1, 4>(a, to, tensor.step, count, s);
        return;
    }
    constexpr int n = vecWidth<T>;
    if (!walk<T, S, n, InFlight>(a, to, tensor.step, count / n, s)) return;
    if (const int i = count / n * n + int(threadIdx.x); i < count) oneByOne(a.constants, s, to, i, 1);
}

struct Plan {
    void (*kernel)(Arguments);
    int threads;
    int64_t chunk;
};

template <class T, class S> FsStatus planOf(const FsAdamW& c, const DeviceFacts& device, int64_t elements, Plan& plan) {
    const int inFlight = c.hint.variant > 0 ? c.hint.variant : 1;
    if (inFlight == 1)
        plan.kernel = adamwStep<T, S, 1>;
    else if (inFlight == 2)
        plan.kernel = adamwStep<T, S, 2>;
    else
        return fail(FS_UNSUPPORTED, "adamw: variant %d: expected 1 or 2", inFlight);
    plan.threads = c.hint.threads > 0 && c.hint.threads < maxThreads ? (c.hint.threads + 31) / 32 * 32 : maxThreads;
    // Two rounds of loads a block (four: 1% slower); one where that leaves
    // multiprocessors without work.
    const int64_t round = int64_t(plan.threads) * vecWidth<T> * inFlight;
    const bool few = elements / (2 * round) < 8 * int64_t(device.multiprocessors);
    plan.chunk = c.chunk > 0 ? c.chunk : few ? round : 2 * round;
    return FS_OK;
}

void launch(const Plan& plan, const Arguments& a, int64_t blocks, cudaStream_t stream) {
    plan.kernel<<<unsigned(blocks), unsigned(plan.threads), 0, stream>>>(a);
}

template <class T, class S>
FsStatus run(const FsAdamW& c, const DeviceFacts& device, int64_t elements, cudaStream_t stream) {
    Plan plan{};
    if (FsStatus s = planOf<T, S>(c, device, elements, plan); s != FS_OK) return s;
    Arguments a;
    const float lr = float(c.lr), weightDecay = float(c.weight_decay);
    a.constants = {lr, float(c.beta1), float(c.beta2), float(c.eps), weightDecay, lr * weightDecay, c.maximize != 0};
    a.step = float(c.step);
    a.gradScale = c.grad_scale;
    a.foundInf = c.found_inf;
    a.chunk = plan.chunk;
    a.vectors = c.hint.variant >= 0;
    a.count = 0;
    int64_t blocks = 0;
    for (int64_t i = 0; i < c.count; ++i) {
        const FsAdamWTensor& t = c.tensors[i];
        if (t.numel == 0) continue;
        const int64_t more = (t.numel + plan.chunk - 1) / plan.chunk;
        if (more > mostBlocks)
            return fail(FS_UNSUPPORTED, "adamw: tensor %lld: more chunks than a launch has blocks",
                        static_cast<long long>(i));
        if (a.count == maxTensors || blocks + more > mostBlocks) {
            launch(plan, a, blocks, stream);
            if (FsStatus s = checkLaunch("adamw"); s != FS_OK) return s;
            a.count = 0;
            blocks = 0;
        }
        a.firstBlock[a.count] = uint32_t(blocks);
        a.tensors[a.count++] = t;
        blocks += more;
    }
    launch(plan, a, blocks, stream);
    return checkLaunch("adamw");
}

bool finite(double v) { return v - v == 0; }

FsStatus checkScalars(const FsAdamW& c) {
    const struct {
        const char* name;
        double value;
        bool good;
    } scalars[] = {{"lr", c.lr, finite(c.lr)},
                   {"beta1", c.beta1, c.beta1 >= 0 && c.beta1 < 1},
                   {"beta2", c.beta2, c.beta2 >= 0 && c.beta2 < 1},
                   {"eps", c.eps, c.eps >= 0 && finite(c.eps)},
                   {"weight_decay", c.weight_decay, finite(c.weight_decay)}};
    for (const auto& s : scalars)
        if (!s.good)
            return fail(FS_INVALID_ARGUMENT, "adamw: %s: expected a finite number%s, found %g", s.name,
                        s.name[0] == 'b'   ? " in [0, 1)"
                        : s.name[0] == 'e' ? " from 0"
                                           : "",
                        s.value);
    if (c.chunk < 0 || c.chunk % 8 != 0 || c.chunk > (1 << 30))
        return fail(FS_INVALID_ARGUMENT, "adamw: chunk: expected a multiple of 8 up to 2^30, found %lld",
                    static_cast<long long>(c.chunk));
    return FS_OK;
}

FsStatus checkTensors(const FsAdamW& c, int64_t& elements) {
    constexpr int64_t most = int64_t{1} << 42; // more than any device holds
    elements = 0;
    for (int64_t i = 0; i < c.count; ++i) {
        const FsAdamWTensor& t = c.tensors[i];
        if (t.numel < 0 || t.numel > most)
            return fail(FS_INVALID_ARGUMENT, "adamw: tensor %lld: %lld elements cannot be", static_cast<long long>(i),
                        static_cast<long long>(t.numel));
        if (t.numel > 0 && !(t.param && t.grad && t.exp_avg && t.exp_avg_sq))
            return fail(FS_INVALID_ARGUMENT, "adamw: tensor %lld: expected data, found a null pointer",
                        static_cast<long long>(i));
        elements += t.numel;
        if (elements > most) return fail(FS_INVALID_ARGUMENT, "adamw: more than 2^42 elements cannot be");
    }
    return FS_OK;
}

} // namespace
} // namespace fusescope::kernels

FsStatus fusescope_adamw(const FsAdamW* call, cudaStream_t stream) {
    using namespace fusescope::kernels;
    beginCall();
    if (FsStatus s = checkPointer(call, "call"); s != FS_OK) return s;
    const FsAdamW& c = *call;
    FsStatus s = checkDtype(c.dtype, "param");
    if (s == FS_OK) s = checkDtype(c.state_dtype, "exp_avg");
    if (s == FS_OK && c.state_dtype != c.dtype && c.state_dtype != FS_F32)
        s = fail(FS_INVALID_ARGUMENT, "adamw: states: expected the parameters' type or fp32");
    if (s == FS_OK) s = checkScalars(c);
    if (s == FS_OK && c.count < 0)
        s = fail(FS_INVALID_ARGUMENT, "adamw: %lld tensors cannot be", static_cast<long long>(c.count));
    if (s == FS_OK && c.count > 0) s = checkPointer(c.tensors, "tensors");
    int64_t elements = 0;
    if (s == FS_OK) s = checkTensors(c, elements);
    if (s != FS_OK || elements == 0) return s;

    DeviceFacts device;
    if (s = currentDevice(device); s != FS_OK) return s;
    const bool same = c.state_dtype == c.dtype;
    switch (c.dtype) {
    case FS_F32: return run<float, float>(c, device, elements, stream);
    case FS_F16:
        return same ? run<F16, F16>(c, device, elements, stream) : run<F16, float>(c, device, elements, stream);
    case FS_BF16:
        return same ? run<Bf16, Bf16>(c, device, elements, stream) : run<Bf16, float>(c, device, elements, stream);
    }
    return FS_INVALID_ARGUMENT;
}
