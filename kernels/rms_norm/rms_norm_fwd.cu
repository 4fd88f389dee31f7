// SPDX-License-Identifier: Apache-2.0
// Forward of rms_norm and add_rms_norm. Each element is read once and written once. Three kernels:
//  narrow  a row is one or two 16-byte vectors of 8 or 16 lanes (head_dim rows): several rows in flight a thread;
//  block   a block walks over rows; the rows to come are copied to shared memory while one is worked on;
//  plain   any width, any alignment.
#include "kernels/common/async_copy.cuh"
#include "kernels/common/checks.h"
#include "kernels/common/error.h"
#include "kernels/common/launch.h"
#include "kernels/common/reduce.cuh"
#include "kernels/common/rows.cuh"
#include "kernels/rms_norm/norm_rows.h"
#include "kernels/rms_norm/norm_types.cuh"

namespace fusescope::kernels {
namespace {

template <class X, class W> struct Arguments {
    Rows<const X> x, residual;
    Rows<X> sum;
    Rows<Promoted<X, W>> y;
    const W* weight;
    float* rstd;
    int64_t rows;
    int64_t width;
    float inverseWidth;
    float eps;
    bool once;
};

/// y of one element, for rows taken element by element.
template <class X, class W> __device__ __forceinline__ Promoted<X, W> normed(float x, float r, float w, bool once) {
    float h = x * r;
    if (!once) h = rounded<X>(h);
    return fromFloat<Promoted<X, W>>(w * h);
}

/// y of a vector.
template <class X, class W, int N>
__device__ __forceinline__ Vec<Promoted<X, W>, N> normed(const Vec<X, N>& x, float r, const Vec<W, N>& w, bool once) {
    float h[N];
#pragma unroll
    for (int i = 0; i < N; ++i) h[i] = toFloat(x.e[i]) * r;
    if constexpr (std::is_same_v<X, W> && sizeof(X) == 2)
        if (!once) return product<X, N>(packed<X, N>(h), w);
#pragma unroll
    for (int i = 0; i < N; ++i) h[i] = toFloat(w.e[i]) * (once ? h[i] : rounded<X>(h[i]));
    return packed<Promoted<X, W>, N>(h);
}

/// x + residual, rounded to the element type; and the sum of its squares, added to `squares`.
template <class X, int N, bool Add>
__device__ __forceinline__ void addAndSquare(Vec<X, N>& x, const Vec<X, N>& residual, float& squares) {
    if constexpr (Add) {
        float sum[N];
#pragma unroll
        for (int i = 0; i < N; ++i) sum[i] = toFloat(x.e[i]) + toFloat(residual.e[i]);
        x = packed<X, N>(sum);
    }
#pragma unroll
    for (int i = 0; i < N; ++i) {
        const float e = toFloat(x.e[i]);
        squares += e * e;
    }
}

template <class X, class W, int Lanes, int Vectors, bool Add, bool Flat>
__global__ void __launch_bounds__(256) normNarrow(Arguments<X, W> a) {
    constexpr int n = vecWidth<X>, inFlight = Add ? 2 : 4 / Vectors;
    const int lane = threadIdx.x % Lanes;
    const int64_t group = (int64_t(blockIdx.x) * blockDim.x + threadIdx.x) / Lanes;
    const int64_t groups = int64_t(gridDim.x) * blockDim.x / Lanes;
    Vec<W, n> w[Vectors];
#pragma unroll
    for (int k = 0; k < Vectors; ++k) w[k] = loadShared<n>(a.weight + (lane + k * Lanes) * n);

    // The bounds of the loop are the same for all lanes of a warp: sumLanes() needs them all.
    for (int64_t first = 0; first < a.rows; first += groups * inFlight) {
        Vec<X, n> v[inFlight][Vectors], residual[inFlight][Vectors];
#pragma unroll
        for (int u = 0; u < inFlight; ++u) {
            const int64_t row = first + u * groups + group;
            if (row >= a.rows) continue;
            const X* x = a.x.template row<Flat>(row);
#pragma unroll
            for (int k = 0; k < Vectors; ++k) v[u][k] = loadOnce<n>(x + (lane + k * Lanes) * n);
            if constexpr (Add) {
                const X* other = a.residual.template row<Flat>(row);
#pragma unroll
                for (int k = 0; k < Vectors; ++k) residual[u][k] = loadOnce<n>(other + (lane + k * Lanes) * n);
            }
        }
#pragma unroll
        for (int u = 0; u < inFlight; ++u) {
            const int64_t row = first + u * groups + group;
            float squares = 0.f;
#pragma unroll
            for (int k = 0; k < Vectors; ++k) addAndSquare<X, n, Add>(v[u][k], residual[u][k], squares);
            const float r = rsqrtf(sumLanes<Lanes>(squares) * a.inverseWidth + a.eps);
            if (row >= a.rows) continue;
            Promoted<X, W>* y = a.y.template row<Flat>(row);
            X* sum = Add ? a.sum.template row<Flat>(row) : nullptr;
#pragma unroll
            for (int k = 0; k < Vectors; ++k) {
                if constexpr (Add) store<n>(sum + (lane + k * Lanes) * n, v[u][k]);
                store<n>(y + (lane + k * Lanes) * n, normed<X, W, n>(v[u][k], r, w[k], a.once));
            }
            if (a.rstd && lane == 0) a.rstd[row] = r;
        }
    }
}

constexpr int stages = 3;

template <class X, class W, int Vectors, bool Add> __global__ void normBlock(Arguments<X, W> a) {
    constexpr int n = vecWidth<X>, streams = Add ? 2 : 1;
    extern __shared__ uint4 ring[]; // [stage][stream][vector][thread]; a thread reads only what it copied itself
    __shared__ float scratch[2][32];
    const int threads = blockDim.x;
    const int vectors = int(a.width / n);

    auto slot = [&](int stage, int stream, int k) -> uint4& {
        return ring[((stage * streams + stream) * Vectors + k) * threads + threadIdx.x];
    };
    auto fetch = [&](int64_t row, int stage) {
        if (row < a.rows) {
            const X* x = a.x.row(row);
            const X* residual = Add ? a.residual.row(row) : nullptr;
#pragma unroll
            for (int k = 0; k < Vectors; ++k) {
                const int v = threadIdx.x + k * threads;
                if (v >= vectors) continue;
                copyAsync16(&slot(stage, 0, k), x + v * n);
                if constexpr (Add) copyAsync16(&slot(stage, 1, k), residual + v * n);
            }
        }
        commitCopies();
    };

    Vec<W, n> w[Vectors];
#pragma unroll
    for (int k = 0; k < Vectors; ++k)
        if (const int v = threadIdx.x + k * threads; v < vectors) w[k] = loadShared<n>(a.weight + v * n);

    const int64_t step = gridDim.x;
#pragma unroll
    for (int s = 0; s < stages - 1; ++s) fetch(blockIdx.x + s * step, s);

    int stage = 0, flip = 0;
    for (int64_t row = blockIdx.x; row < a.rows; row += step) {
        fetch(row + (stages - 1) * step, stage == 0 ? stages - 1 : stage - 1);
        waitCopies<stages - 1>();

        Vec<X, n> x[Vectors];
        float squares = 0.f;
#pragma unroll
        for (int k = 0; k < Vectors; ++k) {
            if (int(threadIdx.x) + k * threads >= vectors) continue;
            x[k].piece(0) = slot(stage, 0, k);
            Vec<X, n> residual;
            if constexpr (Add) residual.piece(0) = slot(stage, 1, k);
            addAndSquare<X, n, Add>(x[k], residual, squares);
        }
        const float r = rsqrtf(sumBlock(squares, scratch[flip]) * a.inverseWidth + a.eps);
        flip ^= 1;
        stage = stage + 1 == stages ? 0 : stage + 1;

        Promoted<X, W>* y = a.y.row(row);
        X* sum = Add ? a.sum.row(row) : nullptr;
#pragma unroll
        for (int k = 0; k < Vectors; ++k) {
            const int v = threadIdx.x + k * threads;
            if (v >= vectors) continue;
            if constexpr (Add) store<n>(sum + v * n, x[k]);
            store<n>(y + v * n, normed<X, W, n>(x[k], r, w[k], a.once));
        }
        if (a.rstd && threadIdx.x == 0) a.rstd[row] = r;
    }
}

template <class X, class W, bool Add> __global__ void __launch_bounds__(256) normPlain(Arguments<X, W> a) {
    __shared__ float scratch[2][32];
    int flip = 0;
    for (int64_t row = blockIdx.x; row < a.rows; row += gridDim.x, flip ^= 1) {
        const X* x = a.x.row(row);
        const X* residual = Add ? a.residual.row(row) : nullptr;
        X* sum = Add ? a.sum.row(row) : nullptr;
        auto value = [&](int64_t i) {
            if constexpr (Add) return rounded<X>(toFloat(x[i]) + toFloat(residual[i]));
            return toFloat(x[i]);
        };
        float squares = 0.f;
        for (int64_t i = threadIdx.x; i < a.width; i += blockDim.x) {
            const float e = value(i);
            squares += e * e;
        }
        const float r = rsqrtf(sumBlock(squares, scratch[flip]) * a.inverseWidth + a.eps);
        Promoted<X, W>* y = a.y.row(row);
        for (int64_t i = threadIdx.x; i < a.width; i += blockDim.x) {
            const float e = value(i);
            if constexpr (Add) sum[i] = fromFloat<X>(e);
            y[i] = normed<X, W>(e, r, toFloat(a.weight[i]), a.once);
        }
        if (a.rstd && threadIdx.x == 0) a.rstd[row] = r;
    }
}

template <class X, class W, bool Add>
FsStatus launchPlain(const Arguments<X, W>& a, const DeviceFacts& device, cudaStream_t stream) {
    normPlain<X, W, Add><<<persistentGrid(device, 8, a.rows), 256, 0, stream>>>(a);
    return checkLaunch("rms_norm forward, any width");
}

template <class X, class W, int Lanes, int Vectors, bool Add, bool Flat>
FsStatus launchNarrow(const Arguments<X, W>& a, const FsLaunchHint& hint, const DeviceFacts& device,
                      cudaStream_t stream) {
    static Occupancy occupancy;
    constexpr auto kernel = normNarrow<X, W, Lanes, Vectors, Add, Flat>;
    const int threads = 256;
    int perSm = hint.blocks_per_sm;
    if (perSm <= 0)
        if (FsStatus s = occupancy.blocksPerSm(reinterpret_cast<const void*>(kernel), threads, 0, perSm); s != FS_OK)
            return s;
    const int64_t rowsOfBlock = threads / Lanes;
    const int grid = persistentGrid(device, perSm, (a.rows + rowsOfBlock - 1) / rowsOfBlock);
    kernel<<<grid, threads, 0, stream>>>(a);
    return checkLaunch("rms_norm forward, narrow rows");
}

template <class X, class W, int Lanes, int Vectors, bool Add>
FsStatus launchNarrow(const Arguments<X, W>& a, const FsLaunchHint& hint, const DeviceFacts& device,
                      cudaStream_t stream) {
    const bool flat = a.x.inner == 1 && a.y.inner == 1 && (!Add || (a.residual.inner == 1 && a.sum.inner == 1));
    return flat ? launchNarrow<X, W, Lanes, Vectors, Add, true>(a, hint, device, stream)
                : launchNarrow<X, W, Lanes, Vectors, Add, false>(a, hint, device, stream);
}

template <class X, class W, int Vectors, bool Add>
FsStatus launchBlock(const Arguments<X, W>& a, const FsLaunchHint& hint, const DeviceFacts& device,
                     cudaStream_t stream) {
    static Occupancy occupancy;
    const int vectors = int(a.width / vecWidth<X>);
    const int threads = ((vectors + Vectors - 1) / Vectors + 31) / 32 * 32;
    const int shared = stages * (Add ? 2 : 1) * Vectors * threads * 16;
    if (shared > device.sharedPerBlock - 1024) return launchPlain<X, W, Add>(a, device, stream);
    int perSm = 0;
    if (FsStatus s =
            occupancy.blocksPerSm(reinterpret_cast<const void*>(normBlock<X, W, Vectors, Add>), threads, shared, perSm);
        s != FS_OK)
        return s;
    if (perSm == 0) return launchPlain<X, W, Add>(a, device, stream); // more threads than its registers allow
    if (hint.blocks_per_sm > 0) perSm = hint.blocks_per_sm;
    normBlock<X, W, Vectors, Add><<<persistentGrid(device, perSm, a.rows), threads, shared, stream>>>(a);
    return checkLaunch("rms_norm forward");
}

template <class X, class W, bool Add>
FsStatus launch(const FsAddRmsNormForward& c, const DeviceFacts& device, cudaStream_t stream) {
    using Y = Promoted<X, W>;
    Arguments<X, W> a;
    a.x = typed<const X>(c.x);
    if (Add) {
        a.residual = typed<const X>(c.residual);
        a.sum = typed<X>(c.sum);
    }
    a.y = typed<Y>(c.y);
    a.weight = static_cast<const W*>(c.weight);
    a.rstd = c.rstd;
    a.rows = rowCount(c.x);
    a.width = c.width;
    a.inverseWidth = 1.f / float(c.width);
    a.eps = float(c.eps);
    a.once = c.rounding == FS_ROUND_ONCE;

    constexpr int n = vecWidth<X>;
    const bool vectorised = c.width % n == 0 && aligned16(c.x, sizeof(X)) && aligned16(c.y, sizeof(Y)) &&
                            aligned16(c.weight) &&
                            (!Add || (aligned16(c.residual, sizeof(X)) && aligned16(c.sum, sizeof(X))));
    const int64_t vectors = c.width / n;
    if (vectorised && c.hint.variant >= 0) {
        if (vectors == 8) return launchNarrow<X, W, 8, 1, Add>(a, c.hint, device, stream);
        if (vectors == 16) return launchNarrow<X, W, 8, 2, Add>(a, c.hint, device, stream);
        if (vectors == 32) return launchNarrow<X, W, 16, 2, Add>(a, c.hint, device, stream);
        // Few rows: more threads a row, so that each waits for fewer loads. Many: fewer threads a row, so that a
        // barrier costs less and more rows are under way.
        int perThread = a.rows < 2 * device.multiprocessors ? 1 : 4;
        if (c.hint.threads > 0) perThread = int((vectors + c.hint.threads - 1) / c.hint.threads);
        if (vectors <= 1024 && perThread <= 1) return launchBlock<X, W, 1, Add>(a, c.hint, device, stream);
        if (vectors <= 2048 && perThread <= 2) return launchBlock<X, W, 2, Add>(a, c.hint, device, stream);
        if (vectors <= 4096) return launchBlock<X, W, 4, Add>(a, c.hint, device, stream);
    }
    return launchPlain<X, W, Add>(a, device, stream);
}

} // namespace

FsStatus normForward(const NormForward& n, cudaStream_t stream) {
    const FsAddRmsNormForward& c = n.call;
    FsStatus s = checkDtype(c.dtype, "x");
    if (s == FS_OK && c.weight_dtype != c.dtype && c.weight_dtype != FS_F32)
        s = fail(FS_UNSUPPORTED, "weight: expected x's element type or fp32");
    if (s == FS_OK) s = checkRows(c.x, "x", c.width, false);
    if (s == FS_OK) s = checkRows(c.y, "y", c.width, true);
    if (s == FS_OK) s = checkSameRows(c.x, "x", c.y, "y");
    if (s == FS_OK && n.add) {
        s = checkRows(c.residual, "residual", c.width, false);
        if (s == FS_OK) s = checkRows(c.sum, "sum", c.width, true);
        if (s == FS_OK) s = checkSameRows(c.x, "x", c.residual, "residual");
        if (s == FS_OK) s = checkSameRows(c.x, "x", c.sum, "sum");
    }
    if (s != FS_OK || rowCount(c.x) == 0) return s;
    if (c.width == 0) return fail(FS_INVALID_ARGUMENT, "rms_norm: the mean of 0 elements does not exist");
    if (s = checkPointer(c.weight, "weight"); s != FS_OK) return s;

    DeviceFacts device;
    if (s = currentDevice(device); s != FS_OK) return s;
    return withNormTypes(c.dtype, c.weight_dtype, [&](auto x, auto w) {
        using X = typename decltype(x)::Type;
        using W = typename decltype(w)::Type;
        return n.add ? launch<X, W, true>(c, device, stream) : launch<X, W, false>(c, device, stream);
    });
}

} // namespace fusescope::kernels
