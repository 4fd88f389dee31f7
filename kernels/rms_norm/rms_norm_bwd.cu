// SPDX-License-Identifier: Apache-2.0
// Backward of rms_norm and add_rms_norm: dx in one pass over dy and x, while every block keeps the sums for dweight of
// the rows it saw; a second kernel adds the blocks' sums. Kernels as in the forward: narrow (head_dim rows), block
// (rows pass through shared memory, copied ahead of their use), plain (any width, any alignment). Few rows have a
// kernel of their own that needs no second one (norm_backward_few.cuh).
#include "kernels/common/checks.h"
#include "kernels/common/column_sums.cuh"
#include "kernels/common/error.h"
#include "kernels/common/launch.h"
#include "kernels/common/overlap.h"
#include "kernels/common/reduce.cuh"
#include "kernels/rms_norm/norm_backward.cuh"
#include "kernels/rms_norm/norm_backward_block.cuh"
#include "kernels/rms_norm/norm_backward_few.cuh"
#include "kernels/rms_norm/norm_rows.h"

#include <algorithm>

namespace fusescope::kernels {
namespace {

template <class X, class W, int Lanes, bool Add, bool Flat, bool Once>
__global__ void __launch_bounds__(256, 3) normBackwardNarrow(NormBackwardArguments<X, W> a) {
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

template <class X, class W, bool Add>
__global__ void __launch_bounds__(256) normBackwardPlain(NormBackwardArguments<X, W> a) {
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
    enum Kind { narrow, block, plain, few } kind = plain;
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

/// Up to here a launch for rows and dweight together is faster (measured with an H200, widths 128 to 8192).
int64_t fewRows(int64_t vectors) { return vectors > 32 ? 384 : 128; }

/// Whether the call can do with one launch, and should.
template <class X, class W> bool planFew(Plan& plan, const FsAddRmsNormBackward& c) {
    using Y = Promoted<X, W>;
    constexpr int64_t maxThreads = 1024, maxRows = 65536;
    const int64_t rows = rowCount(c.sum), vectors = c.width / vecWidth<X>;
    if (vectors > maxThreads || rows > (c.hint.variant == 1 ? maxRows : fewRows(vectors)) || c.hint.variant == 2)
        return false;
    if (mayOverlap(c.dx, sizeof(X), c.dy, sizeof(Y), c.width) || mayOverlap(c.dx, sizeof(X), c.sum, sizeof(X), c.width))
        return false;
    plan.kind = Plan::few;
    // Often more than a row has vectors, so that a slice of dweight waits for memory once or twice.
    const int64_t wanted = c.hint.threads > 0 ? c.hint.threads : rows > 64 ? 512 : 256;
    plan.threads = int(std::min(maxThreads, quotientUp(std::max(wanted, vectors), 32) * 32));
    plan.grid = int(rows + (c.dweight ? quotientUp(vectors, sliceVectorsOf(plan.threads)) : 0));
    return true;
}

template <class X, class W, int Vectors, bool Add>
FsStatus planBlock(Plan& plan, const FsAddRmsNormBackward& c, const DeviceFacts& device) {
    static Occupancy occupancy;
    const auto [groupThreads, sharedOfGroup, groups] = groupsOf<X, W, Vectors, Add>(c, device);
    const int64_t rows = rowCount(c.sum);
    plan.kind = Plan::block;
    plan.perThread = Vectors;
    plan.groupThreads = groupThreads;
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
    plan.grid = persistentGrid(device, c.hint.blocks_per_sm > 0 ? c.hint.blocks_per_sm : 1, quotientUp(rows, groups));
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
        if (planFew<X, W>(plan, c)) return FS_OK;
        if (vectors == 8) return planNarrow<X, W, 8, Add>(plan, c, device);
        if (vectors == 16) return planNarrow<X, W, 16, Add>(plan, c, device);
        if (vectors == 32) return planNarrow<X, W, 32, Add>(plan, c, device);
        // Few rows: more threads a row, so that each waits for fewer loads.
        int perThread = rows < 2 * device.multiprocessors ? 1 : balancedPerThread<X, W, Add>(c, device);
        if (c.hint.threads > 0) perThread = int((vectors + c.hint.threads - 1) / c.hint.threads);
        if (vectors <= 1024 && perThread <= 1) return planBlock<X, W, 1, Add>(plan, c, device);
        if (vectors <= 1536 && perThread <= 2) return planBlock<X, W, 2, Add>(plan, c, device);
        if (vectors <= 2048) return planBlock<X, W, 4, Add>(plan, c, device);
    }
    planPlain(plan, rows, device);
    return FS_OK;
}

template <class X, class W, int Lanes, bool Add>
void launchNarrow(const NormBackwardArguments<X, W>& a, const Plan& plan, cudaStream_t stream) {
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
    NormBackwardArguments<X, W> a;
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
        } else if (plan.kind == Plan::few) {
            normBackwardFew<X, W, Add>
                <<<plan.grid, plan.threads, 0, stream>>>(a, sliceVectorsOf(plan.threads), static_cast<W*>(c.dweight));
        } else {
            normBackwardPlain<X, W, Add><<<plan.grid, 256, 0, stream>>>(a);
        }
        if (FsStatus s = checkLaunch("rms_norm backward"); s != FS_OK) return s;
    }
    if (!c.dweight || c.width == 0 || plan.kind == Plan::few) return FS_OK;
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
    return n.call.dweight && plan.kind != Plan::few ? size_t(plan.grid) * size_t(n.call.width) * sizeof(float) : 0;
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
