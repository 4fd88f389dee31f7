// SPDX-License-Identifier: Apache-2.0
#include "kernels/common/torch_support.h"

#include <ATen/EmptyTensor.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAStream.h>

namespace fusescope::kernels {
namespace {

constexpr c10::DispatchKeySet cudaKeys(c10::DispatchKey::CUDA);

} // namespace

FsDtype dtypeOf(const at::Tensor& t, const char* name) {
    switch (t.scalar_type()) {
    case at::kFloat: return FS_F32;
    case at::kHalf: return FS_F16;
    case at::kBFloat16: return FS_BF16;
    default: break;
    }
    TORCH_CHECK(false, name, ": expected float32, float16 or bfloat16, found ", t.scalar_type());
}

std::optional<FsRows> rowsOf(const at::Tensor& t) {
    FsRows rows{t.data_ptr(), 1, 1, 0, 0};
    const int64_t dims = t.dim();
    if (dims == 0) return std::nullopt;
    const int64_t width = t.size(dims - 1);
    if (t.numel() == 0) {
        for (int64_t d = 0; d + 1 < dims; ++d) rows.outer *= t.size(d);
        rows.outer_stride = width;
        return rows;
    }
    if (width > 1 && t.stride(dims - 1) != 1) return std::nullopt;

    // From the inside out, merge dimensions that one stride spans; at most two remain.
    int64_t count[2] = {1, 1}, stride[2] = {width, 0};
    int levels = 0;
    for (int64_t d = dims - 2; d >= 0; --d) {
        if (t.size(d) == 1) continue;
        if (levels > 0 && t.stride(d) == count[levels - 1] * stride[levels - 1]) {
            count[levels - 1] *= t.size(d);
            continue;
        }
        if (levels == 2 || t.stride(d) < 0) return std::nullopt;
        count[levels] = t.size(d);
        stride[levels] = t.stride(d);
        ++levels;
    }
    if (levels == 2) {
        rows.inner = count[0];
        rows.inner_stride = stride[0];
        rows.outer = count[1];
        rows.outer_stride = stride[1];
    } else {
        rows.outer = count[0];
        rows.outer_stride = stride[0];
    }
    return rows;
}

RowTensor::RowTensor(const at::Tensor& t) : tensor(t) {
    std::optional<FsRows> found = rowsOf(tensor);
    if (!found) {
        tensor = t.contiguous();
        found = rowsOf(tensor);
        TORCH_CHECK(found, "expected a tensor with at least one dimension");
    }
    rows = *found;
}

void checkCall(FsStatus status) {
    TORCH_CHECK(status == FS_OK, "fusescope: ", fusescope_last_error(), " (", fusescope_status_name(status), ")");
}

at::Tensor emptyCuda(at::IntArrayRef sizes, at::ScalarType type) {
    return at::Tensor(at::detail::empty_generic(sizes, c10::cuda::CUDACachingAllocator::get(), cudaKeys, type, {}));
}

at::Tensor emptyCudaLike(const at::Tensor& t) {
    if (!t.is_non_overlapping_and_dense()) return at::empty_like(t);
    return at::Tensor(at::detail::empty_strided_generic(t.sizes(), t.strides(), c10::cuda::CUDACachingAllocator::get(),
                                                        cudaKeys, t.scalar_type()));
}

at::Tensor workspaceOf(size_t bytes) {
    return bytes == 0 ? at::Tensor() : emptyCuda({static_cast<int64_t>(bytes)}, at::kByte);
}

FsStream streamOf(const at::Tensor& t) { return c10::cuda::getCurrentCUDAStream(t.device().index()).stream(); }

at::Tensor asDouble(const at::Tensor& t) { return t.to(at::kCPU, at::kDouble).contiguous(); }

} // namespace fusescope::kernels
