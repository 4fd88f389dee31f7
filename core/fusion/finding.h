// SPDX-License-Identifier: Apache-2.0
// What the matcher found: instances in the graph and in the step, findings with evidence and a predicted saving, the
// plan.
#pragma once

#include "core/base/ids.h"
#include "core/cost/cost.h"
#include "core/cost/device.h"
#include "core/fusion/catalog.h"
#include "core/graph/op_graph.h"
#include "core/link/link.h"
#include "core/trace/trace_store.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fusescope {

enum class FusionState : std::uint8_t { Unfused, Partial, Fused };
enum class Verdict : std::uint8_t { WorthIt, Marginal, NotBeneficial, AlreadyFused };
[[nodiscard]] std::string_view nameOf(FusionState state) noexcept; // "unfused" ...
[[nodiscard]] std::string_view
nameOf(Verdict verdict) noexcept; // "worth it", "marginal", "not beneficial", "already fused"

struct Range {
    double low = 0, expected = 0, high = 0;
    Range& operator+=(const Range& more) noexcept {
        low += more.low;
        expected += more.expected;
        high += more.high;
        return *this;
    }
};

// The sizes behind an instance: what its costs and a region of it need. 0 or empty = not known.
struct Geometry {
    DType dtype = DType::Unknown;  // of the activations outside the pattern
    double rows = 0;               // tokens, or rows that are normalised
    double width = 0;              // normalised width; intermediate size; vocabulary; summed outputs of q, k, v
    double kv_width = 0;           // outputs of k, and of v, in width
    double hidden = 0;             // inner size of the projection
    bool residual_gradient = true; // add + norm: a gradient comes along the residual too (not behind the last norm)
    double batch = 0, heads = 0, kv_heads = 0, q_len = 0, kv_len = 0, head_dim = 0; // attention, RoPE
    bool score_mask = false;         // attention, as run: a mask of q_len x kv_len goes in, and every score is computed
    std::vector<std::int64_t> sizes; // of the activation that enters: what is normalised, gate, input of a projection
    double eps = 0;                  // of a norm
    [[nodiscard]] bool known() const noexcept { return dtype != DType::Unknown && (rows > 0 || heads > 0); }
};

// One occurrence of a pattern in the analysed step (or in the graph, when there is no trace).
struct Instance {
    Pattern pattern = Pattern::PointwiseChain;
    FusionState state = FusionState::Unfused;
    ModuleId module;                         // innermost module that holds all of it
    std::vector<NodeId> nodes;               // graph nodes, topological; empty when matched on the trace alone
    std::vector<KernelId> forward, backward; // kernels of the analysed step, in time order
    double forward_ns = 0, backward_ns = 0;  // sum of their durations
    double idle_ns = 0;                      // GPU waits between them, where that is what the region costs (else 0)
    Range predicted_ns, saving_ns;           // of forward_ns + backward_ns + idle_ns
    OpCost now;                              // forward + backward, as run (sum over kernels, or nodes without a trace)
    OpCost fused;                            // forward + backward, as one kernel each: external inputs and outputs only
    OpCost fused_backward;                   // the backward's part of `fused`
    int fused_kernels = 1;                   // kernels when fused, forward + backward
    bool from_graph = false, from_trace = false;
    Geometry geometry;
    std::string shape; // of it, for people: "4096x4096 bf16"
    std::string note;  // near-miss or dtype remark
};

struct Finding {
    std::string id; // stable: "rms_norm", "pointwise_chain.1"
    Pattern pattern = Pattern::PointwiseChain;
    FusionState state = FusionState::Unfused;
    std::vector<int> signals;                 // ascending, of 1..4 (article, section 4)
    std::vector<std::string> signal_evidence; // one sentence per entry of signals
    std::vector<Instance> instances;
    double kernels_now = 0; // per instance, forward + backward (mean)
    double kernels_fused = 0;
    double time_ns = 0;    // per step, all instances, forward + backward + idle_ns
    double idle_ns = 0;    // part of time_ns: the GPU waits for launches between these kernels (0: it does not)
    Range predicted_ns;    // per step once fused
    Range saving_ns;       // time - predicted, 0 <= saving <= time
    double step_share = 0; // of the step, where kernels run side by side by their part; 0 without a trace
    double bytes_now = 0, bytes_fused = 0; // per step
    bool time_estimated = false;           // no trace, or none of it was seen there: times come from the roofline
    // What is fused and yet far from what it could be: how (reasons says it too) and up to how much of a step. An
    // estimate with an "if", so no part of the saving, the verdict or the plan. "" and 0: nothing worth a word.
    std::string headroom;
    double headroom_ns = 0;
    Verdict verdict = Verdict::Marginal;
    std::vector<std::string> reasons;     // plain sentences: why this saving, why this verdict
    std::vector<std::string> near_misses; // "pow_1: mean does not average over the last dimension alone"
    std::vector<std::string> conflicts;   // ids of findings that share kernels or nodes
    std::vector<std::string> modules;     // module paths, folds as "model.layers.*.mlp"
    std::vector<std::string> source;      // "modeling_qwen3.py:63"
};

// Findings overlap as wholes (four of nine RMSNorms also belong to add + norm), so the plan chooses among instances: no
// two chosen instances share a kernel or a node, and a finding takes part with those of its instances that were chosen.
struct PlanPart {
    std::string finding;                  // id
    std::vector<std::uint32_t> instances; // chosen ones, indices into Finding::instances
    Range saving_ns;                      // of these
};
struct Plan {                          // the best set of instances that do not overlap
    std::vector<std::string> findings; // ids, by saving within the plan
    std::vector<PlanPart> parts;       // parallel to findings
    double step_ns = 0;                // measured; on another GPU than the trace's: estimated for it
    Range saving_ns;                   // sum over parts
    Range unseen_ns; // of it, of instances without kernels in the step: estimates, which its time does not bound
    Range predicted_step_ns; // without unseen_ns
};

struct FusionInput { // either of trace (with link and costs) and graph may be null, not both
    const TraceStore* trace = nullptr;
    const Link* link = nullptr;
    const std::vector<OpCost>* kernel_costs = nullptr; // parallel to trace->kernels
    // Parallel to trace->kernels, or null: what measured times are multiplied with, where `device` is not the GPU that
    // the trace was recorded on.
    const std::vector<double>* time_factors = nullptr;
    const ModelGraph* graph = nullptr;
    DeviceSpec device;
    std::int16_t step = -1; // analysed step, -1: the trace has none (all kernels are taken as one)
    double step_ns = 0;     // wall time of that step (on `device`)
};

// Findings ranked by expected saving; then by headroom what is fused already, what saves nothing, and what is fused and
// leaves nothing.
[[nodiscard]] std::vector<Finding> findFusions(const FusionInput& input);
// What instances save as measured (ns per step, negative: they lose), parallel to findings and their instances; a
// finding of which nothing is measured may have an empty list.
using MeasuredSavings = std::vector<std::vector<std::optional<double>>>;
// What a saving (ns per step) of the finding is of the step: where its kernels run beside others, the part that the
// prediction's is. 0 where no step knows it. step_ns: the step's time, 0 without one.
[[nodiscard]] double shareOfSaving(const Finding& finding, double saving_ns, double step_ns) noexcept;
// The verdict that a saving (ns per step) gives, of instances that take time_ns: by the thresholds of the prediction's
// (core/fusion/reasons.cpp). step_ns: the step's time, 0 without one.
[[nodiscard]] Verdict verdictOfSaving(const Finding& finding, double saving_ns, double time_ns,
                                      double step_ns) noexcept;
// From measured savings where there are any, else from predicted ones. verdicts: of the findings once measured,
// parallel to them; without, what is measured takes part whatever its verdict.
[[nodiscard]] Plan makePlan(const std::vector<Finding>& findings, double step_ns, const MeasuredSavings& measured = {},
                            const std::vector<Verdict>& verdicts = {});
// There is a step, and nothing of the plan was seen in it: the step's time is not known to get shorter.
[[nodiscard]] bool nothingSeen(const Plan& plan) noexcept;
// What the finding gives to the plan; null when it takes no part.
[[nodiscard]] const PlanPart* planPartOf(const Plan& plan, std::string_view finding) noexcept;
// Findings of the plan that take over instances which this one leaves to them.
[[nodiscard]] std::vector<std::string> takenOverBy(const std::vector<Finding>& findings, const Plan& plan,
                                                   const Finding& finding);
// What to change in the model; "" when it is fused already.
[[nodiscard]] const std::string& changeText(const Finding& finding);
// Patterns that are looked for in unfused form, in the catalogue's order, and their titles in one line.
[[nodiscard]] std::vector<Pattern> searchedPatterns();
[[nodiscard]] std::string searchedText();

} // namespace fusescope
