// SPDX-License-Identifier: Apache-2.0
#include "core/report/own_regions.h"

#include "core/base/format.h"

#include <fmt/format.h>

namespace fusescope {
namespace {

std::string listed(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
    return text;
}

void texts(JsonWriter& json, const char* key, const std::vector<std::string>& list) {
    json.key(key).beginArray();
    for (const std::string& text : list) json.value(text);
    json.endArray();
}

} // namespace

std::string regionKind(const ChosenRegion& region) {
    if (region.swapsIn()) return region.has_form ? "with the plan's fusions inside" : "as it is";
    return region.has_form ? "one kernel" : "no fused kernel";
}

std::string regionPlace(const Analysis& analysis, const ChosenRegion& region) {
    const std::string where = region.module.empty() ? "the whole model" : region.module;
    const std::vector<Instance>& all = region.work.instances;
    std::string text = region.wholeModule()
                           ? where
                           : formatCounted(static_cast<std::int64_t>(region.nodes.size()), "node") + " of " + where;
    if (!analysis.trace) return text + fmt::format(", {} times in the graph", all.size());
    if (region.lacksTimes()) return text + (region.other_sizes.empty() ? ", not seen in the step" : "");
    text += fmt::format(", {} per step", all.size() == 1 ? std::string("once") : fmt::format("{} times", all.size()));
    if (all.empty() || !(region.work.time_ns > 0)) return text;
    return text + ", " + formatDuration(region.work.time_ns / static_cast<double>(all.size())) + " each";
}

std::vector<std::string> regionNotes(const RegionView& view) {
    const ChosenRegion& region = *view.region;
    std::vector<std::string> notes;
    if (view.measured && view.measured->any()) {
        if (!view.counted_with.empty())
            notes.push_back("Not counted once more in the step: it shares work with " + listed(view.counted_with) +
                            ".");
        else if (view.counts)
            notes.emplace_back("Counted in the step, beside the plan.");
        else
            notes.emplace_back("Nothing of it counts in the step: as measured it saves nothing there.");
    }
    if (!region.other_sizes.empty()) notes.push_back(region.other_sizes + ".");
    if (region.swapsIn()) {
        if (!region.fusions.empty() && region.has_form)
            notes.push_back("Swapped in where they lie inside: " + listed(region.fusions) + ".");
        if (region.work.saving_ns.expected > 0)
            notes.push_back("Predicted: " + formatDuration(region.work.saving_ns.expected) +
                            " less per step, the sum of what the plan promises inside.");
    } else if (region.limit_ns > 0) {
        notes.push_back(
            "Limit of any fused kernel: " + formatDuration(region.limit_ns) + " forward" +
            (region.limit_backward_ns > 0 ? " and " + formatDuration(region.limit_backward_ns) + " backward" : "") +
            ", what enters and leaves at the speed of a copy. Not a prediction.");
    }
    if (!region.reason.empty())
        notes.push_back((region.swapsIn()  ? "Left as it is: "
                         : region.has_form ? "Of the fused form: "
                                           : "No fused kernel: ") +
                        region.reason + ".");
    if (!region.note.empty()) notes.push_back(region.note + ".");
    return notes;
}

void writeRegions(JsonWriter& json, const Analysis& analysis, const MeasuredView& view) {
    json.beginArray();
    for (const RegionView& one : view.regions) {
        const ChosenRegion& region = *one.region;
        json.beginObject().member("id", region.id).member("title", region.title).member("module", region.module);
        texts(json, "nodes", region.nodes);
        texts(json, "fusions", region.fusions);
        json.member("kind", regionKind(region)).member("has_fused_form", region.has_form);
        json.member("note", region.note).member("reason", region.reason).member("other_sizes", region.other_sizes);
        json.member("instances_per_step", static_cast<std::uint64_t>(region.work.instances.size()));
        json.key("time_us_per_step");
        if (region.lacksTimes())
            json.null();
        else
            json.value(region.work.time_ns / 1e3);
        json.member("time_estimated", region.work.time_estimated);
        for (const auto& [key, ns] : {std::pair{"limit_us", region.limit_ns}, // of one instance
                                      std::pair{"limit_backward_us", region.limit_backward_ns}}) {
            json.key(key);
            if (ns > 0)
                json.value(ns / 1e3);
            else
                json.null();
        }
        json.key("predicted_saving_us_per_step");
        if (region.swapsIn() && region.other_sizes.empty())
            json.value(region.work.saving_ns.expected / 1e3);
        else
            json.null();
        json.member("counts_in_step", one.counts);
        texts(json, "counted_with", one.counted_with);
        json.key("measured");
        if (one.measured)
            writeMeasuredFinding(json, analysis, *one.measured);
        else
            json.null();
        json.endObject();
    }
    json.endArray();
}

} // namespace fusescope
