// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/output.h"

#include "core/base/printable.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

namespace fusescope::cli {
namespace {

namespace fs = std::filesystem;

Error failure(const char* expected, int code, const std::string& target) {
    return {ErrorCode::Unreadable, expected, std::strerror(code), target};
}

// 0, or the errno of what went wrong.
int writeAll(int fd, std::string_view text) {
    while (!text.empty()) {
        const ssize_t wrote = ::write(fd, text.data(), text.size());
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote <= 0) return wrote < 0 ? errno : ENOSPC;
        text.remove_prefix(static_cast<std::size_t>(wrote));
    }
    return 0;
}

Status writeThrough(const std::string& target, int flags, std::string_view text) {
    const int fd = ::open(target.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY | flags);
    if (fd < 0) return failure("a file that can be written", errno, target);
    const int code = writeAll(fd, text);
    const int closed = ::close(fd) == 0 ? 0 : errno;
    if (code != 0 || closed != 0) return failure("room for the whole result", code != 0 ? code : closed, target);
    return done();
}

// Where a chain of links ends, also when nothing is there yet.
fs::path linkEnd(const std::string& target) {
    fs::path path(target);
    std::error_code code;
    for (int hops = 0; hops < 40 && fs::is_symlink(path, code); ++hops) {
        const fs::path next = fs::read_symlink(path, code);
        if (code) break;
        path = next.is_absolute() ? next : path.parent_path() / next;
    }
    return path;
}

mode_t newFileMode() {
    const mode_t mask = ::umask(0);
    ::umask(mask);
    return 0666 & ~mask;
}

struct Place { // of a target or an input, however it is spelled
    bool exists = false, regular = false;
    dev_t device = 0;
    ino_t inode = 0;
    fs::path path; // of one that does not exist
};

Place placeOf(const std::string& name) {
    Place place;
    struct stat info {};
    if (::stat(name.c_str(), &info) == 0) {
        place = {true, S_ISREG(info.st_mode), info.st_dev, info.st_ino, {}};
        return place;
    }
    std::error_code code;
    place.path = fs::weakly_canonical(fs::absolute(linkEnd(name), code), code);
    if (code) place.path = fs::path(name).lexically_normal();
    return place;
}

bool same(const Place& a, const Place& b) {
    if (a.exists != b.exists) return false;
    if (!a.exists) return a.path == b.path;
    return a.regular && b.regular && a.device == b.device && a.inode == b.inode;
}

} // namespace

Status writeResult(const std::string& target, std::string_view text) {
    if (target == "-") {
        if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
            return Error{ErrorCode::Unreadable, "to write to standard output", std::strerror(errno), ""};
        return done();
    }
    const std::string file = linkEnd(target).string();
    struct stat info {};
    const bool exists = ::stat(file.c_str(), &info) == 0;
    if (exists && S_ISDIR(info.st_mode)) return failure("a file that can be written", EISDIR, target);
    if (exists && !S_ISREG(info.st_mode)) return writeThrough(file, 0, text);
    // Replacing needs the right to write into the folder only: a file that is protected stays as it is.
    if (exists && ::access(file.c_str(), W_OK) != 0) return failure("a file that can be written", errno, target);

    const fs::path folder = fs::path(file).parent_path();
    std::string part = (folder / ".fusescope-XXXXXX").string();
    const int fd = ::mkostemp(part.data(), O_CLOEXEC);
    if (fd < 0) {
        const bool no_new_files = errno == EACCES || errno == EPERM || errno == EROFS;
        if (exists && no_new_files) return writeThrough(file, O_TRUNC, text);
        return failure("a file that can be written", errno, target);
    }
    int code = writeAll(fd, text);
    if (code == 0 && ::fchmod(fd, exists ? info.st_mode & 07777 : newFileMode()) != 0) code = errno;
    if (::close(fd) != 0 && code == 0) code = errno;
    const char* expected = "room for the whole result";
    if (code == 0 && std::rename(part.c_str(), file.c_str()) != 0) {
        code = errno;
        expected = "a file that can be written";
    }
    if (code == 0) return done();
    std::remove(part.c_str());
    return failure(expected, code, target);
}

Status checkWritable(const std::string& target) {
    if (target.empty() || target == "-") return done();
    const fs::path file = linkEnd(target);
    struct stat info {};
    const bool exists = ::stat(file.c_str(), &info) == 0;
    if (exists && S_ISDIR(info.st_mode)) return failure("a file that can be written", EISDIR, target);
    const fs::path folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
    if (::access(exists ? file.c_str() : folder.c_str(), exists ? W_OK : W_OK | X_OK) == 0) return done();
    return failure("a file that can be written", errno, target);
}

Status checkTargets(const std::vector<std::string>& inputs, const std::vector<std::string>& targets) {
    for (std::size_t i = 0; i < targets.size(); ++i) {
        if (targets[i].empty()) continue;
        const bool out = targets[i] == "-";
        const Place place = out ? Place{} : placeOf(targets[i]);
        for (const std::string& input : inputs)
            if (!out && !input.empty() && same(place, placeOf(input)))
                return Error{ErrorCode::Unsupported, "a result that is not written over an input", "the same file",
                             targets[i]};
        for (std::size_t j = 0; j < i; ++j) {
            if (targets[j].empty() || out != (targets[j] == "-")) continue;
            if (out || same(place, placeOf(targets[j])))
                return Error{ErrorCode::Unsupported, "a file of its own for every result", "one for two",
                             out ? "standard output" : targets[i]};
        }
    }
    return done();
}

void complain(const std::string& sentence) {
    std::fprintf(stderr, "fusescope-cli: %s\n", printableLine(sentence).c_str());
}

} // namespace fusescope::cli
