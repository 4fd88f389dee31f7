// SPDX-License-Identifier: Apache-2.0
// Between Torch tensors and the C interface. Used by the <op>_torch.cpp files alone.
#pragma once

#include "kernels/common/abi.h"

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <optional>

namespace fusescope::kernels {

FsDtype dtypeOf(const at::Tensor& t, const char* name);

inline FsRounding roundingOf(bool fast) { return fast ? FS_ROUND_ONCE : FS_ROUND_AS_FRAMEWORK; }

/// The tensor as rows of its last dimension: the elements of a row side by side, the rows at no more than two levels of
/// strides. Nothing when its strides cannot be said so.
std::optional<FsRows> rowsOf(const at::Tensor& t);

/// The tensor, or a contiguous copy of it where rowsOf() has no answer. Keep the tensor as long as the rows.
struct RowTensor {
    explicit RowTensor(const at::Tensor& t);
    at::Tensor tensor;
    FsRows rows;
};

/// Torch's error with the sentence of the failed call.
void checkCall(FsStatus status);

/// at::empty() and at::empty_like() for CUDA implementations, on the current device: without the ways through the
/// dispatcher, which cost the CPU as much as the allocation. What they return is written in full by a kernel.
at::Tensor emptyCuda(at::IntArrayRef sizes, at::ScalarType type);
at::Tensor emptyCudaLike(const at::Tensor& t);

/// Of the tensor's shape and type, contiguous.
inline at::Tensor emptyCudaContiguous(const at::Tensor& t) { return emptyCuda(t.sizes(), t.scalar_type()); }

/// The tensor in an element type.
inline at::Tensor inType(const at::Tensor& t, at::ScalarType type) { return t.scalar_type() == type ? t : t.to(type); }

/// Scratch memory of the current device from Torch's allocator (undefined for 0 bytes).
at::Tensor workspaceOf(size_t bytes);

inline void* dataOrNull(const at::Tensor& t) { return t.defined() ? t.data_ptr() : nullptr; }

/// The current stream of the tensor's device.
FsStream streamOf(const at::Tensor& t);

/// Runs a call of the C interface on the current stream, with the workspace that it asks for.
template <class Call, class Workspace, class Run>
void callWithWorkspace(const Call& call, Workspace&& workspace, Run&& run, const at::Tensor& like) {
    size_t bytes = 0;
    checkCall(workspace(&call, &bytes));
    const at::Tensor memory = workspaceOf(bytes);
    checkCall(run(&call, dataOrNull(memory), bytes, streamOf(like)));
}

/// What the dispatcher has under a name, torch.ops.fusescope.<name>: keep it in a static variable.
template <class Signature> c10::TypedOperatorHandle<Signature> operatorOf(const char* name) {
    return c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<Signature>();
}

/// Whether autograd has to know of a call on these tensors. Recording one costs more than a small kernel's launch.
template <class... Tensors> bool wantsGradient(const Tensors&... tensors) {
    return (at::GradMode::is_enabled() && (tensors.requires_grad() || ...)) || (tensors._fw_grad(0).defined() || ...);
}

/// A contiguous fp64 copy on the CPU, for the reference implementations.
at::Tensor asDouble(const at::Tensor& t);

} // namespace fusescope::kernels
