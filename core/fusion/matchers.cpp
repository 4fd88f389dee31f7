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

bool complexNumbers(DType type) {
    return type == DType::Complex32 || type == DType::Complex64 || type == DType::Complex128;
}

// The catalogue's formulas are those of real numbers. where(match): what a near miss names.
template <class Where> void leaveOutComplex(Matches& out, std::size_t begin, const Where& where) {
    const auto kept = std::stable_partition(
        out.found.begin() + static_cast<std::ptrdiff_t>(begin), out.found.end(),
        [](const Match& match) { return match.state != FusionState::Unfused || !complexNumbers(match.shape.dtype); });
    for (auto match = kept; match != out.found.end(); ++match)
        out.misses.push_back({match->pattern, where(*match), "it is of complex numbers"});
    out.found.erase(kept, out.found.end());
}

} // namespace

Matches matchGraph(const GraphFlow& graph) {
    Matches out;
    for (const Matcher& matcher : kMatchers) {
        if (matcher.in_graph == nullptr) continue;
        const std::size_t before = out.found.size();
        matcher.in_graph(graph, out);
        leaveOutComplex(out, before,
                        [&](const Match& m) { return m.nodes.empty() ? "" : graph.name(m.nodes.front()); });
    }
    return out;
}

Matches matchTrace(const StepOps& trace) {
    Matches out;
    for (const Matcher& matcher : kMatchers) {
        if (matcher.in_trace == nullptr) continue;
        const std::size_t before = out.found.size();
        matcher.in_trace(trace, out);
        leaveOutComplex(out, before,
                        [&](const Match& m) { return m.ops.empty() ? "" : trace.describe(trace.ops[m.ops.front()]); });
    }
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
