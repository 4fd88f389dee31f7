// SPDX-License-Identifier: Apache-2.0
#include "core/report/fuse_report.h"

#include "core/base/json_writer.h"
#include "core/measured/measured_json.h"
#include "core/report/measured_parts.h"
#include "core/report/report_text.h"

namespace fusescope {
namespace {

// A number, or null where it is not known.
void known(JsonWriter& json, const char* key, double value, bool is_known) {
    json.key(key);
    if (is_known)
        json.value(value);
    else
        json.null();
}

void writeRegionSummary(JsonWriter& json, const MeasuredRegion& region, const Analysis& analysis) {
    json.beginObject().member("region", region.region).member("pattern", region.pattern);
    json.member("finding", region.finding).member("title", region.title).member("shape", region.shape);
    json.member("instances_per_step", region.instances);
    const auto saving = measuredSavingNs(region, analysis);
    known(json, "saving_us_per_step", saving.value_or(0) / 1e3, saving.has_value());
    if (const std::string doubt = region.result ? doubtText(region.result->result) : std::string(); !doubt.empty())
        json.member("saving_doubt", doubt);
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
    known(json, "seconds", region.result ? region.result->result.seconds : 0, region.result.has_value());
    json.endObject();
}

} // namespace

std::string FuseReport::device() const { return hello.gpus.empty() ? "CPU" : hello.gpus.front().name; }

MeasuredSet measuredSet(const FuseReport& report) {
    MeasuredSet set;
    for (const MeasuredRegion& region : report.regions)
        if (region.result && !region.finding.empty()) set.set(*region.result);
    return set;
}

std::optional<double> measuredSavingNs(const MeasuredRegion& region, const Analysis& analysis) {
    if (!region.result || !hasFusedForm(region.result->result)) return std::nullopt;
    const FuseResult& result = region.result->result;
    const MeasuredUse use = useOf(analysis, result);
    const bool same = use == MeasuredUse::Saving || use == MeasuredUse::Busy ||
                      use == MeasuredUse::Unsteady; // the step's times are of this GPU
    const Finding* finding = findingById(analysis, region.finding);
    if (finding == nullptr) return region.instances * measuredSaving(result, same ? region.module_time : std::nullopt);
    double ns = 0;
    for (const std::uint32_t member : region.members)
        ns += measuredSaving(result, same ? stepTimeOf(*finding, finding->instances.at(member)) : std::nullopt);
    return ns;
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
            for (const Comparison& one : region.result->result.directions) {
                json.beginObject().member("region", region.region).member("pattern", region.pattern);
                writeComparison(json, analysis, *region.result, one);
                json.endObject();
            }
    json.endArray().key("regions").beginArray();
    for (const MeasuredRegion& region : report.regions) writeRegionSummary(json, region, analysis);
    json.endArray().key("plan");
    const MeasuredSet set = measuredSet(report);
    if (const MeasuredPlan plan = applyMeasured(analysis, set); plan.whole()) {
        json.beginObject().member("saving_us_per_step", plan.saving_ns.expected / 1e3);
        writeRange(json, "predicted_saving_us_per_step", analysis.plan.saving_ns);
        json.member("step_us", analysis.plan.step_ns / 1e3).key("findings").beginArray();
        for (const std::string& id : plan.plan.findings) json.value(id);
        json.endArray().endObject();
    } else {
        json.null();
    }
    json.key("measured"); // for analyze --measured
    writeMeasured(json, set);
    json.endObject();
    return std::move(json).take() + "\n";
}

} // namespace fusescope
