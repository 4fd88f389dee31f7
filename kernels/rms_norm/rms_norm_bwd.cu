// SPDX-License-Identifier: Apache-2.0
// Backward of rms_norm and add_rms_norm: dx in one pass over dy and x, while every block keeps the sums for dweight of
// the rows it saw; a second kernel adds the blocks' sums. Kernels as in the forward: narrow (head_dim rows), block
// (rows pass through shared memory, copied ahead of their use), plain (any width, any alignment).
#include "kernels/common/async_copy.cuh"
#include "kernels/common/checks.h"
#include "kernels/common/column_sums.cuh"
#include "kernels/common/error.h"
#include "kernels/common/launch.h"
#include "kernels/common/packed.cuh"
#include "kernels/common/reduce.cuh"
#include "kernels/common/rows.cuh"
#include "kernels/rms_norm/norm_rows.h"
#include "kernels/rms_norm/norm_types.cuh"

#include <algorithm>

namespace fusescope::kernels {
namespace {

template <class X, class W> struct Arguments {
    Rows<const Promoted<X, W>> dy;
    Rows<const X> dsum, x;
    Rows<X> dx;
    const W* weight;
    const float* rstd;
    float* partial; // [gridDim.x][width], or null when dweight is not wanted
    int64_t rows;
    int64_t width;
    float inverseWidth;
    bool once;
};

/// dy * weight as the norm's input sees it.
template <class X, class W> __device__ __forceinline__ float scaled(float dy, float w, bool once) {
    const float g = dy * w;
    return once ? g : rounded<X>(g);
}

/// What a row adds to dweight.
template <class X, class W> __device__ __forceinline__ float weighed(float dy, float x, float r, bool once) {
    const float h = x * r;
    return once ? dy * h : rounded<Promoted<X, W>>(dy * rounded<X>(h));
}

/// The norm's gradient, and the residual's when there is one: two tensors of X in the framework, added in X.
template <class X, bool Add>
__device__ __forceinline__ X gradient(float g, float x, float r, float c, float dsum, bool once) {
    const float d = g * r + x * c;
    if constexpr (Add) return fromFloat<X>((once ? d : rounded<X>(d)) + dsum);
    return fromFloat<X>(d);
}

/// scaled() of a vector.
template <class X, class W, int N>
__device__ __forceinline__ void scaled(const Vec<Promoted<X, W>, N>& dy, const Vec<W, N>& w, bool once, float (&g)[N]) {
    if constexpr (std::is_same_v<X, W> && sizeof(X) == 2) {
        if (!once) {
            const Vec<X, N> rounded = multiply(dy, w);
#pragma unroll
            for (int i = 0; i < N; ++i) g[i] = toFloat(rounded.e[i]);
            return;
        }
    }
#pragma unroll
    for (int i = 0; i < N; ++i) g[i] = scaled<X, W>(toFloat(dy.e[i]), toFloat(w.e[i]), once);
}

/// weighed() of a vector, added to `sums`.
template <class X, class W, int N>
__device__ __forceinline__ void addWeighed(const Vec<Promoted<X, W>, N>& dy, const Vec<X, N>& x, float r, bool once,
                                           float (&sums)[N]) {
    if constexpr (std::is_same_v<X, W> && sizeof(X) == 2) {
        if (!once) {
            float h[N];
#pragma unroll
            for (int i = 0; i < N; ++i) h[i] = toFloat(x.e[i]) * r;
            const Vec<X, N> rounded = multiply(dy, packed<X, N>(h));
#pragma unroll
            for (int i = 0; i < N; ++i) sums[i] += toFloat(rounded.e[i]);
            return;
        }
    }
#pragma unroll
    for (int i = 0; i < N; ++i) sums[i] += weighed<X, W>(toFloat(dy.e[i]), toFloat(x.e[i]), r, once);
}

/// gradient() of a vector.
template <class X, int N, bool Add>
__device__ __forceinline__ Vec<X, N> gradient(const float (&g)[N], const Vec<X, N>& x, float r, float c,
                                              const Vec<X, N>& dsum, bool once) {
    float d[N];
#pragma unroll
    for (int i = 0; i < N; ++i) d[i] = g[i] * r + toFloat(x.e[i]) * c;
    if constexpr (Add) {
        const Vec<X, N> rounded = packed<X, N>(d);
#pragma unroll
        for (int i = 0; i < N; ++i) d[i] = (once ? d[i] : toFloat(rounded.e[i])) + toFloat(dsum.e[i]);
    }
    return packed<X, N>(d);
}

template <class X, class W, int Lanes, bool Add, bool Flat, bool Once>
__global__ void __launch_bounds__(256, 3) normBackwardNarrow(Arguments<X, W> a) {
    using Y = Promoted<X, W>;
    constexpr int n = vecWidth<X>, groups = 256 / Lanes;
    __shared__ float sums[groups][Lanes * n];
    allowNextLaunch();
    const int lane = threadIdx.x % Lanes;
    const Vec<W, n> w = loadShared<n>(a.weight + lane * n);
    float dweight[n] = {};

    // The bounds of the loop are the same for all lanes of a warp: sumLanes() needs them all.
    for (int64_t first = int64_t(blockIdx.x) * groups; first < a.rows; first += int64_t(gridDim.x) * groups) {
        const int64_t row = first + threadIdx.x / Lanes;
        const bool inside = row < a.rows;
        Vec<Y, n> dy;
        Vec<X, n> x, dsum;
        float r = 0.f;
        if (inside) {
            dy = loadOnce<n>(a.dy.template row<Flat>(row) + lane * n);
            x = loadOnce<n>(a.x.template row<Flat>(row) + lane * n);
            if constexpr (Add) dsum = loadOnce<n>(a.dsum.template row<Flat>(row) + lane * n);
            r = __ldg(a.rstd + row);
        }
        float g[n], dot = 0.f;
        scaled<X, W, n>(dy, w, Once, g);
#pragma unroll
        for (int i = 0; i < n; ++i) dot += g[i] * toFloat(x.e[i]);
        dot = sumLanes<Lanes>(dot);
        if (!inside) continue;
        const float c = -dot * r * r * r * a.inverseWidth;
        addWeighed<X, W, n>(dy, x, r, Once, dweight);
        store<n>(a.dx.template row<Flat>(row) + lane * n, gradient<X, n, Add>(g, x, r, c, dsum, Once));
    }

    if (!a.partial) return;
#pragma unroll
    for (int i = 0; i < n; ++i) sums[threadIdx.x / Lanes][lane * n + i] = dweight[i];
    __syncthreads();
    for (int column = threadIdx.x; column < Lanes * n; column += blockDim.x) {
        float sum = 0.f;
        for (int g = 0; g < groups; ++g) sum += sums[g][column];
        a.partial[blockIdx.x * a.width + column] = sum;
    }
}

/// Rows of a group that are in shared memory: one being worked on, one on its way.
constexpr int stages = 2;

/// 16-byte pieces of dy, x and dsum that go with one vector of x.
template <class X, class W, bool Add>
inline constexpr int piecesOfVector = int(sizeof(Promoted<X, W>) / sizeof(X)) + (Add ? 2 : 1);

/// Threads of a block: all the registers of a multiprocessor, since one block fills it.
template <int Vectors> inline constexpr int blockThreads = Vectors == 4 ? 512 : Vectors == 2 ? 768 : 1024;

/// A block fills a multiprocessor and consists of groups of `groupThreads` threads, each with a row of its own and a
/// barrier of its own; their sums for dweight meet in shared memory at the end, so that few partial sums are written.
template <class X, class W, int Vectors, bool Add>
__global__ void __launch_bounds__(blockThreads<Vectors>, 1) normBackwardBlock(Arguments<X, W> a, int groupThreads) {
    using Y = Promoted<X, W>;
    constexpr int n = vecWidth<X>, ofDy = int(sizeof(Y) / sizeof(X)), pieces = piecesOfVector<X, W, Add>;
    extern __shared__ uint4 ring[]; // [stage][vector][piece][thread]; a thread reads only what it copied itself
    __shared__ float scratch[2][32];
    allowNextLaunch();
    const int group = threadIdx.x / groupThreads, groups = blockDim.x / groupThreads;
    const int t = threadIdx.x - group * groupThreads;
    const int vectors = int(a.width / n);

    auto slot = [&](int stage, int k, int piece) -> uint4& {
        return ring[((stage * Vectors + k) * pieces + piece) * blockDim.x + threadIdx.x];
    };
    auto fetch = [&](int64_t row, int stage) {
        if (row < a.rows) {
            const Y* dy = a.dy.row(row);
            const X* x = a.x.row(row);
            const X* dsum = Add ? a.dsum.row(row) : nullptr;
#pragma unroll
            for (int k = 0; k < Vectors; ++k) {
                const int v = t + k * groupThreads;
                if (v >= vectors) continue;
#pragma unroll
                for (int p = 0; p < ofDy; ++p) copyAsync16(&slot(stage, k, p), dy + v * n + p * vecWidth<Y>);
                copyAsync16(&slot(stage, k, ofDy), x + v * n);
                if constexpr (Add) copyAsync16(&slot(stage, k, ofDy + 1), dsum + v * n);
            }
        }
        commitCopies();
    };
    auto rstdOf = [&](int64_t row) { return row < a.rows ? __ldg(a.rstd + row) : 0.f; };

    Vec<W, n> w[Vectors];
    float dweight[Vectors][n];
#pragma unroll
    for (int k = 0; k < Vectors; ++k) {
        if (const int v = t + k * groupThreads; v < vectors) w[k] = loadShared<n>(a.weight + v * n);
#pragma unroll
        for (int i = 0; i < n; ++i) dweight[k][i] = 0.f;
    }

    const int64_t first = int64_t(blockIdx.x) * groups + group, step = int64_t(gridDim.x) * groups;
    fetch(first, 0);
    float nextR = rstdOf(first);

    int stage = 0;
    for (int64_t row = first; row < a.rows; row += step, stage ^= 1) {
        fetch(row + step, stage ^ 1);
        const float r = nextR;
        nextR = rstdOf(row + step);
        waitCopies<1>();

        auto read = [&](int k, Vec<Y, n>& dy, Vec<X, n>& x) {
#pragma unroll
            for (int p = 0; p < ofDy; ++p) dy.piece(p) = slot(stage, k, p);
            x.piece(0) = slot(stage, k, ofDy);
        };

        float dot = 0.f;
#pragma unroll
        for (int k = 0; k < Vectors; ++k) {
            if (t + k * groupThreads >= vectors) continue;
            Vec<Y, n> dy;
            Vec<X, n> x;
            read(k, dy, x);
            float g[n];
            scaled<X, W, n>(dy, w[k], a.once, g);
#pragma unroll
            for (int i = 0; i < n; ++i) dot += g[i] * toFloat(x.e[i]);
        }
        dot = sumGroup(dot, t, groupThreads, group + 1, scratch[stage] + group * (groupThreads / 32));
        const float c = -dot * r * r * r * a.inverseWidth;

        X* dx = a.dx.row(row);
#pragma unroll
        for (int k = 0; k < Vectors; ++k) {
            const int v = t + k * groupThreads;
            if (v >= vectors) continue;
            Vec<Y, n> dy;
            Vec<X, n> x, dsum;
            read(k, dy, x);
            if constexpr (Add) dsum.piece(0) = slot(stage, k, ofDy + 1);
            float g[n];
            scaled<X, W, n>(dy, w[k], a.once, g);
            addWeighed<X, W, n>(dy, x, r, a.once, dweight[k]);
            store<n>(dx + v * n, gradient<X, n, Add>(g, x, r, c, dsum, a.once));
        }
    }

    if (!a.partial) return;
    waitCopies<0>();
    __syncthreads();
    float* sums = reinterpret_cast<float*>(ring); // [group][width], where the rows were
#pragma unroll
    for (int k = 0; k < Vectors; ++k) {
        const int v = t + k * groupThreads;
        if (v >= vectors) continue;
        Vec<float, n> out;
#pragma unroll
        for (int i = 0; i < n; ++i) out.e[i] = dweight[k][i];
        auto* to = reinterpret_cast<uint4*>(sums + group * a.width + v * n);
#pragma unroll
        for (int i = 0; i < out.pieces; ++i) to[i] = out.piece(i);
    }
    __syncthreads();
    for (int column = threadIdx.x; column < int(a.width); column += blockDim.x) {
        float sum = 0.f;
        for (int g = 0; g < groups; ++g) sum += sums[g * a.width + column];
        a.partial[blockIdx.x * a.width + column] = sum;
    }
}

template <class X, class W, bool Add> __global__ void __launch_bounds__(256) normBackwardPlain(Arguments<X, W> a) {
    __shared__ float scratch[2][32];
    allowNextLaunch();
    int flip = 0;
    for (int64_t row = blockIdx.x; row < a.rows; row += gridDim.x, flip ^= 1) {
        const Promoted<X, W>* dy = a.dy.row(row);
        const X* x = a.x.row(row);
        const X* dsum = Add ? a.dsum.row(row) : nullptr;
        const float r = a.rstd[row];
        float dot = 0.f;
        for (int64_t i = threadIdx.x; i < a.width; i += blockDim.x)
            dot += scaled<X, W>(toFloat(dy[i]), toFloat(a.weight[i]), a.once) * toFloat(x[i]);
        const float c = -sumBlock(dot, scratch[flip]) * r * r * r * a.inverseWidth;
        X* dx = a.dx.row(row);
        float* partial = a.partial ? a.partial + blockIdx.x * a.width : nullptr;
        const bool firstRow = row == blockIdx.x;
        for (int64_t i = threadIdx.x; i < a.width; i += blockDim.x) {
            const float g = scaled<X, W>(toFloat(dy[i]), toFloat(a.weight[i]), a.once);
            const float xi = toFloat(x[i]);
            // A column belongs to one thread of the block, so its sum can live in the workspace.
            if (partial) partial[i] = (firstRow ? 0.f : partial[i]) + weighed<X, W>(toFloat(dy[i]), xi, r, a.once);
            dx[i] = gradient<X, Add>(g, xi, r, c, Add ? toFloat(dsum[i]) : 0.f, a.once);
        }
    }
}

/// What a call will launch: the workspace follows from it.
struct Plan {
    enum Kind { narrow, block, plain } kind = plain;
    int perThread = 0;    // of `block`: vectors a thread
    int groupThreads = 0; // of `block`
    int threads = 256;
    int shared = 0;
    int grid = 0;
};

constexpr int plainBlocksPerSm = 4;

void planPlain(Plan& plan, int64_t rows, const DeviceFacts& device) {
    plan = Plan{};
    plan.grid = persistentGrid(device, plainBlocksPerSm, rows);
}

template <class X, class W, int Vectors, bool Add>
FsStatus planBlock(Plan& plan, const FsAddRmsNormBackward& c, const DeviceFacts& device) {
    static Occupancy occupancy;
    const int vectors = int(c.width / vecWidth<X>);
    const int64_t rows = rowCount(c.sum);
    plan.kind = Plan::block;
    plan.perThread = Vectors;
    plan.groupThreads = ((vectors + Vectors - 1) / Vectors + 31) / 32 * 32;
    const int sharedOfGroup = stages * piecesOfVector<X, W, Add> * Vectors * plan.groupThreads * 16;
    // As many groups as fit (15 barriers beside the block's own), but rather one on every multiprocessor than many on
    // one.
    const int64_t groups = std::min<int64_t>({15, blockThreads<Vectors> / plan.groupThreads,
                                              (device.sharedPerBlock - 1024) / sharedOfGroup,
                                              (rows + device.multiprocessors - 1) / device.multiprocessors});
    int perSm = 0;
    if (groups > 0) {
        plan.threads = plan.groupThreads * int(groups);
        plan.shared = std::max(sharedOfGroup * int(groups), int(groups * c.width) * int(sizeof(float)));
        const auto* kernel = reinterpret_cast<const void*>(normBackwardBlock<X, W, Vectors, Add>);
        if (FsStatus s = occupancy.blocksPerSm(kernel, plan.threads, plan.shared, perSm); s != FS_OK) return s;
    }
    if (perSm == 0) { // too wide for registers or shared memory
        planPlain(plan, rows, device);
        return FS_OK;
    }
    plan.grid =
        persistentGrid(device, c.hint.blocks_per_sm > 0 ? c.hint.blocks_per_sm : 1, (rows + groups - 1) / groups);
    return FS_OK;
}

template <class X, class W, int Lanes, bool Add>
FsStatus planNarrow(Plan& plan, const FsAddRmsNormBackward& c, const DeviceFacts& device) {
    static Occupancy occupancy;
    const auto* kernel = reinterpret_cast<const void*>(normBackwardNarrow<X, W, Lanes, Add, true, false>);
    plan.kind = Plan::narrow;
    int perSm = c.hint.blocks_per_sm;
    if (perSm <= 0)
        if (FsStatus s = occupancy.blocksPerSm(kernel, plan.threads, 0, perSm); s != FS_OK) return s;
    const int64_t rowsOfBlock = plan.threads / Lanes;
    plan.grid = persistentGrid(device, perSm, (rowCount(c.sum) + rowsOfBlock - 1) / rowsOfBlock);
    return FS_OK;
}

template <class X, class W, bool Add>
FsStatus planFor(Plan& plan, const FsAddRmsNormBackward& c, const DeviceFacts& device) {
    using Y = Promoted<X, W>;
    const int64_t rows = rowCount(c.sum);
    constexpr int n = vecWidth<X>;
    const int64_t vectors = c.width / n;
    const bool vectorised = c.width % n == 0 && aligned16(c.dy, sizeof(Y)) && aligned16(c.sum, sizeof(X)) &&
                            aligned16(c.dx, sizeof(X)) && aligned16(c.weight) && (!Add || aligned16(c.dsum, sizeof(X)));
    if (vectorised && c.hint.variant >= 0) {
        if (vectors == 8) return planNarrow<X, W, 8, Add>(plan, c, device);
        if (vectors == 16) return planNarrow<X, W, 16, Add>(plan, c, device);
        if (vectors == 32) return planNarrow<X, W, 32, Add>(plan, c, device);
        // Few rows: more threads a row, so that each waits for fewer loads.
        int perThread = rows < 2 * device.multiprocessors ? 1 : 2;
        if (c.hint.threads > 0) perThread = int((vectors + c.hint.threads - 1) / c.hint.threads);
        if (vectors <= 1024 && perThread <= 1) return planBlock<X, W, 1, Add>(plan, c, device);
        if (vectors <= 1536 && perThread <= 2) return planBlock<X, W, 2, Add>(plan, c, device);
        if (vectors <= 2048) return planBlock<X, W, 4, Add>(plan, c, device);
    }
    planPlain(plan, rows, device);
    return FS_OK;
}

template <class X, class W, int Lanes, bool Add>
void launchNarrow(const Arguments<X, W>& a, const Plan& plan, cudaStream_t stream) {
    const bool flat = a.x.inner == 1 && a.dy.inner == 1 && a.dx.inner == 1 && (!Add || a.dsum.inner == 1);
    auto with = [&](auto flatRows, auto once) {
        normBackwardNarrow<X, W, Lanes, Add, flatRows, once><<<plan.grid, plan.threads, 0, stream>>>(a);
    };
    if (flat)
        a.once ? with(std::true_type{}, std::true_type{}) : with(std::true_type{}, std::false_type{});
    else
        a.once ? with(std::false_type{}, std::true_type{}) : with(std::false_type{}, std::false_type{});
}

template <class X, class W, bool Add>
FsStatus launch(const FsAddRmsNormBackward& c, const Plan& plan, float* partial, cudaStream_t stream) {
    using Y = Promoted<X, W>;
    Arguments<X, W> a;
    a.dy = typed<const Y>(c.dy);
    if (Add) a.dsum = typed<const X>(c.dsum);
    a.x = typed<const X>(c.sum);
    a.dx = typed<X>(c.dx);
    a.weight = static_cast<const W*>(c.weight);
    a.rstd = c.rstd;
    a.partial = c.dweight ? partial : nullptr;
    a.rows = rowCount(c.sum);
    a.width = c.width;
    a.inverseWidth = 1.f / float(c.width);
    a.once = c.rounding == FS_ROUND_ONCE;
    if (plan.grid > 0) {
        if (plan.kind == Plan::narrow) {
            const int64_t vectors = c.width / vecWidth<X>;
            if (vectors == 8) launchNarrow<X, W, 8, Add>(a, plan, stream);
            if (vectors == 16) launchNarrow<X, W, 16, Add>(a, plan, stream);
            if (vectors == 32) launchNarrow<X, W, 32, Add>(a, plan, stream);
        } else if (plan.kind == Plan::block) {
            if (plan.perThread == 1)
                normBackwardBlock<X, W, 1, Add><<<plan.grid, plan.threads, plan.shared, stream>>>(a, plan.groupThreads);
            if (plan.perThread == 2)
                normBackwardBlock<X, W, 2, Add><<<plan.grid, plan.threads, plan.shared, stream>>>(a, plan.groupThreads);
            if (plan.perThread == 4)
                normBackwardBlock<X, W, 4, Add><<<plan.grid, plan.threads, plan.shared, stream>>>(a, plan.groupThreads);
        } else {
            normBackwardPlain<X, W, Add><<<plan.grid, 256, 0, stream>>>(a);
        }
        if (FsStatus s = checkLaunch("rms_norm backward"); s != FS_OK) return s;
    }
    if (!c.dweight || c.width == 0) return FS_OK;
    return launchSumColumns(partial, plan.grid, c.width, static_cast<W*>(c.dweight), stream);
}

FsStatus checkCall(const NormBackward& n) {
    const FsAddRmsNormBackward& c = n.call;
    FsStatus s = checkDtype(c.dtype, "x");
    if (s == FS_OK && c.weight_dtype != c.dtype && c.weight_dtype != FS_F32)
        s = fail(FS_UNSUPPORTED, "weight: expected x's element type or fp32");
    if (s == FS_OK) s = checkRows(c.sum, "x", c.width, false);
    if (s == FS_OK) s = checkRows(c.dy, "dy", c.width, false);
    if (s == FS_OK) s = checkRows(c.dx, "dx", c.width, true);
    if (s == FS_OK) s = checkSameRows(c.sum, "x", c.dy, "dy");
    if (s == FS_OK) s = checkSameRows(c.sum, "x", c.dx, "dx");
    if (s == FS_OK && n.add) {
        s = checkRows(c.dsum, "dsum", c.width, false);
        if (s == FS_OK) s = checkSameRows(c.sum, "sum", c.dsum, "dsum");
    }
    if (s == FS_OK && rowCount(c.sum) > 0 && c.width > 0) {
        s = checkPointer(c.weight, "weight");
        if (s == FS_OK) s = checkPointer(c.rstd, "rstd");
    }
    return s;
}

template <class F> FsStatus withKernel(const NormBackward& n, F&& f) {
    return withNormTypes(n.call.dtype, n.call.weight_dtype, [&](auto x, auto w) {
        return n.add ? f(x, w, std::true_type{}) : f(x, w, std::false_type{});
    });
}

FsStatus plan(const NormBackward& n, Plan& plan) {
    DeviceFacts device;
    if (FsStatus s = currentDevice(device); s != FS_OK) return s;
    if (rowCount(n.call.sum) == 0 || n.call.width == 0) return FS_OK;
    return withKernel(n, [&](auto x, auto w, auto add) {
        return planFor<typename decltype(x)::Type, typename decltype(w)::Type, add>(plan, n.call, device);
    });
}

size_t bytesOf(const NormBackward& n, const Plan& plan) {
    return n.call.dweight ? size_t(plan.grid) * size_t(n.call.width) * sizeof(float) : 0;
}

} // namespace

FsStatus normBackwardWorkspace(const NormBackward& n, size_t& bytes) {
    bytes = 0;
    Plan p;
    if (FsStatus s = checkCall(n); s != FS_OK) return s;
    if (FsStatus s = plan(n, p); s != FS_OK) return s;
    bytes = bytesOf(n, p);
    return FS_OK;
}

FsStatus normBackward(const NormBackward& n, void* workspace, size_t workspaceBytes, cudaStream_t stream) {
    Plan p;
    if (FsStatus s = checkCall(n); s != FS_OK) return s;
    if (FsStatus s = plan(n, p); s != FS_OK) return s;
    const size_t needed = bytesOf(n, p);
    if (workspaceBytes < needed || (needed && !workspace))
        return fail(FS_WORKSPACE_TOO_SMALL, "rms_norm backward: expected a workspace of %zu bytes, found %zu", needed,
                    workspace ? workspaceBytes : 0);
    return withKernel(n, [&](auto x, auto w, auto add) {
        return launch<typename decltype(x)::Type, typename decltype(w)::Type, add>(
            n.call, p, static_cast<float*>(workspace), stream);
    });
}

} // namespace fusescope::kernels
