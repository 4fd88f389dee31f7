// SPDX-License-Identifier: Apache-2.0
#include "core/base/input_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace fusescope {
namespace {

std::int64_t writtenAtOf(const struct stat& info) {
    constexpr std::int64_t kSecond = 1'000'000'000;
    std::int64_t ns = 0;
    if (__builtin_mul_overflow(static_cast<std::int64_t>(info.st_mtim.tv_sec), kSecond, &ns)) return 0;
    return __builtin_add_overflow(ns, static_cast<std::int64_t>(info.st_mtim.tv_nsec), &ns) ? 0 : ns;
}

} // namespace

Result<InputFile> InputFile::open(const std::string& path, const char* expected) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        const bool missing = errno == ENOENT || errno == ENOTDIR;
        return Error{
            missing ? ErrorCode::NotFound : ErrorCode::Unreadable, expected,
            missing ? "no such file" : std::string("a file that cannot be read (") + std::strerror(errno) + ")", path};
    }
    struct stat info {};
    Error error{ErrorCode::Unreadable, expected, "", path};
    if (::fstat(fd, &info) != 0)
        error.found = std::string("a file that cannot be read (") + std::strerror(errno) + ")";
    else if (S_ISDIR(info.st_mode))
        error.found = "a folder";
    else if (!S_ISREG(info.st_mode))
        error.found = "a device or pipe, not a file";
    else if (info.st_size == 0) {
        error.code = ErrorCode::Empty;
        error.found = "an empty file";
    }
    if (!error.found.empty()) {
        ::close(fd);
        return error;
    }
    ::posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    return InputFile(fd, static_cast<std::uint64_t>(info.st_size), writtenAtOf(info));
}

InputFile::InputFile(InputFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), size_(other.size_), written_at_(other.written_at_) {}
InputFile& InputFile::operator=(InputFile&& other) noexcept {
    std::swap(fd_, other.fd_);
    std::swap(size_, other.size_);
    std::swap(written_at_, other.written_at_);
    return *this;
}
InputFile::~InputFile() {
    if (fd_ >= 0) ::close(fd_);
}

std::size_t InputFile::readAt(std::uint64_t offset, std::span<char> to) const noexcept {
    std::size_t filled = 0;
    if (offset >= size_) return 0; // what was appended since is not what was opened
    const std::size_t want = std::min<std::uint64_t>(to.size(), size_ - offset);
    while (filled < want) {
        const ssize_t got = ::pread(fd_, to.data() + filled, want - filled, static_cast<off_t>(offset + filled));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        filled += static_cast<std::size_t>(got);
    }
    return filled;
}

bool InputFile::changed() const noexcept {
    struct stat info {};
    return ::fstat(fd_, &info) != 0 || static_cast<std::uint64_t>(info.st_size) != size_ ||
           writtenAtOf(info) != written_at_;
}

} // namespace fusescope
