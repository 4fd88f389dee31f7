// SPDX-License-Identifier: Apache-2.0
// The bundled sample (2 layers of Qwen3-8B, eager attention, training at 1 x 4096 tokens), analysed with and without
// its graph and its trace.
#pragma once

#include "core/analysis/analysis.h"
#include "core/region/build.h"
#include "tests/support/files.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace fusescope::test {

inline AnalysisPtr analysed(const std::vector<std::string>& files) {
    std::vector<std::string> paths;
    for (const std::string& file : files) paths.push_back(samplePath(file));
    Progress progress;
    Result<AnalysisPtr> analysis = analyzeFiles(paths, {}, progress);
    EXPECT_TRUE(analysis.ok());
    return analysis ? *analysis : nullptr;
}

constexpr const char *kGraphFile = "qwen3-8b-2layer-eager.pt2",
                     *kTraceFile = "qwen3-8b-2layer-train-eager.pt.trace.json.gz";

inline const Analysis& bothFiles() {
    static const AnalysisPtr analysis = analysed({kGraphFile, kTraceFile});
    return *analysis;
}
inline const Analysis& graphAlone() {
    static const AnalysisPtr analysis = analysed({kGraphFile});
    return *analysis;
}
inline const Analysis& traceAlone() {
    static const AnalysisPtr analysis = analysed({kTraceFile});
    return *analysis;
}

inline const Finding& findingIn(const Analysis& analysis, std::string_view id) {
    static const Finding none;
    for (const Finding& finding : analysis.findings)
        if (finding.id == id) return finding;
    ADD_FAILURE() << "no finding " << id;
    return none;
}

inline NodeId nodeNamed(const ModelGraph& graph, std::string_view name) {
    for (std::size_t n = 0; n < graph.ops.nodes.size(); ++n)
        if (graph.ops.name(NodeId(n)) == name) return NodeId(n);
    ADD_FAILURE() << "no node " << name;
    return {};
}

inline std::vector<NodeId> nodesNamed(const ModelGraph& graph, const std::vector<const char*>& names) {
    std::vector<NodeId> nodes;
    for (const char* name : names) nodes.push_back(nodeNamed(graph, name));
    return nodes;
}

inline std::vector<std::string> opsOf(const RegionProgram& program) {
    std::vector<std::string> ops;
    for (const RegionStep& step : program.steps)
        ops.push_back(step.overload.empty() ? step.op : step.op + "." + step.overload);
    return ops;
}

inline const RegionArgValue* argOf(const RegionStep& step, std::string_view name) {
    for (const RegionArg& arg : step.args)
        if (arg.name == name) return &arg.value;
    return nullptr;
}

// "bf16 1x4096x4096 normal", sorted: what enters, whatever it is called.
inline std::vector<std::string> inputTexts(const Region& region) {
    std::vector<std::string> texts;
    for (const RegionInput& input : region.inputs) {
        std::string text(shortName(input.meta.dtype));
        char separator = ' ';
        for (const std::int64_t size : input.meta.sizes) {
            text += separator + std::to_string(size);
            separator = 'x';
        }
        text += " " + std::string(nameOf(input.fill));
        if (input.bound > 0) text += " " + std::to_string(input.bound);
        texts.push_back(text + (input.gradient ? " grad" : ""));
    }
    std::sort(texts.begin(), texts.end());
    return texts;
}

} // namespace fusescope::test
