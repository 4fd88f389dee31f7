// SPDX-License-Identifier: Apache-2.0
#include "core/ipc/runner_talk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace fusescope {
namespace {

using ::testing::HasSubstr;

std::string helloLine() {
    RunnerHello hello;
    hello.protocol = kRunnerProtocol;
    hello.torch = "2.11.0";
    std::string line = encodeHello(hello);
    line.pop_back(); // its line feed
    return line;
}

std::string answerLine(std::int64_t id, RunnerEvent event) {
    std::string line = *encodeAnswer({id, std::move(event)});
    line.pop_back();
    return line;
}

// A runner that has greeted, with so many requests open.
RunnerTalk talk(int requests) {
    RunnerTalk made;
    EXPECT_TRUE(std::holds_alternative<RunnerHello>(made.take(helloLine())));
    for (int i = 0; i < requests; ++i) made.expect(made.newId());
    return made;
}

bool isNothing(const RunnerTalk::Event& event) { return std::holds_alternative<RunnerTalk::Nothing>(event); }
std::int64_t idOf(const RunnerTalk::Event& event) {
    const auto* answer = std::get_if<RunnerAnswer>(&event);
    return answer != nullptr ? answer->id : -1;
}
std::string brokenBy(const RunnerTalk::Event& event) {
    const auto* error = std::get_if<Error>(&event);
    return error != nullptr ? error->found : "";
}

TEST(RunnerTalk, ALoginGreetsThenTheRunner) {
    RunnerTalk talk;
    EXPECT_TRUE(isNothing(talk.take("* Welcome to gpu-box *\r")));
    EXPECT_TRUE(isNothing(talk.take("")));
    EXPECT_FALSE(talk.greeted());
    const RunnerTalk::Event event = talk.take(helloLine());
    ASSERT_TRUE(std::holds_alternative<RunnerHello>(event));
    EXPECT_EQ(std::get<RunnerHello>(event).torch, "2.11.0");
    EXPECT_TRUE(talk.greeted());
}

TEST(RunnerTalk, ALoginWithoutEndIsNoRunner) {
    RunnerTalk talk;
    for (int i = 0; i < kMaxRunnerGreeting; ++i) EXPECT_TRUE(isNothing(talk.take("Welcome to gpu-box")));
    const RunnerTalk::Event event = talk.take("Welcome to gpu-box");
    EXPECT_THAT(brokenBy(event), HasSubstr("a line that is not one"));
    EXPECT_EQ(std::get<Error>(event).code, ErrorCode::WrongFormat);
}

TEST(RunnerTalk, AnotherVersionIsTold) {
    std::string line = helloLine();
    const std::string now = "\"protocol\":" + std::to_string(kRunnerProtocol);
    line.replace(line.find(now), now.size(), "\"protocol\":99");
    RunnerTalk talk;
    const RunnerTalk::Event event = talk.take(line);
    ASSERT_TRUE(std::holds_alternative<Error>(event));
    EXPECT_EQ(std::get<Error>(event).code, ErrorCode::Unsupported);
    EXPECT_FALSE(talk.greeted());
}

TEST(RunnerTalk, ARequestIsOpenUntilItsLastEvent) {
    RunnerTalk two = talk(2);
    EXPECT_EQ(idOf(two.take(answerLine(2, RunnerProgress{"forward", 0.5}))), 2);
    EXPECT_EQ(idOf(two.take(answerLine(1, RunnerError{"cancelled", "", false}))), 1);
    EXPECT_TRUE(isNothing(two.take(answerLine(1, RunnerError{"cancelled", "once more", false}))));
    EXPECT_EQ(idOf(two.take(answerLine(2, RunnerResult(TorchscriptResult{"g"})))), 2);
    EXPECT_TRUE(isNothing(two.take(answerLine(2, RunnerProgress{"forward", 0.9}))));
    EXPECT_TRUE(isNothing(two.take(answerLine(two.newId(), RunnerProgress{"of a cancel", 0})))); // nothing is expected
}

TEST(RunnerTalk, WhatBreaksTheProtocol) {
    EXPECT_THAT(brokenBy(talk(1).take("{\"id\":1,\"ev\":}")), HasSubstr("a line that is none"));
    EXPECT_THAT(brokenBy(talk(1).take(answerLine(7, RunnerProgress{"", 0}))), HasSubstr("request 7"));
    EXPECT_THAT(brokenBy(talk(1).take(answerLine(0, RunnerResult(TorchscriptResult{"g"})))),
                HasSubstr("a result of no request"));
    EXPECT_EQ(std::get<Error>(talk(1).take("nonsense")).code, ErrorCode::Damaged);
    EXPECT_TRUE(isNothing(talk(1).take(" \r")));
}

TEST(RunnerTalk, WhatItSaysOfItselfIsHandedOn) {
    EXPECT_EQ(idOf(talk(0).take(answerLine(0, RunnerError{"internal", "the driver is unwell", false}))), 0);
    EXPECT_EQ(idOf(talk(0).take(answerLine(0, RunnerProgress{"loading", 0.1}))), 0);
}

TEST(RunnerTalk, AnotherRunnerGreetsAnewAndIdsGoOn) {
    RunnerTalk again = talk(2);
    again.startAnew();
    EXPECT_FALSE(again.greeted());
    EXPECT_TRUE(std::holds_alternative<RunnerHello>(again.take(helloLine())));
    EXPECT_TRUE(isNothing(again.take(answerLine(2, RunnerProgress{"of the one before", 0}))));
    EXPECT_EQ(again.newId(), 3);
}

} // namespace
} // namespace fusescope
