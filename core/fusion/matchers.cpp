// SPDX-License-Identifier: Apache-2.0
// The table of matchers. What is said to have been looked for is read off it.
#include "core/fusion/matchers.h"

#include "core/fusion/finding.h"

#include <algorithm>
#include <array>

namespace fusescope {
namespace fusion {
namespace {

struct Matcher {
    Pattern pattern;  // looked for in unfused form
    bool fused_forms; // the catalogue's names instead, of every pattern
    void (*in_graph)(const GraphFlow& graph, Matches& out);
    void (*in_trace)(const StepOps& trace, Matches& out);
};

constexpr std::array<Matcher, 9> kMatchers{{
    {Pattern::Attention, false, matchAttention, matchAttention},
    {Pattern::RmsNorm, false, matchRmsNorm, matchRmsNorm},
    {Pattern::AddRmsNorm, false, matchAddRmsNorm, matchAddRmsNorm},
    {Pattern::Rope, false, matchRope, matchRope},
    {Pattern::SwiGlu, false, matchSwiGlu, matchSwiGlu},
    {Pattern::LinearCrossEntropy, false, matchLinearCrossEntropy, matchLinearCrossEntropy},
    {Pattern::PointwiseChain, true, matchFusedForms, matchFusedForms},
    {Pattern::QkvProjection, false, matchQkvProjection, matchQkvProjection},
    {Pattern::Optimizer, false, nullptr, matchOptimizer},
}};

} // namespace

Matches matchGraph(const GraphFlow& graph) {
    Matches out;
    for (const Matcher& matcher : kMatchers)
        if (matcher.in_graph != nullptr) matcher.in_graph(graph, out);
    return out;
}

Matches matchTrace(const StepOps& trace) {
    Matches out;
    for (const Matcher& matcher : kMatchers)
        if (matcher.in_trace != nullptr) matcher.in_trace(trace, out);
    return out;
}

} // namespace fusion

std::vector<Pattern> searchedPatterns() {
    std::vector<Pattern> out;
    for (const fusion::Matcher& matcher : fusion::kMatchers)
        if (!matcher.fused_forms) out.push_back(matcher.pattern);
    std::sort(out.begin(), out.end());
    return out;
}

std::string searchedText() {
    std::string text;
    for (const Pattern pattern : searchedPatterns()) text += (text.empty() ? "" : ", ") + catalogEntry(pattern).title;
    return text;
}

} // namespace fusescope
