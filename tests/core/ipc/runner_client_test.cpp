// SPDX-License-Identifier: Apache-2.0
// The client against a runner that misbehaves in every way: each is an answer, in time, and nothing stays behind.
#include "core/ipc/runner_client.h"
#include "tests/support/small_region.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace fusescope {
namespace {

using testing::HasSubstr;
using Clock = std::chrono::steady_clock;
using Words = std::vector<std::string>;

const std::string kFake = FUSESCOPE_FAKE_RUNNER;

RunnerLimits quick() {
    RunnerLimits limits;
    limits.hello_ms = 20'000; // a sanitizer's start on a busy machine
    limits.silence_ms = 700;
    limits.cancel_ms = 700;
    return limits;
}

Region region() {
    Region region = test::smallRegion();
    region.fused = region.baseline;
    region.fused_bytes = 4e9;
    return region;
}

struct Outcome {
    std::optional<RunnerResult> result;
    std::optional<RunnerError> refused;
    std::optional<Error> over;
    int progress = 0;
};

// Until the last event of a request, or the runner's end.
Outcome finish(RunnerClient& client, std::int64_t id, double seconds = 30) {
    Outcome outcome;
    const auto end = Clock::now() + std::chrono::duration<double>(seconds);
    while (Clock::now() < end) {
        const auto event = client.next(50);
        if (!event) {
            outcome.over = event.error();
            return outcome;
        }
        if (!*event || (*event)->id != id) continue;
        if (std::holds_alternative<RunnerProgress>((*event)->event)) ++outcome.progress;
        if (const auto* result = std::get_if<RunnerResult>(&(*event)->event)) {
            outcome.result = *result;
            return outcome;
        }
        if (const auto* error = std::get_if<RunnerError>(&(*event)->event)) {
            outcome.refused = *error;
            return outcome;
        }
    }
    ADD_FAILURE() << "no end within " << seconds << " s";
    return outcome;
}

class RunnerClientTest : public testing::Test {
protected:
    std::unique_ptr<RunnerClient> start(const Words& command, const RunnerLimits& limits = quick()) {
        auto client = RunnerClient::start(command, limits);
        if (!client) {
            ADD_FAILURE() << client.error().message();
            return nullptr;
        }
        return std::move(*client);
    }
    // The runner's end in its first request.
    std::string endOf(const Words& command, const RunnerLimits& limits = quick()) {
        const auto client = start(command, limits);
        if (!client) return {};
        const auto id = client->send(FuseRequest{region()}, 20'000);
        EXPECT_TRUE(id.ok());
        const Outcome outcome = finish(*client, id.value());
        EXPECT_TRUE(outcome.over.has_value());
        EXPECT_FALSE(client->alive());
        EXPECT_EQ(client->pid(), 0) << "it was not reaped";
        EXPECT_FALSE(client->send(DeviceRequest{}).ok());
        EXPECT_FALSE(client->next(0).ok());
        return outcome.over ? outcome.over->message() : "";
    }
    static std::string noStart(const Words& command, const RunnerLimits& limits = quick()) {
        const auto client = RunnerClient::start(command, limits);
        EXPECT_FALSE(client.ok());
        return client ? "" : client.error().message();
    }
};

TEST_F(RunnerClientTest, Answers) {
    const auto client = start({kFake, "good"});
    ASSERT_TRUE(client);
    ASSERT_EQ(client->hello().gpus.size(), 1u);
    EXPECT_EQ(client->hello().gpus[0].name, "NVIDIA H200");
    for (int i = 0; i < 3; ++i) {
        const auto id = client->send(FuseRequest{region()});
        ASSERT_TRUE(id.ok());
        const Outcome outcome = finish(*client, *id);
        ASSERT_TRUE(outcome.result);
        EXPECT_EQ(outcome.progress, 1);
        const auto& result = std::get<FuseResult>(*outcome.result);
        EXPECT_DOUBLE_EQ(result.directions.at(0).fused.us.median, 1000); // 4 GB at 4 TB/s
    }
    EXPECT_EQ(client->open(), 0u);
}

TEST_F(RunnerClientTest, SeveralRequestsInOrder) {
    const auto client = start({kFake, "good"});
    ASSERT_TRUE(client);
    std::vector<std::int64_t> asked, answered;
    for (int i = 0; i < 50; ++i) asked.push_back(client->send(FuseRequest{region()}).value());
    while (client->open() > 0) {
        const auto event = client->next(5000);
        ASSERT_TRUE(event.ok() && *event);
        if (std::holds_alternative<RunnerResult>((*event)->event)) answered.push_back((*event)->id);
    }
    EXPECT_EQ(asked, answered);
}

TEST_F(RunnerClientTest, RefusalsAreEventsAndTheNextRequestWorks) {
    const auto client = start({kFake, "out_of_memory"});
    ASSERT_TRUE(client);
    for (int i = 0; i < 2; ++i) {
        const Outcome outcome = finish(*client, client->send(FuseRequest{region()}).value());
        ASSERT_TRUE(outcome.refused);
        EXPECT_EQ(outcome.refused->code, "out_of_memory");
    }
    EXPECT_TRUE(client->alive());
}

TEST_F(RunnerClientTest, NoProgram) {
    EXPECT_THAT(noStart({"/nowhere/fusescope-runner"}), HasSubstr("'/nowhere/fusescope-runner'"));
    EXPECT_THAT(noStart({}), HasSubstr("an empty one"));
    EXPECT_THAT(noStart({"sh", "-c", "exec /nowhere/fusescope-runner"}), HasSubstr("exit status 127"));
}

TEST_F(RunnerClientTest, ALoginMayGreetFirst) {
    const auto client = start({kFake, "greeting"});
    ASSERT_NE(client, nullptr);
    ASSERT_EQ(client->hello().gpus.size(), 1u);
    EXPECT_EQ(client->hello().gpus[0].name, "NVIDIA H200");
}

TEST_F(RunnerClientTest, NoHello) {
    EXPECT_THAT(noStart({kFake, "crash-at-start"}), HasSubstr("death by signal 6"));
    EXPECT_THAT(noStart({kFake, "exit-at-start"}),
                testing::AllOf(HasSubstr("exit status 127"), HasSubstr("libtorch.so: cannot open")));
    EXPECT_THAT(noStart({kFake, "no-hello"}), HasSubstr("the hello of fake_runner, found a line that is not"));
    EXPECT_THAT(noStart({kFake, "half-hello"}), HasSubstr("half a line, then its end with exit status 0"));
    EXPECT_THAT(noStart({kFake, "huge-hello"}), HasSubstr("a line of more than 1048576 bytes"));
    EXPECT_THAT(noStart({"true"}), HasSubstr("its end with exit status 0"));
    RunnerLimits limits = quick();
    limits.hello_ms = 300;
    EXPECT_THAT(noStart({kFake, "hang-at-start"}, limits), HasSubstr("within 0.3 s, found no answer"));
}

TEST_F(RunnerClientTest, OtherVersionsAreNamed) {
    for (const char* way : {"old", "new"}) {
        const auto client = RunnerClient::start({kFake, way}, quick());
        ASSERT_FALSE(client.ok());
        EXPECT_EQ(client.error().code, ErrorCode::Unsupported);
        EXPECT_THAT(client.error().message(), HasSubstr("protocol 1"));
    }
}

TEST_F(RunnerClientTest, WaitingForTheHelloCanBeStopped) {
    const auto begin = Clock::now();
    const auto client = RunnerClient::start({kFake, "hang-at-start"}, quick(),
                                            [&] { return Clock::now() - begin > std::chrono::milliseconds(200); });
    ASSERT_FALSE(client.ok());
    EXPECT_EQ(client.error().code, ErrorCode::Cancelled);
    EXPECT_LT(Clock::now() - begin, std::chrono::seconds(5));
}

TEST_F(RunnerClientTest, DeathInARequest) {
    EXPECT_THAT(endOf({kFake, "crash"}), HasSubstr("death by signal 6"));
    EXPECT_THAT(endOf({kFake, "exit"}), HasSubstr("exit status 3"));
    EXPECT_THAT(endOf({kFake, "half"}), HasSubstr("half a line, then its end"));
}

TEST_F(RunnerClientTest, ACudaErrorIsAnAnswerThenTheEnd) {
    const auto client = start({kFake, "cuda"});
    ASSERT_TRUE(client);
    const auto id = client->send(FuseRequest{region()});
    const Outcome outcome = finish(*client, *id);
    ASSERT_TRUE(outcome.refused);
    EXPECT_TRUE(outcome.refused->fatal);
    const Outcome after = finish(*client, *id);
    ASSERT_TRUE(after.over);
    EXPECT_THAT(after.over->message(), HasSubstr("exit status 40 (a CUDA error"));
}

TEST_F(RunnerClientTest, Silence) {
    EXPECT_THAT(endOf({kFake, "hang"}), HasSubstr("no answer for 0.7 s"));
    EXPECT_THAT(endOf({kFake, "silent"}), HasSubstr("no answer for 0.7 s"));
    EXPECT_THAT(endOf({kFake, "deaf"}), HasSubstr("no answer for 0.7 s"));
}

TEST_F(RunnerClientTest, Floods) {
    EXPECT_THAT(endOf({kFake, "flood"}), HasSubstr("a line of more than 1048576 bytes"));
    const auto client = start({kFake, "chatter"}); // progress alone does not keep it alive
    ASSERT_TRUE(client);
    const Outcome outcome = finish(*client, client->send(FuseRequest{region()}, 500).value());
    ASSERT_TRUE(outcome.over);
    EXPECT_THAT(outcome.over->message(), HasSubstr("no answer for 0.5 s"));
    EXPECT_GT(outcome.progress, 10);
}

TEST_F(RunnerClientTest, OnlyTheEndOfStderrIsKept) {
    const auto client = start({kFake, "stderr"});
    ASSERT_TRUE(client);
    const Outcome outcome = finish(*client, client->send(FuseRequest{region()}).value());
    ASSERT_TRUE(outcome.over);
    EXPECT_THAT(outcome.over->message(), HasSubstr("the last words"));
    EXPECT_LT(outcome.over->message().size(), 700u);
    EXPECT_LE(client->errorText().size(), std::size_t{64} << 10);
}

TEST_F(RunnerClientTest, Nonsense) {
    EXPECT_THAT(endOf({kFake, "bad-json"}), HasSubstr("a line that is none"));
    EXPECT_THAT(endOf({kFake, "wrong-kind"}), HasSubstr("a line that is none"));
    EXPECT_THAT(endOf({kFake, "wrong-id"}), HasSubstr("request 1001, which was never made"));
    EXPECT_THAT(endOf({kFake, "no-id"}), HasSubstr("the driver is unwell"));
}

TEST_F(RunnerClientTest, CancelEndsARequest) {
    const auto client = start({kFake, "slow"});
    ASSERT_TRUE(client);
    const auto id = client->send(FuseRequest{region()}).value();
    ASSERT_TRUE(client->next(5000).ok());
    client->cancel(id);
    client->cancel(id);
    const Outcome outcome = finish(*client, id);
    ASSERT_TRUE(outcome.refused);
    EXPECT_EQ(outcome.refused->code, "cancelled");
    EXPECT_TRUE(client->alive());
}

TEST_F(RunnerClientTest, ALateCancelIsDroppedAndTheNextRequestWorks) {
    RunnerLimits limits = quick();
    limits.cancel_ms = 10'000;
    const auto client = start({kFake, "late"}, limits);
    ASSERT_TRUE(client);
    const auto id = client->send(FuseRequest{region()}).value();
    client->cancel(id);
    EXPECT_TRUE(finish(*client, id).result); // it was faster
    const auto second = client->send(FuseRequest{region()}).value();
    const Outcome outcome = finish(*client, second);
    EXPECT_TRUE(outcome.result);
}

TEST_F(RunnerClientTest, ACancelThatIsNotHeardEndsTheRunner) {
    const auto client = start({kFake, "late"});
    ASSERT_TRUE(client);
    const auto id = client->send(FuseRequest{region()}).value();
    client->cancel(id);
    const Outcome outcome = finish(*client, id);
    ASSERT_TRUE(outcome.over);
    EXPECT_THAT(outcome.over->message(), HasSubstr("to a cancel, found no answer for 0.7 s"));
}

// A connection over two pipes: what comes goes through a relay that dies in the middle of an answer.
TEST_F(RunnerClientTest, AConnectionThatIsLost) {
    const std::string lossy = "exec 3<&0 4>&1 >&-; cat <&3 4>&- | '" + kFake +
                              "' good 3<&- 4>&- | (head -n 1; head -c 200) 3<&- >&4 4>&- & exec 3<&- 4>&-; wait";
    EXPECT_THAT(endOf({"sh", "-c", lossy}), HasSubstr("half a line, then"));
    // The relay towards the runner dies: the runner's stdin ends, and it with it.
    EXPECT_THAT(endOf({"sh", "-c", "head -c 100 | '" + kFake + "' good"}), HasSubstr("its end with exit status 0"));
    const auto client = start({"sh", "-c", "cat | '" + kFake + "' good | cat"});
    ASSERT_TRUE(client);
    EXPECT_TRUE(finish(*client, client->send(FuseRequest{region()}).value()).result);
}

TEST_F(RunnerClientTest, KilledFromOutsideAtAnyMoment) {
    for (const int after_ms : {0, 5, 50, 150}) {
        const auto client = start({kFake, "slow"});
        ASSERT_TRUE(client);
        const auto id = client->send(FuseRequest{region()}).value();
        std::this_thread::sleep_for(std::chrono::milliseconds(after_ms));
        kill(client->pid(), SIGKILL);
        const Outcome outcome = finish(*client, id);
        ASSERT_TRUE(outcome.over);
        EXPECT_THAT(outcome.over->message(), HasSubstr("its death by signal 9"));
    }
}

bool runs(int pid) { return kill(pid, 0) == 0; }

TEST_F(RunnerClientTest, NothingStaysBehind) {
    for (const char* way : {"good", "slow", "hang"}) {
        auto client = start({kFake, way});
        ASSERT_TRUE(client);
        (void)client->send(FuseRequest{region()});
        const int pid = client->pid();
        ASSERT_TRUE(runs(pid));
        client.reset();
        EXPECT_FALSE(runs(pid)) << way; // neither running nor a zombie
    }
}

std::size_t descriptors() {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

TEST_F(RunnerClientTest, TwoHundredRunnersLeakNoDescriptor) {
    if (!std::filesystem::exists("/proc/self/fd")) GTEST_SKIP();
    const std::size_t before = descriptors();
    for (int i = 0; i < 200; ++i) {
        const auto client = start({kFake, i % 2 == 0 ? "good" : "crash"});
        ASSERT_TRUE(client);
        (void)finish(*client, client->send(DeviceRequest{}).value());
    }
    EXPECT_EQ(descriptors(), before);
}

// The runner ends with the thread that started it, also when that thread has no time to say so.
TEST_F(RunnerClientTest, DiesWithItsParent) {
    std::array<int, 2> pipe_ends{};
    ASSERT_EQ(pipe(pipe_ends.data()), 0);
    const pid_t parent = fork();
    if (parent == 0) {
        const auto client = RunnerClient::start({kFake, "hang"}, quick());
        const int pid = client ? (*client)->pid() : 0;
        (void)!write(pipe_ends[1], &pid, sizeof pid);
        (void)raise(SIGKILL);
    }
    int pid = 0, status = 0;
    ASSERT_EQ(read(pipe_ends[0], &pid, sizeof pid), static_cast<ssize_t>(sizeof pid));
    waitpid(parent, &status, 0);
    ASSERT_GT(pid, 0);
    bool gone = false;
    for (int i = 0; i < 100 && !gone; ++i) {
        std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
        std::string text;
        std::getline(stat, text);
        gone = text.empty() || text.find(") Z ") != std::string::npos;
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    EXPECT_TRUE(gone);
    close(pipe_ends[0]);
    close(pipe_ends[1]);
}

} // namespace
} // namespace fusescope
