// SPDX-License-Identifier: GPL-3.0-or-later
// Bounded lines from a descriptor and to one.
#pragma once

#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>

namespace fusescope::runner {

class LineReader {
public:
    enum class Got { Line, TooLong, End };

    LineReader(int fd, std::size_t most) : fd_(fd), most_(most) {}
    // A line without its line feed. Of one longer than `most` bytes nothing is kept; the next call gives the line after
    // it. What stands before the end of the input without a line feed is a line too.
    Got next(std::string& line);

private:
    int fd_;
    std::size_t most_;
    std::string buffer_;
    std::size_t searched_ = 0; // bytes of buffer_ without a line feed
    bool skipping_ = false, ended_ = false;
};

class LineWriter {
public:
    explicit LineWriter(int fd) : fd_(fd) {}
    // Whole lines, from any thread. False: nobody reads any more.
    bool write(std::string_view line);

private:
    int fd_;
    std::mutex mutex_;
};

} // namespace fusescope::runner
