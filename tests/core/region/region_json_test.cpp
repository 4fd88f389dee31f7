// SPDX-License-Identifier: Apache-2.0
#include "core/region/region_json.h"

#include "tests/core/region/example.h"

#include <gtest/gtest.h>

namespace fusescope {
namespace {

using test::exampleRegion;

std::string problemOf(std::string_view text) {
    const Result<Region> region = regionFromJson(text);
    return region ? "" : region.error().message();
}

TEST(RegionJson, ComesBack) {
    const Region region = exampleRegion();
    const Result<Region> back = regionFromJson(regionJson(region));
    ASSERT_TRUE(back.ok()) << back.error().message();
    EXPECT_EQ(regionJson(*back), regionJson(region));
    ASSERT_EQ(back->inputs.size(), 3u);
    EXPECT_EQ(back->inputs[0].meta.sizes, (std::vector<std::int64_t>{2, 3}));
    EXPECT_EQ(back->inputs[0].meta.strides, (std::vector<std::int64_t>{1, 2}));
    EXPECT_EQ(back->inputs[0].meta.dtype, DType::BFloat16);
    EXPECT_TRUE(back->inputs[0].gradient && back->inputs[0].meta.requires_grad && !back->inputs[1].gradient);
    EXPECT_EQ(back->inputs[1].fill, Fill::NearOne);
    EXPECT_EQ(back->inputs[1].scale, 0.1);
    EXPECT_EQ(back->inputs[2].bound, 7);
    ASSERT_EQ(back->baseline.steps.size(), 2u);
    EXPECT_EQ(back->baseline.steps[0].op, "aten::mul");
    EXPECT_EQ(back->baseline.steps[0].overload, "Tensor");
    EXPECT_EQ(back->baseline.steps[0].label, "mul_4");
    EXPECT_EQ(back->baseline.steps[1].outputs, 2u);
    for (std::size_t a = 0; a < region.baseline.steps[1].args.size(); ++a) {
        EXPECT_EQ(back->baseline.steps[1].args[a].value, region.baseline.steps[1].args[a].value) << a;
        EXPECT_EQ(back->baseline.steps[1].args[a].name, region.baseline.steps[1].args[a].name) << a;
        EXPECT_EQ(back->baseline.steps[1].args[a].keyword, region.baseline.steps[1].args[a].keyword) << a;
    }
    EXPECT_EQ(back->baseline.outputs, region.baseline.outputs);
    EXPECT_EQ(back->fused.outputs, region.fused.outputs);
    EXPECT_EQ(back->reason, "made up");
    EXPECT_EQ(back->fused_bytes, 12);
    EXPECT_EQ(back->fused_backward_bytes, 24);
    EXPECT_EQ(back->fused_flops, 1e19);
    EXPECT_EQ(back->fused_backward_flops, 3);
    EXPECT_TRUE(back->backward);
    EXPECT_EQ(back->numerics, "framework order");
    EXPECT_EQ(back->title, region.title);
}

TEST(RegionJson, Text) {
    Region region = exampleRegion();
    region.inputs.resize(1);
    region.baseline = {{{"aten::pow",
                         "Tensor_Scalar",
                         {{"self", false, RegionRef{-1, 0}}, {"exponent", false, std::int64_t{2}}},
                         1,
                         "pow_1"},
                        {"aten::to",
                         "dtype",
                         {{"self", false, RegionRef{0, 0}}, {"dtype", true, RegionDType{DType::Float32}}},
                         1,
                         "to_1"}},
                       {{1, 0}}};
    region.fused = {};
    EXPECT_EQ(regionJson(region),
              R"({"id":"selection#2","pattern":"selection","title":"two nodes of model.layers.0",)"
              R"("inputs":[{"name":"x","dtype":"bf16","sizes":[2,3],"strides":[1,2],"fill":"normal","scale":1,)"
              R"("gradient":true}],"baseline":{"steps":[)"
              R"(["aten::pow.Tensor_Scalar",1,"pow_1",[["self",[0]],["exponent",2]]],)"
              R"(["aten::to.dtype",1,"to_1",[["self",[0,0]],["dtype",{"dtype":"f32"},true]]]],"outputs":[[1,0]]},)"
              R"("reason":"made up","fused_bytes":12,"fused_backward_bytes":24,"fused_flops":1e+19,)"
              R"("fused_backward_flops":3,"backward":true,"numerics":"framework order"})");
}

constexpr const char* kInput = R"("inputs":[{"name":"x","dtype":"f32","sizes":[2]}])";
std::string withStep(const std::string& step) {
    return std::string("{") + kInput + R"(,"baseline":{"steps":[)" + step + R"(],"outputs":[[0,0]]}})";
}

TEST(RegionJson, SmallestOne) {
    EXPECT_EQ(problemOf(withStep(R"(["aten::neg",1,"",[["self",[0]]]])")), "");
    EXPECT_EQ(problemOf(withStep(R"(["aten::neg",1,"",[["self",[0]]],"of a later version"])")), "");
}

TEST(RegionJson, SaysWhatIsWrongAndWhere) {
    EXPECT_EQ(problemOf(""), "region: expected one line of JSON, found nothing");
    EXPECT_EQ(problemOf("[]"), "region: expected a JSON object, found an array");
    EXPECT_EQ(problemOf(R"({"id":5})"), "region: id: expected a text, found 5");
    EXPECT_EQ(problemOf(R"({"inputs":[{"sizes":[]}]})"), "region: inputs[0]: expected the member 'dtype', found none");
    EXPECT_EQ(problemOf(R"({"inputs":[{"dtype":"f33","sizes":[]}]})"),
              "region: inputs[0]: expected a type of elements as bf16, found 'f33'");
    EXPECT_EQ(problemOf(R"({"inputs":[{"dtype":"f32","sizes":[-1]}]})"),
              "region: inputs[0].sizes[0]: expected a whole number from 0 to 4503599627370496, found -1");
    EXPECT_EQ(problemOf(R"({"inputs":[{"dtype":"f32","sizes":[1.5]}]})"),
              "region: inputs[0].sizes[0]: expected a whole number, found 1.5");
    // As short as they are in the file.
    EXPECT_EQ(problemOf(R"({"inputs":[{"dtype":"f32","sizes":[5e-300]}]})"),
              "region: inputs[0].sizes[0]: expected a whole number, found 5e-300");
    EXPECT_EQ(problemOf(R"({"inputs":[{"dtype":"f32","sizes":[1e308]}]})"),
              "region: inputs[0].sizes[0]: expected a whole number, found 1e+308");
    EXPECT_EQ(problemOf(R"({"inputs":[{"dtype":"f32","sizes":[1],"fill":"zebra"}]})"),
              "region: inputs[0]: expected a fill as normal or causal, found 'zebra'");
    EXPECT_EQ(problemOf(withStep("7")),
              "region: baseline.steps[0]: expected a step as [operator, outputs, label, arguments], found 7");
    EXPECT_EQ(problemOf(withStep(R"(["aten::neg",1,"",[["self"]]])")),
              "region: baseline.steps[0].args[0]: expected an argument as [name, value] or [name, value, true], found "
              "an array");
    EXPECT_EQ(problemOf(withStep(R"(["aten::neg",1,"",[["self",{"g":1}]]])")),
              "region: baseline.steps[0].args[0]: expected a value with one of f, dtype, refs, ints, floats, bools, "
              "found an object without them");
    EXPECT_EQ(problemOf(withStep(R"(["aten::neg",1,"",[["self",[1]]]])")),
              "region: expected a value that exists before this step, found input 1 of 1 "
              "(region.baseline.steps[0].args[0])");
    for (const char* value : {"[]", "[1,2,3]", "[-1]", "[4294967296]", "1.5", R"({"f":"x"})", R"({"f":[1]})",
                              R"({"ints":[1.5]})", R"({"ints":["1"]})", R"({"bools":[1]})", R"({"refs":[1]})",
                              R"({"dtype":"zebra"})", R"({"ints":7})", "18446744073709551615", "{}"})
        EXPECT_NE(problemOf(withStep(std::string(R"(["aten::neg",1,"",[["self",)") + value + "]]]")), "") << value;
}

TEST(RegionJson, Bounds) {
    std::string many = "[0";
    for (int i = 0; i < 4200; ++i) many += ",0";
    EXPECT_NE(problemOf(withStep(R"(["aten::neg",1,"",[["self",{"ints":)" + many + "]}]]]")), "");
    EXPECT_NE(problemOf(std::string(300, ' ') + "{}"), "");
    const Result<Region> large = regionFromJson(regionJson(exampleRegion()), 100);
    ASSERT_FALSE(large.ok());
    EXPECT_EQ(large.error().code, ErrorCode::Limit);
    EXPECT_NE(problemOf(std::string(100'000, '[')), "") << "depth";
}

} // namespace
} // namespace fusescope
