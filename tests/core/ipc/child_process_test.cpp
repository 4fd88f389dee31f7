// SPDX-License-Identifier: Apache-2.0
#include "core/ipc/child_process.h"

#include <gtest/gtest.h>

#include <sys/wait.h>

#include <cerrno>
#include <chrono>

namespace fusescope {
namespace {

Result<std::string> shell(const std::string& script, std::string_view input = {}, int timeout_ms = 10000,
                          std::size_t max_output = 1 << 20) {
    return runChild({"/bin/sh", "-c", script}, input, timeout_ms, max_output);
}

bool noChildrenLeft() { return waitpid(-1, nullptr, WNOHANG) == -1 && errno == ECHILD; }

TEST(ChildProcess, PassesBytesBothWays) {
    const Result<std::string> output = shell("cat", "one\ntwo");
    ASSERT_TRUE(output.ok()) << output.error().message();
    EXPECT_EQ(*output, "one\ntwo");
    EXPECT_TRUE(noChildrenLeft());
}

TEST(ChildProcess, MoreThanAPipeHolds) { // both ways at once: no deadlock
    const std::string input(3 << 20, 'x');
    const Result<std::string> output = shell("cat", input, 20000, 4 << 20);
    ASSERT_TRUE(output.ok()) << output.error().message();
    EXPECT_EQ(output->size(), input.size());
}

TEST(ChildProcess, ChildThatDoesNotRead) { // writing to it must not end us
    const std::string input(1 << 20, 'x');
    const Result<std::string> output = shell("exec 0<&-; echo done", input);
    ASSERT_TRUE(output.ok()) << output.error().message();
    EXPECT_EQ(*output, "done\n");
}

TEST(ChildProcess, StoppedAtTheDeadline) {
    const auto start = std::chrono::steady_clock::now();
    const Result<std::string> output = runChild({"/bin/sleep", "30"}, "", 150);
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
    ASSERT_FALSE(output.ok());
    EXPECT_EQ(output.error().code, ErrorCode::Limit);
    EXPECT_TRUE(noChildrenLeft());
}

TEST(ChildProcess, StoppedWhenItGoesOnAfterClosingStdout) {
    const Result<std::string> output = shell("exec 1>&-; exec sleep 30", "", 200);
    ASSERT_FALSE(output.ok());
    EXPECT_EQ(output.error().code, ErrorCode::Limit);
    EXPECT_TRUE(noChildrenLeft());
}

TEST(ChildProcess, TooMuchOutput) {
    const Result<std::string> output = shell("yes", "", 10000, 1000);
    ASSERT_FALSE(output.ok());
    EXPECT_EQ(output.error().code, ErrorCode::Limit);
    EXPECT_TRUE(noChildrenLeft());
}

TEST(ChildProcess, ReportsDeath) {
    const Result<std::string> killed = shell("kill -ABRT $$");
    ASSERT_FALSE(killed.ok());
    EXPECT_NE(killed.error().message().find("signal 6"), std::string::npos);
    const Result<std::string> failed = shell("exit 7");
    ASSERT_FALSE(failed.ok());
    EXPECT_NE(failed.error().message().find("exit status 7"), std::string::npos);
}

TEST(ChildProcess, NoSuchProgram) {
    const Result<std::string> output = runChild({"/nonexistent/program"}, "", 1000);
    ASSERT_FALSE(output.ok());
    EXPECT_EQ(output.error().code, ErrorCode::NotFound);
    EXPECT_FALSE(runChild({}, "", 1000).ok());
    EXPECT_FALSE(runChild({""}, "", 1000).ok());
}

TEST(ChildProcess, Siblings) {
    EXPECT_NE(siblingProgram("test_core_ipc"), ""); // this very program
    EXPECT_EQ(siblingProgram("no-such-program"), "");
}

} // namespace
} // namespace fusescope
