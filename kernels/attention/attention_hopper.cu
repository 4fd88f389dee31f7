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
#include "kernels/attention/hopper_copier.cuh"
#include "kernels/attention/hopper_worker.cuh"
#include "kernels/common/checks.h"
#include "kernels/common/error.h"
#include "kernels/common/heads_checks.h"
#include "kernels/common/launch.h"

#include <algorithm>
#include <cmath>
#include <cuda.h>

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

using EncodeTiled = decltype(&cuTensorMapEncodeTiled);

/// The driver's function, without linking the driver.
FsStatus findEncoder(EncodeTiled& encode) {
    static const EncodeTiled found = [] {
        void* address = nullptr;
        cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
        constexpr unsigned since = 12000; // the driver's version that has it
        if (cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &address, since, cudaEnableDefault, &result) !=
                cudaSuccess ||
            result != cudaDriverEntryPointSuccess)
            address = nullptr;
        return reinterpret_cast<EncodeTiled>(address);
    }();
    encode = found;
    return found ? FS_OK : fail(FS_UNSUPPORTED, "attention: the driver has no cuTensorMapEncodeTiled");
}

/// Boxes of `rows` tokens by half a head.
FsStatus describe(CUtensorMap& tensor, const char* name, const void* data, FsDtype dtype, int64_t tokens, int64_t heads,
                  int64_t batch, const int64_t (&stride)[3], int rows) {
    EncodeTiled encode;
    if (FsStatus s = findEncoder(encode); s != FS_OK) return s;
    const cuuint64_t size[4] = {headDim, cuuint64_t(tokens), cuuint64_t(heads), cuuint64_t(batch)};
    const int64_t steps[3] = {stride[1], stride[2], stride[0]};
    cuuint64_t bytes[3];
    for (int i = 0; i < 3; ++i) bytes[i] = size[i + 1] > 1 ? cuuint64_t(steps[i]) * 2 : headDim * 2;
    const cuuint32_t box[4] = {headDim / 2, cuuint32_t(rows), 1, 1}, every[4] = {1, 1, 1, 1};
    const CUresult result =
        encode(&tensor, dtype == FS_BF16 ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 : CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 4,
               const_cast<void*>(data), size, bytes, box, every, CU_TENSOR_MAP_INTERLEAVE_NONE,
               CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (result == CUDA_SUCCESS) return FS_OK;
    return fail(FS_UNSUPPORTED, "attention: %s of %lld x %lld x %lld has no tensor map (CUDA error %d)", name,
                static_cast<long long>(batch), static_cast<long long>(tokens), static_cast<long long>(heads),
                int(result));
}

FsStatus checkCall(const FsAttention* c) {
    if (FsStatus s = checkPointer(c, "call"); s != FS_OK) return s;
    DeviceFacts device;
    if (FsStatus s = currentDevice(device); s != FS_OK) return s;
    if (device.computeCapability != 90)
        return fail(FS_UNSUPPORTED, "attention: the Hopper kernel needs compute capability 9.0, found %d.%d",
                    device.computeCapability / 10, device.computeCapability % 10);

    const HeadShape queries{c->batch, c->q_tokens, c->head_dim}, keys{c->batch, c->kv_tokens, c->head_dim};
    auto heads = [](const void* data, int64_t count, const int64_t* stride) {
        return FsHeads{const_cast<void*>(data), count, stride[0], stride[1], stride[2]};
    };
    const FsHeads q = heads(c->q, c->q_heads, c->q_stride), k = heads(c->k, c->kv_heads, c->k_stride),
                  v = heads(c->v, c->kv_heads, c->v_stride), out = heads(c->out, c->q_heads, c->out_stride);
    FsStatus s = checkDtype(c->dtype, "q");
    if (s == FS_OK) s = checkHeadShape(queries);
    if (s == FS_OK) s = checkHeadShape(keys);
    if (s == FS_OK) s = checkHeads(q, "q", queries, false);
    if (s == FS_OK) s = checkHeads(k, "k", keys, false);
    if (s == FS_OK) s = checkHeads(v, "v", keys, false);
    if (s == FS_OK) s = checkHeads(out, "out", queries, true);
    if (s != FS_OK) return s;
    if (c->kv_heads == 0 ? c->q_heads != 0 : c->q_heads % c->kv_heads != 0)
        return fail(FS_INVALID_ARGUMENT, "attention: %lld heads of q do not divide among %lld of k",
                    static_cast<long long>(c->q_heads), static_cast<long long>(c->kv_heads));
    if (c->causal != 0 && c->causal != 1)
        return fail(FS_INVALID_ARGUMENT, "attention: causal is 0 or 1, found %d", c->causal);
    if (c->hint.variant < 0 || c->hint.variant > 2)
        return fail(FS_INVALID_ARGUMENT, "attention: variant is 0, 1 or 2, found %d", c->hint.variant);

    if (c->dtype == FS_F32 || c->head_dim != headDim)
        return fail(FS_UNSUPPORTED,
                    "attention: the Hopper kernel is for bf16 and fp16 and head_dim 128, found %s and %lld",
                    c->dtype == FS_F32   ? "fp32"
                    : c->dtype == FS_F16 ? "fp16"
                                         : "bf16",
                    static_cast<long long>(c->head_dim));
    if (!(c->scale > 0.f) || std::isinf(c->scale))
        return fail(FS_UNSUPPORTED, "attention: the Hopper kernel is for a positive scale, found %g", double(c->scale));
    const bool anyQueries = c->batch * c->q_tokens * c->q_heads > 0, anyKeys = anyQueries && c->kv_tokens > 0;
    if ((anyQueries && !(aligned16(q, queries, 2) && aligned16(out, queries, 2))) ||
        (anyKeys && !(aligned16(k, keys, 2) && aligned16(v, keys, 2))))
        return fail(FS_UNSUPPORTED, "attention: the Hopper kernel needs heads that start at multiples of 16 bytes");
    constexpr int64_t most = 1 << 30;
    if (c->q_tokens > most || c->kv_tokens > most || c->batch * c->q_heads > most ||
        (c->q_tokens + 63) / 64 * c->batch * c->q_heads > most)
        return fail(FS_UNSUPPORTED, "attention: more tiles of queries than the Hopper kernel counts");
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

template <class C, class T> FsStatus launch(const FsAttention& c, cudaStream_t stream) {
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

    FsStatus s = describe(a.q, "q", c.q, c.dtype, c.q_tokens, c.q_heads, c.batch, c.q_stride, C::rows);
    if (s == FS_OK) s = describe(a.k, "k", c.k, c.dtype, c.kv_tokens, c.kv_heads, c.batch, c.k_stride, keysOfTile);
    if (s == FS_OK) s = describe(a.v, "v", c.v, c.dtype, c.kv_tokens, c.kv_heads, c.batch, c.v_stride, keysOfTile);
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

template <class T> FsStatus launchVariant(const FsAttention& c, cudaStream_t stream) {
    return chooseVariant(c) == 1 ? launch<Config<2>, T>(c, stream) : launch<Config<3>, T>(c, stream);
}

} // namespace
} // namespace fusescope::kernels

FsStatus fusescope_attention_hopper_forward(const FsAttention* call, cudaStream_t stream) {
    using namespace fusescope::kernels;
    beginCall();
    if (FsStatus s = checkCall(call); s != FS_OK) return s;
    if (call->batch * call->q_heads * call->q_tokens == 0) return FS_OK;
    return call->dtype == FS_BF16 ? launchVariant<Bf16>(*call, stream) : launchVariant<F16>(*call, stream);
}

FsStatus fusescope_attention_hopper_supported(const FsAttention* call) {
    fusescope::kernels::beginCall();
    return fusescope::kernels::checkCall(call);
}
