// SPDX-License-Identifier: Apache-2.0
// Attention's backward pass by warpgroups with different work, in three launches: what each row of queries needs, the
// products, and dq from its sums. In the products one thread copies tiles into shared memory; two warpgroups keep the
// sums of dk and dv of 128 keys in registers while they walk over the queries that see them, of all heads that share
// the keys. Blocks stay and take tile after tile, the costly ones first. For sm_90a alone.
#include "kernels/attention/attention_backward_hopper.h"
#include "kernels/attention/backward_copier.cuh"
#include "kernels/attention/backward_rows.cuh"
#include "kernels/attention/backward_worker.cuh"
#include "kernels/attention/hopper_call.h"
#include "kernels/common/checks.h"
#include "kernels/common/dependent_launch.cuh"
#include "kernels/common/error.h"
#include "kernels/common/launch.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace fusescope::kernels {
namespace {

namespace backward = hopper::backward;
using hopper::warpgroup;

template <class T>
__global__ void __launch_bounds__(backward::threads, 1)
    attentionBackwardHopper(const __grid_constant__ backward::Arguments a) {
    extern __shared__ uint8_t memory[];
    const backward::Shared shared(memory);
    allowNextLaunch();
    if (threadIdx.x == 0) {
        for (const CUtensorMap* tensor : {&a.q, &a.k, &a.v, &a.dout}) hopper::prefetchTensor(tensor);
        const unsigned arrivals = 4 * backward::workers * unsigned(a.lanesThatArrive);
        hopper::initBarrier(shared.keysFull(), 1);
        hopper::initBarrier(shared.keysEmpty(), arrivals);
        for (int i = 0; i < backward::depthOfQ; ++i) {
            hopper::initBarrier(shared.qFull(i), 1);
            hopper::initBarrier(shared.qEmpty(i), arrivals);
        }
        for (int i = 0; i < backward::depthOfDout; ++i) {
            hopper::initBarrier(shared.doutFull(i), 1);
            hopper::initBarrier(shared.doutEmpty(i), arrivals);
        }
        hopper::publishBarriers();
    }
    __syncthreads();
    awaitPreviousLaunch();
    if (threadIdx.x < warpgroup) {
        hopper::giveRegisters<24>();
        if (threadIdx.x == 0) backward::Copier(a, shared).run();
    } else {
        hopper::takeRegisters<240>();
        backward::Worker<T>(a, shared).run();
    }
}

struct Call {
    HeadProblem problem;
    HeadTensor q, k, v, out, dout, dq, dk, dv;

    bool nothing() const { return problem.batch * problem.queryHeads * problem.queryTokens == 0; }
    int64_t queryTiles() const { return (problem.queryTokens + backward::queriesOfTile - 1) / backward::queriesOfTile; }
    int64_t rows() const { return problem.batch * problem.queryHeads * queryTiles() * backward::queriesOfTile; }
    size_t scalarBytes() const { return (size_t(rows()) * 4 + 255) / 256 * 256; }
    static constexpr size_t counterBytes = 256;
    size_t workspace() const {
        return nothing() ? 0 : 2 * scalarBytes() + size_t(rows()) * hopper::headDim * 4 + counterBytes;
    }
};

FsStatus readCall(const FsAttentionBackward* c, Call& call) {
    if (FsStatus s = checkPointer(c, "call"); s != FS_OK) return s;
    call.problem = {c->batch,    c->q_heads, c->kv_heads, c->q_tokens, c->kv_tokens,
                    c->head_dim, c->scale,   c->causal,   c->dtype};
    call.q = {"q", c->q, c->q_stride, false, false};
    call.k = {"k", c->k, c->k_stride, true, false};
    call.v = {"v", c->v, c->v_stride, true, false};
    call.out = {"out", c->out, c->out_stride, false, false};
    call.dout = {"dout", c->dout, c->dout_stride, false, false};
    call.dq = {"dq", c->dq, c->dq_stride, false, true};
    call.dk = {"dk", c->dk, c->dk_stride, true, true};
    call.dv = {"dv", c->dv, c->dv_stride, true, true};
    const HeadTensor all[] = {call.q, call.k, call.v, call.out, call.dout, call.dq, call.dk, call.dv};
    if (FsStatus s = checkHopperCall(call.problem, all, 8); s != FS_OK) return s;
    return call.nothing() ? FS_OK : checkPointer(c->lse, "lse");
}

/// compute-sanitizer's racecheck takes an arrival at a barrier for what the arriving lane has read, and for nothing
/// that the lanes of its warp had read before they met. With FUSESCOPE_EVERY_LANE_ARRIVES=1 every lane speaks for
/// itself, in the same kernel.
bool everyLaneArrives() {
    static const bool every = [] {
        const char* told = std::getenv("FUSESCOPE_EVERY_LANE_ARRIVES");
        return told && std::strcmp(told, "1") == 0;
    }();
    return every;
}

struct Products {
    backward::Arguments arguments{};
    int blocks = 0; // 0: there are no keys
};

/// All that can fail, before anything is launched.
template <class T> FsStatus planProducts(const Call& call, const backward::Scratch& scratch, Products& products) {
    if (call.problem.keyTokens == 0) return FS_OK;
    static Occupancy occupancy;
    const HeadProblem& p = call.problem;
    DeviceFacts device;
    if (FsStatus s = currentDevice(device); s != FS_OK) return s;
    const auto* kernel = reinterpret_cast<const void*>(attentionBackwardHopper<T>);
    int blocksPerSm = 0;
    FsStatus s = occupancy.blocksPerSm(kernel, backward::threads, backward::Shared::bytes, blocksPerSm);
    if (s != FS_OK) return s;

    backward::Arguments& a = products.arguments;
    s = describeTensor(a.q, call.q, p, backward::queriesOfTile);
    if (s == FS_OK) s = describeTensor(a.dout, call.dout, p, backward::queriesOfTile);
    if (s == FS_OK) s = describeTensor(a.k, call.k, p, hopper::keysOfTile);
    if (s == FS_OK) s = describeTensor(a.v, call.v, p, hopper::keysOfTile);
    if (s != FS_OK) return s;
    a.scratch = scratch;
    a.dk = const_cast<void*>(call.dk.data);
    a.dv = const_cast<void*>(call.dv.data);
    std::copy_n(call.dk.stride, 3, a.dkStride);
    std::copy_n(call.dv.stride, 3, a.dvStride);
    a.queryTokens = int(p.queryTokens);
    a.keyTokens = int(p.keyTokens);
    a.queryTiles = int(call.queryTiles());
    a.queryHeads = int(p.queryHeads);
    a.keyHeads = int(p.keyHeads);
    a.headsOfKey = int(p.queryHeads / p.keyHeads);
    a.scale = p.scale;
    a.scaleLog2 = float(double(p.scale) * 1.4426950408889634);
    a.lanesThatArrive = everyLaneArrives() ? 32 : 1;
    a.causal = p.causal != 0;
    const int heads = int(p.batch * p.keyHeads);
    a.tilesOfHead = int((p.keyTokens + hopper::keysOfTile - 1) / hopper::keysOfTile);
    a.keyTiles = heads * a.tilesOfHead;
    const int blocks = products.blocks = persistentGrid(device, blocksPerSm, a.keyTiles);
    if (blocks == 0) return fail(FS_UNSUPPORTED, "attention: the Hopper kernel's blocks do not fit this device");
    const int sections = std::max(1, (a.keyTiles + blocks) / (2 * blocks)); // of about two tiles for each block
    a.sectionHeads = (heads + sections - 1) / sections;
    a.headsInside = a.headsOfKey > 4; // measured with an H200: 15% faster with 8 heads of q, 4% slower with 4
    return FS_OK;
}

template <class T> FsStatus launch(const Call& call, const float* lse, void* workspace, cudaStream_t stream) {
    auto* memory = static_cast<char*>(workspace);
    backward::RowArguments rows{};
    rows.scratch.lse2 = reinterpret_cast<float*>(memory);
    rows.scratch.delta = reinterpret_cast<float*>(memory + call.scalarBytes());
    rows.scratch.dq = reinterpret_cast<float*>(memory + 2 * call.scalarBytes());
    rows.scratch.taken = reinterpret_cast<int*>(memory + call.workspace() - Call::counterBytes);
    rows.out = call.out.data;
    rows.dout = call.dout.data;
    rows.lse = lse;
    rows.dq = const_cast<void*>(call.dq.data);
    std::copy_n(call.out.stride, 3, rows.outStride);
    std::copy_n(call.dout.stride, 3, rows.doutStride);
    std::copy_n(call.dq.stride, 3, rows.dqStride);
    rows.rows = call.rows();
    rows.queryTokens = int(call.problem.queryTokens);
    rows.queryTiles = int(call.queryTiles());
    rows.queryHeads = int(call.problem.queryHeads);
    rows.scale = call.problem.scale;
    rows.headsInside = call.dout.stride[2] < call.dout.stride[1];

    Products products;
    if (FsStatus s = planProducts<T>(call, rows.scratch, products); s != FS_OK) return s;
    constexpr int rowsOfBlock = 256 / backward::lanesOfRow;
    backward::prepareRows<T><<<unsigned((rows.rows + rowsOfBlock - 1) / rowsOfBlock), 256, 0, stream>>>(rows);
    if (FsStatus s = checkLaunch("attention's backward, rows"); s != FS_OK) return s;
    if (products.blocks > 0)
        if (FsStatus s = launchAfterShared(attentionBackwardHopper<T>, unsigned(products.blocks), backward::threads,
                                           backward::Shared::bytes, stream, "attention's backward on Hopper",
                                           products.arguments);
            s != FS_OK)
            return s;
    const int64_t tiles = rows.rows / backward::queriesOfTile;
    return launchAfter(backward::finishQueries<T>, unsigned(tiles), 2 * warpgroup, stream, "attention's backward, dq",
                       rows);
}

/// Zeros, 16 bytes a thread.
__global__ void __launch_bounds__(256) clearHeads(char* data, int64_t tokens, int heads, int64_t batchStride,
                                                  int64_t tokenStride, int64_t headStride, int64_t pieces) {
    constexpr int piecesOfHead = hopper::headDim * 2 / 16;
    const int64_t piece = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (piece >= pieces) return;
    const int64_t row = piece / piecesOfHead, ofToken = row / heads, batch = ofToken / tokens;
    const int64_t element =
        batch * batchStride + (ofToken - batch * tokens) * tokenStride + (row - ofToken * heads) * headStride;
    *reinterpret_cast<uint4*>(data + 2 * element + piece % piecesOfHead * 16) = make_uint4(0, 0, 0, 0);
}

/// dk and dv where there are no queries.
FsStatus clearKeys(const Call& call, cudaStream_t stream) {
    const HeadProblem& p = call.problem;
    const int64_t pieces = p.batch * p.keyTokens * p.keyHeads * (hopper::headDim * 2 / 16);
    if (pieces == 0) return FS_OK;
    for (const HeadTensor* t : {&call.dk, &call.dv})
        clearHeads<<<unsigned((pieces + 255) / 256), 256, 0, stream>>>(static_cast<char*>(const_cast<void*>(t->data)),
                                                                       p.keyTokens, int(p.keyHeads), t->stride[0],
                                                                       t->stride[1], t->stride[2], pieces);
    return checkLaunch("attention's backward, no queries");
}

} // namespace
} // namespace fusescope::kernels

FsStatus fusescope_attention_hopper_backward_atomic_workspace(const FsAttentionBackward* c, size_t* bytes) {
    using namespace fusescope::kernels;
    beginCall();
    if (FsStatus s = checkPointer(bytes, "bytes"); s != FS_OK) return s;
    Call call;
    if (FsStatus s = readCall(c, call); s != FS_OK) return s;
    *bytes = call.workspace();
    return FS_OK;
}

FsStatus fusescope_attention_hopper_backward_atomic(const FsAttentionBackward* c, void* workspace,
                                                    size_t workspaceBytes, cudaStream_t stream) {
    using namespace fusescope::kernels;
    beginCall();
    Call call;
    if (FsStatus s = readCall(c, call); s != FS_OK) return s;
    if (call.nothing()) return clearKeys(call, stream);
    if (workspaceBytes < call.workspace() || !workspace)
        return fail(FS_WORKSPACE_TOO_SMALL, "workspace: %zu bytes are needed, found %zu", call.workspace(),
                    workspace ? workspaceBytes : size_t{0});
    return c->dtype == FS_BF16 ? launch<Bf16>(call, c->lse, workspace, stream)
                               : launch<F16>(call, c->lse, workspace, stream);
}
