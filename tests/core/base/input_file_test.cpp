// SPDX-License-Identifier: Apache-2.0
// A file that shrinks, grows or goes while it is read must cost no more than its missing bytes.
#include "core/base/input_file.h"

#include "tests/support/files.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace fusescope {
namespace {

class InputFileTest : public ::testing::Test {
protected:
    std::string write(const std::string& bytes) {
        std::ofstream(path_, std::ios::binary) << bytes;
        return path_;
    }
    static std::string read(const InputFile& file, std::uint64_t offset, std::size_t count) {
        std::string text(count, '?');
        text.resize(file.readAt(offset, text));
        return text;
    }
    test::TempDir folder_;
    std::string path_ = folder_.file("input");
};

TEST_F(InputFileTest, PiecesFromAnywhere) {
    const auto file = InputFile::open(write("0123456789"), "a file");
    ASSERT_TRUE(file.ok());
    EXPECT_EQ(file->size(), 10U);
    EXPECT_EQ(read(*file, 3, 4), "3456");
    EXPECT_EQ(read(*file, 8, 40), "89");
    EXPECT_EQ(read(*file, 10, 1), "");
    EXPECT_EQ(read(*file, 1ULL << 62U, 1), "");
    EXPECT_FALSE(file->changed());
}

TEST_F(InputFileTest, AFileThatShrinksGivesLess) {
    const auto file = InputFile::open(write(std::string(100'000, 'x')), "a file");
    ASSERT_TRUE(file.ok());
    std::filesystem::resize_file(path_, 10);
    EXPECT_EQ(read(*file, 0, 100'000).size(), 10U);
    EXPECT_EQ(read(*file, 50'000, 10), "");
    EXPECT_TRUE(file->changed());
}

TEST_F(InputFileTest, WhatIsAppendedDoesNotCount) {
    const auto file = InputFile::open(write("abc"), "a file");
    ASSERT_TRUE(file.ok());
    std::ofstream(path_, std::ios::app) << "def";
    EXPECT_EQ(read(*file, 0, 100), "abc");
    EXPECT_TRUE(file->changed());
}

TEST_F(InputFileTest, SameLengthOtherTimeIsAChange) {
    const auto file = InputFile::open(write("abc"), "a file");
    ASSERT_TRUE(file.ok());
    write("xyz");
    std::filesystem::last_write_time(path_, std::filesystem::last_write_time(path_) + std::chrono::seconds(2));
    EXPECT_TRUE(file->changed());
}

TEST_F(InputFileTest, ADeletedFileIsStillThere) {
    const auto file = InputFile::open(write("abc"), "a file");
    ASSERT_TRUE(file.ok());
    std::filesystem::remove(path_);
    EXPECT_EQ(read(*file, 0, 100), "abc");
}

TEST_F(InputFileTest, WhatIsNoFile) {
    EXPECT_EQ(InputFile::open(folder_.path().string(), "a file").error().found, "a folder");
    EXPECT_EQ(InputFile::open("/dev/zero", "a file").error().found, "a device or pipe, not a file");
    EXPECT_EQ(InputFile::open(write(""), "a file").error().code, ErrorCode::Empty);
    EXPECT_EQ(InputFile::open(folder_.file("none"), "a file").error().code, ErrorCode::NotFound);
}

} // namespace
} // namespace fusescope
