// SPDX-License-Identifier: Apache-2.0
// Matrix products. FLOPs 2*B*M*N*K; bytes: both operands read, the result written. 16- and 8-bit types run on tensor
// cores; float32 does only if TF32 is allowed, which the operator does not tell (costOfKernels reads it off the
// kernel).
#include "core/cost/op_call.h"

namespace fusescope {
namespace {

bool onTensorCores(DType type) { return isFloating(type) && sizeOf(type) <= 2; }

double batchOf(const TensorMeta& t) { // all dimensions but the last two
    double batch = 1;
    for (std::size_t d = 0; d + 2 < t.sizes.size(); ++d) batch *= static_cast<double>(t.sizes[d]);
    return batch;
}

double size(const TensorMeta& t, std::size_t from_back) {
    return from_back < t.sizes.size() ? static_cast<double>(t.sizes[t.sizes.size() - 1 - from_back]) : 1;
}

bool product(const OpCall& call, const TensorMeta& a, const TensorMeta& b, double batch, double m, double n, double k,
             const TensorMeta* bias, OpCost& cost) {
    const double out_elements = batch * m * n;
    const DType out_type = call.out.empty() ? a.dtype : call.out.front().dtype;
    double read = a.bytes() + b.bytes(), flops = 2 * out_elements * k;
    if (bias != nullptr) read += bias->bytes();
    fill(cost, flops, read, out_elements * sizeOf(out_type), a.dtype, "2*B*M*N*K");
    cost.tensor_flops = onTensorCores(a.dtype) ? flops : 0;
    if (bias != nullptr) {
        cost.flops += out_elements;
        cost.formula = "2*B*M*N*K + B*M*N";
    }
    return true;
}

// torch.matmul: vectors get a dimension, batches broadcast.
bool general(const OpCall& call, const TensorMeta& a, const TensorMeta& b, OpCost& cost) {
    if (a.sizes.empty() || b.sizes.empty()) return false;
    const double k = size(a, 0);
    const double m = a.sizes.size() > 1 ? size(a, 1) : 1;
    const double n = b.sizes.size() > 1 ? size(b, 0) : 1;
    TensorMeta batch_a = a, batch_b = b;
    batch_a.sizes.resize(a.sizes.size() > 2 ? a.sizes.size() - 2 : 0);
    batch_b.sizes.resize(b.sizes.size() > 2 ? b.sizes.size() - 2 : 0);
    const TensorMeta* both[] = {&batch_a, &batch_b};
    double batch = 1;
    for (const std::int64_t s : broadcastSizes(both)) batch *= static_cast<double>(s);
    return product(call, a, b, batch, m, n, k, nullptr, cost);
}

} // namespace

bool isMatmul(std::string_view op) noexcept {
    const std::size_t at = op.rfind("::");
    const std::string_view name = at == std::string_view::npos ? op : op.substr(at + 2);
    return name == "mm" || name == "bmm" || name == "addmm" || name == "baddbmm" || name == "linear" ||
           name == "matmul" || name == "mv" || name == "addmv" || name == "dot" || name == "addbmm" ||
           name == "_scaled_mm" || name == "addmm_" || name == "baddbmm_" || name == "_addmm_activation";
}

bool matmulCost(const OpCall& call, OpCost& cost) {
    if (!isMatmul(call.name)) return false;
    const bool added =
        call.name.substr(0, 3) == "add" || call.name.substr(0, 4) == "badd" || call.name.substr(0, 4) == "_add";
    const std::size_t first = added ? 1 : 0;
    const TensorMeta *a = call.tensor(first), *b = call.tensor(first + 1);
    if (a == nullptr || b == nullptr) return false;

    if (call.name == "linear") { // [..., K] x [N, K]
        if (a->sizes.empty() || b->sizes.empty()) return false;
        const double k = size(*a, 0), n = b->sizes.size() > 1 ? size(*b, 1) : 1;
        return product(call, *a, *b, 1, k > 0 ? elementsOf(*a) / k : 0, n, k, call.tensor(2, "bias"), cost);
    }
    if (call.name == "matmul" || call.name == "mv" || call.name == "dot" || call.name == "addmv") {
        if (!general(call, *a, *b, cost)) return false;
        return true;
    }
    if (call.name == "addbmm") // summed over the batch
        return product(call, *a, *b, 1, size(*a, 1), size(*b, 0), size(*a, 0) * batchOf(*a), call.tensor(0), cost);
    const TensorMeta* bias = added ? call.tensor(0) : nullptr;
    return product(call, *a, *b, batchOf(*a), size(*a, 1), size(*b, 0), size(*a, 0), bias, cost);
}

} // namespace fusescope
