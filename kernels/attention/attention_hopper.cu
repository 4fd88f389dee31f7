// SPDX-License-Identifier: Apache-2.0
// Attention's forward pass by warpgroups with different work. One thread copies tiles of q, k and v into shared memory
// and keeps a ring of them filled; two or three warpgroups have 64 rows of queries each and walk over the keys, from
// the last that a tile sees to the first. Blocks stay and take tile after tile. For sm_90a alone.
//
//   variant 1  two warpgroups: while the tensor cores multiply the weights of one tile of keys with its values, the
//              warps turn the scores of the next into weights
//   variant 2  three warpgroups, for each all in order: the others have products while one has exponentials, and more
//              rows share a copied tile
// The second is faster with many causal queries alone: see chooseVariant().
#include "kernels/attention/attention_hopper.h"
#include "kernels/attention/hopper_call.h"
#include "kernels/attention/hopper_copier.cuh"
#include "kernels/attention/hopper_worker.cuh"
#include "kernels/common/checks.h"
#include "kernels/common/error.h"
#include "kernels/common/launch.h"

#include <algorithm>
#include <cmath>

namespace fusescope::kernels {
namespace {

using namespace hopper;

template <class C, class T>
__global__ void __launch_bounds__(C::threads, 1) attentionHopper(const __grid_constant__ Arguments a) {
    extern __shared__ uint8_t memory[];
    const Shared<C> shared(memory);
    if (threadIdx.x == 0) {
        prefetchTensor(&a.q);
        prefetchTensor(&a.k);
        prefetchTensor(&a.v);
        constexpr int warps = 4 * C::groups;
        initBarrier(shared.qFull(), 1);
        initBarrier(shared.qEmpty(), warps);
        for (int i = 0; i < stages; ++i) {
            initBarrier(shared.kFull(i), 1);
            initBarrier(shared.kEmpty(i), warps);
            initBarrier(shared.vFull(i), 1);
            initBarrier(shared.vEmpty(i), warps);
        }
        publishBarriers();
    }
    __syncthreads();
    if (threadIdx.x < warpgroup) {
        giveRegisters<C::copierRegisters>();
        if (threadIdx.x == 0) Copier<C>(a, shared).run();
    } else {
        takeRegisters<C::groupRegisters>();
        Worker<C, T>(a, shared).run();
    }
}

/// out = 0 and lse = -inf, for no keys. A warp a row.
template <class T> __global__ void __launch_bounds__(256) attentionWithoutKeys(Arguments a, int64_t rows) {
    const int64_t row = (int64_t(blockIdx.x) * blockDim.x + threadIdx.x) / 32;
    if (row >= rows) return;
    const int64_t head = row / a.queryTokens, token = row - head * a.queryTokens, batch = head / a.queryHeads;
    T* const out = static_cast<T*>(a.out) + batch * a.outStride[0] + token * a.outStride[1] +
                   (head - batch * a.queryHeads) * a.outStride[2];
    for (int i = threadIdx.x % 32; i < headDim; i += 32) out[i] = fromFloat<T>(0.f);
    if (a.lse && threadIdx.x % 32 == 0) a.lse[row] = -INFINITY;
}

struct Call {
    HeadProblem problem;
    HeadTensor q, k, v, out;
};

FsStatus readCall(const FsAttention* c, Call& call) {
    if (FsStatus s = checkPointer(c, "call"); s != FS_OK) return s;
    call.problem = {c->batch,    c->q_heads, c->kv_heads, c->q_tokens, c->kv_tokens,
                    c->head_dim, c->scale,   c->causal,   c->dtype};
    call.q = {"q", c->q, c->q_stride, false, false};
    call.k = {"k", c->k, c->k_stride, true, false};
    call.v = {"v", c->v, c->v_stride, true, false};
    call.out = {"out", c->out, c->out_stride, false, true};
    const HeadTensor all[] = {call.q, call.k, call.v, call.out};
    if (FsStatus s = checkHopperCall(call.problem, all, 4); s != FS_OK) return s;
    if (c->hint.variant < 0 || c->hint.variant > 2)
        return fail(FS_INVALID_ARGUMENT, "attention: variant is 0, 1 or 2, found %d", c->hint.variant);
    return FS_OK;
}

template <class T> FsStatus launchWithoutKeys(const Arguments& a, int64_t rows, cudaStream_t stream) {
    attentionWithoutKeys<T><<<unsigned((rows + 7) / 8), 256, 0, stream>>>(a, rows);
    return checkLaunch("attention without keys");
}

/// The order of tiles, for blocks that all run at once.
TileOrder planOrder(const FsAttention& c, int rows, int blocks) {
    constexpr int64_t keptBytes = 24 << 20; // of L2, which other reads share
    TileOrder order{};
    order.tilesOfHead = int((c.q_tokens + rows - 1) / rows);
    order.heads = int(c.batch * c.q_heads);
    order.falling = c.causal != 0;
    const int64_t group = c.q_heads / c.kv_heads, bytesOfGroup = c.kv_tokens * headDim * 2 * 2;
    // Rounds are all full but the last of a section, so a section should have several.
    const int64_t forRounds = (int64_t(4) * blocks + order.tilesOfHead - 1) / order.tilesOfHead;
    const int64_t groups = std::max({keptBytes / bytesOfGroup, (forRounds + group - 1) / group, int64_t{1}});
    order.sectionHeads = int(std::min<int64_t>(groups * group, order.heads));
    order.rounds = int((int64_t(order.sectionHeads) * order.tilesOfHead + blocks - 1) / blocks);
    order.steps = (order.heads + order.sectionHeads - 1) / order.sectionHeads * order.rounds;
    return order;
}

template <class C, class T> FsStatus launch(const FsAttention& c, const Call& call, cudaStream_t stream) {
    static Occupancy occupancy;
    DeviceFacts device;
    if (FsStatus s = currentDevice(device); s != FS_OK) return s;
    const auto* kernel = reinterpret_cast<const void*>(attentionHopper<C, T>);
    int blocksPerSm = 0;
    if (FsStatus s = occupancy.blocksPerSm(kernel, C::threads, C::sharedBytes, blocksPerSm); s != FS_OK) return s;

    Arguments a{};
    a.out = c.out;
    a.lse = c.lse;
    std::copy_n(c.out_stride, 3, a.outStride);
    a.queryTokens = int(c.q_tokens);
    a.keyTokens = int(c.kv_tokens);
    a.queryHeads = int(c.q_heads);
    a.headsOfKey = int(c.q_heads / c.kv_heads);
    a.scale = c.scale;
    a.scaleLog2 = float(double(c.scale) * 1.4426950408889634);
    a.causal = c.causal != 0;
    if (c.kv_tokens == 0) return launchWithoutKeys<T>(a, c.batch * c.q_heads * c.q_tokens, stream);

    FsStatus s = describeTensor(a.q, call.q, call.problem, C::rows);
    if (s == FS_OK) s = describeTensor(a.k, call.k, call.problem, keysOfTile);
    if (s == FS_OK) s = describeTensor(a.v, call.v, call.problem, keysOfTile);
    if (s != FS_OK) return s;
    const int64_t tiles = (c.q_tokens + C::rows - 1) / C::rows * c.batch * c.q_heads;
    const int blocks = persistentGrid(device, blocksPerSm, tiles);
    a.order = planOrder(c, C::rows, blocks);
    attentionHopper<C, T><<<unsigned(blocks), C::threads, C::sharedBytes, stream>>>(a);
    return checkLaunch("attention on Hopper");
}

/// Measured with an H200 and 32 causal heads: variant 1 is ahead at 8192 queries (648 against 640 TFLOP/s), variant 2
/// at 16384 (688 against 660). The limit between the two is a guess. Not causal, variant 2 is never ahead.
int chooseVariant(const FsAttention& c) {
    if (c.hint.variant != 0) return c.hint.variant;
    return c.causal && c.q_tokens >= 12288 ? 2 : 1;
}

template <class T> FsStatus launchVariant(const FsAttention& c, const Call& call, cudaStream_t stream) {
    return chooseVariant(c) == 1 ? launch<Config<2>, T>(c, call, stream) : launch<Config<3>, T>(c, call, stream);
}

} // namespace
} // namespace fusescope::kernels

FsStatus fusescope_attention_hopper_forward(const FsAttention* c, cudaStream_t stream) {
    using namespace fusescope::kernels;
    beginCall();
    Call call;
    if (FsStatus s = readCall(c, call); s != FS_OK) return s;
    if (c->batch * c->q_heads * c->q_tokens == 0) return FS_OK;
    return c->dtype == FS_BF16 ? launchVariant<Bf16>(*c, call, stream) : launchVariant<F16>(*c, call, stream);
}

FsStatus fusescope_attention_hopper_supported(const FsAttention* c) {
    using namespace fusescope::kernels;
    beginCall();
    Call call;
    return readCall(c, call);
}
