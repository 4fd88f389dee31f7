// SPDX-License-Identifier: Apache-2.0
// Forward of rms_norm and add_rms_norm. Each element is read once and written once. Three kernels:
//  narrow  a row is one or two 16-byte vectors of 8 or 16 lanes (head_dim rows), a block takes neighbouring rows;
//  block   a block takes one row and keeps it in registers;
//  plain   any width, any alignment: rows are read twice, element by element.
#include "kernels/common/checks.h"
#include "kernels/common/error.h"
#include "kernels/common/launch.h"
#include "kernels/common/packed.cuh"
#include "kernels/common/reduce.cuh"
#include "kernels/common/rows.cuh"
#include "kernels/rms_norm/norm_rows.h"
#include "kernels/rms_norm/norm_types.cuh"

namespace fusescope::kernels {
namespace {

constexpr int64_t maxBlocks = (int64_t{1} << 31) - 1;

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
        if (!once) return multiply(packed<X, N>(h), w);
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

/// Rows of a narrow kernel's thread: four vectors of 16 bytes under way.
template <int Vectors, bool Add> inline constexpr int narrowRowsInFlight = 4 / Vectors / (Add ? 2 : 1);

template <class X, class W, int Lanes, int Vectors, bool Add, bool Flat>
__global__ void __launch_bounds__(256) normNarrow(Arguments<X, W> a) {
    constexpr int n = vecWidth<X>, groups = 256 / Lanes, inFlight = narrowRowsInFlight<Vectors, Add>;
    const int lane = threadIdx.x % Lanes;
    const int64_t first = int64_t(blockIdx.x) * groups * inFlight + threadIdx.x / Lanes;

    Vec<X, n> v[inFlight][Vectors], residual[inFlight][Vectors];
#pragma unroll
    for (int u = 0; u < inFlight; ++u) {
        const int64_t row = first + u * groups;
        if (row >= a.rows) continue;
        const X* x = a.x.template row<Flat>(row);
        const X* other = Add ? a.residual.template row<Flat>(row) : nullptr;
#pragma unroll
        for (int k = 0; k < Vectors; ++k) {
            v[u][k] = loadOnce<n>(x + (lane + k * Lanes) * n);
            if constexpr (Add) residual[u][k] = loadOnce<n>(other + (lane + k * Lanes) * n);
        }
    }
    Vec<W, n> w[Vectors];
#pragma unroll
    for (int k = 0; k < Vectors; ++k) w[k] = loadShared<n>(a.weight + (lane + k * Lanes) * n);

#pragma unroll
    for (int u = 0; u < inFlight; ++u) {
        const int64_t row = first + u * groups;
        float squares = 0.f;
#pragma unroll
        for (int k = 0; k < Vectors; ++k) addAndSquare<X, n, Add>(v[u][k], residual[u][k], squares);
        const float r = rsqrtf(sumLanes<Lanes>(squares) * a.inverseWidth + a.eps);
        if (row >= a.rows) continue; // only now: sumLanes() needs all lanes of the warp
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

template <class X, class W, int Vectors, bool Add> __global__ void normBlock(Arguments<X, W> a) {
    constexpr int n = vecWidth<X>;
    __shared__ float scratch[32];
    const int threads = blockDim.x;
    const int vectors = int(a.width / n);
    const int64_t row = blockIdx.x;
    const X* in = a.x.row(row);
    const X* other = Add ? a.residual.row(row) : nullptr;

    Vec<X, n> x[Vectors], residual[Vectors];
#pragma unroll
    for (int k = 0; k < Vectors; ++k) {
        const int v = threadIdx.x + k * threads;
        if (v >= vectors) continue;
        x[k] = loadOnce<n>(in + v * n);
        if constexpr (Add) residual[k] = loadOnce<n>(other + v * n);
    }
    Vec<W, n> w[Vectors];
#pragma unroll
    for (int k = 0; k < Vectors; ++k)
        if (const int v = threadIdx.x + k * threads; v < vectors) w[k] = loadShared<n>(a.weight + v * n);

    float squares = 0.f;
#pragma unroll
    for (int k = 0; k < Vectors; ++k)
        if (int(threadIdx.x) + k * threads < vectors) addAndSquare<X, n, Add>(x[k], residual[k], squares);
    const float r = rsqrtf(sumBlock(squares, scratch) * a.inverseWidth + a.eps);

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

template <class X, class W, int Lanes, int Vectors, bool Add>
FsStatus launchNarrow(const Arguments<X, W>& a, cudaStream_t stream) {
    const int64_t rowsOfBlock = 256 / Lanes * narrowRowsInFlight<Vectors, Add>;
    const auto grid = unsigned((a.rows + rowsOfBlock - 1) / rowsOfBlock);
    const bool flat = a.x.inner == 1 && a.y.inner == 1 && (!Add || (a.residual.inner == 1 && a.sum.inner == 1));
    if (flat)
        normNarrow<X, W, Lanes, Vectors, Add, true><<<grid, 256, 0, stream>>>(a);
    else
        normNarrow<X, W, Lanes, Vectors, Add, false><<<grid, 256, 0, stream>>>(a);
    return checkLaunch("rms_norm forward, narrow rows");
}

template <class X, class W, int Vectors, bool Add> FsStatus launchBlock(const Arguments<X, W>& a, cudaStream_t stream) {
    const int vectors = int(a.width / vecWidth<X>);
    const int threads = ((vectors + Vectors - 1) / Vectors + 31) / 32 * 32;
    normBlock<X, W, Vectors, Add><<<unsigned(a.rows), threads, 0, stream>>>(a);
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
    const bool vectorised = c.width > 0 && c.width % n == 0 && aligned16(c.x, sizeof(X)) && aligned16(c.y, sizeof(Y)) &&
                            aligned16(c.weight) &&
                            (!Add || (aligned16(c.residual, sizeof(X)) && aligned16(c.sum, sizeof(X))));
    const int64_t vectors = c.width / n;
    if (vectorised && a.rows <= maxBlocks && c.hint.variant >= 0) {
        if (vectors == 8) return launchNarrow<X, W, 8, 1, Add>(a, stream);
        if (vectors == 16) return launchNarrow<X, W, 8, 2, Add>(a, stream);
        if (vectors == 32) return launchNarrow<X, W, 16, 2, Add>(a, stream);
        // Few rows: more threads a row, so that each waits for fewer loads. Many: fewer threads a row, so that a
        // barrier costs less and more bytes are under way.
        int perThread = a.rows < 2 * device.multiprocessors ? 1 : 4;
        if (c.hint.threads > 0) perThread = int((vectors + c.hint.threads - 1) / c.hint.threads);
        if (vectors <= 1024 && perThread <= 1) return launchBlock<X, W, 1, Add>(a, stream);
        if (vectors <= 1024 && perThread <= 2) return launchBlock<X, W, 2, Add>(a, stream);
        if (vectors <= 2048) return launchBlock<X, W, 4, Add>(a, stream);
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
    if (c.width > 0)
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
