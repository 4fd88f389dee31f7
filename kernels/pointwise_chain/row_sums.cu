// SPDX-License-Identifier: Apache-2.0
#include "kernels/common/column_sums.cuh"
#include "kernels/pointwise_chain/row_sums.h"

namespace fusescope::kernels::chain {
namespace {

/// All sums of a region, a row of blocks for each.
struct Sums {
    const void* partial[FS_CHAIN_MAX_OUTPUTS];
    void* out[FS_CHAIN_MAX_OUTPUTS];
    FsChainDtype dtype[FS_CHAIN_MAX_OUTPUTS];
    int blocks;
    int64_t width;
};

/// The sum of a column in the threads of row 0.
template <class T> __device__ T sumOf(const Sums& s, int64_t column) {
    __shared__ T scratch[columnSumLanes][columnSumColumns];
    T sum =
        column < s.width ? sumOfColumn(static_cast<const T*>(s.partial[blockIdx.y]), s.blocks, s.width, column) : T(0);
    scratch[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y == 0)
        for (int i = 1; i < columnSumLanes; ++i) sum += scratch[i][threadIdx.x];
    return sum;
}

template <class W> __device__ void write(const Sums& s, int64_t column, float sum) {
    static_cast<W*>(s.out[blockIdx.y])[column] = fromFloat<W>(sum);
}

__global__ void __launch_bounds__(columnSumColumns* columnSumLanes) rowSums(const __grid_constant__ Sums s) {
    awaitPreviousLaunch();
    const int64_t column = int64_t(blockIdx.x) * columnSumColumns + threadIdx.x;
    const FsChainDtype dtype = s.dtype[blockIdx.y];
    const bool mine = threadIdx.y == 0 && column < s.width;
    if (dtype == FS_CHAIN_F64) {
        const double sum = sumOf<double>(s, column);
        if (mine) static_cast<double*>(s.out[blockIdx.y])[column] = sum;
        return;
    }
    const float sum = sumOf<float>(s, column);
    if (!mine) return;
    if (dtype == FS_CHAIN_BF16)
        write<__nv_bfloat16>(s, column, sum);
    else if (dtype == FS_CHAIN_F16)
        write<__half>(s, column, sum);
    else
        write<float>(s, column, sum);
}

} // namespace

FsStatus launchRowSums(const Plan& plan, cudaStream_t stream) {
    Sums sums{};
    unsigned count = 0;
    for (const TensorPlan& t : plan.outputs) {
        if (!t.summed) continue;
        sums.partial[count] = t.partial;
        sums.out[count] = t.data;
        sums.dtype[count++] = t.dtype;
    }
    if (count == 0 || plan.width == 0) return FS_OK;
    sums.blocks = int(plan.grid);
    sums.width = plan.width;
    const int64_t columns = (plan.width + columnSumColumns - 1) / columnSumColumns;
    return launchAfter(rowSums, dim3(unsigned(columns), count), dim3(columnSumColumns, columnSumLanes), stream,
                       "pointwise_chain: sum over rows", sums);
}

} // namespace fusescope::kernels::chain
