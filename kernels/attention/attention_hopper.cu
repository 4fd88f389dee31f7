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
#include "kernels/attention/hopper.cuh"
#include "kernels/attention/tiles.cuh"
#include "kernels/attention/wgmma.cuh"
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

constexpr int headDim = 128, warpgroup = 128, rowBytes = 128; // rowBytes: of half a head, what a swizzled row holds
constexpr int keysOfTile = 128, tileBytes = keysOfTile * headDim * 2;
constexpr int stages = 2; // tiles of k, and of v, in shared memory

template <int Groups> struct Config {
    static constexpr int groups = Groups, rows = 64 * Groups, threads = warpgroup * (Groups + 1);
    static constexpr bool beside = Groups == 2; // the next scores beside the product with v
    // 65536 registers, in eights a thread: as many as the block starts with.
    static constexpr int copierRegisters = Groups == 2 ? 24 : 32, groupRegisters = Groups == 2 ? 240 : 160;
    static constexpr int queryBytes = rows * headDim * 2;
    static constexpr int barriers = 2 + 4 * stages;
    static constexpr int sharedBytes = 1024 + queryBytes + 2 * stages * tileBytes + 8 * (barriers + 1);
    static_assert(sharedBytes <= 227 * 1024);
    // Where tiles of keys end where tiles of queries do, only the first tile that a block visits has hidden keys.
    static constexpr bool oneHidden = keysOfTile % rows == 0;
};

struct Arguments {
    CUtensorMap q, k, v;
    TileOrder order;
    void* out;
    float* lse;
    int64_t outStride[3];
    int queryTokens, keyTokens, queryHeads, headsOfKey;
    float scale, scaleLog2; // scaleLog2: times log2(e), for powers of two
    bool causal;
};

/// A tile of queries: of one head of one batch, its first row, and the tiles of keys it sees.
struct Tile {
    int batch, head, row, steps;
};

template <class C> __device__ __forceinline__ bool tileAt(const Arguments& a, int step, Tile& t) {
    Place place;
    if (!placeAt(a.order, step, place)) return false;
    t.batch = place.head / a.queryHeads;
    t.head = place.head - t.batch * a.queryHeads;
    t.row = place.tile * C::rows;
    const int seen = a.causal ? min(a.keyTokens, min(t.row + C::rows, a.queryTokens)) : a.keyTokens;
    t.steps = (seen + keysOfTile - 1) / keysOfTile;
    return true;
}

/// Where things are in shared memory.
template <class C> struct Shared {
    uint32_t base;

    __device__ __forceinline__ explicit Shared(const void* memory) : base((sharedAddress(memory) + 1023) & ~1023u) {}
    __device__ __forceinline__ uint32_t q() const { return base; }
    __device__ __forceinline__ uint32_t k(int stage) const { return base + C::queryBytes + stage * tileBytes; }
    __device__ __forceinline__ uint32_t v(int stage) const { return k(stages + stage); }
    __device__ __forceinline__ uint32_t barrier(int i) const { return k(2 * stages) + 8 * i; }
    __device__ __forceinline__ uint32_t unused() const { return barrier(C::barriers); }
    // Full: the copy has come. Empty: all warps have done with it.
    __device__ __forceinline__ uint32_t kFull(int stage) const { return barrier(stage); }
    __device__ __forceinline__ uint32_t kEmpty(int stage) const { return barrier(stages + stage); }
    __device__ __forceinline__ uint32_t vFull(int stage) const { return barrier(2 * stages + stage); }
    __device__ __forceinline__ uint32_t vEmpty(int stage) const { return barrier(3 * stages + stage); }
    __device__ __forceinline__ uint32_t qFull() const { return barrier(4 * stages); }
    __device__ __forceinline__ uint32_t qEmpty() const { return barrier(4 * stages + 1); }
};

/// A stage of a ring and the parity of the round it is in.
struct Ring {
    int stage = 0;
    uint32_t phase = 0;

    __device__ __forceinline__ void next() {
        if (++stage == stages) {
            stage = 0;
            phase ^= 1;
        }
    }
};

/// Copies `Rows` rows of a head, its halves one after the other.
template <int Rows>
__device__ __forceinline__ void copyTile(uint32_t to, const CUtensorMap* tensor, uint32_t full, int row, int head,
                                         int batch) {
    arriveExpecting(full, Rows * headDim * 2);
    copyBox(to, tensor, full, 0, row, head, batch);
    copyBox(to + Rows * rowBytes, tensor, full, headDim / 2, row, head, batch);
}

/// The thread that copies. The order is the one that the warpgroups use tiles in: v runs a tile behind k.
template <class C> class Copier {
public:
    __device__ __forceinline__ Copier(const Arguments& arguments, const Shared<C>& memory)
        : a_(arguments), shared_(memory) {}

    __device__ __forceinline__ void run() {
        for (int step = 0; step < a_.order.steps; ++step) {
            Tile t;
            if (!tileAt<C>(a_, step, t)) continue;
            const int last = t.steps - 1, keyHead = t.head / a_.headsOfKey;
            copyKeys(last, keyHead, t.batch);
            copyQueries(t);
            for (int i = last - 1; i >= 0; --i) {
                copyKeys(i, keyHead, t.batch);
                copyValues(i + 1, keyHead, t.batch);
            }
            copyValues(0, keyHead, t.batch);
        }
    }

private:
    __device__ __forceinline__ void copyQueries(const Tile& t) {
        wait(shared_.qEmpty(), queryPhase_ ^ 1);
        copyTile<C::rows>(shared_.q(), &a_.q, shared_.qFull(), t.row, t.head, t.batch);
        queryPhase_ ^= 1;
    }
    __device__ __forceinline__ void copyKeys(int tile, int head, int batch) {
        wait(shared_.kEmpty(k_.stage), k_.phase ^ 1);
        copyTile<keysOfTile>(shared_.k(k_.stage), &a_.k, shared_.kFull(k_.stage), tile * keysOfTile, head, batch);
        k_.next();
    }
    __device__ __forceinline__ void copyValues(int tile, int head, int batch) {
        wait(shared_.vEmpty(v_.stage), v_.phase ^ 1);
        copyTile<keysOfTile>(shared_.v(v_.stage), &a_.v, shared_.vFull(v_.stage), tile * keysOfTile, head, batch);
        v_.next();
    }

    const Arguments& a_;
    const Shared<C>& shared_;
    Ring k_, v_;
    uint32_t queryPhase_ = 0;
};

__device__ __forceinline__ float powerOfTwo(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

/// Combines what the four lanes of a row have.
template <class F> __device__ __forceinline__ float acrossRow(float x, F&& f) {
    x = f(x, __shfl_xor_sync(~0u, x, 1));
    return f(x, __shfl_xor_sync(~0u, x, 2));
}

/// The two rows of a thread: the greatest score so far, and the sum of the weights that this thread has seen.
struct Rows {
    float greatest[2], sum[2];
};

/// Scores to weights, 2^(scaleLog2 * (score - greatest)), and their sums; `shrink` is what earlier sums and products
/// have to be multiplied with. Hidden: a row may have seen no key yet.
template <bool First, bool Hidden, int N>
__device__ __forceinline__ void weigh(float (&s)[N], Rows& rows, float (&shrink)[2], float scaleLog2) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
        float even = s[2 * r], odd = s[2 * r + 1];
#pragma unroll
        for (int i = 1; i < N / 4; ++i) {
            even = fmaxf(even, s[4 * i + 2 * r]);
            odd = fmaxf(odd, s[4 * i + 2 * r + 1]);
        }
        float greatest = acrossRow(fmaxf(even, odd), [](float x, float y) { return fmaxf(x, y); });
        if (!First) greatest = fmaxf(greatest, rows.greatest[r]);
        // Products rounded, not fused with the subtraction: where the greatest stays, shrink is 1 and nothing drifts.
        const float base = Hidden && greatest == -INFINITY ? 0.f : __fmul_rn(greatest, scaleLog2);
        if (!First) shrink[r] = powerOfTwo(__fmul_rn(rows.greatest[r], scaleLog2) - base);
        rows.greatest[r] = greatest;
#pragma unroll
        for (int i = 0; i < N / 4; ++i) {
            s[4 * i + 2 * r] = powerOfTwo(fmaf(s[4 * i + 2 * r], scaleLog2, -base));
            s[4 * i + 2 * r + 1] = powerOfTwo(fmaf(s[4 * i + 2 * r + 1], scaleLog2, -base));
        }
        even = s[2 * r], odd = s[2 * r + 1];
#pragma unroll
        for (int i = 1; i < N / 4; ++i) {
            even += s[4 * i + 2 * r];
            odd += s[4 * i + 2 * r + 1];
        }
        rows.sum[r] = First ? even + odd : fmaf(rows.sum[r], shrink[r], even + odd);
    }
}

template <class T, int N> __device__ __forceinline__ void roundWeights(const float (&s)[N], uint32_t (&p)[N / 2]) {
#pragma unroll
    for (int i = 0; i < N / 2; ++i) p[i] = roundPair<T>(s[2 * i], s[2 * i + 1]);
}

__device__ __forceinline__ void scaleSums(float (&o)[64], const float (&shrink)[2]) {
#pragma unroll
    for (int i = 0; i < 64; i += 4) {
        o[i] *= shrink[0];
        o[i + 1] *= shrink[0];
        o[i + 2] *= shrink[1];
        o[i + 3] *= shrink[1];
    }
}

/// Keeps the wait that follows behind the weights. It does not depend on them, so the compiler would move it before
/// them, and nothing would be computed beside the product; but it keeps waits behind stores. This one, of a sum that is
/// infinite, does not happen.
__device__ __forceinline__ void stayBefore(const Rows& rows, uint32_t unused) {
    asm volatile("{\n"
                 ".reg .pred p;\n"
                 "setp.eq.f32 p, %0, 0f7F800000;\n"
                 "@p st.shared.f32 [%1], %0;\n"
                 "}\n" ::"f"(rows.sum[0] + rows.sum[1]),
                 "r"(unused)
                 : "memory");
}

/// What a warpgroup does.
template <class C, class T> class Worker {
public:
    __device__ __forceinline__ Worker(const Arguments& arguments, const Shared<C>& memory)
        : a_(arguments), shared_(memory) {
        // The same in all lanes, and the compiler should know.
        group_ = __shfl_sync(~0u, int(threadIdx.x) / warpgroup, 0) - 1;
        lane_ = int(threadIdx.x) % 32;
        warpRow_ = 64 * group_ + (int(threadIdx.x) % warpgroup) / 32 * 16;
        queries_ = operandAt(shared_.q() + group_ * 64 * rowBytes, 16);
    }

    __device__ __forceinline__ void run() {
        for (int step = 0; step < a_.order.steps; ++step) {
            Tile t;
            if (tileAt<C>(a_, step, t)) attend(t);
        }
    }

private:
    static constexpr int scores = keysOfTile / 2; // of a thread

    /// Every warp for itself: the others may not have come here.
    __device__ __forceinline__ void release(uint32_t empty) {
        __syncwarp();
        if (lane_ == 0) arrive(empty);
    }

    __device__ __forceinline__ void startScores(float (&s)[scores]) {
        const uint64_t k = operandAt(shared_.k(k_.stage), 16);
        beginProducts();
#pragma unroll
        for (int i = 0; i < headDim / 16; ++i) {
            // 16 elements are 32 bytes of a row; the second half of the head is another 128 bytes wide tile.
            const int inRow = i % 4 * (32 >> 4), half = i / 4;
            const uint64_t q = queries_ + half * (C::rows * rowBytes >> 4) + inRow;
            const uint64_t keys = k + half * (keysOfTile * rowBytes >> 4) + inRow;
            if (i == 0)
                product<T, false>(s, q, keys);
            else
                product<T, true>(s, q, keys);
        }
        commitProducts();
    }

    __device__ __forceinline__ void startSums(float (&o)[64], const uint32_t (&p)[scores / 2]) {
        const uint64_t v = operandAt(shared_.v(v_.stage), keysOfTile * rowBytes);
        beginProducts();
#pragma unroll
        for (int i = 0; i < keysOfTile / 16; ++i) product<T>(o, p + 4 * i, v + i * (16 * rowBytes >> 4));
        commitProducts();
    }

    __device__ __forceinline__ void awaitKeys() { wait(shared_.kFull(k_.stage), k_.phase); }
    __device__ __forceinline__ void awaitValues() { wait(shared_.vFull(v_.stage), v_.phase); }
    __device__ __forceinline__ void releaseKeys() {
        release(shared_.kEmpty(k_.stage));
        k_.next();
    }
    __device__ __forceinline__ void releaseValues() {
        release(shared_.vEmpty(v_.stage));
        v_.next();
    }

    /// The product with the values, alone.
    __device__ __forceinline__ void sums(float (&o)[64], uint32_t (&p)[scores / 2]) {
        awaitValues();
        startSums(o, p);
        waitProducts<0>();
        settle(o);
        settle(p);
        releaseValues();
    }

    /// Takes keys that a row does not see, or that do not exist, out of its scores.
    __device__ __forceinline__ void hide(float (&s)[scores], const Tile& t, int keyTile) const {
        const int firstKey = keyTile * keysOfTile + 2 * (lane_ % 4);
#pragma unroll
        for (int r = 0; r < 2; ++r) {
            const int row = t.row + warpRow_ + lane_ / 4 + 8 * r;
            const int seen = (a_.causal ? min(a_.keyTokens, row + 1) : a_.keyTokens) - firstKey;
#pragma unroll
            for (int i = 0; i < scores / 4; ++i) {
                if (8 * i >= seen) s[4 * i + 2 * r] = -INFINITY;
                if (8 * i + 1 >= seen) s[4 * i + 2 * r + 1] = -INFINITY;
            }
        }
    }

    /// Scores of the next keys beside the product of the last weights.
    template <bool Hidden>
    __device__ __forceinline__ void stepBeside(float (&s)[scores], float (&o)[64], uint32_t (&p)[scores / 2],
                                               Rows& rows, const Tile& t, int keyTile) {
        float shrink[2];
        awaitKeys();
        startScores(s);
        awaitValues();
        startSums(o, p);
        waitProducts<1>();
        settle(s);
        releaseKeys();
        if (Hidden) hide(s, t, keyTile);
        weigh<false, Hidden>(s, rows, shrink, a_.scaleLog2);
        settle(s);
        stayBefore(rows, shared_.unused());
        waitProducts<0>();
        settle(o);
        settle(p);
        releaseValues();
        scaleSums(o, shrink);
        roundWeights<T>(s, p);
    }

    /// All in order.
    template <bool Hidden>
    __device__ __forceinline__ void stepInOrder(float (&s)[scores], float (&o)[64], uint32_t (&p)[scores / 2],
                                                Rows& rows, const Tile& t, int keyTile) {
        float shrink[2];
        sums(o, p);
        awaitKeys();
        startScores(s);
        waitProducts<0>();
        settle(s);
        releaseKeys();
        if (Hidden) hide(s, t, keyTile);
        weigh<false, Hidden>(s, rows, shrink, a_.scaleLog2);
        scaleSums(o, shrink);
        roundWeights<T>(s, p);
    }

    template <bool Hidden>
    __device__ __forceinline__ void step(float (&s)[scores], float (&o)[64], uint32_t (&p)[scores / 2], Rows& rows,
                                         const Tile& t, int keyTile) {
        if constexpr (C::beside)
            stepBeside<Hidden>(s, o, p, rows, t, keyTile);
        else
            stepInOrder<Hidden>(s, o, p, rows, t, keyTile);
    }

    __device__ __forceinline__ void attend(const Tile& t) {
        float s[scores], o[64], unused[2];
        uint32_t p[scores / 2];
        Rows rows;
#pragma unroll
        for (int i = 0; i < 64; ++i) o[i] = 0.f;

        wait(shared_.qFull(), queryPhase_);
        awaitKeys();
        startScores(s);
        waitProducts<0>();
        settle(s);
        releaseKeys();
        int keyTile = t.steps - 1;
        hide(s, t, keyTile);
        weigh<true, !C::oneHidden>(s, rows, unused, a_.scaleLog2);
        roundWeights<T>(s, p);

        --keyTile;
        if (!C::oneHidden && a_.causal) {
            const int firstHidden = (t.row + 64 * group_ + 1) / keysOfTile; // the group's first row sees those before
            for (; keyTile >= firstHidden; --keyTile) step<true>(s, o, p, rows, t, keyTile);
        }
        for (; keyTile >= 0; --keyTile) step<false>(s, o, p, rows, t, keyTile);
        release(shared_.qEmpty());
        queryPhase_ ^= 1;

        sums(o, p);
        finish(o, rows, t);
    }

    __device__ __forceinline__ void finish(const float (&o)[64], const Rows& rows, const Tile& t) const {
#pragma unroll
        for (int r = 0; r < 2; ++r) {
            const int row = t.row + warpRow_ + lane_ / 4 + 8 * r, quarter = lane_ % 4;
            const float sum = acrossRow(rows.sum[r], [](float x, float y) { return x + y; });
            const bool real = row < a_.queryTokens;
            if (a_.lse && real && quarter == 0)
                a_.lse[(int64_t(t.batch) * a_.queryHeads + t.head) * a_.queryTokens + row] =
                    fmaf(rows.greatest[r], a_.scale, logf(sum));
            const float share = 1.f / sum;
            T* const out = static_cast<T*>(a_.out) + t.batch * a_.outStride[0] + row * a_.outStride[1] +
                           t.head * a_.outStride[2] + 8 * quarter;
#pragma unroll
            for (int i = 0; i < 16; i += 4) { // 32 columns: a lane has 2 of each 8, and after the exchange 8 of one
                uint32_t word[4];
#pragma unroll
                for (int j = 0; j < 4; ++j)
                    word[j] = roundPair<T>(o[4 * (i + j) + 2 * r] * share, o[4 * (i + j) + 2 * r + 1] * share);
                exchange<1>(word[0], word[1], quarter);
                exchange<1>(word[2], word[3], quarter);
                exchange<2>(word[0], word[2], quarter);
                exchange<2>(word[1], word[3], quarter);
                if (real) *reinterpret_cast<uint4*>(out + 8 * i) = make_uint4(word[0], word[1], word[2], word[3]);
            }
        }
    }

    /// A step of transposing four words of four lanes: lanes without the bit give their second for the other's first.
    template <int Bit> static __device__ __forceinline__ void exchange(uint32_t& first, uint32_t& second, int quarter) {
        const bool upper = (quarter & Bit) != 0;
        const uint32_t other = __shfl_xor_sync(~0u, upper ? first : second, Bit);
        (upper ? first : second) = other;
    }

    const Arguments& a_;
    const Shared<C>& shared_;
    Ring k_, v_;
    uint32_t queryPhase_ = 0;
    int group_, lane_, warpRow_;
    uint64_t queries_; // the operand
};

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
