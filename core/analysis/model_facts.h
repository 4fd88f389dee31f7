// SPDX-License-Identifier: Apache-2.0
// The article's section 2.1: what the printed model tells at a glance.
#pragma once

#include "core/graph/op_graph.h"
#include "core/link/link.h"
#include "core/trace/trace_store.h"

#include <cstdint>
#include <string>

namespace fusescope {

struct ModelFacts { // -1 or "" = not known from this input
    std::int64_t layers = -1, hidden = -1, heads = -1, kv_heads = -1, head_dim = -1, intermediate = -1, vocab = -1;
    std::string gqa;                                   // "4:1"
    std::string mlp;                                   // "SwiGLU"
    std::int64_t norms_per_layer = -1;                 // RMSNorms of hidden width (the article counts two)
    int qk_norm = -1, bias = -1, tied_embeddings = -1; // tristate: 1 yes, 0 no
    std::int64_t parameters = -1;
    std::string decoder_class; // "Qwen3DecoderLayer"
};

[[nodiscard]] ModelFacts modelFacts(const ModelGraph& graph);
[[nodiscard]] ModelFacts modelFacts(const TraceStore& trace, const Link& link); // what shapes and modules reveal

} // namespace fusescope
