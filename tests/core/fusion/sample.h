// SPDX-License-Identifier: Apache-2.0
// The bundled sample (2 layers of Qwen3-8B, eager attention), opened once, with its last step as the one analysed.
#pragma once

#include "core/cost/cost.h"
#include "core/fusion/finding.h"
#include "core/io/open.h"
#include "core/link/link.h"
#include "tests/support/files.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace fusescope::test {

struct Sample {
    GraphPtr graph;
    TracePtr trace;
    Link alone, linked; // without and with the graph
    std::vector<OpCost> costs_alone, costs_linked;
    DeviceSpec device;

    // with: "graph", "trace" or "both"
    [[nodiscard]] FusionInput input(bool with_graph, bool with_trace) const {
        FusionInput in;
        in.device = device;
        if (with_graph) in.graph = graph.get();
        if (with_trace) {
            in.trace = trace.get();
            in.link = with_graph ? &linked : &alone;
            in.kernel_costs = with_graph ? &costs_linked : &costs_alone;
            in.step = static_cast<std::int16_t>(trace->steps.size() - 1);
            in.step_ns = static_cast<double>(trace->steps.back().end - trace->steps.back().begin);
        }
        return in;
    }
};

inline const Sample& sample() {
    static const Sample one = [] {
        Sample s;
        Progress progress;
        auto graph = openFile(samplePath("qwen3-8b-2layer-eager.pt2"), progress);
        auto trace = openFile(samplePath("qwen3-8b-2layer-train-eager.pt.trace.json.gz"), progress);
        EXPECT_TRUE(graph.ok());
        EXPECT_TRUE(trace.ok());
        s.graph = std::get<GraphPtr>(*graph);
        s.trace = std::get<TracePtr>(*trace);
        s.alone = linkTrace(*s.trace, nullptr, progress);
        s.linked = linkTrace(*s.trace, s.graph.get(), progress);
        s.costs_alone = costOfKernels(*s.trace, s.alone);
        s.costs_linked = costOfKernels(*s.trace, s.linked);
        s.device = deviceOfTrace(*s.trace);
        return s;
    }();
    return one;
}

inline const Finding* findById(const std::vector<Finding>& findings, std::string_view id) {
    const auto found = std::find_if(findings.begin(), findings.end(), [&](const Finding& f) { return f.id == id; });
    return found == findings.end() ? nullptr : &*found;
}

} // namespace fusescope::test
