// SPDX-License-Identifier: Apache-2.0
// Values that anyone can check by hand on the bundled sample. Kernel counts and times: summed from the file with a few
// lines of Python; the rest: read off the model's printed form and Qwen3's formulas.
#include "sample.h"

#include "core/analysis/step_text.h"
#include "core/base/format.h"
#include "core/report/report.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace fusescope::testing {
namespace {

// What the plan lists is what it promises.
TEST(SampleStep, ThePlanAddsUp) {
    for (const Analysis* a : {&traceOnly(), &both()}) {
        double listed = 0, whole = 0;
        for (const PlanPart& part : a->plan.parts) listed += part.saving_ns.expected;
        for (const Finding& f : a->findings) whole += f.saving_ns.expected;
        EXPECT_NEAR(listed, a->plan.saving_ns.expected, 1);
        EXPECT_NEAR(a->plan.step_ns - listed, a->plan.predicted_step_ns.expected, 1);
        EXPECT_GT(whole, listed); // four of nine norms are counted in add + norm too
        const std::string note = planNote(*a);
        EXPECT_NE(note.find(formatDuration(whole)), std::string::npos) << note;
        EXPECT_NE(note.find(formatDuration(listed)), std::string::npos) << note;
        EXPECT_EQ(takenOverBy(a->findings, a->plan, *finding(*a, "rms_norm")),
                  std::vector<std::string>{"add_rms_norm"});
        EXPECT_TRUE(takenOverBy(a->findings, a->plan, *finding(*a, "attention")).empty());
    }
}

double milliseconds(const std::string& text) { // "25.5 ms (24.4 ms to ..." -> 25.5
    const std::size_t unit = text.find(' ');
    const double value = std::stod(text.substr(0, unit));
    return text.compare(unit + 1, 2, "ms") == 0 ? value : value / 1e3; // else microseconds
}

// As a reader would add it up: five of the nine norms, with four in add + norm.
TEST(SampleStep, ThePlanOfTheReportsAddsUp) {
    const std::string text = analysisMarkdown(both());
    double sum = 0;
    std::size_t rows = 0;
    for (std::size_t at = text.find(": saves "); at != std::string::npos; at = text.find(": saves ", at + 1)) {
        sum += milliseconds(text.substr(at + 8, 20));
        ++rows;
    }
    EXPECT_EQ(rows, both().plan.parts.size());
    const std::size_t together = text.find("Together: ");
    ASSERT_NE(together, std::string::npos);
    EXPECT_NEAR(sum, milliseconds(text.substr(together + 10, 20)), 0.1); // three digits each
    const std::string norm = formatDuration(finding(both(), "rms_norm")->saving_ns.expected);
    EXPECT_NE(text.find("5 of 9 instances"), std::string::npos);
    EXPECT_NE(text.find("of " + norm + "; the rest is counted in Residual add + RMSNorm."), std::string::npos);
    const std::string page = analysisHtml(both(), layeredLayout);
    EXPECT_NE(page.find("5 of 9"), std::string::npos);
    EXPECT_NE(page.find("of " + norm + "; the rest is counted in Residual add + RMSNorm"), std::string::npos);
    EXPECT_EQ(page.find("may be added."), std::string::npos);
}

// Three of the four add + norms take 25 kernels, the last 24: a mean, and it says so.
TEST(SampleStep, AMeanReadsAsAMean) {
    const std::string& reason = finding(both(), "add_rms_norm")->reasons.front();
    EXPECT_EQ(reason.find("4 times 24.8 kernels on average move"), 0U) << reason;
}

std::string timeOf(const std::string& summary, const std::string& row) { // "  layers ...   48.1 ms" -> "48.1 ms"
    const std::size_t at = summary.find("─" + row + " ");
    EXPECT_NE(at, std::string::npos) << row;
    const std::string line = summary.substr(at, summary.find('\n', at) - at);
    const std::size_t unit = line.find_last_of(' ');
    return line.substr(line.find_last_of(' ', unit - 1) + 1);
}

// Everything in `layers` is in its two layers, so both rows show one time: the sum, not twice the first one's.
TEST(SampleStep, AlikeModulesAreSummedInTheSummary) {
    const std::string text = graphSummary(both());
    EXPECT_EQ(timeOf(text, "layers"), timeOf(text, "0"));
}

// The add in Qwen3Attention is the mask's at times and the rotation's at others.
TEST(SampleStep, ARowOfOperatorsIsOfOneKind) {
    std::set<OpKind> kinds;
    for (const OpSummary& row : both().ops) {
        for (const KernelId k : row.kernels) EXPECT_EQ(both().link.kernels[k.index()].kind, row.kind) << row.op;
        if (row.op == "aten::add" && row.module_type == "Qwen3Attention" && row.direction == Direction::Forward)
            kinds.insert(row.kind);
        EXPECT_EQ(row.cost.flops, std::round(row.cost.flops)) << row.op; // of shares, whole all the same
    }
    EXPECT_EQ(kinds, (std::set<OpKind>{OpKind::Attention, OpKind::Rope}));
}

TEST(SampleStep, AdviceEndsWhereFusionBegins) {
    for (const Finding& f : both().findings) EXPECT_EQ(changeText(f).empty(), f.state == FusionState::Fused) << f.id;
    const Finding* optimizer = finding(both(), "optimizer"); // AdamW(fused=True)
    ASSERT_NE(optimizer, nullptr);
    EXPECT_EQ(optimizer->reasons.front().find("It is fused already"), 0U) << optimizer->reasons.front();
}

TEST(SampleStep, KernelsAndKernelTimePerStep) {
    const Analysis& a = traceOnly();
    ASSERT_EQ(a.steps.size(), 2U);
    EXPECT_EQ(a.steps[0].name, "ProfilerStep#3");
    EXPECT_EQ(a.steps[1].name, "ProfilerStep#4");
    EXPECT_EQ(a.steps[0].kernels, 521U);
    EXPECT_EQ(a.steps[1].kernels, 521U);
    EXPECT_NEAR(a.steps[0].kernel_ns, 86'580'521.0, 1.0); // sum of the durations in the file
    EXPECT_NEAR(a.steps[1].kernel_ns, 87'654'409.0, 1.0);
}

TEST(SampleStep, WallTimeHoldsBusyAndIdle) {
    for (const StepStats& step : traceOnly().steps) {
        EXPECT_NEAR(step.gpu_busy_ns + step.gpu_idle_ns, step.wall_ns, 1.0);
        EXPECT_GE(step.gpu_busy_ns, step.kernel_ns); // one stream: nothing overlaps, copies come on top
        EXPECT_GT(step.wall_ns, 90e6);               // the CPU annotations last 93.3 and 94.0 ms
        EXPECT_LT(step.wall_ns, 95e6);
    }
}

TEST(SampleStep, NearlyAllKernelTimeHasAnOperator) {
    for (const Analysis* a : {&traceOnly(), &both()}) {
        EXPECT_GT(a->link.kernel_ns, 174e6);
        EXPECT_GE(a->link.op_ns / a->link.kernel_ns, 0.99);
        EXPECT_GE(a->link.module_ns / a->link.kernel_ns, 0.95);
    }
    EXPECT_GE(both().link.graph_ns / both().link.kernel_ns, 0.75); // the graph has neither loss nor optimizer
}

TEST(SampleStep, InstancesPerStep) {
    const std::pair<const char*, std::size_t> expected[] = {{"rms_norm", 9}, {"add_rms_norm", 4},   {"rope", 2},
                                                            {"swiglu", 2},   {"qkv_projection", 2}, {"attention", 2}};
    for (const Analysis* a : {&graphOnly(), &traceOnly(), &both()})
        for (const auto& [id, count] : expected) {
            const Finding* f = finding(*a, id);
            ASSERT_NE(f, nullptr) << id;
            EXPECT_EQ(f->instances.size(), count) << id;
            EXPECT_EQ(f->state, FusionState::Unfused) << id;
        }
    EXPECT_EQ(finding(graphOnly(), "linear_cross_entropy"), nullptr); // the exported graph ends at the logits
    for (const Analysis* a : {&traceOnly(), &both()}) {
        const Finding* loss = finding(*a, "linear_cross_entropy");
        ASSERT_NE(loss, nullptr);
        EXPECT_EQ(loss->instances.size(), 1U);
    }
}

TEST(SampleStep, GraphAndTraceAgreeOnTheKernelsOfAnInstance) {
    for (const Finding& f : both().findings) {
        const Finding* alone = finding(traceOnly(), f.id);
        ASSERT_NE(alone, nullptr) << f.id;
        EXPECT_NEAR(f.time_ns, alone->time_ns, 0.02 * alone->time_ns) << f.id;
    }
}

TEST(SampleStep, RmsNormCarriesAllFourSignals) {
    for (const Analysis* a : {&traceOnly(), &both()}) {
        const Finding* f = finding(*a, "rms_norm");
        ASSERT_NE(f, nullptr);
        EXPECT_EQ(f->signals, (std::vector<int>{1, 2, 3, 4}));
        EXPECT_EQ(f->signal_evidence.size(), 4U);
    }
}

TEST(SampleStep, SavingIsNeverMoreThanTheRegionTakes) {
    for (const Analysis* a : {&graphOnly(), &traceOnly(), &both()}) {
        ASSERT_FALSE(a->findings.empty());
        for (const Finding& f : a->findings) {
            EXPECT_GE(f.saving_ns.low, 0) << f.id;
            EXPECT_LE(f.saving_ns.low, f.saving_ns.expected) << f.id;
            EXPECT_LE(f.saving_ns.expected, f.saving_ns.high) << f.id;
            EXPECT_LE(f.saving_ns.high, f.time_ns) << f.id;
        }
    }
    const Plan& plan = both().plan;
    EXPECT_GT(plan.predicted_step_ns.low, 0);
    EXPECT_LE(plan.predicted_step_ns.low, plan.predicted_step_ns.expected);
    EXPECT_LE(plan.predicted_step_ns.expected, plan.predicted_step_ns.high);
    EXPECT_LE(plan.predicted_step_ns.high, plan.step_ns);
}

// Times of an instance are those of its kernels, and no kernel is counted for two instances of one finding.
TEST(SampleStep, InstanceTimesAreTheirKernels) {
    const Analysis& a = both();
    for (const Finding& f : a.findings) {
        std::set<KernelId> seen;
        double sum = 0;
        for (const Instance& instance : f.instances)
            for (const auto* list : {&instance.forward, &instance.backward})
                for (const KernelId k : *list) {
                    EXPECT_TRUE(seen.insert(k).second) << f.id;
                    sum += static_cast<double>(a.trace->slices.dur[a.trace->kernels.slice[k.index()].index()]);
                }
        EXPECT_NEAR(sum, f.time_ns, 1.0) << f.id;
    }
}

TEST(SampleStep, DeviceComesFromTheTrace) {
    const DeviceSpec& d = both().device;
    EXPECT_EQ(d.source, DeviceSource::Trace);
    EXPECT_NE(d.name.find("H200"), std::string::npos);
    EXPECT_DOUBLE_EQ(d.bandwidth_Bps, 4.8e12);
    const AnalysisPtr h100 = analysed({kSampleTrace}, {"H100", "last"});
    ASSERT_NE(h100, nullptr);
    EXPECT_NEAR(h100->device.ridge(), 330, 1); // article, 3.4
    EXPECT_EQ(h100->device.source, DeviceSource::Preset);
}

TEST(SampleStep, TablesAddUp) {
    const Analysis& a = both();
    double kernels = 0, ops = 0;
    for (const KernelSummary& k : a.kernels) kernels += k.total_ns;
    for (const OpSummary& op : a.ops) ops += op.time_ns;
    EXPECT_NEAR(kernels, a.steps[1].kernel_ns, 1.0);
    EXPECT_NEAR(ops, kernels, 1.0);
    EXPECT_TRUE(std::is_sorted(a.kernels.begin(), a.kernels.end(),
                               [](const auto& x, const auto& y) { return x.total_ns > y.total_ns; }));
    const AnalysisPtr all = analysed({kSampleTrace}, {"", "all"});
    double both_steps = 0;
    for (const KernelSummary& k : all->kernels) both_steps += k.total_ns;
    EXPECT_NEAR(both_steps, a.steps[0].kernel_ns + a.steps[1].kernel_ns, 1.0);
}

TEST(SampleStep, StepIsChosenByNumber) {
    EXPECT_EQ(analysed({kSampleTrace}, {"", "3"})->step, 0);
    EXPECT_EQ(analysed({kSampleTrace}, {"", "4"})->step, 1);
    Progress progress;
    const auto missing = analyzeFiles({kSampleTrace}, {"", "7"}, progress);
    ASSERT_FALSE(missing.ok());
    EXPECT_EQ(missing.error().expected, "a step among 3, 4 (or last, all)");
}

TEST(SampleStep, AStepThatMayLackMeansTheLast) {
    AnalyzeOptions options{"", "7"};
    options.step_may_lack = true;
    const AnalysisPtr a = analysed({kSampleTrace}, options);
    EXPECT_EQ(a->step, 1);
    EXPECT_FALSE(a->all_steps);
    ASSERT_EQ(a->file_errors.size(), 1U);
    EXPECT_EQ(a->file_errors[0].expected, "a step among 3, 4 (or last, all)");
    options.step = "3"; // is there
    EXPECT_EQ(analysed({kSampleTrace}, options)->step, 0);
    EXPECT_TRUE(analysed({kSampleTrace}, options)->file_errors.empty());
    const AnalysisPtr graph = analysed({kSampleGraph}, options); // steps are a trace's
    ASSERT_EQ(graph->file_errors.size(), 1U);
    EXPECT_EQ(graph->file_errors[0].found, "'3'");
}

TEST(SampleStep, AnUnusableFileBesideAUsableOneIsReported) {
    const AnalysisPtr a = analysed({"/nowhere/graph.pt2", kSampleTrace});
    ASSERT_NE(a, nullptr);
    ASSERT_EQ(a->file_errors.size(), 1U);
    EXPECT_NE(a->file_errors[0].message().find("/nowhere/graph.pt2"), std::string::npos);
    const AnalysisPtr twice = analysed({kSampleTrace, kSampleTrace});
    EXPECT_EQ(twice->file_errors.size(), 1U);
}

TEST(SampleStep, CancelledBeforeItBegins) {
    Progress progress;
    progress.cancel();
    const auto result = analyzeFiles({kSampleTrace}, {}, progress);
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().code, ErrorCode::Cancelled);
}

} // namespace
} // namespace fusescope::testing
