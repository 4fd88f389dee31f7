// SPDX-License-Identifier: Apache-2.0
// What linear cross entropy does beside its logits: counts of labels, the loss, and passes over the gradients.
#include "kernels/common/checks.h"
#include "kernels/common/element_types.cuh"
#include "kernels/common/error.h"
#include "kernels/linear_cross_entropy/logits.h"
#include "kernels/linear_cross_entropy/softmax.cuh"

namespace fusescope::kernels {
namespace {

constexpr int blockOfTokens = 1024, blockOfElements = 256;

/// Sum over a block of 1024, in an order that never changes.
template <class N> __device__ N sumOfBlock(N v) {
    __shared__ N scratch[blockOfTokens];
    scratch[threadIdx.x] = v;
    for (int half = blockOfTokens / 2; half > 0; half /= 2) {
        __syncthreads();
        if (int(threadIdx.x) < half) scratch[threadIdx.x] += scratch[threadIdx.x + half];
    }
    __syncthreads();
    const N sum = scratch[0];
    __syncthreads();
    return sum;
}

__device__ double divisorOf(const Divisor& d, double valid) {
    if (d.device) return double(*d.device);
    return d.number >= 0 ? d.number : valid;
}

__global__ void __launch_bounds__(blockOfTokens) countLabels(Tokens t, Divisor divisor, bool raise, float* state) {
    long long valid = 0, outside = 0;
    for (int64_t i = threadIdx.x; i < t.count; i += blockOfTokens) {
        const int64_t label = t.labels[i];
        valid += label != t.ignored;
        outside += label != t.ignored && (label < 0 || label >= t.vocab);
    }
    valid = sumOfBlock(valid);
    outside = sumOfBlock(outside);
    if (threadIdx.x != 0) return;
    const double by = divisorOf(divisor, double(valid));
    double power = 1;
    if (raise && by >= 1 && by < 1e9) power = exp2(floor(log2(by)));
    state[0] = float(power / by);
    state[1] = float(1 / power);
    state[2] = float(valid);
    state[3] = float(outside);
}

__global__ void __launch_bounds__(blockOfTokens) sumLoss(Tokens t, Softmax softmax, Divisor divisor, float* loss) {
    double sum = 0;
    long long valid = 0;
    for (int64_t i = threadIdx.x; i < t.count; i += blockOfTokens) {
        const int64_t label = t.labels[i];
        if (label == t.ignored) continue;
        ++valid;
        const bool known = label >= 0 && label < t.vocab;
        // The difference first: both are large where the logits have an offset in common.
        sum += known ? logf(softmax.sum[i]) + (softmax.maximum[i] - softmax.label[i]) : NAN;
    }
    sum = sumOfBlock(sum);
    valid = sumOfBlock(valid);
    if (threadIdx.x == 0) *loss = float(sum / divisorOf(divisor, double(valid)));
}

template <class From, class To> __device__ __forceinline__ void convert(const From* from, To* to, float factor) {
    *to = fromFloat<To>(toFloat(*from) * factor);
}

/// to = from * factor in vectors of 8 elements, or one by one where an address does not allow it.
template <class From, class To>
__device__ __forceinline__ void scaleElements(const From* from, To* to, int64_t count, float factor, bool vectors) {
    constexpr int n = 8;
    const int64_t first = int64_t(blockIdx.x) * blockDim.x + threadIdx.x, step = int64_t(gridDim.x) * blockDim.x;
    const int64_t whole = vectors ? count / n : 0;
    for (int64_t i = first; i < whole; i += step) {
        Vec<From, n> in;
        Vec<To, n> out;
#pragma unroll
        for (int p = 0; p < in.pieces; ++p) in.piece(p) = __ldcg(reinterpret_cast<const uint4*>(from + i * n) + p);
#pragma unroll
        for (int k = 0; k < n; ++k) convert(&in.e[k], &out.e[k], factor);
        store<n>(to + i * n, out);
    }
    for (int64_t i = whole * n + first; i < count; i += step) convert(from + i, to + i, factor);
}

template <class T>
__global__ void __launch_bounds__(blockOfElements)
    roundElements(const float* from, T* to, int64_t count, bool vectors) {
    scaleElements(from, to, count, 1.f, vectors);
}

template <class T>
__global__ void __launch_bounds__(blockOfElements) scaleByLoss(const T* from, T* to, int64_t count, const float* dloss,
                                                               const float* state, float factor, bool vectors) {
    const float by = *dloss * (state[1] * factor);
    if (by == 1.f && from == to) return;
    scaleElements(from, to, count, by, vectors);
}

unsigned gridOf(const DeviceFacts& device, int64_t count) {
    return unsigned(persistentGrid(device, 8, (count + 8 * blockOfElements - 1) / (8 * blockOfElements)));
}

} // namespace

FsStatus launchCountLabels(const Tokens& t, const Divisor& divisor, bool raise, float* state, cudaStream_t stream) {
    countLabels<<<1, blockOfTokens, 0, stream>>>(t, divisor, raise, state);
    return checkLaunch("count of labels");
}

FsStatus launchLoss(const Tokens& t, const Softmax& softmax, const Divisor& divisor, float* loss, cudaStream_t stream) {
    sumLoss<<<1, blockOfTokens, 0, stream>>>(t, softmax, divisor, loss);
    return checkLaunch("sum of losses");
}

FsStatus launchRound(FsDtype dtype, const float* from, void* to, int64_t count, const DeviceFacts& device,
                     cudaStream_t stream) {
    return withElementType(dtype, [&](auto type) {
        using T = typename decltype(type)::Type;
        roundElements<T><<<gridOf(device, count), blockOfElements, 0, stream>>>(from, static_cast<T*>(to), count,
                                                                                aligned16(from) && aligned16(to));
        return checkLaunch("rounding of dx");
    });
}

FsStatus launchScale(FsDtype dtype, const void* from, void* to, int64_t count, const float* dloss, const float* state,
                     float factor, const DeviceFacts& device, cudaStream_t stream) {
    return withElementType(dtype, [&](auto type) {
        using T = typename decltype(type)::Type;
        scaleByLoss<T><<<gridOf(device, count), blockOfElements, 0, stream>>>(static_cast<const T*>(from),
                                                                              static_cast<T*>(to), count, dloss, state,
                                                                              factor, aligned16(from) && aligned16(to));
        return checkLaunch("scaling of gradients");
    });
}

} // namespace fusescope::kernels
