// SPDX-License-Identifier: Apache-2.0
#include "kernels/common/torch_heads.h"

namespace fusescope::kernels {
namespace {

at::Tensor sideBySide(const at::Tensor& t) { return t.size(-1) > 1 && t.stride(-1) != 1 ? t.contiguous() : t; }

void checkTable(const char* op, const char* name, const at::Tensor& table, const at::Tensor& q) {
    TORCH_CHECK(table.dim() == 3 && (table.sym_size(0) == 1 || table.sym_size(0) == q.sym_size(0)) &&
                    table.sym_size(1) == q.sym_size(1) && table.sym_size(2) == q.sym_size(3),
                op, ": expected ", name, " of shape [", q.sym_size(0), " or 1, ", q.sym_size(1), ", ", q.sym_size(3),
                "], found ", table.sym_sizes());
    TORCH_CHECK(table.scalar_type() == q.scalar_type() && table.device() == q.device(), op, ": expected ", name, " as ",
                q.scalar_type(), " on ", q.device(), ", found ", table.scalar_type(), " on ", table.device());
}

} // namespace

void checkHeadTensors(const char* op, const at::Tensor& q, const at::Tensor& k, const at::Tensor& cos,
                      const at::Tensor& sin) {
    TORCH_CHECK(q.dim() == 4 && k.dim() == 4, op, ": expected q and k with 4 dimensions, found ", q.dim(), " and ",
                k.dim());
    TORCH_CHECK(k.sym_size(0) == q.sym_size(0) && k.sym_size(1) == q.sym_size(1) && k.sym_size(3) == q.sym_size(3), op,
                ": q and k may differ in heads alone, found [batch, tokens, heads, head_dim] ", q.sym_sizes(), " and ",
                k.sym_sizes());
    TORCH_CHECK(q.sym_size(3) > 0 && q.sym_size(3) % 2 == 0, op, ": expected an even head_dim, found ", q.sym_size(3));
    TORCH_CHECK(k.scalar_type() == q.scalar_type() && k.device() == q.device(), op, ": expected k as ", q.scalar_type(),
                " on ", q.device(), ", found ", k.scalar_type(), " on ", k.device());
    checkTable(op, "cos", cos, q);
    checkTable(op, "sin", sin, q);
}

HeadTensor::HeadTensor(const at::Tensor& t)
    : tensor(sideBySide(t)), heads{tensor.data_ptr(), tensor.size(2), tensor.stride(0), tensor.stride(1),
                                   tensor.stride(2)} {}

RotaryTensors::RotaryTensors(const at::Tensor& cosines, const at::Tensor& sines)
    : cos(sideBySide(cosines)), sin(sideBySide(sines)), rotary{} {
    if (cos.strides() != sin.strides()) {
        cos = cos.contiguous();
        sin = sin.contiguous();
    }
    rotary = {cos.data_ptr(), sin.data_ptr(), cos.size(0) == 1 ? 0 : cos.stride(0), cos.stride(1)};
}

at::Tensor tableAsDouble(const at::Tensor& table, int64_t batch) {
    return asDouble(table.expand({batch, table.size(1), table.size(2)}));
}

} // namespace fusescope::kernels
