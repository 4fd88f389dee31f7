// SPDX-License-Identifier: Apache-2.0
// The analysis as JSON, schema fusescope.analysis/1: a contract with scripts outside the project. Times in
// microseconds.
#include "core/report/report.h"

#include "core/analysis/step_text.h"
#include "core/base/json_writer.h"
#include "core/report/own_regions.h"

#include <cmath>

namespace fusescope {
namespace {

double us(double ns) { return ns / 1e3; }

template <class List> void strings(JsonWriter& w, std::string_view key, const List& list) {
    w.key(key).beginArray();
    for (const auto& text : list) w.value(text);
    w.endArray();
}

// -1 and "" stand for "not known from these files" and become null.
void known(JsonWriter& w, std::string_view key, std::int64_t n) {
    w.key(key);
    if (n < 0)
        w.null();
    else
        w.value(n);
}
void known(JsonWriter& w, std::string_view key, const std::string& text) {
    w.key(key);
    if (text.empty())
        w.null();
    else
        w.value(text);
}
void knownBool(JsonWriter& w, std::string_view key, int tristate) {
    w.key(key);
    if (tristate < 0)
        w.null();
    else
        w.value(tristate == 1);
}

void problem(JsonWriter& w, std::string_view kind, std::uint64_t count, std::uint64_t offset,
             std::string_view message) {
    w.beginObject();
    w.member("kind", kind).member("count", count).member("first_offset", offset).member("message", message);
    w.endObject();
}

void writeTrace(JsonWriter& w, const Analysis& a) {
    const TraceStore& trace = *a.trace;
    w.key("trace").beginObject();
    w.member("events", trace.counts.total).member("slices", static_cast<std::uint64_t>(trace.slices.size()));
    w.member("kernels", static_cast<std::uint64_t>(trace.kernels.size())).member("bytes", trace.json_bytes);
    w.member("file_bytes", trace.file_bytes).member("memory_bytes", static_cast<std::uint64_t>(trace.bytes()));
    w.key("problems").beginArray();
    for (const Problem& p : trace.problems) problem(w, p.kind, p.count, p.first_offset, p.message);
    w.endArray();
    w.key("steps").beginArray();
    for (const StepStats& step : a.steps) {
        w.beginObject();
        w.member("name", step.name).member("wall_us", us(step.wall_ns)).member("gpu_busy_us", us(step.gpu_busy_ns));
        w.member("gpu_idle_us", us(step.gpu_idle_ns)).member("kernel_us", us(step.kernel_ns));
        w.member("launch_wait_us", us(step.launch_wait_ns));
        w.key("bound");
        if (step.bound == StepBound::Unknown)
            w.null();
        else
            w.value(nameOf(step.bound));
        w.member("kernels", step.kernels).member("launches", step.launches);
        w.endObject();
    }
    w.endArray();
    w.key("analysed_step");
    if (a.step < 0)
        w.value("all");
    else
        w.value(a.steps[static_cast<std::size_t>(a.step)].name);
    // Findings, plan and the step's figures are of analysed_step; the tables may be of more.
    w.key("tables_of");
    if (a.step < 0 || a.all_steps)
        w.value("all");
    else
        w.value(a.steps[static_cast<std::size_t>(a.step)].name);
    known(w, "step_scope", stepScopeNote(a));
    known(w, "step_verdict", stepVerdict(a));
    w.endObject();
}

void writeDevice(JsonWriter& w, const Analysis& a) {
    const DeviceSpec& d = a.device;
    w.key("device").beginObject();
    w.member("name", d.name).member("source", nameOf(d.source));
    // Another GPU than `name`: findings and plan are scaled from it, steps and tables are as measured there.
    known(w, "measured_on", a.measured_on);
    known(w, "note", otherDeviceNote(a));
    known(w, "calibration", d.origin);
    w.member("bandwidth_Bps", d.bandwidth_Bps);
    w.member("practical_bandwidth_Bps", d.practicalBandwidth());
    w.key("peak_flops").beginObject();
    const std::pair<const char*, double> peaks[] = {{"bf16_tensor", d.bf16_tensor},
                                                    {"fp16_tensor", d.fp16_tensor},
                                                    {"tf32_tensor", d.tf32_tensor},
                                                    {"fp8_tensor", d.fp8_tensor},
                                                    {"fp32", d.fp32},
                                                    {"fp64", d.fp64}};
    for (const auto& [name, peak] : peaks)
        if (peak > 0) w.member(name, peak);
    w.endObject();
    w.member("ridge_flop_per_byte", d.ridge()).member("launch_us", d.launch_us);
    w.endObject();
}

void writeKernels(JsonWriter& w, const Analysis& a) {
    w.key("kernels").beginArray();
    for (const KernelSummary& k : a.kernels) {
        w.beginObject();
        w.member("name", k.name)
            .member("class", nameOf(k.kind))
            .member("calls", k.calls)
            .member("total_us", us(k.total_ns));
        w.member("avg_us", us(k.total_ns / k.calls)).member("min_us", us(k.min_ns)).member("max_us", us(k.max_ns));
        w.member("launch_overhead_share", k.launch_overhead_share);
        w.endObject();
    }
    w.endArray();
}

void writeLink(JsonWriter& w, const Analysis& a) {
    const Link& link = a.link;
    const auto share = [&](double ns) { return link.kernel_ns > 0 ? ns / link.kernel_ns : 0.0; };
    w.key("link").beginObject();
    w.member("kernel_time_us", us(link.kernel_ns)).member("op_share", share(link.op_ns));
    w.member("module_share", share(link.module_ns)).member("graph_share", share(link.graph_ns));
    w.key("unlinked").beginArray();
    for (const Unlinked& u : link.unlinked) {
        w.beginObject();
        w.member("reason", u.reason).member("time_us", us(u.time_ns)).member("kernels", u.kernels);
        w.endObject();
    }
    w.endArray();
    w.endObject();
}

void writeOps(JsonWriter& w, const Analysis& a) {
    w.key("ops").beginArray();
    for (const OpSummary& op : a.ops) {
        w.beginObject();
        w.member("op", op.op).member("module_type", op.module_type).member("direction", nameOf(op.direction));
        w.member("class", nameOf(op.kind))
            .member("kind", nameOf(op.kind))
            .member("calls", op.calls)
            .member("kernels", op.kernels_count);
        w.member("time_us", us(op.time_ns));
        const bool flops = op.cost.flops_known, bytes = op.cost.bytes_known;
        const auto figure = [&](const char* key, bool is_known, double value) {
            w.key(key);
            if (is_known)
                w.value(value);
            else
                w.null(); // unknown is not zero
        };
        figure("flops", flops, op.cost.flops);
        figure("bytes", bytes, op.cost.bytes());
        figure("ai", flops && bytes, op.intensity());
        figure("achieved_flops", flops, op.achievedFlops());
        figure("achieved_Bps", bytes, op.achievedBps());
        w.key("bound");
        if (op.bound == Bound::Unknown)
            w.null();
        else
            w.value(nameOf(op.bound));
        w.member("coverage", op.coverage);
        w.endObject();
    }
    w.endArray();
}

void writeModel(JsonWriter& w, const ModelFacts& m) {
    w.key("model").beginObject();
    known(w, "layers", m.layers);
    known(w, "hidden", m.hidden);
    known(w, "heads", m.heads);
    known(w, "kv_heads", m.kv_heads);
    known(w, "head_dim", m.head_dim);
    known(w, "gqa", m.gqa);
    known(w, "intermediate", m.intermediate);
    known(w, "vocab", m.vocab);
    known(w, "mlp", m.mlp);
    known(w, "norms_per_layer", m.norms_per_layer);
    knownBool(w, "qk_norm", m.qk_norm);
    knownBool(w, "bias", m.bias);
    knownBool(w, "tied_embeddings", m.tied_embeddings);
    known(w, "parameters", m.parameters);
    known(w, "decoder_class", m.decoder_class);
    w.endObject();
}

void writeFinding(JsonWriter& w, const Analysis& a, const Finding& f, const std::optional<MeasuredFinding>& measured) {
    const CatalogEntry& entry = catalogEntry(f.pattern);
    w.beginObject();
    w.member("id", f.id).member("pattern", idOf(f.pattern)).member("state", nameOf(f.state));
    w.key("signals").beginArray();
    for (const int signal : f.signals) w.value(signal);
    w.endArray();
    strings(w, "signal_evidence", f.signal_evidence);
    w.member("instances_per_step", static_cast<std::uint64_t>(f.instances.size()));
    w.member("kernels_per_instance_now", f.kernels_now).member("kernels_per_instance_fused", f.kernels_fused);
    w.member("time_us_per_step", us(f.time_ns))
        .member("kernel_time_us_per_step", us(f.time_ns - f.idle_ns))
        .member("wait_us_per_step", us(f.idle_ns))
        .member("predicted_us_per_step", us(f.predicted_ns.expected));
    writeRange(w, "predicted_us_range", f.predicted_ns);
    writeRange(w, "saving_us_per_step", f.saving_ns);
    w.member("step_share", f.step_share)
        .member("verdict", nameOf(f.verdict))
        .member("time_estimated", f.time_estimated);
    w.member("bytes_now", f.bytes_now).member("bytes_fused", f.bytes_fused);
    w.key("headroom");
    if (f.headroom.empty())
        w.null();
    else
        w.beginObject().member("text", f.headroom).member("us_per_step", us(f.headroom_ns)).endObject();
    strings(w, "reasons", f.reasons);
    w.member("formula", entry.formula).member("numerics", entry.numerics).member("change", changeText(f));
    known(w, "article_gain", entry.article_gain);
    w.key("existing").beginArray();
    for (const ExistingSolution& e : entry.existing) {
        w.beginObject();
        w.member("name", e.name).member("note", e.note);
        w.endObject();
    }
    w.endArray();
    strings(w, "conflicts", f.conflicts);
    strings(w, "modules", f.modules);
    strings(w, "source", f.source);
    w.key("measured");
    if (measured)
        writeMeasuredFinding(w, a, *measured);
    else
        w.null();
    w.endObject();
}

} // namespace

std::string analysisJson(const Analysis& a, const MeasuredSet& set, ChosenRegions regions) {
    const MeasuredView measured = viewOf(a, set, regions);
    JsonWriter w(1);
    w.beginObject();
    w.member("schema", "fusescope.analysis/1");
    strings(w, "files", a.files);
    w.key("file_errors").beginArray();
    for (const Error& error : a.file_errors) w.value(error.message());
    w.endArray();
    if (a.trace)
        writeTrace(w, a);
    else
        w.key("trace").null();
    if (a.graph) {
        w.key("graph").beginObject();
        w.member("format", a.graph->format).member("producer", a.graph->producer);
        w.member("nodes", static_cast<std::uint64_t>(a.graph->ops.nodes.size()));
        w.key("problems").beginArray();
        for (const GraphProblem& p : a.graph->problems) problem(w, p.kind, p.count, 0, p.message);
        w.endArray();
        w.endObject();
    } else {
        w.key("graph").null();
    }
    writeDevice(w, a);
    writeKernels(w, a);
    writeLink(w, a);
    writeOps(w, a);
    writeModel(w, a.model);
    w.key("findings").beginArray();
    for (std::size_t i = 0; i < a.findings.size(); ++i) writeFinding(w, a, a.findings[i], measured.findings[i]);
    w.endArray();
    w.key("regions"); // of the user's own choice
    writeRegions(w, a, measured);
    w.key("plan").beginObject();
    strings(w, "findings", a.plan.findings);
    w.key("parts").beginArray();
    for (const PlanPart& part : a.plan.parts) {
        w.beginObject();
        w.member("finding", part.finding).member("instances", static_cast<std::uint64_t>(part.instances.size()));
        writeRange(w, "saving_us", part.saving_ns);
        w.endObject();
    }
    w.endArray();
    writeRange(w, "saving_us", a.plan.saving_ns);
    writeRange(w, "unseen_saving_us", a.plan.unseen_ns); // of it, not seen in the step
    if (a.trace) {
        w.member("step_us", us(a.plan.step_ns));
        writeRange(w, "predicted_step_us", a.plan.predicted_step_ns);
    } else { // a graph alone has no step
        w.key("step_us").null();
        w.key("predicted_step_us").null();
    }
    w.key("measured"); // the plan chosen again from what was measured
    if (measured.plan.any())
        writeMeasuredPlan(w, a, measured.plan);
    else
        w.null();
    w.endObject();
    w.endObject();
    return std::move(w).take() + "\n";
}

} // namespace fusescope
