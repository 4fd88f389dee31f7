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
    region.region = region.pattern = region.finding = "rms_norm";
    region.shape = "4096x4096 bf16";
    region.instances = static_cast<double>(instances);
    for (std::uint32_t i = 0; i < instances; ++i) region.members.push_back(i);
    region.predicted = true;
    region.predicted_saving_ns = {0.9e3 * predicted_us, 1e3 * predicted_us, 1.1e3 * predicted_us};
    region.time_ns = 1e3 * time_us;
    region.fused_bytes = 80e6;
    region.fused_backward_bytes = 60e6;
    region.result = result(true);
    return region;
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
    const FuseReport r = report();
    EXPECT_DOUBLE_EQ(*measuredSavingNs(region(4, 500, 1000), r), 4 * 150e3);
    EXPECT_DOUBLE_EQ(*measuredSavingNs(region(4, 500, 400), r), 400e3); // never more than it takes
    FuseReport other = r;
    other.same_device = false; // the trace's times are of another GPU
    EXPECT_DOUBLE_EQ(*measuredSavingNs(region(4, 500, 400), other), 600e3);
    MeasuredRegion unfused = region(4, 500, 400);
    for (Comparison& one : unfused.result->directions) one.has_fused = false;
    EXPECT_FALSE(measuredSavingNs(unfused, r).has_value());
}

TEST(FuseReport, RoofIsTheCopyOrTheMatrixProduct) {
    FuseReport r = report();
    MeasuredRegion one = region(1, 1, 1);
    const Comparison& forward = one.result->directions[0];
    EXPECT_DOUBLE_EQ(roofShare(one, forward, r).Bps, 3.2e12); // 80 MB in 25 µs
    EXPECT_DOUBLE_EQ(roofShare(one, forward, r).share, 0.8);
    EXPECT_DOUBLE_EQ(roofShare(one, one.result->directions[1], r).share, 0.6);
    one.fused_flops = 1e10;
    EXPECT_EQ(roofShare(one, forward, r).share, 0); // half a roof says nothing
    r.matmul_flops = 6e14;
    EXPECT_FALSE(roofShare(one, forward, r).by_flops);
    r.matmul_flops = 4.5e14;
    EXPECT_TRUE(roofShare(one, forward, r).by_flops);
    EXPECT_NEAR(roofShare(one, forward, r).share, 1e10 / 4.5e14 / 25e-6, 1e-12);
}

TEST(FuseReport, ThePlanCountsItsInstancesOnce) {
    FuseReport r = report();
    r.regions.push_back(region(4, 500, 10'000));
    Analysis analysis;
    EXPECT_FALSE(planSaving(r, analysis).has_value());
    analysis.plan.parts.push_back({"rms_norm", {0, 2}, {}});
    analysis.plan.saving_ns = {1, 2, 3};
    const auto plan = planSaving(r, analysis);
    ASSERT_TRUE(plan.has_value());
    EXPECT_DOUBLE_EQ(plan->measured_ns, 2 * 150e3);
    analysis.plan.parts.push_back({"rope", {0}, {}}); // not measured
    EXPECT_FALSE(planSaving(r, analysis).has_value());
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
    EXPECT_EQ(std::string_view(first["verdict"]), "faster 4.00x, less memory, as exact as eager");
    EXPECT_EQ(double(json["regions"].at(0)["saving_us_per_step"]), 600);
    EXPECT_EQ(double(json["regions"].at(0)["predicted_saving_us_per_step"]["expected"]), 500);
    EXPECT_TRUE(json["regions"].at(0)["error"].is_null());
    EXPECT_EQ(std::string_view(json["regions"].at(1)["error"]["code"]), "out_of_memory");
    EXPECT_TRUE(json["regions"].at(1)["saving_us_per_step"].is_null());
    EXPECT_TRUE(json["plan"].is_null());
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
    r.regions[0].result = result(false);
    const std::string text = fuseTable(r, Analysis{});
    EXPECT_THAT(text, HasSubstr("Measured on the CPU"));
    EXPECT_THAT(text, HasSubstr("Per step, on the CPU"));
    EXPECT_THAT(text, HasSubstr("not of a GPU's speed"));
    const std::string json = fuseJson(r, Analysis{});
    EXPECT_THAT(json, HasSubstr("\"device\": \"CPU\""));
    EXPECT_THAT(json, HasSubstr("Measured on the CPU"));
    EXPECT_THAT(deviceReportText(r.hello, std::nullopt), HasSubstr("CPU"));
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
