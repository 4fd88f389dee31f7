// SPDX-License-Identifier: GPL-3.0-or-later
#include "line_io.h"

#include <unistd.h>

#include <array>
#include <cerrno>

namespace fusescope::runner {

LineReader::Got LineReader::next(std::string& line) {
    for (;;) {
        const std::size_t end = buffer_.find('\n', searched_);
        if (end != std::string::npos) {
            const bool too_long = skipping_ || end > most_;
            line = too_long ? std::string() : buffer_.substr(0, end);
            buffer_.erase(0, end + 1);
            searched_ = 0;
            skipping_ = false;
            return too_long ? Got::TooLong : Got::Line;
        }
        searched_ = buffer_.size();
        if (buffer_.size() > most_) {
            buffer_.clear();
            searched_ = 0;
            skipping_ = true;
        }
        if (ended_) {
            if (skipping_) {
                skipping_ = false;
                return Got::TooLong;
            }
            if (buffer_.empty()) return Got::End;
            line = std::move(buffer_);
            buffer_.clear();
            searched_ = 0;
            return Got::Line;
        }
        std::array<char, 65536> bytes{};
        const ssize_t got = read(fd_, bytes.data(), bytes.size());
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0)
            ended_ = true;
        else
            buffer_.append(bytes.data(), static_cast<std::size_t>(got));
    }
}

bool LineWriter::write(std::string_view line) {
    const std::lock_guard lock(mutex_);
    while (!line.empty()) {
        const ssize_t sent = ::write(fd_, line.data(), line.size());
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) return false;
        line.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
}

} // namespace fusescope::runner
