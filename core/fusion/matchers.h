// SPDX-License-Identifier: Apache-2.0
// One matcher per pattern, each in a file of its own: by data flow in a graph, by order and shapes in a trace.
// A pattern appends what it found; later ones (add + norm, projections before attention) build on earlier finds.
// Private to core/fusion.
#pragma once

#include "core/fusion/graph_flow.h"
#include "core/fusion/match.h"
#include "core/fusion/trace_ops.h"

namespace fusescope {

// match_rms_norm.cpp, match_add_rms_norm.cpp
void matchRmsNorm(const GraphFlow& graph, Matches& out);
void matchRmsNorm(const TraceOps& trace, Matches& out);
void matchAddRmsNorm(const GraphFlow& graph, Matches& out); // after matchRmsNorm
void matchAddRmsNorm(const TraceOps& trace, Matches& out);
// match_rope.cpp
void matchRope(const GraphFlow& graph, Matches& out);
void matchRope(const TraceOps& trace, Matches& out);
// match_swiglu.cpp
void matchSwiGlu(const GraphFlow& graph, Matches& out);
void matchSwiGlu(const TraceOps& trace, Matches& out);
// match_attention.cpp, match_qkv.cpp
void matchAttention(const GraphFlow& graph, Matches& out);
void matchAttention(const TraceOps& trace, Matches& out);
void matchQkvProjection(const GraphFlow& graph, Matches& out);
void matchQkvProjection(const TraceOps& trace, Matches& out); // after matchAttention and matchFusedForms
// match_linear_ce.cpp
void matchLinearCrossEntropy(const GraphFlow& graph, Matches& out);
void matchLinearCrossEntropy(const TraceOps& trace, Matches& out);
// fused_forms.cpp: operators and kernels that are a fused form already, by the catalogue's names
void matchFusedForms(const GraphFlow& graph, Matches& out);
void matchFusedForms(const TraceOps& trace, Matches& out);

// Every matcher in the right order.
[[nodiscard]] Matches matchGraph(const GraphFlow& graph);
[[nodiscard]] Matches matchTrace(const TraceOps& trace);

} // namespace fusescope
