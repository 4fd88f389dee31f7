// SPDX-License-Identifier: Apache-2.0
#include "core/region/program.h"

#include "tests/core/region/example.h"

#include <gtest/gtest.h>

#include <functional>

namespace fusescope {
namespace {

using test::exampleRegion;

std::string problemAfter(const std::function<void(Region&)>& change) {
    Region region = exampleRegion();
    change(region);
    const Status status = checkRegion(region);
    return status ? "" : status.error().message();
}

TEST(RegionProgram, AcceptsTheExample) {
    EXPECT_EQ(problemAfter([](Region&) {}), "");
    EXPECT_EQ(problemAfter([](Region& r) { r.fused = {}; }), "") << "no fused form is fine";
    // 2*3 bf16 + 3 bf16 + 2 i64
    EXPECT_EQ(inputBytes(exampleRegion()), 12 + 6 + 16);
}

TEST(RegionProgram, ReferencesPointBackwards) {
    EXPECT_EQ(problemAfter([](Region& r) {
                  r.baseline.steps[0].args[0].value = RegionRef{0, 0};
              }),
              "region.baseline.steps[0].args[0]: expected a value that exists before this step, found step 0, which "
              "comes later or never");
    EXPECT_EQ(problemAfter([](Region& r) {
                  r.baseline.steps[1].args[1].value = RegionRefs{RegionRef{0, 1}};
              }),
              "region.baseline.steps[1].args[1]: expected a value that exists before this step, found output 1 of step "
              "0, which has 1");
    EXPECT_EQ(problemAfter([](Region& r) {
                  r.baseline.steps[0].args[0].value = RegionRef{-1, 3};
              }),
              "region.baseline.steps[0].args[0]: expected a value that exists before this step, found input 3 of 3");
    EXPECT_EQ(problemAfter([](Region& r) {
                  r.baseline.outputs[0] = {2, 0};
              }),
              "region.baseline.outputs[0]: expected a value of the program, found step 2, which comes later or never");
    EXPECT_NE(problemAfter([](Region& r) { r.baseline.outputs[0] = {-2, 0}; }), "");
}

TEST(RegionProgram, FusedHasTheSameOutputs) {
    EXPECT_EQ(problemAfter([](Region& r) { r.fused.outputs.pop_back(); }),
              "region.fused.outputs: expected as many outputs as the baseline's 2, found 1");
    EXPECT_NE(problemAfter([](Region& r) { r.fused.steps.clear(); }), "");
    EXPECT_NE(problemAfter([](Region& r) { r.baseline = {}; }), "");
    EXPECT_NE(problemAfter([](Region& r) { r.baseline.outputs.clear(); }), "");
}

TEST(RegionProgram, InputsFitIntoMemory) {
    EXPECT_EQ(problemAfter([](Region& r) { r.inputs[0].meta.sizes[0] = kDynamicSize; }),
              "region.inputs[0]: expected sizes that are known and not negative, found -1");
    EXPECT_NE(problemAfter([](Region& r) {
                  r.inputs[0].meta.sizes = {std::int64_t{1} << 40, std::int64_t{1} << 40};
              }),
              "");
    EXPECT_NE(problemAfter([](Region& r) { r.inputs[0].meta.strides = {std::int64_t{1} << 62, 1}; }), "");
    EXPECT_NE(problemAfter([](Region& r) { r.inputs[0].meta.strides = {-1, 1}; }), "");
    EXPECT_NE(problemAfter([](Region& r) { r.inputs[0].meta.strides = {1}; }), "");
    EXPECT_NE(problemAfter([](Region& r) { r.inputs[1].meta.dtype = DType::Unknown; }), "");
    EXPECT_NE(problemAfter([](Region& r) { r.inputs[1].scale = std::numeric_limits<double>::quiet_NaN(); }), "");
    EXPECT_NE(problemAfter([](Region& r) { r.inputs[2].bound = 0; }), "");
    EXPECT_EQ(problemAfter([](Region& r) { r.inputs[0].meta.sizes = {0, 3}; }), "") << "empty tensors exist";
}

TEST(RegionProgram, OnlyOperatorsThatCompute) {
    for (const char* op : {"", "mul", "aten", "aten::", "prim::Print", "operator::add", "aten::mul.Tensor",
                           "aten::from_file", "aten::mul x", "::mul", "fusescope::"})
        EXPECT_NE(problemAfter([&](Region& r) { r.baseline.steps[0].op = op; }), "") << op;
    EXPECT_EQ(problemAfter([](Region& r) { r.baseline.steps[0].op = "aten::__and__"; }), "");
    EXPECT_NE(problemAfter([](Region& r) { r.baseline.steps[1].args[4].name = "a b"; }), "");
    EXPECT_NE(problemAfter([](Region& r) { r.baseline.steps[1].args[4].name = ""; }), "") << "a keyword has a name";
}

TEST(RegionProgram, Bounds) {
    EXPECT_NE(problemAfter([](Region& r) { r.inputs.resize(kMaxRegionInputs + 1, r.inputs[0]); }), "");
    EXPECT_NE(problemAfter([](Region& r) { r.baseline.steps.resize(kMaxRegionSteps + 1, r.baseline.steps[0]); }), "");
    EXPECT_NE(problemAfter([](Region& r) { r.baseline.steps[1].args.resize(kMaxRegionArgs + 1); }), "");
    EXPECT_NE(problemAfter([](Region& r) { r.baseline.steps[1].args[8].value = std::vector<std::int64_t>(4097); }), "");
    EXPECT_NE(problemAfter([](Region& r) { r.baseline.steps[1].args[6].value = std::string(20'000, 'x'); }), "");
    EXPECT_NE(problemAfter([](Region& r) { r.id = std::string(600, 'x'); }), "");
    EXPECT_NE(problemAfter([](Region& r) { r.fused_bytes = -1; }), "");
    EXPECT_NE(problemAfter([](Region& r) {
                  r.inputs[0].meta.sizes.assign(33, 1);
                  r.inputs[0].meta.strides = {};
              }),
              "");
}

} // namespace
} // namespace fusescope
