// SPDX-License-Identifier: Apache-2.0
#include "core/report/report_text.h"

#include "core/analysis/step_text.h"
#include "core/base/format.h"
#include "core/draw/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace fusescope {

std::string_view signalName(int signal) noexcept {
    switch (signal) {
    case 1: return "Many small kernels";
    case 2: return "Memory-bound operators in a row";
    case 3: return "Repeated in every layer";
    case 4: return "One formula in several steps";
    default: return "Signal";
    }
}

std::string deviceText(const DeviceSpec& device) {
    const std::string name = device.name.empty() ? "Unknown device" : device.name;
    switch (device.source) {
    case DeviceSource::Trace: return name + " (named in the trace; figures from the preset)";
    case DeviceSource::Preset: return name + " (preset)";
    case DeviceSource::Calibrated:
        return name + " (calibrated" + (device.origin.empty() ? "" : ": " + device.origin) + ")";
    case DeviceSource::Assumed: break;
    }
    return name + " (assumed: the files name no device that is known)";
}

std::string rangeText(const Range& ns) {
    const std::string low = formatDuration(ns.low), high = formatDuration(ns.high);
    std::string text = formatDuration(ns.expected);
    if (low != high) text += fmt::format(" ({} to {})", low, high);
    return text;
}

std::string kernelsText(const Finding& finding) {
    if (!(finding.kernels_now > 0)) return "–";
    return formatMean(finding.kernels_now) +
           (finding.kernels_fused > 0 ? " → " + formatMean(finding.kernels_fused) : std::string());
}

std::string timeText(const Finding& finding) {
    if (!(finding.time_ns > 0)) return "–";
    if (!(finding.idle_ns > 0)) return formatDuration(finding.time_ns);
    return fmt::format("{}: {} kernels, {} waiting for launches", formatDuration(finding.time_ns),
                       formatDuration(finding.time_ns - finding.idle_ns), formatDuration(finding.idle_ns));
}

std::string planRestText(const Analysis& analysis, const MeasuredView& measured, const PlanPart& part) {
    const Finding* finding = findingById(analysis, part.finding);
    if (finding == nullptr) return {};
    const auto& result = measured.findings[static_cast<std::size_t>(finding - analysis.findings.data())];
    const double all = result ? result->saving_ns.expected : finding->saving_ns.expected;
    if (all <= part.saving_ns.expected * 1.001) return {};
    std::string others;
    for (const std::string& id : takenOverBy(analysis.findings, measured.plan.plan, *finding))
        if (const Finding* other = findingById(analysis, id))
            others += (others.empty() ? "" : ", ") + catalogEntry(other->pattern).title;
    return "of " + formatDuration(all) + (others.empty() ? std::string() : "; the rest is counted in " + others);
}

std::string modelText(const ModelFacts& model) {
    std::vector<std::string> parts;
    const auto number = [&](std::string_view name, std::int64_t n) {
        if (n > 0) parts.push_back(fmt::format("{} {}", name, n));
    };
    if (model.layers > 0)
        parts.push_back(
            fmt::format("{} × {}", model.layers, model.decoder_class.empty() ? "decoder layer" : model.decoder_class));
    number("hidden", model.hidden);
    if (model.heads > 0 && model.kv_heads > 0)
        parts.push_back(fmt::format("{} heads, {} for K and V", model.heads, model.kv_heads));
    number("head size", model.head_dim);
    number("intermediate", model.intermediate);
    number("vocabulary", model.vocab);
    if (!model.mlp.empty()) parts.push_back(model.mlp + " MLP");
    if (model.parameters > 0) parts.push_back(formatCountShort(static_cast<double>(model.parameters)) + " parameters");
    std::string text;
    for (const std::string& part : parts) text += (text.empty() ? "" : " · ") + part;
    return text;
}

std::vector<ProblemLine> problemLines(const Analysis& analysis) {
    std::vector<ProblemLine> lines;
    for (const Error& error : analysis.file_errors) lines.push_back({"", "not used", error.message(), 1});
    if (analysis.trace)
        for (const Problem& p : analysis.trace->problems)
            lines.push_back({std::string(fileName(analysis.trace->path)), p.kind,
                             fmt::format("{} (first at byte {})", p.message, p.first_offset), p.count});
    if (analysis.graph)
        for (const GraphProblem& p : analysis.graph->problems)
            lines.push_back({std::string(fileName(analysis.graph->path)), p.kind, p.message, p.count});
    return lines;
}

const Finding* findingById(const Analysis& analysis, std::string_view id) {
    const auto at =
        std::find_if(analysis.findings.begin(), analysis.findings.end(), [&](const Finding& f) { return f.id == id; });
    return at == analysis.findings.end() ? nullptr : &*at;
}

std::vector<std::string> methodNotes(const Analysis& analysis, const MeasuredView& measured) {
    const DeviceSpec& d = analysis.device;
    std::vector<std::string> notes;
    notes.push_back(fmt::format("Device: {}. Peak bandwidth {}; a plain copy reaches {} ({}); bf16 tensor cores {}; "
                                "the ridge lies at {} FLOP/byte.",
                                deviceText(d), formatBandwidth(d.bandwidth_Bps),
                                formatBandwidth(d.practicalBandwidth()),
                                d.copy_bandwidth_Bps > 0 ? "measured" : "88% of the peak is assumed",
                                formatFlopRate(d.bf16_tensor), formatSignificant(d.ridge())));
    notes.push_back("Saving: the bytes that a fused kernel no longer moves, divided by the bandwidth reached in "
                    "practice, and the launches it no "
                    "longer makes where the GPU waits for the CPU. A saving is never more than the region's own time; "
                    "the range says how sure it is.");
    notes.push_back(
        "Bytes are compulsory traffic: each distinct input element read once, each output element written once. FLOPs "
        "come from the "
        "recorded shapes. What has no formula is left out of the roofline and counted as unknown, not as zero.");
    notes.push_back(fmt::format("A launch is taken to cost {} on the CPU. Work is bound by launches when the launch "
                                "costs more than a fifth of its time.",
                                formatDuration(d.launch_us * 1e3)));
    notes.push_back(
        "Findings may overlap: the savings of whole findings may not be added. The plan counts each kernel "
        "once, with those instances of a finding that no other part of the plan takes: its figures add up.");
    if (measured.any())
        notes.push_back(
            "Measured: a runner ran the region's operators as they are and fused, forward and backward, on made-up "
            "inputs of the recorded shapes; times are medians, ± half of the spread from the 10th to the 90th "
            "percentile. A measured saving is what one instance saves times the instances, never more than they take "
            "in the step; where the GPU does not wait for launches, times under a CUDA graph count. The plan is "
            "chosen from measured savings where there are any. What ran on a CPU, on another GPU or beside other jobs "
            "replaces no prediction.");
    if (const std::string note = otherDeviceNote(analysis); !note.empty()) notes.push_back(note);
    if (const std::string note = stepScopeNote(analysis); !note.empty()) notes.push_back(note);
    if (!analysis.trace)
        notes.push_back("No trace was opened: times come from the roofline, not from a measurement, and nothing is "
                        "known about launches or idle time.");
    if (!analysis.graph)
        notes.push_back("No model graph was opened: regions were matched on the trace alone, and modules come from the "
                        "profiler's own records.");
    return notes;
}

} // namespace fusescope
