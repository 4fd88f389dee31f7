// SPDX-License-Identifier: Apache-2.0
// Figures worked out by hand from a measurement that is made up.
#include "core/report/fuse_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <simdjson.h>

namespace fusescope {
namespace {

using testing::HasSubstr;
using testing::Not;

FuseResult result(bool gpu) {
    FuseResult result;
    result.device = gpu ? "NVIDIA H200" : "CPU (reference kernels)";
    result.on_gpu = gpu;
    result.copy_Bps = 4e12;
    for (const char* direction : {"forward", "backward"}) {
        Comparison one;
        one.direction = direction;
        one.has_fused = true;
        one.baseline.us = {100, 99, 102};
        one.fused.us = {25, 24.5, 25.5};
        one.baseline.launches = 7;
        one.fused.launches = 1;
        one.baseline.peak_bytes = 4e8;
        one.fused.peak_bytes = 1e8;
        one.baseline.relative_error = one.fused.relative_error = 2e-3;
        result.directions.push_back(one);
    }
    return result;
}

MeasuredRegion region(std::size_t instances, double predicted_us, double time_us) {
    MeasuredRegion region;
    region.region = region.pattern = region.finding = region.instance_class = "rms_norm";
    region.shape = "4096x4096 bf16";
    region.instances = static_cast<double>(instances);
    for (std::uint32_t i = 0; i < instances; ++i) region.members.push_back(i);
    region.predicted = true;
    region.predicted_saving_ns = {0.9e3 * predicted_us, 1e3 * predicted_us, 1.1e3 * predicted_us};
    region.time_ns = 1e3 * time_us;
    MeasuredResult& measured = region.result.emplace();
    measured.finding = region.finding;
    measured.fused_bytes = 80e6;
    measured.fused_backward_bytes = 60e6;
    measured.result = result(true);
    return region;
}

// Norms of one shape, each with so many µs forward and backward in the step.
Analysis analysis(std::size_t instances, double forward_us, double backward_us) {
    Analysis a;
    a.device.name = "NVIDIA H200";
    a.device.source = DeviceSource::Trace;
    Finding& f = a.findings.emplace_back();
    f.id = "rms_norm";
    f.pattern = Pattern::RmsNorm;
    for (std::size_t i = 0; i < instances; ++i) {
        Instance& one = f.instances.emplace_back();
        one.pattern = f.pattern;
        one.geometry.dtype = DType::BFloat16;
        one.geometry.rows = one.geometry.width = 4096;
        one.forward = {KernelId(i)};
        one.forward_ns = 1e3 * forward_us;
        one.backward_ns = 1e3 * backward_us;
        one.saving_ns = {80e3, 100e3, 120e3};
    }
    a.plan = makePlan(a.findings, 2e6);
    return a;
}

FuseReport report(bool gpu = true) {
    FuseReport report;
    report.hello.protocol = kRunnerProtocol;
    report.hello.build = "0.1.0";
    report.hello.torch = "2.11.0";
    report.hello.kernels = true;
    if (gpu) report.hello.gpus.push_back({"NVIDIA H200", 90, 132, 150e9, 148e9, 50e6, "GPU-1"});
    report.answered = true;
    report.predicted_for = "NVIDIA H200";
    report.same_device = gpu;
    return report;
}

TEST(FuseReport, SavesPerInstanceTimesInstances) {
    const MeasuredRegion four = region(4, 500, 1000); // 75 µs forward, 75 backward
    EXPECT_DOUBLE_EQ(*measuredSavingNs(four, analysis(4, 120, 120)), 4 * 150e3);
    // Of 60 and 90 µs in the step 25 stay each time.
    EXPECT_DOUBLE_EQ(*measuredSavingNs(four, analysis(4, 60, 90)), 4 * (35e3 + 65e3));
    Analysis other = analysis(4, 60, 90); // the trace's times are of another GPU
    other.device.name = "NVIDIA A100-SXM4-80GB";
    EXPECT_DOUBLE_EQ(*measuredSavingNs(four, other), 600e3);
    MeasuredRegion unfused = four;
    for (Comparison& one : unfused.result->result.directions) one.has_fused = false;
    EXPECT_FALSE(measuredSavingNs(unfused, analysis(4, 60, 90)).has_value());
}

TEST(FuseReport, AModuleIsBoundByItsTimeWhereThatIsKnown) {
    MeasuredRegion layer = region(2, 500, 1000);
    layer.finding.clear();
    EXPECT_DOUBLE_EQ(*measuredSavingNs(layer, analysis(1, 1, 1)), 2 * 150e3);
    layer.module_time = StepTime{60e3, 200e3, 0};
    EXPECT_DOUBLE_EQ(*measuredSavingNs(layer, analysis(1, 1, 1)), 2 * (35e3 + 75e3));
    EXPECT_TRUE(measuredSet([&] {
                    FuseReport r = report();
                    r.regions.push_back(layer);
                    return r;
                }())
                    .empty());
}

TEST(FuseReport, ThePlanIsToldOnceAllOfItIsMeasured) {
    FuseReport r = report();
    Analysis a = analysis(4, 120, 120);
    r.regions.push_back(region(4, 500, 10'000));
    r.regions[0].result->instance_class = instanceClasses(a, a.findings[0])[0].name;
    EXPECT_THAT(fuseJson(r, a), HasSubstr("\"saving_us_per_step\": 600,\n  \"predicted_saving"));
    EXPECT_THAT(fuseTable(r, a), HasSubstr("the plan"));
    // Another finding comes into the plan that was not run.
    Finding rope = a.findings[0];
    rope.id = "rope";
    for (std::size_t i = 0; i < rope.instances.size(); ++i) rope.instances[i].forward = {KernelId(10 + i)};
    a.findings.push_back(rope);
    EXPECT_THAT(fuseJson(r, a), HasSubstr("\"plan\": null"));
    EXPECT_THAT(fuseTable(r, a), Not(HasSubstr("the plan\n")));
    // On the CPU nothing tells of a step.
    r.regions[0].result->result.on_gpu = false;
    EXPECT_THAT(fuseJson(r, analysis(4, 120, 120)), HasSubstr("\"plan\": null"));
}

TEST(FuseReport, Json) {
    FuseReport r = report();
    r.regions.push_back(region(4, 500, 10'000));
    MeasuredRegion failed = region(1, 1, 1);
    failed.region = "rope";
    failed.result.reset();
    failed.error_code = "out_of_memory";
    failed.error = "too large";
    r.regions.push_back(failed);
    const std::string text = fuseJson(r, Analysis{});
    simdjson::dom::parser parser;
    simdjson::dom::element json;
    ASSERT_EQ(parser.parse(text).get(json), simdjson::SUCCESS);
    EXPECT_EQ(std::string_view(json["schema"]), "fusescope.fuse/1");
    EXPECT_EQ(std::string_view(json["device"]), "NVIDIA H200");
    const simdjson::dom::array results = json["results"];
    ASSERT_EQ(results.size(), 2u);
    const auto first = results.at(0).value();
    EXPECT_EQ(std::string_view(first["region"]), "rms_norm");
    EXPECT_EQ(std::string_view(first["direction"]), "forward");
    EXPECT_EQ(double(first["baseline_us"]["median"]), 100);
    EXPECT_EQ(double(first["fused_us"]["p90"]), 25.5);
    EXPECT_EQ(double(first["speedup"]), 4);
    EXPECT_TRUE(first["baseline_graph_us"].is_null());
    EXPECT_DOUBLE_EQ(double(first["share_of_roof"]), 0.8);
    EXPECT_EQ(std::string_view(first["verdict"]), "4.00x faster, less memory, as exact as eager");
    EXPECT_EQ(double(json["regions"].at(0)["saving_us_per_step"]), 600);
    EXPECT_EQ(double(json["regions"].at(0)["predicted_saving_us_per_step"]["expected"]), 500);
    EXPECT_TRUE(json["regions"].at(0)["error"].is_null());
    EXPECT_EQ(std::string_view(json["regions"].at(1)["error"]["code"]), "out_of_memory");
    EXPECT_TRUE(json["regions"].at(1)["saving_us_per_step"].is_null());
    EXPECT_TRUE(json["plan"].is_null());
    ASSERT_EQ(json["measured"].get_array().size(), 1u); // for analyze --measured
    EXPECT_EQ(std::string_view(json["measured"].at(0)["finding"]), "rms_norm");
}

TEST(FuseReport, TableForPeople) {
    FuseReport r = report();
    r.regions.push_back(region(4, 500, 10'000));
    const std::string text = fuseTable(r, Analysis{});
    for (const char* part :
         {"Measured on NVIDIA H200", "rms_norm 4096x4096 bf16", "100 µs ±2%", "25.0 µs ±2%", "4.00x", "80.0%", "7 → 1",
          "400 MB → 100 MB", "0.002 → 0.002", "as exact as eager", "600 µs", "500 µs (450 µs to 550 µs)"})
        EXPECT_THAT(text, HasSubstr(part));
    EXPECT_THAT(text, Not(HasSubstr("CPU")));
}

TEST(FuseReport, ACpuRunSaysSo) {
    FuseReport r = report(false);
    r.regions.push_back(region(4, 500, 10'000));
    r.regions[0].result->result = result(false);
    const std::string text = fuseTable(r, Analysis{});
    EXPECT_THAT(text, HasSubstr("Measured on the CPU"));
    EXPECT_THAT(text, HasSubstr("Per step, on the CPU"));
    EXPECT_THAT(text, HasSubstr("not of a GPU's speed"));
    const std::string json = fuseJson(r, Analysis{});
    EXPECT_THAT(json, HasSubstr("\"device\": \"CPU\""));
    EXPECT_THAT(json, HasSubstr("Measured on the CPU"));
    EXPECT_THAT(deviceReportText(r.hello, std::nullopt), HasSubstr("CPU"));
}

TEST(FuseReport, AnUnsteadySpeedupSaysSoBesideTheFigure) {
    FuseReport r = report();
    r.regions.push_back(region(4, 500, 10'000));
    for (const std::string& sure : {fuseJson(r, Analysis{}), fuseTable(r, Analysis{})}) {
        EXPECT_THAT(sure, Not(HasSubstr("doubt")));
        EXPECT_THAT(sure, Not(HasSubstr("unsteady")));
    }
    Comparison& forward = r.regions[0].result->result.directions[0];
    forward.baseline.us.rounds = forward.fused.us.rounds = 2;
    simdjson::dom::parser parser;
    simdjson::dom::element json;
    ASSERT_EQ(parser.parse(fuseJson(r, Analysis{})).get(json), simdjson::SUCCESS);
    EXPECT_EQ(double(json["results"].at(0)["speedup"]), 4);
    EXPECT_EQ(std::string_view(json["results"].at(0)["speedup_doubt"]), "2 rounds");
    EXPECT_EQ(std::string_view(json["results"].at(0)["verdicts"]["speed"]), "not certain (2 rounds)");
    EXPECT_NE(json["results"].at(1)["speedup_doubt"].error(), simdjson::SUCCESS); // the backward is steady
    EXPECT_EQ(std::string_view(json["regions"].at(0)["saving_doubt"]), "forward: 2 rounds");
    const std::string text = fuseTable(r, Analysis{});
    EXPECT_THAT(text, HasSubstr("4.00x (2 rounds)"));
    EXPECT_THAT(text, HasSubstr("600 µs (unsteady)"));
    EXPECT_THAT(text, HasSubstr("to tell a speedup or a saving (forward: 2 rounds)"));
}

TEST(FuseReport, NamesCannotSteerATerminal) {
    FuseReport r = report();
    r.hello.gpus[0].name = "\x1b[2J";
    r.regions.push_back(region(1, 1, 1));
    EXPECT_THAT(fuseTable(r, Analysis{}), Not(HasSubstr("\x1b")));
    EXPECT_THAT(deviceReportText(r.hello, std::nullopt), Not(HasSubstr("\x1b")));
}

} // namespace
} // namespace fusescope
