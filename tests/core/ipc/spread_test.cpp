// SPDX-License-Identifier: Apache-2.0
// Times in an answer or a session file: what reports then divide by each other.
#include "core/ipc/runner_protocol.h"

#include <gtest/gtest.h>

#include <string>

namespace fusescope {
namespace {

// The baseline's spread of an answer with that text for it, or what is wrong.
Result<Spread> spreadIn(const std::string& us) {
    const Result<RunnerAnswer> answer = decodeAnswer(
        R"({"id":1,"ev":"result","kind":"fuse","result":{"directions":[{"direction":"forward","baseline":{"us":)" + us +
        "}}]}}");
    if (!answer) return answer.error();
    return std::get<FuseResult>(std::get<RunnerResult>(answer->event)).directions.at(0).baseline.us;
}

TEST(Spread, IsInOrder) {
    const Result<Spread> good = spreadIn(R"({"median":5,"p10":4,"p90":9})");
    ASSERT_TRUE(good.ok()) << good.error().message();
    EXPECT_EQ(good->p10, 4);
    EXPECT_EQ(good->p90, 9);
    EXPECT_FALSE(spreadIn(R"({"median":5,"p10":9,"p90":4})").ok());
    EXPECT_FALSE(spreadIn(R"({"median":5,"p10":6,"p90":9})").ok());
    EXPECT_FALSE(spreadIn(R"({"median":5,"p10":1,"p90":4})").ok());
}

TEST(Spread, ThatIsNotToldIsNone) {
    const Result<Spread> alone = spreadIn(R"({"median":5})");
    ASSERT_TRUE(alone.ok()) << alone.error().message();
    EXPECT_EQ(alone->p10, 5);
    EXPECT_EQ(alone->p90, 5);
}

TEST(Spread, IsOfATime) {
    EXPECT_TRUE(spreadIn(R"({"median":0.001,"p10":0.001,"p90":0.001})").ok());
    EXPECT_FALSE(spreadIn(R"({"median":1e-300,"p10":0,"p90":1})").ok()) << "its share of the median is infinite";
}

} // namespace
} // namespace fusescope
