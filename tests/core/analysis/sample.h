// SPDX-License-Identifier: Apache-2.0
// The bundled sample (two layers of Qwen3-8B, two training steps on an H200), analysed once per test program.
#pragma once

#include "core/analysis/analysis.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace fusescope::testing {

inline const std::string kSampleGraph = FUSESCOPE_SAMPLES_DIR "/qwen3-8b-2layer-eager.pt2";
inline const std::string kSampleTrace = FUSESCOPE_SAMPLES_DIR "/qwen3-8b-2layer-train-eager.pt.trace.json.gz";

inline AnalysisPtr analysed(const std::vector<std::string>& files, const AnalyzeOptions& options = {}) {
    Progress progress;
    auto result = analyzeFiles(files, options, progress);
    EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message());
    return result.ok() ? *result : nullptr;
}
inline const Analysis& both() {
    static const AnalysisPtr a = analysed({kSampleGraph, kSampleTrace});
    return *a;
}
inline const Analysis& traceOnly() {
    static const AnalysisPtr a = analysed({kSampleTrace});
    return *a;
}
inline const Analysis& graphOnly() {
    static const AnalysisPtr a = analysed({kSampleGraph});
    return *a;
}
inline const Finding* finding(const Analysis& a, std::string_view id) {
    for (const Finding& f : a.findings)
        if (f.id == id) return &f;
    return nullptr;
}

} // namespace fusescope::testing
