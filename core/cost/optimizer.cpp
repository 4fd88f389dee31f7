// SPDX-License-Identifier: Apache-2.0
// Optimizers on lists of tensors. The profiler records lists of 30 and more tensors as empty: then nothing is known.
#include "core/cost/op_call.h"

namespace fusescope {
namespace {

const std::vector<TensorMeta>* list(const OpCall& call, std::size_t i) {
    if (i >= call.in.size() || call.in[i].kind != ArgKind::TensorList || call.in[i].truncated) return nullptr;
    return &call.in[i].list;
}

struct Sum {
    double elements = 0, bytes = 0;
};
Sum sumOf(const std::vector<TensorMeta>* tensors) {
    Sum sum;
    if (tensors == nullptr) return sum;
    for (const TensorMeta& t : *tensors) {
        sum.elements += elementsOf(t);
        sum.bytes += denseBytes(t);
    }
    return sum;
}

DType typeOf(const std::vector<TensorMeta>& tensors) {
    return tensors.empty() ? DType::Unknown : tensors.front().dtype;
}

// (params, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, steps, ...). AdamW per element: decay 1, first moment 3,
// second moment 4, denominator 3 (sqrt, bias, eps), step 3 (divide, scale, subtract) = 14.
bool fusedAdam(const OpCall& call, OpCost& cost) {
    const auto* params = list(call, 0);
    if (params == nullptr || params->empty()) return false;
    const Sum p = sumOf(params), g = sumOf(list(call, 1)), m = sumOf(list(call, 2)), v = sumOf(list(call, 3)),
              vmax = sumOf(list(call, 4));
    fill(cost, 14 * p.elements, p.bytes + g.bytes + m.bytes + v.bytes + vmax.bytes,
         p.bytes + m.bytes + v.bytes + vmax.bytes, typeOf(*params), "14n: AdamW; p, g, m, v read, p, m, v written");
    return true;
}

// (params, grads, momentum, ...): with momentum 4 per element (scale, add, scale, subtract), without 2.
bool fusedSgd(const OpCall& call, OpCost& cost) {
    const auto* params = list(call, 0);
    if (params == nullptr || params->empty()) return false;
    const Sum p = sumOf(params), g = sumOf(list(call, 1)), m = sumOf(list(call, 2));
    fill(cost, (m.elements > 0 ? 4 : 2) * p.elements, p.bytes + g.bytes + m.bytes, p.bytes + m.bytes, typeOf(*params),
         "4n: SGD with momentum (2n without)");
    return true;
}

// _foreach_add_(self[], other[] or scalar) and the like: every list read, the first written (or as many results).
bool foreach (const OpCall& call, OpCost & cost) {
    const auto* self = list(call, 0);
    if (self == nullptr || self->empty()) return false;
    const Sum s = sumOf(self);
    double read = s.bytes;
    for (std::size_t i = 1; i < call.in.size(); ++i)
        if (call.in[i].kind == ArgKind::TensorList) {
            if (call.in[i].truncated) return false;
            read += sumOf(&call.in[i].list).bytes;
        }
    const std::string_view n = call.name;
    const auto is = [&](std::string_view op) { return n.substr(9, op.size()) == op; };
    double per_element = 1, written = s.bytes;
    if (is("addcmul") || is("addcdiv") || is("lerp")) per_element = 3;
    if (is("copy") || is("zero")) per_element = 0;
    if (is("zero")) read = 0;
    if (is("copy")) read -= s.bytes;
    if (is("norm")) {
        per_element = 2;
        written = 0;
        for (const TensorMeta& t : *self) written += sizeOf(t.dtype);
    }
    fill(cost, per_element * s.elements, read, written, typeOf(*self), "per element of every tensor in the list");
    return true;
}

} // namespace

bool optimizerCost(const OpCall& call, OpCost& cost) {
    const std::string_view n = call.name;
    if (n == "_fused_adamw_" || n == "_fused_adam_" || n == "_fused_adamw" || n == "_fused_adam")
        return fusedAdam(call, cost);
    if (n == "_fused_sgd_" || n == "_fused_sgd") return fusedSgd(call, cost);
    if (n.substr(0, 9) == "_foreach_") return foreach (call, cost);
    return false;
}

} // namespace fusescope
