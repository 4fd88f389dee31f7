// SPDX-License-Identifier: Apache-2.0
// From instances to ranked findings: sums, signals, verdict, reasons.
#include "core/fusion/finding.h"

#include "core/fusion/headroom.h"
#include "core/fusion/instances.h"
#include "core/fusion/matchers.h"
#include "core/fusion/places.h"
#include "core/fusion/predict.h"
#include "core/fusion/reasons.h"
#include "core/fusion/side_by_side.h"
#include "core/fusion/signals.h"
#include "core/fusion/traffic.h"

#include <algorithm>
#include <map>
#include <optional>

namespace fusescope {
namespace fusion {
namespace {

// Waits belong to a region's cost when they are a good part of it; small ones are there in any trace.
constexpr double kLaunchBound = 0.5;

std::string numberText(double value) { return std::to_string(static_cast<long long>(value)); }

std::string shapeText(const Geometry& shape) {
    if (!shape.known()) return {};
    std::string text;
    if (shape.heads > 0) {
        text = numberText(shape.heads);
        if (shape.kv_heads > 0 && shape.kv_heads != shape.heads) text += "/" + numberText(shape.kv_heads);
        text += " heads x " + numberText(shape.head_dim) + ", " + numberText(shape.batch * shape.q_len) + " tokens";
        if (shape.kv_len > 0 && shape.kv_len != shape.q_len) text += " on " + numberText(shape.kv_len);
    } else {
        text = numberText(shape.rows) + "x" + numberText(shape.width);
        if (shape.hidden > 0) text += " from " + numberText(shape.hidden);
    }
    return text + " " + std::string(shortName(shape.dtype));
}

void dropSmallWaits(std::vector<Draft>& drafts) {
    std::map<Pattern, std::pair<double, double>> sums; // waits, kernels
    for (const Draft& draft : drafts) {
        auto& [waits, kernels] = sums[draft.instance.pattern];
        waits += draft.instance.idle_ns;
        kernels += draft.instance.forward_ns + draft.instance.backward_ns;
    }
    for (Draft& draft : drafts) {
        const auto& [waits, kernels] = sums[draft.instance.pattern];
        if (waits < kLaunchBound * kernels) draft.instance.idle_ns = 0;
    }
}

FusionState stateOf(const std::vector<const Draft*>& drafts) {
    std::size_t fused = 0, unfused = 0;
    for (const Draft* draft : drafts) {
        if (draft->instance.state == FusionState::Fused) ++fused;
        if (draft->instance.state == FusionState::Unfused) ++unfused;
    }
    if (fused == drafts.size()) return FusionState::Fused;
    return unfused == drafts.size() ? FusionState::Unfused : FusionState::Partial;
}

Finding findingOf(const FusionInput& input, const StepOps* trace, const SideBySide& beside, Pattern pattern,
                  const std::vector<const Draft*>& drafts) {
    double of_step_ns = 0;
    Finding finding;
    finding.id = std::string(idOf(pattern));
    finding.pattern = pattern;
    finding.state = stateOf(drafts);
    finding.time_estimated = std::all_of(drafts.begin(), drafts.end(), [](const Draft* d) {
        return d->instance.forward.empty() && d->instance.backward.empty();
    });
    if (drafts.empty()) finding.time_estimated = input.trace == nullptr; // near misses alone
    for (const Draft* draft : drafts) {
        const Instance& instance = draft->instance;
        const std::size_t kernels = instance.forward.size() + instance.backward.size();
        finding.kernels_now += static_cast<double>(kernels > 0 ? kernels : countWorkingNodes(input, instance));
        finding.kernels_fused += instance.fused_kernels;
        finding.time_ns += instance.forward_ns + instance.backward_ns + instance.idle_ns;
        finding.idle_ns += instance.idle_ns;
        finding.bytes_now += instance.now.bytes();
        finding.bytes_fused += instance.fused.bytes();
        finding.predicted_ns += instance.predicted_ns;
        finding.saving_ns += instance.saving_ns;
        of_step_ns += instance.saving_ns.expected * beside.partOf(instance);
        finding.instances.push_back(instance);
    }
    const double n = static_cast<double>(std::max<std::size_t>(drafts.size(), 1));
    finding.kernels_now /= n;
    finding.kernels_fused /= n;
    if (input.step_ns > 0 && !finding.time_estimated) finding.step_share = of_step_ns / input.step_ns;
    findSignals(input, drafts, finding);
    finding.verdict = verdictOf(finding);
    findHeadroom(input, beside, finding);
    finding.modules = modulesOf(input, drafts);
    finding.source = sourcesOf(input, trace, drafts);
    return finding;
}

// Reasons of near misses, alike ones once, with how often.
std::vector<std::string> missTexts(const Matches& graph, const Matches& trace, Pattern pattern) {
    std::vector<std::string> order;
    std::map<std::string, int> times;
    for (const Matches* side : {&graph, &trace}) {
        for (const NearMiss& miss : side->misses) {
            if (miss.pattern != pattern) continue;
            const std::string text = foldedPath(miss.where) + ": " + miss.reason;
            if (times[text]++ == 0) order.push_back(text);
        }
    }
    for (std::string& text : order)
        if (const int count = times[text]; count > 1) text += " (" + std::to_string(count) + " times)";
    constexpr std::size_t kMost = 10;
    if (order.size() > kMost) order.resize(kMost);
    return order;
}

void findConflicts(std::vector<Finding>& findings) {
    const auto kernelsOf = [](const Finding& finding, std::vector<KernelId>& kernels, std::vector<NodeId>& nodes) {
        for (const Instance& instance : finding.instances) {
            kernels.insert(kernels.end(), instance.forward.begin(), instance.forward.end());
            kernels.insert(kernels.end(), instance.backward.begin(), instance.backward.end());
            nodes.insert(nodes.end(), instance.nodes.begin(), instance.nodes.end());
        }
        std::sort(kernels.begin(), kernels.end());
        std::sort(nodes.begin(), nodes.end());
    };
    std::vector<std::vector<KernelId>> kernels(findings.size());
    std::vector<std::vector<NodeId>> nodes(findings.size());
    for (std::size_t i = 0; i < findings.size(); ++i) kernelsOf(findings[i], kernels[i], nodes[i]);
    for (std::size_t a = 0; a < findings.size(); ++a)
        for (std::size_t b = 0; b < findings.size(); ++b) {
            if (a == b) continue;
            std::vector<KernelId> both;
            std::set_intersection(kernels[a].begin(), kernels[a].end(), kernels[b].begin(), kernels[b].end(),
                                  std::back_inserter(both));
            std::vector<NodeId> shared;
            std::set_intersection(nodes[a].begin(), nodes[a].end(), nodes[b].begin(), nodes[b].end(),
                                  std::back_inserter(shared));
            if (!both.empty() || !shared.empty()) findings[a].conflicts.push_back(findings[b].id);
        }
}

} // namespace
} // namespace fusion

std::string_view nameOf(FusionState state) noexcept {
    switch (state) {
    case FusionState::Unfused: return "unfused";
    case FusionState::Partial: return "partial";
    case FusionState::Fused: return "fused";
    }
    return "unfused";
}

std::string_view nameOf(Verdict verdict) noexcept {
    switch (verdict) {
    case Verdict::WorthIt: return "worth it";
    case Verdict::Marginal: return "marginal";
    case Verdict::NotBeneficial: return "not beneficial";
    case Verdict::AlreadyFused: return "already fused";
    }
    return "marginal";
}

std::vector<Finding> findFusions(const FusionInput& input) {
    using namespace fusion;
    std::optional<GraphFlow> graph;
    std::optional<StepOps> trace;
    Matches in_graph, in_trace;
    if (input.graph != nullptr) {
        graph.emplace(*input.graph);
        in_graph = matchGraph(*graph);
    }
    if (input.trace != nullptr && input.link != nullptr && input.link->kernels.size() == input.trace->kernels.size()) {
        trace.emplace(*input.trace, *input.link, input.step);
        in_trace = matchTrace(*trace);
    }
    FusionInput use = input;
    if (!trace) {
        use.trace = nullptr;
        use.link = nullptr;
        use.kernel_costs = nullptr;
    }
    std::vector<Draft> drafts = joinMatches(use, graph ? &*graph : nullptr, graph ? &in_graph : nullptr,
                                            trace ? &*trace : nullptr, trace ? &in_trace : nullptr);
    if (trace) addBackward(*trace, drafts);
    addCosts(use, drafts);
    dropSmallWaits(drafts);
    for (Draft& draft : drafts) {
        predict(use, draft);
        draft.instance.shape = shapeText(draft.shape);
        draft.instance.geometry = draft.shape;
    }

    const SideBySide beside(use.trace, use.link, use.step);
    std::vector<Finding> findings;
    for (std::size_t p = 0; p < kPatternCount; ++p) {
        const auto pattern = static_cast<Pattern>(p);
        std::vector<const Draft*> of_pattern;
        for (const Draft& draft : drafts)
            if (draft.instance.pattern == pattern) of_pattern.push_back(&draft);
        std::vector<std::string> misses = missTexts(in_graph, in_trace, pattern);
        if (of_pattern.empty() && misses.empty()) continue;
        Finding finding = findingOf(use, trace ? &*trace : nullptr, beside, pattern, of_pattern);
        finding.near_misses = std::move(misses);
        if (of_pattern.empty()) { // only near misses: said aloud, nothing promised
            finding.state = FusionState::Unfused;
            finding.verdict = Verdict::NotBeneficial;
        }
        finding.reasons = reasonsOf(use, finding);
        findings.push_back(std::move(finding));
    }
    // What saves, what is fused and leaves something, what saves nothing, what is as good as it gets.
    const auto rank = [](const Finding& finding) {
        if (finding.verdict == Verdict::AlreadyFused) return finding.headroom_ns > 0 ? 1 : 3;
        return finding.saving_ns.expected > 0 ? 0 : 2;
    };
    std::stable_sort(findings.begin(), findings.end(), [&](const Finding& a, const Finding& b) {
        if (rank(a) != rank(b)) return rank(a) < rank(b);
        return rank(a) == 1 ? a.headroom_ns > b.headroom_ns : a.saving_ns.expected > b.saving_ns.expected;
    });
    findConflicts(findings);
    return findings;
}

} // namespace fusescope
