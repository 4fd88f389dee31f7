// SPDX-License-Identifier: Apache-2.0
// fusescope-layout from outside, as other programs use it. Skipped where it is not built.
#include "core/ipc/child_process.h"
#include "core/ipc/layout_protocol.h"
#include "tests/core/graph/layout_checks.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace fusescope {
namespace {

const std::string kProgram = std::string(FUSESCOPE_BIN_DIR) + "/fusescope-layout";

class LayoutProgram : public testing::Test {
protected:
    void SetUp() override {
        if (!std::filesystem::exists(kProgram)) GTEST_SKIP() << "fusescope-layout is not built";
    }
};

LayoutRequest request() {
    LayoutRequest r;
    r.boxes = {{96, 40, -1}, {120, 56, 0}, {120, 56, 1}, {72, 32, 1}, {120, 56, 0}, {96, 40, -1}};
    r.cluster_parents = {-1, 0};
    r.cluster_widths = {240, 160};
    r.edges = {{0, 1, 66, 16}, {1, 2, 66, 16}, {2, 3, 66, 16}, {1, 3, 66, 16},
               {3, 4, 66, 16}, {4, 5, 0, 0},   {3, 3, 0, 0}};
    return r;
}

TEST_F(LayoutProgram, LaysOut) {
    const Result<std::string> output = runChild({kProgram}, encodeLayoutRequest(request()), 20000);
    ASSERT_TRUE(output.ok()) << output.error().message();
    const Result<LayoutResult> result = decodeLayoutResult(*output, request());
    ASSERT_TRUE(result.ok()) << result.error().message();
    EXPECT_EQ(result->engine, "graphviz");
    test::checkLayout(request(), *result);
    EXPECT_LT(result->boxes[0].y, result->boxes[5].y); // downwards
    EXPECT_GE(result->clusters[0].width, 240);
}

TEST_F(LayoutProgram, AnswersNonsenseWithAnError) {
    for (const char* line : {"nonsense\n", "{}\n", "[1,2", "\n"}) {
        const Result<std::string> output = runChild({kProgram}, line, 20000);
        ASSERT_TRUE(output.ok()) << output.error().message();
        EXPECT_EQ(output->find("{\"error\":"), 0u) << *output;
    }
    EXPECT_FALSE(runChild({kProgram}, "", 20000).ok()); // nothing at all: exit status 3
}

TEST_F(LayoutProgram, NothingToLayOut) {
    const Result<std::string> output = runChild({kProgram}, encodeLayoutRequest({}), 20000);
    ASSERT_TRUE(output.ok()) << output.error().message();
    EXPECT_TRUE(decodeLayoutResult(*output, {}).ok()) << *output;
}

TEST_F(LayoutProgram, EndsByItselfAfterThreeSeconds) {
    // A hard one: layered, dense, far more than a picture ever asks for.
    LayoutRequest hard;
    hard.boxes.assign(2000, {96, 40, -1});
    for (std::uint32_t i = 0; i < 2000; ++i)
        for (const std::uint32_t step : {1u, 7u, 61u, 433u})
            if (i + step < 2000) hard.edges.push_back({i, i + step, 0, 0});
    const Result<std::string> output = runChild({kProgram}, encodeLayoutRequest(hard), 20000);
    ASSERT_FALSE(output.ok());
    EXPECT_NE(output.error().message().find("signal 14"), std::string::npos) << output.error().message(); // SIGALRM
}

} // namespace
} // namespace fusescope
