// SPDX-License-Identifier: Apache-2.0
// The sentences about a step, and a trace of one GPU looked at for another.
#include "core/analysis/other_device.h"
#include "core/analysis/step_stats.h"
#include "core/analysis/step_text.h"
#include "core/trace/trace_builder.h"
#include "sample.h"
#include "tests/support/files.h"

namespace fusescope::testing {
namespace {

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

Analysis decoding() { // 428 of 500 ms idle, as in the trace of eight decoded tokens
    Analysis a;
    a.trace = std::make_shared<const TraceStore>();
    StepStats step;
    step.name = "ProfilerStep#3";
    step.wall_ns = 500e6;
    step.gpu_busy_ns = 72e6;
    step.gpu_idle_ns = 428e6;
    step.launch_wait_ns = 410e6;
    step.bound = StepBound::Launches;
    a.steps = {step};
    a.step = 0;
    return a;
}

TEST(StepText, ALaunchBoundStepSaysSoWithItsLimit) {
    const std::string text = stepVerdict(decoding());
    EXPECT_EQ(text.find("Bound by the CPU's launches"), 0U);
    for (const char* part :
         {"428 ms of 500 ms", "85.6%", "410 ms", "reduce-overhead", "no step gets shorter than the GPU's 72.0 ms"})
        EXPECT_TRUE(has(text, part)) << part << " in " << text;
    EXPECT_EQ(stepVerdict(Analysis{}), "");
}

// The sample cut off at nine tenths: both steps lack kernels (the file has 521 in each), which looks like idle time.
TEST(StepText, ACutTraceIsNotCalledIdle) {
    std::string bytes = test::readFile(kSampleTrace);
    bytes.resize(bytes.size() * 9 / 10);
    const test::TempDir folder;
    const std::string path = folder.file("cut.json.gz");
    test::writeFile(path, bytes);
    const AnalysisPtr cut = analysed({path});
    ASSERT_TRUE(cut);
    ASSERT_EQ(cut->steps.size(), 2U);
    EXPECT_LT(cut->steps[0].kernels, 521U);
    EXPECT_LT(cut->steps[1].kernels, cut->steps[0].kernels);
    EXPECT_EQ(cut->step, 0); // the one with more of its kernels
    EXPECT_TRUE(has(stepVerdict(*cut), "The trace is cut")) << stepVerdict(*cut);
}

TEST(StepText, ATraceWithoutStepsIsNotCalledAStep) {
    EXPECT_EQ(stepHeadline(traceOnly()).substr(0, 5), "step ");
    TraceBuilder builder;
    builder.add({Category::Kernel, "k", 1'000, 9'000, builder.track(TrackKind::GpuStream, 0, 7, 0, 7), 0, 0, 0, 0});
    auto trace = std::move(builder).finish();
    ASSERT_TRUE(trace.ok());
    Analysis a;
    a.trace = *trace;
    a.steps = stepStats(*a.trace);
    EXPECT_EQ(stepHeadline(a), "trace 9.00 µs");
}

TEST(StepText, AllStepsAreTellApart) {
    Analysis a = decoding();
    EXPECT_EQ(stepScopeNote(a), "");
    a.steps.push_back(a.steps.front());
    a.all_steps = true;
    EXPECT_TRUE(has(stepScopeNote(a), "sums over all 2 steps"));
    EXPECT_TRUE(has(stepScopeNote(a), "ProfilerStep#3 alone"));
}

TEST(StepText, TheHeadlineOfTheTracesOwnDevice) {
    const Analysis& a = both();
    EXPECT_TRUE(a.measured_on.empty());
    EXPECT_TRUE(a.time_factors.empty());
    EXPECT_EQ(otherDeviceNote(a), "");
    EXPECT_EQ(a.plan.step_ns, a.stepNs());
    EXPECT_EQ(stepHeadline(a).find("step 9"), 0U) << stepHeadline(a); // between 90 and 95 ms
}

DeviceSpec device(const char* name, double bandwidth, double tensor) {
    DeviceSpec spec;
    spec.name = name;
    spec.bandwidth_Bps = bandwidth;
    spec.bf16_tensor = tensor;
    return spec;
}

// By hand, bandwidth halved, arithmetic the same: 8 GB take 2 ms and 4 ms; 2 PFLOP take 2 s on both; 1 kB takes the
// floor of a kernel on both; a kernel of unknown cost counts as bound by memory.
TEST(OtherDevice, FactorsFollowTheRoofline) {
    TraceBuilder builder;
    const TrackId gpu = builder.track(TrackKind::GpuStream, 0, 7, 0, 7);
    for (std::int64_t i = 0; i < 4; ++i)
        builder.add({Category::Kernel, "k", i * 1'000, 500, gpu, 0, 0, 0, 0}, KernelDetail{});
    const TracePtr trace = *std::move(builder).finish();
    std::vector<OpCost> costs(4);
    for (std::size_t i = 0; i < 3; ++i) costs[i].bytes_known = costs[i].flops_known = true;
    costs[0].bytes_read = 8e9;
    costs[1].flops = costs[1].tensor_flops = 2e15;
    costs[1].dtype = DType::BFloat16;
    costs[2].bytes_read = 1e3;
    const DeviceSpec fast = device("fast", 4e12, 1e15), slow = device("slow", 2e12, 1e15);
    const std::vector<double> factors = timeFactors(*trace, costs, fast, slow);
    ASSERT_EQ(factors.size(), 4U);
    EXPECT_DOUBLE_EQ(factors[0], 2);
    EXPECT_DOUBLE_EQ(factors[1], 1);
    EXPECT_DOUBLE_EQ(factors[2], 1);
    EXPECT_DOUBLE_EQ(factors[3], 2);
    // 4 x 500 ns become 500 * (2 + 1 + 1 + 2) = 3000; the idle 1500 stay.
    EXPECT_DOUBLE_EQ(scaledStepNs(*trace, factors, -1, 3'500, 2'000), 4'500);
}

TEST(OtherDevice, NothingMeasuredStandsBesideAPrediction) {
    const AnalysisPtr a = analysed({kSampleTrace}, {"H100", "last"});
    EXPECT_EQ(a->measured_on, "H200");
    EXPECT_EQ(a->device.name.find("H100"), 0U);
    // Bandwidth 4.8 against 3.0 TB/s, arithmetic alike: slower, by less than the bandwidths differ.
    EXPECT_GT(a->plan.step_ns, 1.05 * a->stepNs());
    EXPECT_LT(a->plan.step_ns, 1.6 * a->stepNs());
    EXPECT_NEAR(a->stepNs(), traceOnly().stepNs(), 1); // as measured
    const std::string note = otherDeviceNote(*a), headline = stepHeadline(*a);
    for (const char* part : {"measured on H200", "No speedup may be read"}) EXPECT_TRUE(has(note, part)) << note;
    EXPECT_TRUE(has(headline, "on H200; on H100")) << headline;
    for (const Finding& f : a->findings) {
        EXPECT_NEAR(f.time_ns - f.saving_ns.expected, f.predicted_ns.expected, 1) << f.id;
        EXPECT_GE(f.time_ns, finding(traceOnly(), f.id)->time_ns - 1) << f.id;
    }
}

TEST(OtherDevice, TheSameGpuUnderAnotherNameIsNoOther) {
    const AnalysisPtr a = analysed({kSampleTrace}, {"NVIDIA H200", "last"});
    EXPECT_EQ(a->measured_on, "");
    EXPECT_TRUE(sameDevice(device("NVIDIA H200 (calibrated)", 1, 1), *deviceByName("H200")));
    EXPECT_FALSE(sameDevice(device("H100", 1, 1), *deviceByName("H200")));
}

// The sample's graph beside a trace of which nothing is known to be of it: one kernel of a CUDA graph, 20 ms in a step
// of 50. The graph's estimates (6.6 ms for attention alone) say nothing of that step.
TEST(StepText, APlanThatWasNotSeenInTheStepPromisesNothingOfIt) {
    const test::TempDir folder;
    const std::string path = folder.file("captured.json");
    test::writeFile(path,
                    R"({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H200"}], "traceEvents": [
{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#3", "pid": 1, "tid": 1, "ts": 1000, "dur": 50000},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaGraphLaunch", "pid": 1, "tid": 1, "ts": 1100, "dur": 50,
 "args": {"correlation": 7}},
{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 2000, "dur": 20000,
 "args": {"correlation": 7, "device": 0, "stream": 7, "graph node id": 3}}]})");
    const AnalysisPtr a = analysed({kSampleGraph, path});
    ASSERT_TRUE(a);
    const Finding* attention = finding(*a, "attention");
    ASSERT_NE(attention, nullptr);
    EXPECT_TRUE(attention->time_estimated);
    std::string reasons;
    for (const std::string& reason : attention->reasons) reasons += reason;
    EXPECT_TRUE(has(reasons, "Not seen in the step")) << reasons;
    EXPECT_FALSE(has(reasons, "No trace of it")) << reasons;
    EXPECT_GT(a->plan.step_ns, 0);
    EXPECT_EQ(a->plan.predicted_step_ns.low, a->plan.step_ns);
    EXPECT_EQ(a->plan.predicted_step_ns.high, a->plan.step_ns);
    EXPECT_FALSE(has(stepHeadline(*a), "→")) << stepHeadline(*a);
    EXPECT_TRUE(has(planNote(*a), "Nothing of the plan was seen in the step")) << planNote(*a);
    EXPECT_EQ(severalGpusNote(*a), "");
    EXPECT_EQ(unseenNote(both().plan), "");
    EXPECT_EQ(unseenNote(graphOnly().plan), "");
}

TEST(StepText, AStepByTheNameInTheTrace) {
    const AnalysisPtr by_name = analysed({kSampleTrace}, {"", "ProfilerStep#3"});
    EXPECT_EQ(by_name->step, 0);
}

} // namespace
} // namespace fusescope::testing
