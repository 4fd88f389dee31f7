// SPDX-License-Identifier: Apache-2.0
// A file that is read in pieces. Never throws; directories, pipes and devices are errors with a sentence.
//
// It is not mapped: a page of a file that shrinks while it is mapped kills the program that touches it, and traces are
// looked at while the profiler still writes them. A piece copied into the reader's own buffer can only be short.
#pragma once

#include "core/base/result.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace fusescope {

class InputFile {
public:
    [[nodiscard]] static Result<InputFile> open(const std::string& path, const char* expected);
    InputFile(InputFile&& other) noexcept;
    InputFile& operator=(InputFile&& other) noexcept;
    InputFile(const InputFile&) = delete;
    InputFile& operator=(const InputFile&) = delete;
    ~InputFile();

    [[nodiscard]] std::uint64_t size() const noexcept { return size_; } // when it was opened
    // When it was last written to, as of then: nanoseconds since 1970.
    [[nodiscard]] std::int64_t writtenAt() const noexcept { return written_at_; }
    // From offset on; fewer bytes than `to` holds mean that the file has no more (any longer).
    [[nodiscard]] std::size_t readAt(std::uint64_t offset, std::span<char> to) const noexcept;
    // Length or time of writing are not what they were when it was opened.
    [[nodiscard]] bool changed() const noexcept;

private:
    InputFile(int fd, std::uint64_t size, std::int64_t written_at) noexcept
        : fd_(fd), size_(size), written_at_(written_at) {}
    int fd_ = -1;
    std::uint64_t size_ = 0;
    std::int64_t written_at_ = 0;
};

} // namespace fusescope
