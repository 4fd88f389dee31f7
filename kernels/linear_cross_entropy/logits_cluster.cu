// SPDX-License-Identifier: Apache-2.0
// Softmax and its gradient in place, each logit read from memory once: a row of a large vocabulary (300 KB in bf16)
// fits no block's shared memory, but that of a few blocks in a cluster. They agree on maximum and sum through each
// other's shared memory. A persistent grid: while a row's gradient is written, the next row is copied into the place it
// leaves, so the memory bus never waits for a reduction of the same block alone.
#include "kernels/common/async_copy.cuh"
#include "kernels/common/element_types.cuh"
#include "kernels/common/error.h"
#include "kernels/linear_cross_entropy/logits.h"
#include "kernels/linear_cross_entropy/softmax.cuh"

#include <atomic>
#include <cooperative_groups.h>

namespace fusescope::kernels {
namespace {

namespace cg = cooperative_groups;

constexpr int maxThreads = 512, maxCluster = 8;

template <class T>
__global__ void __launch_bounds__(maxThreads, 2)
    softmaxGradient(T* logits, int64_t stride, int columns, Tokens tokens, Softmax softmax, const float* state) {
#if __CUDA_ARCH__ >= 900
    constexpr int n = vecWidth<T>;
    constexpr int parts = 4;         // groups of copies a row comes in: the first are worked on while others arrive
    extern __shared__ uint4 slice[]; // this block's part of the row; a thread reads only what it copied itself
    __shared__ float2 ofWarps[32];
    __shared__ float2 ofBlocks[2][maxCluster]; // alternating: a quick block may be a row ahead of a slow one
    const cg::cluster_group cluster = cg::this_cluster();
    const int blocks = int(cluster.num_blocks()), rank = int(cluster.block_rank());
    const int threads = blockDim.x;
    const int vectors = (columns + n - 1) / n, share = (vectors + blocks - 1) / blocks;
    const int firstVector = rank * share;
    const int mine = min(share, vectors - firstVector); // may be negative
    const int ofPart = (share + parts * threads - 1) / (parts * threads) * threads;
    const float scale = __ldg(state);
    const int64_t step = gridDim.x / blocks;

    auto labelOf = [&](int64_t row) { return row < tokens.count ? __ldg(tokens.labels + row) : tokens.ignored; };
    // Calls f(v) for the vectors of a part that belong to this thread.
    auto forPart = [&](int part, auto&& f) {
        const int end = min(mine, (part + 1) * ofPart);
        for (int v = part * ofPart + int(threadIdx.x); v < end; v += threads) f(v);
    };

    int64_t row = blockIdx.x / blocks;
    int64_t label = labelOf(row);
#pragma unroll
    for (int part = 0; part < parts; ++part) {
        if (label != tokens.ignored)
            forPart(part, [&](int v) { copyAsync16(&slice[v], logits + row * stride + (firstVector + v) * n); });
        commitCopies();
    }
    cluster.sync(); // no block writes into another's shared memory before that one runs

    int flip = 0;
    for (; row < tokens.count; row += step) {
        const int64_t nextLabel = labelOf(row + step);
        float maximum = 0.f, factor = 0.f;
        int labelColumn = -n; // counted from the slice's start
        const bool ignored = label == tokens.ignored;
        if (!ignored) {
            OnlineSoftmax<T> s;
            auto take = [&](int v) {
                Vec<T, n> raw;
                raw.piece(0) = slice[v];
                float z[n];
                unpack(raw, firstVector + v, columns, z);
                s.take(z);
            };
            waitCopies<3>();
            forPart(0, take);
            waitCopies<2>();
            forPart(1, take);
            waitCopies<1>();
            forPart(2, take);
            waitCopies<0>();
            forPart(3, take);

            s = joinBlock(s, ofWarps);
            if (int(threadIdx.x) < blocks)
                cluster.map_shared_rank(&ofBlocks[flip][0], threadIdx.x)[rank] = make_float2(s.maximum, s.sum);
            cluster.sync();
            s = joined<T>(ofBlocks[flip], blocks);
            flip ^= 1;

            maximum = s.maximum;
            factor = NAN;
            if (label >= 0 && label < tokens.vocab) {
                factor = scale / s.sum;
                labelColumn = int(label) - firstVector * n;
            }
            if (rank == 0 && threadIdx.x == 0) {
                softmax.maximum[row] = s.maximum;
                softmax.sum[row] = s.sum;
            }
        }

        T* z = logits + row * stride + int64_t(firstVector) * n;
        const T* next = z + step * stride;
        const bool fetch = nextLabel != tokens.ignored;
#pragma unroll
        for (int part = 0; part < parts; ++part) {
            forPart(part, [&](int v) {
                if (ignored) {
                    store<n>(z + v * n, zeros<T>());
                } else {
                    Vec<T, n> raw;
                    raw.piece(0) = slice[v];
                    float values[n];
                    unpack(raw, firstVector + v, columns, values);
                    const int inVector = labelColumn - v * n;
                    if (inVector >= 0 && inVector < n) {
#pragma unroll
                        for (int i = 0; i < n; ++i)
                            if (i == inVector) softmax.label[row] = values[i];
                    }
                    store<n>(z + v * n, gradientOf<T>(values, maximum, factor, scale, inVector));
                }
                if (fetch) copyAsync16(&slice[v], next + v * n);
            });
            commitCopies();
        }
        label = nextLabel;
    }
#endif
}

/// Clusters of a shape that a device runs at once, asked for once: the question costs more than a launch.
class ClusterOccupancy {
public:
    FsStatus clusters(const void* kernel, const cudaLaunchConfig_t& config, int blocks, int& count) {
        int device = 0;
        if (FsStatus s = check(cudaGetDevice(&device), "cudaGetDevice"); s != FS_OK) return s;
        const int64_t shared = int64_t(config.dynamicSmemBytes);
        const int64_t key = (int64_t(device) << 52) | (int64_t(config.blockDim.x / 32) << 44) | (shared << 20) |
                            (int64_t(blocks) << 16);
        const int64_t known = known_.load(std::memory_order_relaxed);
        if (known >= 0 && (known & ~int64_t{0xffff}) == key) {
            count = int(known & 0xffff);
            return FS_OK;
        }
        FsStatus s = allowShared(kernel, int(shared));
        if (s == FS_OK)
            s = check(cudaOccupancyMaxActiveClusters(&count, kernel, &config), "cudaOccupancyMaxActiveClusters");
        if (s == FS_OK) known_.store(key | count, std::memory_order_relaxed);
        return s;
    }

private:
    std::atomic<int64_t> known_{-1};
};

/// Blocks that share a row: so many that two rows are under way on a multiprocessor, where that many may be.
int clusterFor(int64_t rowBytes, const DeviceFacts& device) {
    const int64_t half = device.sharedPerBlock / 2 - 2048, whole = device.sharedPerBlock - 2048;
    for (int blocks = 1; blocks <= maxCluster; blocks *= 2)
        if (rowBytes <= blocks * half) return blocks;
    return rowBytes <= maxCluster * whole ? maxCluster : 0;
}

template <class T>
FsStatus launch(const Logits& z, const Tokens& t, const Softmax& softmax, const float* state, const FsLaunchHint& hint,
                int blocks, bool& done, cudaStream_t stream) {
    static ClusterOccupancy occupancy;
    constexpr int n = vecWidth<T>;
    const int64_t share = ((z.columns + n - 1) / n + blocks - 1) / blocks;
    int64_t threads = hint.threads > 0 ? (hint.threads + 31) / 32 * 32 : (share + 31) / 32 * 32;
    if (threads > maxThreads) threads = maxThreads;

    cudaLaunchAttribute cluster{};
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim = {unsigned(blocks), 1, 1};
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(unsigned(blocks));
    config.blockDim = dim3(unsigned(threads));
    config.dynamicSmemBytes = size_t(share) * 16;
    config.stream = stream;
    config.attrs = &cluster;
    config.numAttrs = 1;

    int clusters = 0;
    const void* kernel = reinterpret_cast<const void*>(softmaxGradient<T>);
    if (FsStatus s = occupancy.clusters(kernel, config, blocks, clusters); s != FS_OK) return s;
    if (clusters == 0) return FS_OK;
    config.gridDim = dim3(unsigned((t.count < clusters ? t.count : clusters) * blocks));
    done = true;
    return check(cudaLaunchKernelEx(&config, softmaxGradient<T>, static_cast<T*>(z.data), z.stride, int(z.columns), t,
                                    softmax, state),
                 "softmax and gradient of logits");
}

} // namespace

FsStatus launchSoftmaxGradient(FsDtype dtype, const Logits& z, const Tokens& t, const Softmax& softmax,
                               const float* state, const FsLaunchHint& hint, const DeviceFacts& device, bool& done,
                               cudaStream_t stream) {
    done = false;
    if (device.computeCapability < 90 || hint.variant == 1) return FS_OK;
    return withElementType(dtype, [&](auto type) {
        using T = typename decltype(type)::Type;
        const int64_t rowBytes = z.columns * int64_t(sizeof(T));
        int blocks = clusterFor(rowBytes, device);
        const int wanted = hint.variant;
        if ((wanted == 2 || wanted == 4 || wanted == 8) && rowBytes <= wanted * int64_t(device.sharedPerBlock - 2048))
            blocks = wanted;
        return blocks == 0 ? FS_OK : launch<T>(z, t, softmax, state, hint, blocks, done, stream);
    });
}

} // namespace fusescope::kernels
