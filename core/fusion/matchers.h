// SPDX-License-Identifier: Apache-2.0
// One matcher per pattern, each in a file of its own: by data flow in a graph, by order and shapes in a trace.
// A pattern appends what it found; later ones (add + norm, projections before attention) build on earlier finds.
// Private to core/fusion.
#pragma once

#include "core/fusion/graph_flow.h"
#include "core/fusion/match.h"
#include "core/fusion/step_ops.h"

namespace fusescope::fusion {

// match_rms_norm.cpp, match_add_rms_norm.cpp
void matchRmsNorm(const GraphFlow& graph, Matches& out);
void matchRmsNorm(const StepOps& trace, Matches& out);
void matchAddRmsNorm(const GraphFlow& graph, Matches& out); // after matchRmsNorm
void matchAddRmsNorm(const StepOps& trace, Matches& out);
// match_rope.cpp
void matchRope(const GraphFlow& graph, Matches& out);
void matchRope(const StepOps& trace, Matches& out);
// match_swiglu.cpp
void matchSwiGlu(const GraphFlow& graph, Matches& out);
void matchSwiGlu(const StepOps& trace, Matches& out);
// match_attention.cpp, match_qkv.cpp
void matchAttention(const GraphFlow& graph, Matches& out);
void matchAttention(const StepOps& trace, Matches& out);
void matchQkvProjection(const GraphFlow& graph, Matches& out);
void matchQkvProjection(const StepOps& trace, Matches& out); // after matchAttention and matchFusedForms
// match_linear_ce.cpp
void matchLinearCrossEntropy(const GraphFlow& graph, Matches& out);
void matchLinearCrossEntropy(const StepOps& trace, Matches& out);
// fused_forms.cpp: operators and kernels that are a fused form already, by the catalogue's names
void matchFusedForms(const GraphFlow& graph, Matches& out);
void matchFusedForms(const StepOps& trace, Matches& out);
// "triton_*mean*rsqrt": the parts occur in a name in this order.
[[nodiscard]] bool fits(std::string_view name, std::string_view glob) noexcept;
// match_optimizer.cpp
void matchOptimizer(const StepOps& trace, Matches& out); // after matchFusedForms

// Every matcher in the right order.
[[nodiscard]] Matches matchGraph(const GraphFlow& graph);
[[nodiscard]] Matches matchTrace(const StepOps& trace);

} // namespace fusescope::fusion
