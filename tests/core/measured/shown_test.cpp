// SPDX-License-Identifier: Apache-2.0
#include "core/measured/shown.h"

#include <gtest/gtest.h>

namespace fusescope {
namespace {

Comparison comparison(const char* direction, Spread before, Spread after) {
    Comparison c;
    c.direction = direction;
    c.has_fused = true;
    c.baseline.us = before;
    c.fused.us = after;
    return c;
}

FuseResult result(std::vector<Comparison> directions) {
    FuseResult r;
    r.on_gpu = true;
    r.directions = std::move(directions);
    return r;
}

// 100 us forward and 200 backward in the step.
FusedSpeed speed(const FuseResult& result) {
    Finding finding;
    Instance instance;
    instance.forward_ns = 100'000;
    instance.backward_ns = 200'000;
    finding.instances = {instance};
    return shownSpeed(result, finding, finding.instances[0]);
}

TEST(Shown, SpeedIsOfAllDirectionsTogether) {
    const Spread hundred{100, 99, 101}, two_hundred{200, 198, 202};
    EXPECT_EQ(speed(result({comparison("forward", hundred, {50, 49, 51})})), FusedSpeed::Faster);
    EXPECT_EQ(speed(result({comparison("forward", hundred, {150, 149, 151})})), FusedSpeed::Slower);
    // 50 gained, 80 lost.
    EXPECT_EQ(speed(result({comparison("forward", hundred, {50, 49, 51}),
                            comparison("backward", two_hundred, {280, 278, 282})})),
              FusedSpeed::Slower);
    // 50 gained, 20 lost.
    EXPECT_EQ(speed(result({comparison("forward", hundred, {50, 49, 51}),
                            comparison("backward", two_hundred, {220, 218, 222})})),
              FusedSpeed::Faster);
}

TEST(Shown, WhatRunsDoNotTellApartIsNoGain) {
    EXPECT_EQ(speed(result({comparison("forward", {100, 90, 110}, {95, 85, 105})})), FusedSpeed::NoGain);
    EXPECT_EQ(speed(result({comparison("forward", {100, 90, 110}, {105, 95, 115})})), FusedSpeed::NoGain);
    // Clear as launched alone, but the step takes 100 for it already: nothing is left to be saved there.
    EXPECT_EQ(speed(result({comparison("forward", {300, 299, 301}, {150, 149, 151})})), FusedSpeed::NoGain);
}

TEST(Shown, UnderACudaGraphWhereTheStepDoesNotWait) {
    Comparison c = comparison("forward", {300, 299, 301}, {90, 89, 91}); // mostly launches
    c.baseline.graph_us = {80, 79, 81};
    c.fused.graph_us = {88, 87, 89};
    EXPECT_EQ(speed(result({c})), FusedSpeed::Slower);
}

} // namespace
} // namespace fusescope
