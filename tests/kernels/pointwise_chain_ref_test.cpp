// SPDX-License-Identifier: Apache-2.0
#include "kernels/pointwise_chain/pointwise_chain_ref.h"

#include <algorithm>
#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>
#include <stdexcept>

using namespace fusescope::kernels;
using namespace fusescope::kernels::chain;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

namespace {

struct Input {
    std::vector<int64_t> size;
    std::vector<double> values;
};

/// The outputs of a region whose inputs have the types that its text says.
std::vector<std::vector<double>> run(const char* text, const std::vector<Input>& inputs, bool round = false) {
    const auto parsed = parse(text);
    if (auto* problem = std::get_if<std::string>(&parsed)) throw std::runtime_error(*problem);
    const auto& program = std::get<Program>(parsed);
    std::vector<FsChainTensor> tensors;
    std::vector<const double*> data;
    for (size_t i = 0; i < inputs.size(); ++i) {
        FsChainTensor t{};
        t.dtype = program.nodes[i].dtype;
        t.dims = int32_t(inputs[i].size.size());
        std::copy(inputs[i].size.begin(), inputs[i].size.end(), t.size);
        tensors.push_back(t);
        data.push_back(inputs[i].values.data());
    }
    const auto shapes = shapesOf(program, tensors.data());
    if (auto* problem = std::get_if<std::string>(&shapes)) throw std::runtime_error(*problem);
    return reference::pointwiseChain(program, std::get<Shapes>(shapes), data, round);
}

std::string problemOf(const char* text, const std::vector<Input>& inputs = {}) {
    try {
        run(text, inputs);
    } catch (const std::runtime_error& e) {
        return e.what();
    }
    return "";
}

TEST(PointwiseChain, RmsNormByHand) {
    const char* text = "%0 = input f32\n"
                       "%1 = input f32  # the weight\n"
                       "%2 = pow.f32 %0 2\n"
                       "%3 = mean.f32 %2\n"
                       "%4 = rsqrt.f32 %3\n"
                       "%5 = mul.f32 %0 %4\n"
                       "%6 = mul.f32 %1 %5\n"
                       "output %6\n"
                       "output %4\n";
    const auto out = run(text, {{{1, 2}, {3, 4}}, {{2}, {2, 0.5}}});
    EXPECT_NEAR(out[0][0], 1.6970562748477141, 1e-14);
    EXPECT_NEAR(out[0][1], 0.56568542494923802, 1e-14);
    EXPECT_NEAR(out[1][0], 0.28284271247461901, 1e-15);
}

TEST(PointwiseChain, SoftmaxHasTwoReductions) {
    const char* text = "%0 = input f32; %1 = amax.f32 %0; %2 = sub.f32 %0 %1; %3 = exp.f32 %2;"
                       "%4 = sum.f32 %3; %5 = div.f32 %3 %4; output %5";
    const auto out = run(text, {{{2, 2}, {0, std::log(3), 5, 5}}});
    EXPECT_NEAR(out[0][0], 0.25, 1e-15);
    EXPECT_NEAR(out[0][1], 0.75, 1e-15);
    EXPECT_NEAR(out[0][3], 0.5, 1e-15);
}

TEST(PointwiseChain, SumsOverRowsByHand) {
    const char* text =
        "%0 = input f32; %1 = input f32; %2 = mul.f32 %0 %1; output %2 summed; output %2; output %0 summed";
    const auto out = run(text, {{{2, 1, 2}, {1, 2, 3, 4}}, {{1, 1}, {10}}});
    EXPECT_THAT(out[0], ElementsAre(40, 60));
    EXPECT_THAT(out[1], ElementsAre(10, 20, 30, 40));
    EXPECT_THAT(out[2], ElementsAre(4, 6));
    // Terms as bf16 holds them: there, 256 + 1 is 256.
    const char* half = "%0 = input bf16; %1 = add.bf16 %0 1; output %1 summed";
    EXPECT_THAT(run(half, {{{2, 1}, {256, 1}}}, true)[0], ElementsAre(258));
    EXPECT_THAT(run(half, {{{2, 1}, {256, 1}}})[0], ElementsAre(259));
    EXPECT_THAT(run(half, {{{0, 3}, {}}})[0], ElementsAre(0, 0, 0));
}

TEST(PointwiseChain, RefusesSumsThatAreNone) {
    EXPECT_THAT(problemOf("%0 = input f32; %1 = sum.f32 %0; output %1 summed", {{{2, 2}, {1, 2, 3, 4}}}),
                HasSubstr("output %1: its shape [2, 1] is not the region's [2, 2], over whose rows it is summed"));
    EXPECT_THAT(problemOf("%0 = input f32; %1 = neg.f32 %0; output %1 summed", {{{}, {1}}}),
                HasSubstr("over whose rows it is summed"));
    EXPECT_THAT(problemOf("%0 = input i64; %1 = neg.i64 %0; output %1 summed"),
                HasSubstr("floating numbers, found i64"));
    EXPECT_THAT(problemOf("%0 = input f32; %1 = neg.f32 %0; output %1 sum"), HasSubstr("'output %N summed'"));
    EXPECT_THAT(problemOf("%0 = input f32; %1 = neg.f32 %0; output %1 summed; output %1 summed"),
                HasSubstr("output %1 is written twice"));
}

TEST(PointwiseChain, BroadcastsOverAnyDimension) {
    const char* text = "%0 = input f32; %1 = input f32; %2 = sub.f32 %0 %1 alpha=2; output %2";
    const auto out = run(text, {{{2, 1, 2}, {1, 2, 3, 4}}, {{2, 1}, {10, 20}}});
    EXPECT_THAT(out[0], ElementsAre(-19, -18, -39, -38, -17, -16, -37, -36));
}

TEST(PointwiseChain, RoundsEachResultToItsType) {
    // 1 + 2^-8 lies between two bf16 and is a tie; 1 + 3 * 2^-8 too, and goes up to the even one.
    const char* text = "%0 = input bf16; %1 = add.bf16 %0 1; output %1";
    EXPECT_THAT(run(text, {{{2}, {0x1p-8, 0x3p-8}}}, true)[0], ElementsAre(1, 1 + 0x4p-8));
    EXPECT_THAT(run(text, {{{1}, {0x1p-8}}}, false)[0], ElementsAre(1 + 0x1p-8));
    const char* half = "%0 = input f16; %1 = mul.f16 %0 2; output %1";
    EXPECT_THAT(run(half, {{{3}, {40000, 32752, 0x1p-24}}}, true)[0],
                ElementsAre(std::numeric_limits<double>::infinity(), 65504, 0x1p-23));
}

TEST(PointwiseChain, ComparesSelectsAndCasts) {
    const char* text = "%0 = input f32; %1 = input i64; %2 = ge.bool %0 %1; %3 = logical_not.bool %2;"
                       "%4 = where.f32 %3 %0 -inf; %5 = to.i64 %0; %6 = clamp.f32 %0 none 1.5;"
                       "output %4; output %5; output %6";
    const auto out = run(text, {{{3}, {-1.7, 2.5, 1}}, {{1}, {2}}});
    EXPECT_THAT(out[0], ElementsAre(-1.7, -std::numeric_limits<double>::infinity(), 1));
    EXPECT_THAT(out[1], ElementsAre(-1, 2, 1));
    EXPECT_THAT(out[2], ElementsAre(-1.7, 1.5, 1));
}

// Values of eager PyTorch.
TEST(PointwiseChain, IntegersWrapAround) {
    const char* text = "%0 = input i32; %1 = add.i32 %0 2147483647; %2 = mul.i32 %1 3; %3 = neg.i32 %1;"
                       "%4 = sub.i32 %0 %1 alpha=-2; output %1; output %2; output %3; output %4";
    const auto out = run(text, {{{3}, {1, -1, 0}}});
    EXPECT_THAT(out[0], ElementsAre(-2147483648.0, 2147483646, 2147483647));
    EXPECT_THAT(out[1], ElementsAre(-2147483648.0, 2147483642, 2147483645));
    EXPECT_THAT(out[2], ElementsAre(-2147483648.0, -2147483646, -2147483647));
    EXPECT_THAT(out[3], ElementsAre(1, -5, -2));
    const char* wide = "%0 = input i64; %1 = mul.i64 %0 4611686018427387904; %2 = to.i32 %0; %3 = abs.i32 %2;"
                       "output %1; output %2; output %3";
    const auto of_wide = run(wide, {{{3}, {1, 2, 0x1p33 + 0x1p31}}});
    EXPECT_THAT(of_wide[0], ElementsAre(0x1p62, -0x1p63, 0));
    EXPECT_THAT(of_wide[1], ElementsAre(1, 2, -0x1p31));
    EXPECT_THAT(of_wide[2], ElementsAre(1, 2, -0x1p31));
}

TEST(PointwiseChain, NotANumberWins) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const char* text = "%0 = input f32; %1 = input f32; %2 = maximum.f32 %0 %1; %3 = relu.f32 %2; %4 = amax.f32 %3;"
                       "output %3; output %4";
    const auto out = run(text, {{{1, 2}, {nan, -1}}, {{1, 2}, {0, -2}}});
    EXPECT_TRUE(std::isnan(out[0][0]));
    EXPECT_EQ(out[0][1], 0);
    EXPECT_TRUE(std::isnan(out[1][0]));
}

TEST(PointwiseChain, RowsWithoutElements) {
    const char* text = "%0 = input f32; %1 = sum.f32 %0; %2 = mean.f32 %0; output %1; output %2";
    const auto out = run(text, {{{2, 0}, {}}});
    EXPECT_THAT(out[0], ElementsAre(0, 0));
    EXPECT_TRUE(std::isnan(out[1][0]));
}

TEST(PointwiseChain, SaysWhatIsWrongWithAText) {
    const struct {
        const char* text;
        const char* sentence;
    } cases[] = {
        {"", "there is no output"},
        {"%0 = input f32", "there is no output"},
        {"%0 = input f8", "found 'f8'"},
        {"%1 = input f32", "expected %0"},
        {"hello", "expected '%N = OPERATOR.TYPE"},
        {"%0 = input f32\n%1 = silly.f32 %0", "line 2: %1: there is no operator 'silly'"},
        {"%0 = input f32\n%1 = exp %0", "needs the type of its result"},
        {"%0 = input f32\n%1 = exp.i64 %0", "exp cannot return i64"},
        {"%0 = input f32\n%1 = exp.f32 %1", "expected a result before it, found '%1'"},
        {"%0 = input f32\n%1 = add.f32 %0", "add takes 2 operands, found 1"},
        {"%0 = input f32\n%1 = add.f32 %0 x", "expected %N or a number, found 'x'"},
        {"%0 = input f32\n%1 = add.f32 1 2", "constants alone"},
        {"%0 = input f32\n%1 = mul.f32 %0 %0 alpha=2", "only add and sub take alpha"},
        {"%0 = input f32\n%1 = pow.f32 %0 %0", "the exponent must be a constant"},
        {"%0 = input f32\n%1 = where.f32 %0 %0 1", "expected a bool condition, found f32"},
        {"%0 = input f32\n%1 = clamp.f32 %0 none none", "clamp without bounds"},
        {"%0 = input f32\n%1 = add.i64 %0 1", "a cast is needed"},
        {"%0 = input i64\n%1 = lt.bool %0 0.5", "integers and 0.5: a cast is needed"},
        {"%0 = input f32\n%1 = exp.f32 %0\n%2 = input f32", "an input comes after an operator"},
        {"%0 = input f32\n%1 = exp.f32 %0\n%2 = log.f32 %0\noutput %1", "nothing uses %2 (log)"},
        {"%0 = input f32\n%1 = input f32\n%2 = exp.f32 %0\noutput %2", "nothing uses %1 (input)"},
        {"%0 = input f32\noutput %0", "output %0 is an input"},
        {"%0 = input f32\n%1 = exp.f32 %0\noutput %1\noutput %1", "written twice"},
        {"%0 = input f32\n%1 = exp.f32 %0\noutput %1\n%2 = log.f32 %1", "comes after an output"},
    };
    for (const auto& c : cases) EXPECT_THAT(problemOf(c.text), HasSubstr(c.sentence)) << c.text;
}

TEST(PointwiseChain, SaysWhatIsWrongWithShapes) {
    const char* add = "%0 = input f32; %1 = input f32; %2 = add.f32 %0 %1; output %2";
    EXPECT_THAT(problemOf(add, {{{3}, {1, 2, 3}}, {{2}, {1, 2}}}), HasSubstr("[2] does not broadcast with [3]"));
    const char* small = "%0 = input f32; %1 = input f32; %2 = exp.f32 %1; %3 = add.f32 %0 %2; output %2; output %3";
    EXPECT_THAT(problemOf(small, {{{2, 1}, {1, 2}}, {{1, 2}, {1, 2}}}), HasSubstr("is neither the region's [2, 2]"));
    EXPECT_THAT(problemOf("%0 = input f32; %1 = sum.f32 %0; output %1", {{{}, {1}}}), HasSubstr("sum of a 0-d tensor"));
    EXPECT_THAT(problemOf("%0 = input f32; %1 = amax.f32 %0; output %1", {{{2, 0}, {}}}),
                HasSubstr("rows without elements"));
}

} // namespace
