// SPDX-License-Identifier: Apache-2.0
#include "core/measured/merge.h"

#include <gtest/gtest.h>

namespace fusescope {
namespace {

MeasuredResult result(const char* finding, std::int64_t when_s, double fused_us = 1) {
    MeasuredResult m;
    m.finding = finding;
    m.instance_class = "x";
    m.when_s = when_s;
    m.fused_bytes = fused_us; // tells results apart
    return m;
}

MeasuredFile holding(std::initializer_list<MeasuredResult> results) {
    MeasuredFile file;
    for (const MeasuredResult& one : results) file.set.set(one);
    return file;
}

double figureOf(const MeasuredFile& file, const char* finding) {
    const MeasuredResult* m = file.set.find(finding, "x");
    return m != nullptr ? m->fused_bytes : 0;
}

TEST(Merge, WhatAnotherHasPutThereStays) {
    const MeasuredFile own = holding({result("rope", 10, 1)});
    const MeasuredFile out = merged(holding({result("swiglu", 11, 2)}), own, {});
    EXPECT_EQ(figureOf(out, "rope"), 1);
    EXPECT_EQ(figureOf(out, "swiglu"), 2);
    // The next time the same: it is not shown here, and was never taken away here.
    EXPECT_EQ(figureOf(merged(out, own, own), "swiglu"), 2);
}

TEST(Merge, TheLaterOfTwoIsKept) {
    const MeasuredFile early = holding({result("rope", 10, 1)}), late = holding({result("rope", 20, 2)});
    EXPECT_EQ(figureOf(merged(early, late, {}), "rope"), 2);
    EXPECT_EQ(figureOf(merged(late, early, {}), "rope"), 2);
    // Also where the earlier one was there at first, for both.
    EXPECT_EQ(figureOf(merged(late, early, early), "rope"), 2);
}

TEST(Merge, TheCpuDoesNotReplaceTheGpuOfAnother) {
    const auto of = [](bool gpu, std::int64_t when_s, double figure) {
        MeasuredResult m = result("rope", when_s, figure);
        m.result.on_gpu = gpu;
        return holding({m});
    };
    const MeasuredFile gpu = of(true, 10, 1), cpu = of(false, 20, 2);
    EXPECT_EQ(figureOf(merged(gpu, cpu, {}), "rope"), 1); // whoever writes last
    EXPECT_EQ(figureOf(merged(cpu, gpu, {}), "rope"), 1);
    EXPECT_EQ(figureOf(merged(gpu, cpu, cpu), "rope"), 1); // and the next time
    // What the window itself had: its user's last measurement.
    EXPECT_EQ(figureOf(merged(gpu, cpu, gpu), "rope"), 2);
}

TEST(Merge, ABusyGpuDoesNotReplaceAFreeOne) {
    const auto of = [](bool busy, bool fused, std::int64_t when_s, double figure) {
        MeasuredResult m = result("rope", when_s, figure);
        m.result.on_gpu = true;
        m.result.busy = busy;
        m.result.directions.emplace_back().has_fused = fused;
        return holding({m});
    };
    const MeasuredFile free = of(false, true, 10, 1), busy = of(true, true, 20, 2), none = of(false, false, 30, 3);
    EXPECT_EQ(figureOf(merged(free, busy, {}), "rope"), 1); // whoever writes last
    EXPECT_EQ(figureOf(merged(busy, free, {}), "rope"), 1);
    EXPECT_EQ(figureOf(merged(busy, none, {}), "rope"), 2); // it was not compared with anything
}

TEST(Merge, UnsteadyRunsDoNotReplaceSteadyOnes) {
    const auto of = [](int rounds, std::int64_t when_s, double figure) {
        MeasuredResult m = result("rope", when_s, figure);
        m.result.on_gpu = true;
        Comparison& c = m.result.directions.emplace_back();
        c.has_fused = true;
        c.baseline.us = c.fused.us = {10, 9, 11, rounds};
        return holding({m});
    };
    const MeasuredFile steady = of(20, 10, 1), hasty = of(2, 20, 2);
    EXPECT_EQ(figureOf(merged(steady, hasty, {}), "rope"), 1);
    EXPECT_EQ(figureOf(merged(hasty, steady, {}), "rope"), 1);
}

TEST(Merge, WhatTheWriterTookAwayGoes) {
    const MeasuredFile known = holding({result("rope", 10, 1), result("swiglu", 11, 2)});
    const MeasuredFile out = merged(known, holding({result("rope", 10, 1)}), known);
    EXPECT_EQ(figureOf(out, "rope"), 1);
    EXPECT_EQ(figureOf(out, "swiglu"), 0);
    // Not what another has measured anew meanwhile.
    EXPECT_EQ(figureOf(merged(holding({result("swiglu", 30, 3)}), {}, known), "swiglu"), 3);
}

TEST(Merge, UndoBringsTheEarlierOneBack) {
    const MeasuredFile early = holding({result("rope", 10, 1)}), late = holding({result("rope", 20, 2)});
    EXPECT_EQ(figureOf(merged(late, early, late), "rope"), 1); // the later one was its own
}

TEST(Merge, RegionsOfBothAreThere) {
    const auto region = [](const char* node) {
        ChosenRegion one;
        one.module = "mlp";
        one.nodes = {node};
        return one;
    };
    MeasuredFile file, own, known;
    file.regions = {region("mul"), region("add"), region("silu")};
    own.regions = {region("mul")};
    known.regions = {region("mul"), region("add")}; // it has removed the latter
    const MeasuredFile out = merged(file, own, known);
    ASSERT_EQ(out.regions.size(), 2u);
    EXPECT_EQ(out.regions[0].nodes.front(), "mul");
    EXPECT_EQ(out.regions[1].nodes.front(), "silu");
}

// More could not be read again, and all of it would be lost.
TEST(Merge, WhatIsKeptTogetherIsNoMoreThanOneFileHolds) {
    MeasuredFile file, own;
    for (int i = 0; i < 600; ++i) {
        ChosenRegion one;
        one.module = "theirs." + std::to_string(i);
        file.regions.push_back(one);
        one.module = "ours." + std::to_string(i);
        own.regions.push_back(one);
    }
    for (int i = 0; i < 6000; ++i) {
        file.set.set(result(("theirs." + std::to_string(i)).c_str(), 10));
        own.set.set(result(("ours." + std::to_string(i)).c_str(), 10));
    }
    const MeasuredFile out = merged(file, own, {});
    EXPECT_EQ(out.regions.size(), 1000u);
    EXPECT_EQ(out.regions[599].module, "ours.599");
    EXPECT_EQ(out.regions[600].module, "theirs.0");
    EXPECT_EQ(out.set.results().size(), 10'000u);
    for (const auto& [key, one] : own.set.results()) EXPECT_NE(out.set.find(key.first, key.second), nullptr);
}

} // namespace
} // namespace fusescope
