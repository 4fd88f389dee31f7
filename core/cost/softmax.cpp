// SPDX-License-Identifier: Apache-2.0
// Softmax and the losses on it. Compulsory traffic: the input read once. Rows too long for the registers of a block
// (a vocabulary of 151,936) are read two or three times by PyTorch's kernels: that is what a fused kernel saves.
#include "core/cost/op_call.h"

namespace fusescope {
namespace {

bool forwardSoftmax(const OpCall& call, OpCost& cost) {
    const TensorMeta* in = call.tensor(0);
    if (in == nullptr) return false;
    const bool widened = call.name.front() == '_' && call.flag(2, "half_to_float");
    const TensorMeta out = call.output(in->sizes, widened ? DType::Float32 : in->dtype);
    fill(cost, 5 * elementsOf(*in), in->bytes(), denseBytes(out), in->dtype, "5n: max, subtract, exp, sum, divide");
    return true;
}

bool backwardSoftmax(const OpCall& call, bool logarithmic, OpCost& cost) {
    const TensorMeta *grad = call.tensor(0), *output = call.tensor(1);
    if (grad == nullptr || output == nullptr) return false;
    // input_dtype (c10's numbers: 5 = half, 15 = bfloat16, 6 = float) says what the gradient is cast to.
    DType type = grad->dtype;
    const std::string_view input = call.text(3, "input_dtype");
    if (input == "15")
        type = DType::BFloat16;
    else if (input == "5")
        type = DType::Float16;
    const TensorMeta out = call.output(grad->sizes, type);
    fill(cost, 4 * elementsOf(*grad), grad->bytes() + output->bytes(), denseBytes(out), grad->dtype,
         logarithmic ? "4n: dy - exp(y)*sum(dy)" : "4n: y*(dy - sum(y*dy))");
    return true;
}

// One value per row is picked out of [N, C].
bool nllLoss(const OpCall& call, bool backward, OpCost& cost) {
    const std::size_t first = backward ? 1 : 0;
    const TensorMeta *in = call.tensor(first), *target = call.tensor(first + 1);
    if (in == nullptr || target == nullptr) return false;
    const double rows = elementsOf(*target);
    const double size = sizeOf(in->dtype);
    if (!backward)
        fill(cost, 2 * rows, rows * size + target->bytes(), 2 * size, in->dtype, "2 per row: pick, add");
    else // the zeros around the picked values are written by the zero_ inside
        fill(cost, rows, target->bytes(), rows * size, in->dtype, "one per row");
    return true;
}

bool crossEntropy(const OpCall& call, OpCost& cost) {
    const TensorMeta *in = call.tensor(0), *target = call.tensor(1);
    if (in == nullptr || target == nullptr) return false;
    fill(cost, 5 * elementsOf(*in) + 2 * elementsOf(*target),
         1 * in->bytes() + target->bytes() + elementsOf(*target) * sizeOf(in->dtype), denseBytes(*in), in->dtype,
         "5n + 2 per row: log_softmax (written), then pick and add");
    return true;
}

} // namespace

bool softmaxCost(const OpCall& call, OpCost& cost) {
    if (call.name == "_softmax" || call.name == "softmax" || call.name == "_log_softmax" ||
        call.name == "log_softmax" || call.name == "_safe_softmax")
        return forwardSoftmax(call, cost);
    if (call.name == "_softmax_backward_data") return backwardSoftmax(call, false, cost);
    if (call.name == "_log_softmax_backward_data") return backwardSoftmax(call, true, cost);
    if (call.name == "nll_loss_forward" || call.name == "nll_loss" || call.name == "nll_loss_nd" ||
        call.name == "nll_loss2d_forward")
        return nllLoss(call, false, cost);
    if (call.name == "nll_loss_backward" || call.name == "nll_loss2d_backward") return nllLoss(call, true, cost);
    if (call.name == "cross_entropy_loss") return crossEntropy(call, cost);
    return false;
}

} // namespace fusescope
