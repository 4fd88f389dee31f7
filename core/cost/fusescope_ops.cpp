// SPDX-License-Identifier: Apache-2.0
// FuseScope's own operators (kernels/*/*_torch.cpp has their schemas), with the conventions of the framework's: FLOPs
// as the eager operators count them, what a kernel computes again not counted; bytes compulsory. The statistics that
// the backward pass needs are written by the "_forward" operators alone, which run where gradients are wanted.
#include "core/cost/op_call.h"

#include <array>
#include <initializer_list>

namespace fusescope {
namespace {

using Tensors = std::initializer_list<const TensorMeta*>;

bool allThere(Tensors tensors) {
    for (const TensorMeta* t : tensors)
        if (t == nullptr) return false;
    return true;
}

double readOf(Tensors tensors) {
    double bytes = 0;
    for (const TensorMeta* t : tensors) bytes += t != nullptr ? t->bytes() : 0;
    return bytes;
}

double writtenOf(Tensors tensors) { // as large as these
    double bytes = 0;
    for (const TensorMeta* t : tensors) bytes += t != nullptr ? denseBytes(*t) : 0;
    return bytes;
}

double rowsOf(const TensorMeta& t) {
    return t.sizes.empty() || t.sizes.back() <= 0 ? 0 : elementsOf(t) / static_cast<double>(t.sizes.back());
}

bool keepsStatistics(const OpCall& call) { return call.name.find("_forward") != std::string_view::npos; }

bool wanted(const OpCall& call, std::size_t i, std::string_view name) { // a flag that is true by default
    const std::string_view text = call.text(i, name);
    return text != "False" && text != "false" && text != "0";
}

// --- norms ----------------------------------------------------------------------------------------------------------

bool rmsNorm(const OpCall& call, OpCost& cost) { // (x, weight, eps, fast)
    const TensorMeta *x = call.tensor(0, "x"), *weight = call.tensor(1, "weight");
    if (!allThere({x, weight})) return false;
    const TensorMeta* both[] = {x, weight};
    const double statistics = keepsStatistics(call) ? rowsOf(*x) * 4 : 0;
    fill(cost, 4 * elementsOf(*x), readOf({x, weight}), elementsOf(*x) * sizeOf(promoted(both)) + statistics, x->dtype,
         "4n: square, sum, scale, weight");
    return true;
}

bool rmsNormBackward(const OpCall& call, OpCost& cost) { // (dy, x, weight, rstd, eps, fast, weight_gradient)
    const TensorMeta *dy = call.tensor(0, "dy"), *x = call.tensor(1, "x"), *weight = call.tensor(2, "weight"),
                     *rstd = call.tensor(3, "rstd");
    if (!allThere({dy, x, weight, rstd})) return false;
    const bool both = wanted(call, 6, "weight_gradient");
    fill(cost, (both ? 9 : 7) * elementsOf(*x), readOf({dy, x, weight, rstd}), writtenOf({x, both ? weight : nullptr}),
         x->dtype, "9n: xh = r*x, g = dy*w, mean(g*xh), r*(g - xh*mean), sum dy*xh (7n without the weight's gradient)");
    return true;
}

bool addRmsNorm(const OpCall& call, OpCost& cost) { // (x, residual, weight, eps, fast)
    const TensorMeta *x = call.tensor(0, "x"), *residual = call.tensor(1, "residual"),
                     *weight = call.tensor(2, "weight");
    if (!allThere({x, residual, weight})) return false;
    const TensorMeta* both[] = {x, weight};
    const double statistics = keepsStatistics(call) ? rowsOf(*x) * 4 : 0;
    fill(cost, 5 * elementsOf(*x), readOf({x, residual, weight}),
         elementsOf(*x) * (sizeOf(promoted(both)) + sizeOf(x->dtype)) + statistics, x->dtype,
         "5n: add, square, sum, scale, weight");
    return true;
}

bool addRmsNormBackward(const OpCall& call, OpCost& cost) { // (dy, dsum, sum, weight, rstd, eps, fast, weight_gradient)
    const TensorMeta *dy = call.tensor(0, "dy"), *dsum = call.tensor(1, "dsum"), *sum = call.tensor(2, "sum"),
                     *weight = call.tensor(3, "weight"), *rstd = call.tensor(4, "rstd");
    if (!allThere({dy, dsum, sum, weight, rstd})) return false;
    const bool both = wanted(call, 7, "weight_gradient");
    fill(cost, (both ? 10 : 8) * elementsOf(*sum), readOf({dy, dsum, sum, weight, rstd}),
         writtenOf({sum, both ? weight : nullptr}), sum->dtype,
         "10n: the norm's 9n and the residual's gradient added (8n without the weight's gradient)");
    return true;
}

// --- rotary embedding -----------------------------------------------------------------------------------------------

bool rope(const OpCall& call, OpCost& cost) { // (q, k, cos, sin, ...), backward (dq_embed, dk_embed, cos, sin, ...)
    const bool backward = call.name == "rope_backward";
    const TensorMeta *q = call.tensor(0, backward ? "dq_embed" : "q"), *k = call.tensor(1, backward ? "dk_embed" : "k"),
                     *cos = call.tensor(2, "cos"), *sin = call.tensor(3, "sin");
    if (!allThere({q, k, cos, sin})) return false;
    fill(cost, 3 * (elementsOf(*q) + elementsOf(*k)), readOf({q, k, cos, sin}), writtenOf({q, k}), q->dtype,
         "3n: x*cos + rotated x*sin, of q and k");
    return true;
}

bool qkNormRope(const OpCall& call, OpCost& cost) { // (q, k, q_weight, k_weight, cos, sin, eps, fast)
    const TensorMeta *q = call.tensor(0, "q"), *k = call.tensor(1, "k"), *q_weight = call.tensor(2, "q_weight"),
                     *k_weight = call.tensor(3, "k_weight"), *cos = call.tensor(4, "cos"), *sin = call.tensor(5, "sin");
    if (!allThere({q, k, q_weight, k_weight, cos, sin})) return false;
    const double statistics = keepsStatistics(call) ? (rowsOf(*q) + rowsOf(*k)) * 4 : 0;
    fill(cost, 7 * (elementsOf(*q) + elementsOf(*k)), readOf({q, k, q_weight, k_weight, cos, sin}),
         writtenOf({q, k}) + statistics, q->dtype, "7n: the norm's 4n and the rotation's 3n, of q and k");
    return true;
}

// (dq_out, dk_out, q, k, q_weight, k_weight, cos, sin, q_rstd, k_rstd, ...); "_into" writes the same into views.
bool qkNormRopeBackward(const OpCall& call, OpCost& cost) {
    const TensorMeta *dq = call.tensor(0, "dq_out"), *dk = call.tensor(1, "dk_out"), *q = call.tensor(2, "q"),
                     *k = call.tensor(3, "k"), *q_weight = call.tensor(4, "q_weight"),
                     *k_weight = call.tensor(5, "k_weight"), *cos = call.tensor(6, "cos"), *sin = call.tensor(7, "sin"),
                     *q_rstd = call.tensor(8, "q_rstd"), *k_rstd = call.tensor(9, "k_rstd");
    if (!allThere({dq, dk, q, k, q_weight, k_weight, cos, sin, q_rstd, k_rstd})) return false;
    fill(cost, 12 * (elementsOf(*q) + elementsOf(*k)),
         readOf({dq, dk, q, k, q_weight, k_weight, cos, sin, q_rstd, k_rstd}), writtenOf({q, k, q_weight, k_weight}),
         q->dtype, "12n: the rotation's 3n and the norm's 9n, of q and k");
    return true;
}

// --- SwiGLU ---------------------------------------------------------------------------------------------------------

bool swiglu(const OpCall& call, OpCost& cost) { // (gate, up, fast) or (gate_up, fast)
    const bool packed = call.name == "swiglu_packed";
    const TensorMeta *gate = call.tensor(0, packed ? "gate_up" : "gate"), *up = packed ? nullptr : call.tensor(1, "up");
    if (gate == nullptr || (!packed && up == nullptr)) return false;
    const double n = elementsOf(*gate) / (packed ? 2 : 1);
    fill(cost, 5 * n, readOf({gate, up}), n * sizeOf(gate->dtype), gate->dtype, "5n: silu(gate) 4, times up 1");
    return true;
}

bool swigluBackward(const OpCall& call, OpCost& cost) { // (dh, gate, up, fast) or (dh, gate_up, fast)
    const bool packed = call.name == "swiglu_packed_backward";
    const TensorMeta *dh = call.tensor(0, "dh"), *gate = call.tensor(1, packed ? "gate_up" : "gate"),
                     *up = packed ? nullptr : call.tensor(2, "up");
    if (!allThere({dh, gate}) || (!packed && up == nullptr)) return false;
    fill(cost, 12 * elementsOf(*dh), readOf({dh, gate, up}), writtenOf({gate, up}), gate->dtype,
         "12n: dh*up, the silu's gradient 9, dh*silu(gate) 2");
    return true;
}

// --- matrix products ------------------------------------------------------------------------------------------------

bool onTensorCores(DType type) { return isFloating(type) && sizeOf(type) <= 2; }

const std::vector<TensorMeta>* list(const OpCall& call, std::size_t i) {
    const bool there = i < call.in.size() && call.in[i].kind == ArgKind::TensorList && !call.in[i].truncated;
    return there && !call.in[i].list.empty() ? &call.in[i].list : nullptr;
}

struct Lengths { // of several matrices side by side
    double columns = 0, features = 0, bytes = 0, rows = 0;
};
Lengths lengthsOf(const std::vector<TensorMeta>& all) {
    Lengths out;
    for (const TensorMeta& t : all) {
        if (t.sizes.empty()) continue;
        out.columns += static_cast<double>(t.sizes.back());
        out.features += static_cast<double>(t.sizes.front());
        out.bytes += t.bytes();
        out.rows = rowsOf(t);
    }
    return out;
}

void product(OpCost& cost, double m, double n, double k, double read, double written, DType type) {
    fill(cost, 2 * m * n * k, read, written, type, "2*M*N*K, N of all projections");
    cost.tensor_flops = onTensorCores(type) ? cost.flops : 0;
}

bool projection(const OpCall& call, OpCost& cost) { // (x, weights[]), (x, weight, sizes) or (x, weight, weight, ...)
    const TensorMeta* x = call.tensor(0, "x");
    if (x == nullptr || x->sizes.empty()) return false;
    std::vector<TensorMeta> weights;
    if (const std::vector<TensorMeta>* all = list(call, 1)) weights = *all;
    for (std::size_t i = 1; i < call.in.size(); ++i)
        if (call.in[i].kind == ArgKind::Tensor) weights.push_back(call.in[i].tensor);
    const Lengths w = lengthsOf(weights);
    if (w.features <= 0) return false;
    const double rows = rowsOf(*x);
    product(cost, rows, w.features, static_cast<double>(x->sizes.back()), x->bytes() + w.bytes,
            rows * w.features * sizeOf(x->dtype), x->dtype);
    return true;
}

bool projectionInputGradient(const OpCall& call, OpCost& cost) { // (dy[], weights[])
    const std::vector<TensorMeta>*dy = list(call, 0), *weights = list(call, 1);
    if (dy == nullptr || weights == nullptr || weights->front().sizes.size() != 2) return false;
    const Lengths d = lengthsOf(*dy), w = lengthsOf(*weights);
    const double hidden = static_cast<double>(weights->front().sizes[1]);
    const DType type = weights->front().dtype;
    product(cost, d.rows, hidden, w.features, d.bytes + w.bytes, d.rows * hidden * sizeOf(type), type);
    return true;
}

bool projectionWeightGradient(const OpCall& call, OpCost& cost) { // (dy[], x)
    const std::vector<TensorMeta>* dy = list(call, 0);
    const TensorMeta* x = call.tensor(1, "x");
    if (dy == nullptr || x == nullptr || x->sizes.empty()) return false;
    const Lengths d = lengthsOf(*dy);
    const double hidden = static_cast<double>(x->sizes.back());
    product(cost, d.columns, hidden, rowsOf(*x), d.bytes + x->bytes(), d.columns * hidden * sizeOf(x->dtype), x->dtype);
    return true;
}

struct AttentionArgs { // where a call has them; mask 0: none
    std::size_t first, causal, mask;
};
bool attentionAt(const OpCall& call, const AttentionArgs& at, OpCost& cost) {
    AttentionCall attention;
    attention.q = call.tensor(at.first, "q");
    attention.k = call.tensor(at.first + 1, "k");
    attention.v = call.tensor(at.first + 2, "v");
    attention.mask = at.mask != 0 ? call.tensor(at.mask, "mask") : nullptr;
    attention.causal = call.flag(at.causal, "causal");
    attention.backward = at.first > 0;
    return attentionCallCost(attention, cost);
}
constexpr AttentionArgs kAttention{0, 4, 3};
bool attention(const OpCall& call, OpCost& cost) { return attentionAt(call, kAttention, cost); }
bool attentionHopper(const OpCall& call, OpCost& cost) { return attentionAt(call, {0, 3, 0}, cost); }
bool attentionHopperBackward(const OpCall& call, OpCost& cost) { return attentionAt(call, {1, 6, 0}, cost); }
bool attentionReferenceBackward(const OpCall& call, OpCost& cost) { return attentionAt(call, {1, 5, 4}, cost); }

// (x, weight, labels, num_items, ...); the forward for training computes the gradients too: (..., want_dx,
// want_dweight) at 8 and 9. The logits count as never leaving the chip: that is what the fused form is for.
bool linearCrossEntropy(const OpCall& call, OpCost& cost) {
    const TensorMeta *x = call.tensor(0, "x"), *weight = call.tensor(1, "weight"), *labels = call.tensor(2, "labels");
    if (!allThere({x, weight, labels}) || x->sizes.size() != 2 || weight->sizes.size() != 2) return false;
    const bool training = keepsStatistics(call);
    const bool dx = training && call.flag(8, "want_dx"), dweight = training && call.flag(9, "want_dweight");
    const double tokens = elementsOf(*labels), logits = tokens * static_cast<double>(weight->sizes[0]);
    const double products = 2 * logits * static_cast<double>(weight->sizes[1]) * (1 + (dx ? 1 : 0) + (dweight ? 1 : 0));
    fill(cost, products + (dx || dweight ? 9 : 5) * logits + 2 * tokens, readOf({x, weight, labels}),
         writtenOf({dx ? x : nullptr, dweight ? weight : nullptr}) + 4, x->dtype,
         "2*N*V*H a product (3 with both gradients), softmax 5*N*V, its gradient 4*N*V, 2 a row");
    cost.tensor_flops = onTensorCores(x->dtype) ? products : 0;
    return true;
}

bool linearCrossEntropyBackward(const OpCall& call, OpCost& cost) { // (dloss, state, dx, dweight)
    const TensorMeta *dloss = call.tensor(0, "dloss"), *state = call.tensor(1, "state"), *dx = call.tensor(2, "dx"),
                     *dweight = call.tensor(3, "dweight");
    if (!allThere({dloss, state, dx, dweight})) return false;
    if (call.inPlace())
        fill(cost, 0, readOf({dloss, state}), 0, dx->dtype,
             "0: the forward's gradients stay as they are where the loss's gradient is 1");
    else
        fill(cost, elementsOf(*dx) + elementsOf(*dweight), readOf({dloss, state, dx, dweight}),
             writtenOf({dx, dweight}), dx->dtype, "n: the forward's gradients times the loss's");
    return true;
}

// --- the rest -------------------------------------------------------------------------------------------------------

constexpr const char* kAdamW = "14n: AdamW; p, g, m, v read, p, m, v written";

bool adamw(const OpCall& call, OpCost& cost) { // (params[], grads[], exp_avgs[], exp_avg_sqs[], steps[], ...)
    const std::vector<TensorMeta>*p = list(call, 0), *g = list(call, 1), *m = list(call, 2), *v = list(call, 3);
    if (p == nullptr || g == nullptr || m == nullptr || v == nullptr) return false;
    double elements = 0, params = 0, grads = 0, moments = 0;
    for (const TensorMeta& t : *p) {
        elements += elementsOf(t);
        params += denseBytes(t);
    }
    for (const TensorMeta& t : *g) grads += denseBytes(t);
    for (const auto* all : {m, v})
        for (const TensorMeta& t : *all) moments += denseBytes(t);
    fill(cost, 14 * elements, params + grads + moments, params + moments, p->front().dtype, kAdamW);
    return true;
}

// (inputs[], program): a graph knows inputs and results, a trace does not, and the program is text of its own.
bool chain(const OpCall& call, OpCost& cost) {
    const std::vector<TensorMeta>* inputs = list(call, 0);
    if (inputs == nullptr || call.out.empty()) return false;
    double read = 0, written = 0;
    for (const TensorMeta& t : *inputs) read += t.bytes();
    for (const TensorMeta& t : call.out) written += denseBytes(t);
    fill(cost, 0, read, written, inputs->front().dtype, "inputs read, results written");
    cost.flops_known = false;
    return true;
}

struct Row {
    std::string_view name;
    CostFamily cost;
};
constexpr std::array kOps{
    Row{"rms_norm", rmsNorm},
    Row{"rms_norm_forward", rmsNorm},
    Row{"rms_norm_backward", rmsNormBackward},
    Row{"add_rms_norm", addRmsNorm},
    Row{"add_rms_norm_forward", addRmsNorm},
    Row{"add_rms_norm_backward", addRmsNormBackward},
    Row{"rope", rope},
    Row{"rope_backward", rope},
    Row{"qk_norm_rope", qkNormRope},
    Row{"qk_norm_rope_forward", qkNormRope},
    Row{"qk_norm_rope_backward", qkNormRopeBackward},
    Row{"qk_norm_rope_backward_into", qkNormRopeBackward},
    Row{"swiglu", swiglu},
    Row{"swiglu_packed", swiglu},
    Row{"swiglu_backward", swigluBackward},
    Row{"swiglu_packed_backward", swigluBackward},
    Row{"packed_projection", projection},
    Row{"qkv_projection", projection},
    Row{"qkv_projection_separate", projection},
    Row{"gate_up_projection", projection},
    Row{"gate_up_projection_separate", projection},
    Row{"packed_projection_input_gradient", projectionInputGradient},
    Row{"packed_projection_weight_gradient", projectionWeightGradient},
    Row{"attention", attention},
    Row{"attention_reference", attention},
    Row{"attention_hopper", attentionHopper},
    Row{"attention_hopper_backward_atomic", attentionHopperBackward},
    Row{"attention_reference_backward", attentionReferenceBackward},
    Row{"linear_cross_entropy", linearCrossEntropy},
    Row{"linear_cross_entropy_forward", linearCrossEntropy},
    Row{"linear_cross_entropy_backward", linearCrossEntropyBackward},
    Row{"linear_cross_entropy_backward_", linearCrossEntropyBackward},
    Row{"adamw_", adamw},
    Row{"pointwise_chain", chain},
};

} // namespace

bool fusescopeCost(const OpCall& call, OpCost& cost) {
    for (const Row& row : kOps)
        if (row.name == call.name) return row.cost(call, cost);
    return false;
}

const TensorMeta* ownAttentionMask(const OpCall& call) {
    if (call.name != "attention" || call.flag(kAttention.causal, "causal")) return nullptr;
    return call.tensor(kAttention.mask, "mask");
}

} // namespace fusescope
