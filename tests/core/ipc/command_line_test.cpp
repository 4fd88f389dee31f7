// SPDX-License-Identifier: Apache-2.0
#include "core/ipc/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace fusescope {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> split(std::string_view text) {
    const auto words = splitCommandLine(text);
    EXPECT_TRUE(words.ok()) << (words ? "" : words.error().message());
    return words ? *words : std::vector<std::string>{};
}

// What `sh -c 'printf "[%s]" ...'` prints for the same text.
TEST(CommandLine, SplitsAsAShellDoes) {
    EXPECT_THAT(split("ssh gpu-box fusescope-runner"), ElementsAre("ssh", "gpu-box", "fusescope-runner"));
    EXPECT_THAT(split("  a\t b\n"), ElementsAre("a", "b"));
    EXPECT_THAT(split(R"(sh -c 'exec "my runner"' "" '')"), ElementsAre("sh", "-c", R"(exec "my runner")", "", ""));
    EXPECT_THAT(split(R"(a\ b "c\"d" 'e\f' "g\h" i"j"'k')"), ElementsAre("a b", "c\"d", "e\\f", "g\\h", "ijk"));
    EXPECT_THAT(split("a\\"), ElementsAre("a\\"));
}

TEST(CommandLine, ExpandsNothing) { EXPECT_THAT(split("~/x $HOME *"), ElementsAre("~/x", "$HOME", "*")); }

TEST(CommandLine, Refuses) {
    EXPECT_FALSE(splitCommandLine("").ok());
    EXPECT_FALSE(splitCommandLine(" \t").ok());
    EXPECT_FALSE(splitCommandLine("a 'b").ok());
    EXPECT_FALSE(splitCommandLine("a \"b\\\"").ok());
    EXPECT_FALSE(splitCommandLine(std::string_view("a\0b", 3)).ok());
}

TEST(CommandLine, JoinsBack) {
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{"ssh", "gpu-box"}, {"a b", "it's", "", "\"q\"", "\\", "$x"}, {"/opt/x/y"}})
        EXPECT_EQ(split(joinCommandLine(words)), words);
    EXPECT_EQ(joinCommandLine({"ssh", "gpu-box"}), "ssh gpu-box");
}

std::vector<std::string> files(std::string_view folder, std::string_view path) {
    std::vector<std::string> out;
    for (const RunnerPlace& place : runnerPlaces(folder, path)) out.push_back(place.file);
    return out;
}

TEST(RunnerPlaces, BesideThenTheSourceTreeThenPath) {
    EXPECT_THAT(files("/src/build/dev/bin", "/usr/local/bin:/usr/bin"),
                ElementsAre("/src/build/dev/bin/fusescope-runner", "/src/build/kernels/bin/fusescope-runner",
                            "/usr/local/bin/fusescope-runner", "/usr/bin/fusescope-runner"));
    EXPECT_THAT(files("/build/release/bin", ""),
                ElementsAre("/build/release/bin/fusescope-runner", "/build/kernels/bin/fusescope-runner"));
    EXPECT_EQ(runnerPlaces("/src/build/dev/bin", "/usr/bin")[1].origin, "built in this source tree");
}

// A folder beside an installed program is no build, whoever may write there.
TEST(RunnerPlaces, OnlyABuildFolderHasASourceTree) {
    for (const char* folder : {"/usr/bin", "/opt/fusescope/bin", "/tmp/dev/bin", "/src/mybuild/dev/bin",
                               "/src/build/dev/tests/bin", "/src/build/bin", "/bin", "/build//bin"})
        EXPECT_THAT(files(folder, ""), ElementsAre(std::string(folder) + "/fusescope-runner")) << folder;
    EXPECT_THAT(files("", "/a::/b:"), ElementsAre("/a/fusescope-runner", "/b/fusescope-runner"));
    EXPECT_TRUE(files("", "").empty());
}

class FindRunner : public testing::Test {
protected:
    void TearDown() override { unsetenv("FUSESCOPE_RUNNER"); }
};

TEST_F(FindRunner, TheOptionComesFirst) {
    setenv("FUSESCOPE_RUNNER", "from-the-variable 1", 1);
    const auto asked = findRunner("ssh box runner");
    ASSERT_TRUE(asked.ok());
    EXPECT_THAT(asked->words, ElementsAre("ssh", "box", "runner"));
    const auto variable = findRunner("");
    ASSERT_TRUE(variable.ok());
    EXPECT_THAT(variable->words, ElementsAre("from-the-variable", "1"));
    EXPECT_EQ(variable->origin, "FUSESCOPE_RUNNER");
}

TEST_F(FindRunner, AWrongVariableIsNamed) {
    setenv("FUSESCOPE_RUNNER", "'open", 1);
    const auto found = findRunner("");
    ASSERT_FALSE(found.ok());
    EXPECT_THAT(found.error().message(), HasSubstr("FUSESCOPE_RUNNER: expected a closing '"));
}

TEST_F(FindRunner, NoneSaysHowToGetOne) {
    const std::string path = getenv("PATH");
    setenv("PATH", "/nowhere", 1);
    const auto found = findRunner("");
    setenv("PATH", path.c_str(), 1);
    if (found) GTEST_SKIP() << "there is one beside the test";
    EXPECT_THAT(found.error().message(), testing::AllOf(HasSubstr("--runner"), HasSubstr("./dev kernels")));
}

} // namespace
} // namespace fusescope
