// SPDX-License-Identifier: Apache-2.0
#include "core/base/mapped_file.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace fusescope {

Result<MappedFile> MappedFile::open(const std::string& path, const char* expected) {
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
    const auto size = static_cast<std::size_t>(info.st_size);
    void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
    const int map_errno = errno;
    ::close(fd);
    if (data == MAP_FAILED) {
        error.found = std::string("a file that cannot be mapped (") + std::strerror(map_errno) + ")";
        return error;
    }
    ::madvise(data, size, MADV_SEQUENTIAL);
    return MappedFile(data, size);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
}
MappedFile::~MappedFile() {
    if (data_ != nullptr) ::munmap(data_, size_);
}

} // namespace fusescope
