// SPDX-License-Identifier: Apache-2.0
#include "core/trace/trace_store.h"

namespace fusescope {

std::string_view nameOf(Category category) noexcept {
    switch (category) {
    case Category::CpuOp: return "cpu_op";
    case Category::UserAnnotation: return "user_annotation";
    case Category::GpuUserAnnotation: return "gpu_user_annotation";
    case Category::Kernel: return "kernel";
    case Category::GpuMemcpy: return "gpu_memcpy";
    case Category::GpuMemset: return "gpu_memset";
    case Category::CudaRuntime: return "cuda_runtime";
    case Category::CudaDriver: return "cuda_driver";
    case Category::PythonFunction: return "python_function";
    case Category::Overhead: return "overhead";
    case Category::CudaSync: return "cuda_sync";
    case Category::CudaEvent: return "cuda_event";
    case Category::TraceSpan: return "Trace";
    case Category::Other: return "other";
    }
    return "other";
}

std::size_t TraceStore::bytes() const noexcept {
    const auto of = [](const auto& v) { return v.capacity() * sizeof(v[0]); };
    const SliceTable& s = slices;
    const KernelTable& k = kernels;
    const CpuOpTable& o = cpu_ops;
    return of(s.ts) + of(s.dur) + of(s.name) + of(s.category) + of(s.track) + of(s.depth) + of(s.parent) +
           of(s.correlation) + of(s.launch) + of(s.external_id) + of(s.step) + of(s.detail) + of(s.args_offset) +
           of(s.args_length) + of(k.slice) + of(k.device) + of(k.stream) + of(k.grid) + of(k.block) + of(k.registers) +
           of(k.shared_bytes) + of(k.occupancy) + of(k.graph_id) + of(k.graph_node) + of(copies.slice) +
           of(copies.device) + of(copies.stream) + of(copies.bytes) + of(o.slice) + of(o.sequence) + of(o.fwd_thread) +
           of(o.dims) + of(o.types) + of(o.strides) + of(o.concrete) + of(tracks) + of(steps) + strings.bytes();
}

} // namespace fusescope
