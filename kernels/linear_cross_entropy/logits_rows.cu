// SPDX-License-Identifier: Apache-2.0
// Statistics of a chunk of logits, and their gradient once the statistics are known: a block a row in both.
#include "kernels/common/element_types.cuh"
#include "kernels/common/error.h"
#include "kernels/linear_cross_entropy/logits.h"
#include "kernels/linear_cross_entropy/softmax.cuh"

namespace fusescope::kernels {
namespace {

constexpr int threads = 512, inFlight = 4;

struct Chunk {
    int64_t stride;
    int64_t firstColumn;
    int columns;
};

/// Calls f(vector, index) for the vectors of a row, `inFlight` loads of a thread being under way at a time. Past L1,
/// and not through the read-only path: the gradient may be written where the logits are read.
template <class T, class F> __device__ __forceinline__ void forVectors(const T* row, int columns, F&& f) {
    constexpr int n = vecWidth<T>;
    const int vectors = (columns + n - 1) / n;
    for (int first = threadIdx.x; first < vectors; first += inFlight * threads) {
        Vec<T, n> v[inFlight];
#pragma unroll
        for (int u = 0; u < inFlight; ++u)
            if (const int i = first + u * threads; i < vectors)
                v[u].piece(0) = __ldcg(reinterpret_cast<const uint4*>(row) + i);
#pragma unroll
        for (int u = 0; u < inFlight; ++u)
            if (const int i = first + u * threads; i < vectors) f(v[u], i);
    }
}

template <class T>
__global__ void __launch_bounds__(threads)
    statistics(const T* logits, Chunk chunk, Tokens tokens, Softmax softmax, bool start) {
    constexpr int n = vecWidth<T>;
    __shared__ float2 scratch[32];
    for (int64_t row = blockIdx.x; row < tokens.count; row += gridDim.x) {
        const int64_t label = __ldg(tokens.labels + row);
        if (label == tokens.ignored) continue;
        const T* z = logits + row * chunk.stride;
        OnlineSoftmax<T> s;
        forVectors(z, chunk.columns, [&](const Vec<T, n>& v, int vector) {
            float values[n];
            unpack(v, vector, chunk.columns, values);
            s.take(values);
        });
        s = joinBlock(s, scratch);
        if (threadIdx.x == 0) {
            if (!start) {
                OnlineSoftmax<T> before{softmax.maximum[row], softmax.sum[row]};
                before.join(s);
                s = before;
            }
            softmax.maximum[row] = s.maximum;
            softmax.sum[row] = s.sum;
            const int64_t column = label - chunk.firstColumn;
            if (label >= 0 && label < tokens.vocab && column >= 0 && column < chunk.columns)
                softmax.label[row] = toFloat(z[column]);
        }
        __syncthreads(); // before the next row's use of scratch
    }
}

template <class T>
__global__ void __launch_bounds__(threads)
    gradient(const T* logits, T* gradients, Chunk chunk, Tokens tokens, Softmax softmax, const float* state) {
    constexpr int n = vecWidth<T>;
    const float scale = __ldg(state);
    for (int64_t row = blockIdx.x; row < tokens.count; row += gridDim.x) {
        const int64_t label = __ldg(tokens.labels + row);
        T* dz = gradients + row * chunk.stride;
        if (label == tokens.ignored) {
            for (int i = threadIdx.x; i < (chunk.columns + n - 1) / n; i += threads) store<n>(dz + i * n, zeros<T>());
            continue;
        }
        const bool known = label >= 0 && label < tokens.vocab;
        const float maximum = softmax.maximum[row];
        const float factor = known ? scale / softmax.sum[row] : NAN;
        const int64_t column = label - chunk.firstColumn;
        const int labelColumn = known && column >= 0 && column < chunk.columns ? int(column) : -n;
        forVectors(logits + row * chunk.stride, chunk.columns, [&](const Vec<T, n>& v, int vector) {
            float values[n];
            unpack(v, vector, chunk.columns, values);
            store<n>(dz + vector * n, gradientOf<T>(values, maximum, factor, scale, labelColumn - vector * n));
        });
    }
}

Chunk chunkOf(const Logits& z) { return {z.stride, z.firstColumn, int(z.columns)}; }

unsigned gridOf(const Tokens& t) { return unsigned(t.count < INT32_MAX ? t.count : INT32_MAX); }

} // namespace

FsStatus launchStatistics(FsDtype dtype, const Logits& z, const Tokens& t, const Softmax& softmax, bool first,
                          cudaStream_t stream) {
    return withElementType(dtype, [&](auto type) {
        using T = typename decltype(type)::Type;
        statistics<T><<<gridOf(t), threads, 0, stream>>>(static_cast<const T*>(z.data), chunkOf(z), t, softmax, first);
        return checkLaunch("statistics of logits");
    });
}

FsStatus launchGradient(FsDtype dtype, const Logits& z, void* dz, const Tokens& t, const Softmax& softmax,
                        const float* state, cudaStream_t stream) {
    return withElementType(dtype, [&](auto type) {
        using T = typename decltype(type)::Type;
        gradient<T><<<gridOf(t), threads, 0, stream>>>(static_cast<const T*>(z.data), static_cast<T*>(dz), chunkOf(z),
                                                       t, softmax, state);
        return checkLaunch("gradient of logits");
    });
}

} // namespace fusescope::kernels
