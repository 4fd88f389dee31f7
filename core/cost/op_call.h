// SPDX-License-Identifier: Apache-2.0
// One operator call as the cost families see it, from a trace row or a graph node. Private to core/cost.
#pragma once

#include "core/cost/cost.h"

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace fusescope {

struct OpCall {
    std::string_view name;                   // without namespace: "mm"
    bool own = false;                        // of FuseScope's own library: "fusescope::rms_norm"
    std::span<const OpArg> in;               // schema order
    std::span<const std::string_view> names; // graph nodes: argument names, parallel to in; traces: empty
    std::span<const TensorMeta> out;         // graph nodes: known; traces: empty

    // The i-th argument of the schema (by name where names are known); null / "" if absent or of another kind.
    [[nodiscard]] const TensorMeta* tensor(std::size_t i, std::string_view arg_name = {}) const;
    [[nodiscard]] std::string_view text(std::size_t i, std::string_view arg_name) const;
    [[nodiscard]] bool flag(std::size_t i, std::string_view arg_name) const; // "True"
    [[nodiscard]] bool inPlace() const;                                      // add_, but not __and__
    // Output of a graph node, else a tensor of these sizes and type.
    [[nodiscard]] TensorMeta output(std::vector<std::int64_t> sizes, DType dtype) const;
};

[[nodiscard]] OpCall callOf(std::string_view op); // by name alone: "aten::mm"

[[nodiscard]] inline double elementsOf(const TensorMeta& t) { return static_cast<double>(t.numel()); }
[[nodiscard]] inline double denseBytes(const TensorMeta& t) { return elementsOf(t) * sizeOf(t.dtype); }
[[nodiscard]] bool isFloating(DType type) noexcept;
// PyTorch's promotion: a tensor with dimensions outranks a scalar tensor of the same category.
[[nodiscard]] DType promoted(std::span<const TensorMeta* const> tensors) noexcept;
[[nodiscard]] std::vector<std::int64_t> broadcastSizes(std::span<const TensorMeta* const> tensors);
[[nodiscard]] std::vector<std::int64_t> integersIn(std::string_view text); // "[0, -1]" -> 0, -1

// Each family: true if it knows the operator (cost is then filled).
using CostFamily = bool (*)(const OpCall&, OpCost&);
bool matmulCost(const OpCall& call, OpCost& cost);
bool attentionCost(const OpCall& call, OpCost& cost);
bool elementwiseCost(const OpCall& call, OpCost& cost);
bool reductionCost(const OpCall& call, OpCost& cost);
bool softmaxCost(const OpCall& call, OpCost& cost);
bool normCost(const OpCall& call, OpCost& cost);
bool copyCost(const OpCall& call, OpCost& cost);
bool gatherCost(const OpCall& call, OpCost& cost);
bool optimizerCost(const OpCall& call, OpCost& cost);
bool tritonCost(const OpCall& call, OpCost& cost);
bool fusescopeCost(const OpCall& call, OpCost& cost); // own operators alone; no other family is asked for them

// Fused attention, whoever's operator it is.
struct AttentionCall {
    const TensorMeta *q = nullptr, *k = nullptr, *v = nullptr;
    const TensorMeta* mask = nullptr; // null: none
    bool causal = false, backward = false;
    bool heads_second = true; // [B, H, S, D], else [B, S, H, D]
};
bool attentionCallCost(const AttentionCall& call, OpCost& cost);
// Of fusescope::attention: its mask where it is not causal besides; null for other operators of its library.
[[nodiscard]] const TensorMeta* ownAttentionMask(const OpCall& call);

[[nodiscard]] OpCost costOfCall(const OpCall& call);

// Shorthand for the families.
inline void fill(OpCost& cost, double flops, double read, double written, DType dtype, const char* formula) {
    cost.flops = flops;
    cost.bytes_read = read;
    cost.bytes_written = written;
    cost.dtype = dtype;
    cost.flops_known = cost.bytes_known = true;
    cost.formula = formula;
}

} // namespace fusescope
