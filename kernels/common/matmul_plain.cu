// SPDX-License-Identifier: Apache-2.0
#include "kernels/common/element_types.cuh"
#include "kernels/common/error.h"
#include "kernels/common/matmul_plain.h"

namespace fusescope::kernels {
namespace {

template <class In, class Out> __global__ void product(Matmul p) {
    const In* const a = static_cast<const In*>(p.a.data);
    const In* const b = static_cast<const In*>(p.b.data);
    Out* const d = static_cast<Out*>(p.d);
    const int64_t ofA = p.a.transposed ? p.a.stride : 1,
                  ofB = p.b.transposed ? 1 : p.b.stride; // from one k to the next
    const int64_t step = int64_t(gridDim.x) * blockDim.x;
    for (int64_t e = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; e < p.rows * p.columns; e += step) {
        const int64_t row = e / p.columns, column = e - row * p.columns;
        const In* const x = a + (p.a.transposed ? row : row * p.a.stride);
        const In* const y = b + (p.b.transposed ? column * p.b.stride : column);
        float sum = 0.f;
        for (int64_t k = 0; k < p.depth; ++k) sum += toFloat(x[k * ofA]) * toFloat(y[k * ofB]);
        Out& to = d[row * p.dStride + column];
        to = fromFloat<Out>(p.alpha * sum + (p.add ? toFloat(to) : 0.f));
    }
}

template <class In> FsStatus launch(const Matmul& p, cudaStream_t stream) {
    constexpr int64_t threads = 256, maxBlocks = 1 << 20;
    const int64_t wanted = (p.rows * p.columns + threads - 1) / threads;
    const unsigned blocks = unsigned(wanted < maxBlocks ? wanted : maxBlocks);
    if (p.output == FS_F32)
        product<In, float><<<blocks, threads, 0, stream>>>(p);
    else
        product<In, In><<<blocks, threads, 0, stream>>>(p);
    return checkLaunch("plain product");
}

} // namespace

FsStatus matmulPlain(const Matmul& p, cudaStream_t stream) {
    return withElementType(p.input, [&](auto type) { return launch<typename decltype(type)::Type>(p, stream); });
}

} // namespace fusescope::kernels
