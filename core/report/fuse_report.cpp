// SPDX-License-Identifier: Apache-2.0
#include "core/report/fuse_report.h"

#include "core/base/json_writer.h"
#include "core/ipc/fuse_verdict.h"

#include <algorithm>

namespace fusescope {
namespace {

void writeSpread(JsonWriter& json, const char* key, const Spread& spread) {
    json.key(key);
    if (!(spread.median > 0)) {
        json.null();
        return;
    }
    json.beginObject().member("median", spread.median).member("p10", spread.p10).member("p90", spread.p90).endObject();
}

void writeRange(JsonWriter& json, const char* key, const Range& ns) {
    json.key(key).beginObject().member("low", ns.low / 1e3).member("expected", ns.expected / 1e3);
    json.member("high", ns.high / 1e3).endObject();
}

// A number, or null where it is not known.
void known(JsonWriter& json, const char* key, double value, bool is_known) {
    json.key(key);
    if (is_known)
        json.value(value);
    else
        json.null();
}

void writePair(JsonWriter& json, const char* key, const Comparison& one, double Measured::*field) {
    json.key(key).beginObject().member("baseline", one.baseline.*field);
    known(json, "fused", one.fused.*field, one.has_fused);
    json.endObject();
}

void writeDirection(JsonWriter& json, const MeasuredRegion& region, const Comparison& one, const FuseReport& report) {
    const FuseResult& result = *region.result;
    const bool fp64 = result.fp64_note.empty();
    const FuseVerdict verdict = judge(one, fp64);
    const RoofShare roof = roofShare(region, one, report);
    json.beginObject();
    json.member("region", region.region).member("pattern", region.pattern).member("direction", one.direction);
    writeSpread(json, "baseline_us", one.baseline.us);
    writeSpread(json, "fused_us", one.has_fused ? one.fused.us : Spread{});
    known(json, "speedup", verdict.speedup, verdict.speedup > 0);
    writeSpread(json, "baseline_graph_us", one.baseline.graph_us);
    writeSpread(json, "fused_graph_us", one.has_fused ? one.fused.graph_us : Spread{});
    known(json, "graph_speedup", verdict.graph_speedup, verdict.graph_speedup > 0);
    known(json, "fused_Bps", roof.Bps, roof.Bps > 0);
    known(json, "fused_flops", roof.flops, roof.flops > 0);
    known(json, "share_of_roof", roof.share, roof.share > 0);
    json.member("roof", roof.by_flops ? "matmul" : "copy").member("copy_Bps", result.copy_Bps);
    writePair(json, "launches", one, &Measured::launches);
    writePair(json, "peak_bytes", one, &Measured::peak_bytes);
    const bool errors = fp64 && one.has_fused;
    known(json, "max_abs_error", one.fused.max_abs_error, errors);
    known(json, "relative_error", one.fused.relative_error, errors);
    known(json, "baseline_max_abs_error", one.baseline.max_abs_error, fp64);
    known(json, "baseline_relative_error", one.baseline.relative_error, fp64);
    known(json, "relative_to_baseline", one.fused.relative_to_baseline, one.has_fused);
    json.member("bitwise", one.has_fused && one.fused.bitwise).member("fused_name", one.fused_name);
    json.member("verdict", verdictText(verdict));
    json.key("verdicts").beginObject().member("speed", speedText(verdict));
    json.member("memory", nameOf(verdict.memory)).member("numerics", nameOf(verdict.numerics)).endObject();
    json.key("reasons").beginArray();
    for (const std::string& reason : verdictReasons(one, result)) json.value(reason);
    if (!region.reason.empty()) json.value(region.reason);
    json.endArray();
    json.member("device", result.device).member("on_gpu", result.on_gpu).member("busy", result.busy).endObject();
}

void writeRegionSummary(JsonWriter& json, const MeasuredRegion& region, const FuseReport& report) {
    json.beginObject().member("region", region.region).member("pattern", region.pattern);
    json.member("finding", region.finding).member("title", region.title).member("shape", region.shape);
    json.member("instances_per_step", region.instances);
    const auto saving = measuredSavingNs(region, report);
    known(json, "saving_us_per_step", saving.value_or(0) / 1e3, saving.has_value());
    if (region.predicted)
        writeRange(json, "predicted_saving_us_per_step", region.predicted_saving_ns);
    else
        json.key("predicted_saving_us_per_step").null();
    known(json, "time_us_per_step", region.time_ns / 1e3, region.time_ns > 0);
    json.member("reason", region.reason).key("error");
    if (region.error.empty())
        json.null();
    else
        json.beginObject().member("code", region.error_code).member("message", region.error).endObject();
    known(json, "seconds", region.result ? region.result->seconds : 0, region.result.has_value());
    json.endObject();
}

} // namespace

std::string FuseReport::device() const { return hello.gpus.empty() ? "CPU" : hello.gpus.front().name; }

std::optional<double> measuredSavingNs(const MeasuredRegion& region, const FuseReport& report) {
    if (!region.result) return std::nullopt;
    double ns = 0;
    bool any = false;
    for (const Comparison& one : region.result->directions) {
        if (!one.has_fused) continue;
        any = true;
        ns += (one.baseline.us.median - one.fused.us.median) * 1e3 * region.instances;
    }
    if (!any) return std::nullopt;
    if (report.same_device && region.time_ns > 0) ns = std::min(ns, region.time_ns);
    return ns;
}

std::optional<PlanSaving> planSaving(const FuseReport& report, const Analysis& analysis) {
    if (analysis.plan.parts.empty()) return std::nullopt;
    PlanSaving total;
    for (const PlanPart& part : analysis.plan.parts)
        for (const std::uint32_t instance : part.instances) {
            const auto at =
                std::find_if(report.regions.begin(), report.regions.end(), [&](const MeasuredRegion& region) {
                    return region.finding == part.finding &&
                           std::binary_search(region.members.begin(), region.members.end(), instance);
                });
            if (at == report.regions.end()) return std::nullopt;
            const auto saving = measuredSavingNs(*at, report);
            if (!saving) return std::nullopt;
            total.measured_ns += *saving / at->instances;
        }
    total.predicted_ns = analysis.plan.saving_ns;
    return total;
}

RoofShare roofShare(const MeasuredRegion& region, const Comparison& direction, const FuseReport& report) {
    RoofShare roof;
    if (!region.result || !direction.has_fused || !(direction.fused.us.median > 0)) return roof;
    const bool backward = direction.direction == "backward";
    const double bytes = backward ? region.fused_backward_bytes : region.fused_bytes;
    const double flops = backward ? region.fused_backward_flops : region.fused_flops;
    const double seconds = direction.fused.us.median / 1e6;
    roof.Bps = bytes / seconds;
    roof.flops = flops / seconds;
    const double copy = region.result->copy_Bps > 0 ? bytes / region.result->copy_Bps : 0;
    const double matmul = report.matmul_flops > 0 ? flops / report.matmul_flops : 0;
    roof.by_flops = matmul > copy;
    roof.share = std::max(copy, matmul) / seconds;
    if (flops > 0 && report.matmul_flops <= 0) roof.share = 0; // half a roof says nothing
    return roof;
}

std::string fuseJson(const FuseReport& report, const Analysis& analysis) {
    JsonWriter json(1);
    json.beginObject().member("schema", "fusescope.fuse/1").member("device", report.device());
    json.member("on_gpu", report.onGpu()).key("runner").beginObject();
    const RunnerHello& hello = report.hello;
    json.member("build", hello.build).member("protocol", hello.protocol).member("torch", hello.torch);
    json.member("cuda", hello.cuda).member("driver", hello.driver).member("kernels", hello.kernels);
    json.member("kernels_problem", hello.kernels_problem).endObject();
    json.member("predicted_for", report.predicted_for).member("same_device", report.same_device);
    json.key("results").beginArray();
    for (const MeasuredRegion& region : report.regions)
        if (region.result)
            for (const Comparison& one : region.result->directions) writeDirection(json, region, one, report);
    json.endArray().key("regions").beginArray();
    for (const MeasuredRegion& region : report.regions) writeRegionSummary(json, region, report);
    json.endArray().key("plan");
    if (const auto plan = planSaving(report, analysis)) {
        json.beginObject().member("saving_us_per_step", plan->measured_ns / 1e3);
        writeRange(json, "predicted_saving_us_per_step", plan->predicted_ns);
        json.member("step_us", analysis.plan.step_ns / 1e3).endObject();
    } else {
        json.null();
    }
    json.endObject();
    return std::move(json).take() + "\n";
}

} // namespace fusescope
