// SPDX-License-Identifier: Apache-2.0
// Fused attention. Convention: only the matrix products count (forward 2, backward 5 with the recomputed scores); a
// causal mask halves them. Softmax inside the kernel is not counted. Bytes: q, k, v (and in the backward pass the
// output and its gradient) read once, results and the log-sum-exp written once; the scores never leave the chip.
#include "core/cost/attention.h"

#include "core/cost/op_call.h"

namespace fusescope {
namespace {

struct Layout { // where a variant of the operator keeps things
    std::string_view name;
    bool backward;
    bool heads_second;  // [B, H, S, D] (else [B, S, H, D])
    std::size_t causal; // index of is_causal (custom_mask_type)
    std::size_t mask;   // index of the mask or bias tensor; 0: none
};
// Schemas of torch 2.4 to 2.11 (native_functions.yaml).
constexpr Layout kLayouts[] = {
    {"scaled_dot_product_attention", false, true, 5, 3},
    {"_scaled_dot_product_attention_math", false, true, 5, 3},
    {"_scaled_dot_product_flash_attention", false, true, 4, 0},
    {"_scaled_dot_product_efficient_attention", false, true, 6, 3},
    {"_scaled_dot_product_cudnn_attention", false, true, 6, 3},
    {"_scaled_dot_product_fused_attention_overrideable", false, true, 5, 3},
    {"_cudnn_attention_forward", false, true, 10, 3},
    {"_flash_attention_forward", false, false, 8, 0},
    {"_efficient_attention_forward", false, false, 9, 3},
    {"_scaled_dot_product_flash_attention_backward", true, true, 11, 0},
    {"_scaled_dot_product_efficient_attention_backward", true, true, 11, 4},
    {"_scaled_dot_product_cudnn_attention_backward", true, true, 14, 8},
    {"_cudnn_attention_backward", true, true, 14, 8},
    {"_flash_attention_backward", true, false, 11, 0},
    {"_efficient_attention_backward", true, false, 14, 4},
};

[[nodiscard]] const Layout* layoutOf(std::string_view name) {
    for (const Layout& l : kLayouts)
        if (l.name == name) return &l;
    return nullptr;
}

// The memory-efficient kernel names its mask by number: 1 causal from the top left, 2 from the bottom right.
[[nodiscard]] bool isCausal(const OpCall& call, const Layout& layout) {
    if (call.name.substr(0, 10) == "_efficient") {
        const std::string_view type = call.text(layout.causal, "custom_mask_type");
        return type == "1" || type == "2";
    }
    return call.flag(layout.causal, "is_causal");
}

} // namespace

bool attentionCallCost(const AttentionCall& call, OpCost& cost) {
    const TensorMeta *q = call.q, *k = call.k, *v = call.v;
    if (q == nullptr || k == nullptr || v == nullptr || q->sizes.size() != 4 || k->sizes.size() != 4 ||
        v->sizes.size() != 4)
        return false;

    const std::size_t heads = call.heads_second ? 1 : 2, rows = call.heads_second ? 2 : 1;
    const auto dim = [](const TensorMeta* t, std::size_t d) { return static_cast<double>(t->sizes[d]); };
    const double pairs = dim(q, 0) * dim(q, heads) * dim(q, rows) * dim(k, rows);
    const double half = call.causal ? 0.5 : 1.0;
    const double d = dim(q, 3), dv = dim(v, 3);
    const double out_elements = elementsOf(*q) / d * dv;
    const double lse = dim(q, 0) * dim(q, heads) * dim(q, rows) * 4;
    const double inputs = denseBytes(*q) + denseBytes(*k) + denseBytes(*v);
    const double mask_bytes = call.mask != nullptr ? call.mask->bytes() : 0; // once: broadcast over heads
    if (!call.backward) {
        const double flops = 2 * pairs * (d + dv) * half;
        fill(cost, flops, inputs + mask_bytes, out_elements * sizeOf(q->dtype) + lse, q->dtype,
             call.causal ? "4*B*H*Sq*Sk*D / 2 (causal)" : "4*B*H*Sq*Sk*D");
    } else {
        const double flops = 2 * pairs * (3 * d + 2 * dv) * half;
        fill(cost, flops, inputs + mask_bytes + 2 * out_elements * sizeOf(q->dtype) + lse, inputs, q->dtype,
             call.causal ? "10*B*H*Sq*Sk*D / 2 (causal, scores recomputed)" : "10*B*H*Sq*Sk*D (scores recomputed)");
    }
    cost.tensor_flops = sizeOf(q->dtype) <= 2 ? cost.flops : 0;
    return true;
}

bool attentionCost(const OpCall& call, OpCost& cost) {
    const Layout* layout = layoutOf(call.name);
    if (layout == nullptr) return false;
    const std::size_t first = layout->backward ? 1 : 0;
    AttentionCall attention;
    attention.q = call.tensor(first);
    attention.k = call.tensor(first + 1);
    attention.v = call.tensor(first + 2);
    if (layout->mask != 0) attention.mask = call.tensor(layout->mask, layout->backward ? "attn_bias" : "attn_mask");
    attention.causal = isCausal(call, *layout);
    attention.backward = layout->backward;
    attention.heads_second = layout->heads_second;
    return attentionCallCost(attention, cost);
}

const TensorMeta* attentionMask(std::string_view op, std::span<const OpArg> inputs) {
    OpCall call = callOf(op);
    call.in = inputs;
    if (call.own) return ownAttentionMask(call);
    const Layout* layout = layoutOf(call.name);
    if (layout == nullptr || layout->mask == 0 || isCausal(call, *layout)) return nullptr;
    return call.tensor(layout->mask);
}

} // namespace fusescope
