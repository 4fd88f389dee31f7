// SPDX-License-Identifier: Apache-2.0
// Copies, fills and layout changes: no arithmetic, only traffic.
#include "core/cost/op_call.h"

#include <cmath>
#include <cstdlib>
#include <string>

namespace fusescope {
namespace {

// Row-major without holes; unknown strides count as such.
bool isContiguous(const TensorMeta& t) {
    if (t.strides.size() != t.sizes.size()) return true;
    std::int64_t expected = 1;
    for (std::size_t d = t.sizes.size(); d-- > 0;) {
        if (t.sizes[d] == 1) continue;
        if (t.strides[d] != expected) return false;
        expected *= t.sizes[d];
    }
    return true;
}

// Whether a tensor can be seen with other sizes without moving data (the rule of torch.Tensor.view).
bool viewable(const TensorMeta& t, const std::vector<std::int64_t>& sizes) {
    if (t.strides.size() != t.sizes.size() || t.numel() == 0) return true;
    auto v = static_cast<std::ptrdiff_t>(sizes.size()) - 1;
    std::int64_t chunk_stride = t.strides.empty() ? 1 : t.strides.back();
    std::int64_t chunk = 1, seen = 1;
    for (std::size_t d = t.sizes.size(); d-- > 0;) {
        chunk *= t.sizes[d];
        const bool last = d == 0;
        if (!last && (t.sizes[d - 1] == 1 || t.strides[d - 1] == chunk * chunk_stride)) continue;
        while (v >= 0 && (seen < chunk || sizes[static_cast<std::size_t>(v)] == 1)) {
            seen *= sizes[static_cast<std::size_t>(v)];
            --v;
        }
        if (seen != chunk) return false;
        if (!last) {
            chunk_stride = t.strides[d - 1];
            chunk = seen = 1;
        }
    }
    return v == -1;
}

bool listCost(const OpCall& call, OpCost& cost) {
    if (call.in.empty() || call.in[0].kind != ArgKind::TensorList || call.in[0].truncated) return false;
    double read = 0, written = 0;
    std::vector<const TensorMeta*> tensors;
    for (const TensorMeta& t : call.in[0].list) {
        read += t.bytes();
        tensors.push_back(&t);
    }
    const DType type = promoted(tensors);
    for (const TensorMeta* t : tensors) written += elementsOf(*t) * sizeOf(type);
    fill(cost, 0, read, written, type, "no arithmetic: every input read, the result written");
    return true;
}

bool moved(const TensorMeta& from, const TensorMeta& to, OpCost& cost) {
    fill(cost, 0, from.bytes(), denseBytes(to), to.dtype, "no arithmetic: source read, result written");
    return true;
}

bool nothing(const TensorMeta& t, OpCost& cost) {
    fill(cost, 0, 0, 0, t.dtype, "a view: nothing moves");
    return true;
}

bool written(const TensorMeta& t, OpCost& cost) {
    fill(cost, 0, 0, denseBytes(t), t.dtype, "no arithmetic: result written");
    return true;
}

double number(std::string_view text) {
    const std::string copy(text);
    return std::strtod(copy.c_str(), nullptr);
}

// arange(end), (start, end), (start, end, step); in a trace the tensor to fill comes last, still empty.
bool arange(const OpCall& call, OpCost& cost) {
    if (!call.out.empty()) return written(call.out.front(), cost);
    std::vector<double> bounds;
    const TensorMeta* out = nullptr;
    for (const OpArg& arg : call.in) {
        if (arg.kind == ArgKind::Scalar && bounds.size() < 3) bounds.push_back(number(arg.text));
        if (arg.kind == ArgKind::Tensor) out = &arg.tensor;
    }
    if (out == nullptr || bounds.empty()) return false;
    const double begin = bounds.size() > 1 ? bounds[0] : 0, end = bounds.size() > 1 ? bounds[1] : bounds[0];
    const double step = bounds.size() > 2 && bounds[2] != 0 ? bounds[2] : 1;
    const double n = std::ceil((end - begin) / step);
    if (!(n >= 0)) return false;
    fill(cost, 0, 0, n * sizeOf(out->dtype), out->dtype, "no arithmetic: result written");
    return true;
}

} // namespace

bool copyCost(const OpCall& call, OpCost& cost) {
    const std::string_view n = call.name;
    const TensorMeta* self = call.tensor(0);
    if (n == "cat" || n == "concat" || n == "stack") return listCost(call, cost);
    if (n == "arange" || n == "range" || n == "linspace") return arange(call, cost);
    if (self == nullptr) {
        const bool creates =
            n == "full" || n == "zeros" || n == "ones" || n == "empty" || n == "scalar_tensor" || n == "eye";
        if (creates && !call.out.empty())
            return n == "empty" ? nothing(call.out.front(), cost) : written(call.out.front(), cost);
        return false;
    }
    if (n == "copy_" || n == "_foreach_copy_") { // (destination, source)
        const TensorMeta* source = call.tensor(1);
        return source != nullptr && moved(*source, *self, cost);
    }
    if (n == "copy") {
        const TensorMeta* source = call.tensor(1);
        return source != nullptr && moved(*source, *self, cost);
    }
    if (n == "fill_" || n == "zero_" || n == "normal_" || n == "uniform_" || n == "random_" || n == "bernoulli_")
        return written(*self, cost);
    if (n == "zeros_like" || n == "ones_like" || n == "full_like" || n == "new_zeros" || n == "new_ones" ||
        n == "new_full" || n == "rand_like" || n == "randn_like")
        return written(call.output(self->sizes, self->dtype), cost);
    if (n == "to" || n == "type_as" ||
        n == "float") { // copies only to another type (or device, which no node of ours does)
        const TensorMeta out = call.output(self->sizes, self->dtype);
        return out.dtype == self->dtype ? nothing(*self, cost) : moved(*self, out, cost);
    }
    if (n == "_to_copy" || n == "clone" || n == "constant_pad_nd" || n == "pad" || n == "repeat" || n == "flip" ||
        n == "roll" || n == "tril" || n == "triu" || n == "repeat_interleave" || n == "slice_backward" ||
        n == "select_backward" || n == "slice_scatter" || n == "select_scatter" || n == "lift_fresh_copy")
        return moved(*self, call.output(self->sizes, self->dtype), cost);
    if (n == "contiguous")
        return isContiguous(*self) ? nothing(*self, cost) : moved(*self, call.output(self->sizes, self->dtype), cost);
    if (n == "reshape" || n == "flatten" || n == "reshape_as") {
        const TensorMeta out = call.output(self->sizes, self->dtype);
        return viewable(*self, out.sizes) ? nothing(*self, cost) : moved(*self, out, cost);
    }
    if (n == "dropout") { // of a graph node; training with p > 0 runs native_dropout
        const bool idle = !call.flag(2, "train") || number(call.text(1, "p")) == 0;
        if (idle) return nothing(*self, cost);
        OpCall trained = call;
        trained.name = "native_dropout";
        return elementwiseCost(trained, cost);
    }
    if (n == "_local_scalar_dense" || n == "item" || n == "is_nonzero") {
        fill(cost, 0, sizeOf(self->dtype), 0, self->dtype, "one element read");
        return true;
    }
    return false;
}

} // namespace fusescope
