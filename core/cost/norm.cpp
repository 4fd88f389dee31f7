// SPDX-License-Identifier: Apache-2.0
// Fused normalisations. Forward: x (and the weight) read once, y and one or two statistics a row written.
// Backward: dy and x read once, dx and the gradients of weight and bias written.
#include "core/cost/op_call.h"

namespace fusescope {
namespace {

double rowsOf(const TensorMeta& x, const TensorMeta* weight) {
    const double width = weight != nullptr && weight->numel() > 0 ? elementsOf(*weight)
                         : !x.sizes.empty()                       ? static_cast<double>(x.sizes.back())
                                                                  : 1;
    return width > 0 ? elementsOf(x) / width : 0;
}

double bytesOf(const TensorMeta* t) { return t != nullptr ? t->bytes() : 0; }

} // namespace

bool normCost(const OpCall& call, OpCost& cost) {
    const std::string_view n = call.name;
    if (n == "rms_norm" || n == "_fused_rms_norm") {
        const TensorMeta *x = call.tensor(0), *weight = call.tensor(2, "weight");
        if (x == nullptr) return false;
        const double statistics = n == "_fused_rms_norm" ? rowsOf(*x, weight) * 4 : 0;
        fill(cost, (weight != nullptr ? 4 : 3) * elementsOf(*x), x->bytes() + bytesOf(weight),
             denseBytes(*x) + statistics, x->dtype, "4n: square, sum, scale, weight");
        return true;
    }
    if (n == "_fused_rms_norm_backward") { // (dy, x, normalized_shape, rstd, weight, mask)
        const TensorMeta *dy = call.tensor(0), *x = call.tensor(1), *rstd = call.tensor(3, "rstd"),
                         *weight = call.tensor(4, "weight");
        if (dy == nullptr || x == nullptr) return false;
        fill(cost, 9 * elementsOf(*x), dy->bytes() + x->bytes() + bytesOf(rstd) + bytesOf(weight),
             denseBytes(*x) + bytesOf(weight), x->dtype,
             "9n: xh = r*x, g = dy*w, mean(g*xh), r*(g - xh*mean), sum dy*xh");
        return true;
    }
    if (n == "layer_norm" || n == "native_layer_norm") { // (x, normalized_shape, weight, bias, eps)
        const TensorMeta *x = call.tensor(0), *weight = call.tensor(2, "weight"), *bias = call.tensor(3, "bias");
        if (x == nullptr) return false;
        const double statistics = n == "native_layer_norm" ? rowsOf(*x, weight) * 8 : 0;
        fill(cost, 7 * elementsOf(*x), x->bytes() + bytesOf(weight) + bytesOf(bias), denseBytes(*x) + statistics,
             x->dtype, "7n: mean, variance (3), normalise (2), weight and bias (2)");
        return true;
    }
    if (n == "native_layer_norm_backward") { // (dy, x, normalized_shape, mean, rstd, weight, bias, mask)
        const TensorMeta *dy = call.tensor(0), *x = call.tensor(1), *mean = call.tensor(3, "mean"),
                         *rstd = call.tensor(4, "rstd");
        const TensorMeta *weight = call.tensor(5, "weight"), *bias = call.tensor(6, "bias");
        if (dy == nullptr || x == nullptr) return false;
        fill(cost, 12 * elementsOf(*x), dy->bytes() + x->bytes() + bytesOf(mean) + bytesOf(rstd) + bytesOf(weight),
             denseBytes(*x) + bytesOf(weight) + bytesOf(bias), x->dtype, "12n");
        return true;
    }
    if (n == "native_group_norm") {
        const TensorMeta* x = call.tensor(0);
        if (x == nullptr) return false;
        fill(cost, 7 * elementsOf(*x), x->bytes(), denseBytes(*x), x->dtype, "7n");
        return true;
    }
    return false;
}

} // namespace fusescope
