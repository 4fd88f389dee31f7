// SPDX-License-Identifier: Apache-2.0
#include "core/report/measured_parts.h"

#include "core/ipc/fuse_verdict.h"
#include "core/measured/roof.h"

namespace fusescope {
namespace {

void writeSpread(JsonWriter& json, const char* key, const Spread& spread) {
    json.key(key);
    if (!(spread.median > 0)) {
        json.null();
        return;
    }
    json.beginObject().member("median", spread.median).member("p10", spread.p10).member("p90", spread.p90);
    if (spread.rounds > 0) json.member("rounds", spread.rounds);
    json.endObject();
}

// A number, or null where it is not known.
void known(JsonWriter& json, const char* key, double value, bool is_known) {
    json.key(key);
    if (is_known)
        json.value(value);
    else
        json.null();
}

// What is wrong with an unsteady one stands in `<key>_doubt`.
void writeSpeedup(JsonWriter& json, const std::string& key, const Speedup& speedup) {
    known(json, key.c_str(), speedup.factor, speedup.factor > 0);
    if (const std::string doubt = doubtText(speedup); !doubt.empty()) json.member(key + "_doubt", doubt);
}

void writePair(JsonWriter& json, const char* key, const Comparison& one, double Measured::*field) {
    json.key(key).beginObject().member("baseline", one.baseline.*field);
    known(json, "fused", one.fused.*field, one.has_fused);
    json.endObject();
}

void writeTexts(JsonWriter& json, const char* key, const std::vector<std::string>& texts) {
    json.key(key).beginArray();
    for (const std::string& text : texts) json.value(text);
    json.endArray();
}

const char* nameOf(MeasuredUse use) {
    switch (use) {
    case MeasuredUse::Saving: return "takes the prediction's place";
    case MeasuredUse::NoFusedForm: return "no fused form";
    case MeasuredUse::Cpu: return "ran on the CPU";
    case MeasuredUse::OtherDevice: return "another device";
    case MeasuredUse::Busy: return "busy device";
    case MeasuredUse::Unsteady: return "unsteady runs";
    case MeasuredUse::NotInStep: return "not seen in the step";
    }
    return "";
}

} // namespace

void writeRange(JsonWriter& json, std::string_view key, const Range& ns) {
    json.key(key).beginObject().member("low", ns.low / 1e3).member("expected", ns.expected / 1e3);
    json.member("high", ns.high / 1e3).endObject();
}

void writeComparison(JsonWriter& json, const Analysis& analysis, const MeasuredResult& measured,
                     const Comparison& direction) {
    const FuseResult& result = measured.result;
    const bool fp64 = result.fp64_note.empty();
    const FuseVerdict verdict = judge(direction, fp64);
    const RoofShare roof = roofShare(measured, direction, matmulRate(analysis, result));
    json.member("direction", direction.direction);
    writeSpread(json, "baseline_us", direction.baseline.us);
    writeSpread(json, "fused_us", direction.has_fused ? direction.fused.us : Spread{});
    writeSpeedup(json, "speedup", verdict.speedup);
    writeSpread(json, "baseline_graph_us", direction.baseline.graph_us);
    writeSpread(json, "fused_graph_us", direction.has_fused ? direction.fused.graph_us : Spread{});
    writeSpeedup(json, "graph_speedup", verdict.graph_speedup);
    known(json, "fused_Bps", roof.Bps, roof.Bps > 0);
    known(json, "fused_flops", roof.flops, roof.flops > 0);
    known(json, "share_of_roof", roof.share, roof.share > 0);
    json.member("roof", roof.by_flops ? "matmul" : "copy").member("copy_Bps", result.copy_Bps);
    writePair(json, "launches", direction, &Measured::launches);
    writePair(json, "peak_bytes", direction, &Measured::peak_bytes);
    const bool errors = fp64 && direction.has_fused;
    known(json, "max_abs_error", direction.fused.max_abs_error, errors);
    known(json, "relative_error", direction.fused.relative_error, errors);
    known(json, "baseline_max_abs_error", direction.baseline.max_abs_error, fp64);
    known(json, "baseline_relative_error", direction.baseline.relative_error, fp64);
    known(json, "relative_to_baseline", direction.fused.relative_to_baseline, direction.has_fused);
    json.member("bitwise", direction.has_fused && direction.fused.bitwise).member("fused_name", direction.fused_name);
    json.member("verdict", verdictText(verdict));
    json.key("verdicts").beginObject().member("speed", speedText(verdict));
    json.member("memory", fusescope::nameOf(verdict.memory)).member("numerics", fusescope::nameOf(verdict.numerics));
    json.endObject();
    std::vector<std::string> reasons = verdictReasons(direction, result);
    if (!measured.note.empty()) reasons.push_back(measured.note);
    writeTexts(json, "reasons", reasons);
    json.member("device", result.device).member("on_gpu", result.on_gpu).member("busy", result.busy);
}

void writeMeasuredFinding(JsonWriter& json, const Analysis& analysis, const MeasuredFinding& finding) {
    json.beginObject().member("instances", static_cast<std::uint64_t>(finding.instances));
    json.member("measured_instances", static_cast<std::uint64_t>(finding.measured));
    if (finding.any()) // measured where it is, else predicted
        writeRange(json, "saving_us_per_step", finding.saving_ns);
    else
        json.key("saving_us_per_step").null();
    json.key("verdict"); // on that saving
    if (finding.any())
        json.value(nameOf(finding.verdict));
    else
        json.null();
    json.key("results").beginArray();
    for (const MeasuredClass& one : finding.classes) {
        if (one.result == nullptr) continue;
        const MeasuredResult& m = *one.result;
        json.beginObject().member("shape", m.shape);
        json.member("instances", static_cast<std::uint64_t>(one.of.instances.size()));
        json.member("use", nameOf(one.use));
        known(json, "saving_us_per_step", one.saving_ns / 1e3, one.use == MeasuredUse::Saving);
        json.member("device", m.result.device).member("on_gpu", m.result.on_gpu).member("busy", m.result.busy);
        json.member("runner", m.runner).member("versions", m.versions).member("when", whenText(m));
        json.member("note", m.note).member("caveat", caveatText(one)).key("directions").beginArray();
        for (const Comparison& direction : m.result.directions) {
            json.beginObject();
            writeComparison(json, analysis, m, direction);
            json.endObject();
        }
        json.endArray().endObject();
    }
    json.endArray().endObject();
}

void writeMeasuredPlan(JsonWriter& json, const Analysis& analysis, const MeasuredPlan& measured) {
    const Plan& plan = measured.plan;
    json.beginObject();
    writeTexts(json, "findings", plan.findings);
    json.key("parts").beginArray();
    for (const PlanPart& part : plan.parts) {
        json.beginObject().member("finding", part.finding);
        json.member("instances", static_cast<std::uint64_t>(part.instances.size()));
        writeRange(json, "saving_us", part.saving_ns);
        json.endObject();
    }
    json.endArray();
    json.member("measured_findings", static_cast<std::uint64_t>(measured.measured));
    json.member("of_findings", static_cast<std::uint64_t>(measured.parts));
    json.member("own_regions", static_cast<std::uint64_t>(measured.regions)); // in the figures below as well
    json.member("predicted_instances", static_cast<std::uint64_t>(measured.predicted_instances));
    writeTexts(json, "left_out", measured.left_out);
    writeTexts(json, "come_in", measured.come_in);
    writeRange(json, "saving_us", measured.saving_ns);
    if (analysis.trace)
        writeRange(json, "step_us", measured.predicted_step_ns);
    else
        json.key("step_us").null(); // a graph alone has no step
    json.endObject();
}

} // namespace fusescope
