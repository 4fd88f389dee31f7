// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/output.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace fusescope::cli {

Status writeResult(const std::string& target, std::string_view text) {
    if (target == "-") {
        if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
            return Error{ErrorCode::Unreadable, "to write to standard output", std::strerror(errno), ""};
        return done();
    }
    const std::string part = target + ".part";
    std::FILE* file = std::fopen(part.c_str(), "wb");
    if (file == nullptr)
        return Error{ErrorCode::Unreadable, "a file that can be written", std::strerror(errno), target};
    const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
    const int write_errno = errno;
    const bool closed = std::fclose(file) == 0;
    if (!written || !closed) {
        std::remove(part.c_str());
        return Error{ErrorCode::Unreadable, "room for the whole result", std::strerror(written ? errno : write_errno),
                     target};
    }
    if (std::rename(part.c_str(), target.c_str()) != 0) {
        const int rename_errno = errno;
        std::remove(part.c_str());
        return Error{ErrorCode::Unreadable, "a file that can be written", std::strerror(rename_errno), target};
    }
    return done();
}

void complain(const std::string& sentence) { std::fprintf(stderr, "fusescope-cli: %s\n", sentence.c_str()); }

} // namespace fusescope::cli
