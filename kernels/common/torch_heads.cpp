// SPDX-License-Identifier: Apache-2.0
#include "kernels/common/torch_heads.h"

namespace fusescope::kernels {
namespace {

at::Tensor sideBySide(const at::Tensor& t) { return t.size(-1) > 1 && t.stride(-1) != 1 ? t.contiguous() : t; }

void checkTable(const char* op, const char* name, const at::Tensor& table, const at::Tensor& q, int64_t tokens) {
    TORCH_CHECK(table.dim() == 3 && (table.sym_size(0) == 1 || table.sym_size(0) == q.sym_size(0)) &&
                    table.sym_size(1) == q.sym_size(tokens) && table.sym_size(2) == q.sym_size(3),
                op, ": expected ", name, " of shape [", q.sym_size(0), " or 1, ", q.sym_size(tokens), ", ",
                q.sym_size(3), "], found ", table.sym_sizes());
    TORCH_CHECK(table.scalar_type() == q.scalar_type() && table.device() == q.device(), op, ": expected ", name, " as ",
                q.scalar_type(), " on ", q.device(), ", found ", table.scalar_type(), " on ", table.device());
}

} // namespace

void checkHeadTensors(const char* op, const at::Tensor& q, const at::Tensor& k, const at::Tensor& cos,
                      const at::Tensor& sin, HeadsAt at) {
    const int64_t tokens = tokenDimension(at);
    TORCH_CHECK(q.dim() == 4 && k.dim() == 4, op, ": expected q and k with 4 dimensions, found ", q.dim(), " and ",
                k.dim());
    TORCH_CHECK(
        k.sym_size(0) == q.sym_size(0) && k.sym_size(tokens) == q.sym_size(tokens) && k.sym_size(3) == q.sym_size(3),
        op, ": q and k may differ in heads alone, found [batch, ",
        at == HeadsAt::two ? "tokens, heads" : "heads, tokens", ", head_dim] ", q.sym_sizes(), " and ", k.sym_sizes());
    TORCH_CHECK(q.sym_size(3) > 0 && q.sym_size(3) % 2 == 0, op, ": expected an even head_dim, found ", q.sym_size(3));
    TORCH_CHECK(k.scalar_type() == q.scalar_type() && k.device() == q.device(), op, ": expected k as ", q.scalar_type(),
                " on ", q.device(), ", found ", k.scalar_type(), " on ", k.device());
    checkTable(op, "cos", cos, q, tokens);
    checkTable(op, "sin", sin, q, tokens);
}

HeadTensor::HeadTensor(const at::Tensor& t, HeadsAt at)
    : tensor(sideBySide(t)), heads{tensor.data_ptr(), tensor.size(headDimension(at)), tensor.stride(0),
                                   tensor.stride(tokenDimension(at)), tensor.stride(headDimension(at))} {}

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
