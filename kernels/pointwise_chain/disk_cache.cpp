// SPDX-License-Identifier: Apache-2.0
// A file is a line of lengths and checksum, the key, the value. The key is kept whole and compared, so that files whose
// names collide are not mistaken for one another, and so that a user can read what was compiled.
#include "kernels/pointwise_chain/disk_cache.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <sstream>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace fusescope::kernels::chain {
namespace {

namespace fs = std::filesystem;

constexpr const char* suffix = ".region";

/// FNV-1a, 64 bits.
uint64_t hashOf(const std::string& text, uint64_t start = 0xcbf29ce484222325u) {
    uint64_t hash = start;
    for (unsigned char c : text) hash = (hash ^ c) * 0x100000001b3u;
    return hash;
}

std::string headerOf(const std::string& key, const std::string& value) {
    std::ostringstream header;
    header.imbue(std::locale::classic());
    header << "fusescope region 1 " << key.size() << ' ' << value.size() << ' ' << std::hex
           << hashOf(value, hashOf(key)) << '\n';
    return header.str();
}

/// The bytes of a file that this user wrote: machine code is taken from nobody else, and neither a link nor a pipe in
/// its place is followed or waited for.
bool readOwnFile(const std::string& path, uint64_t mostBytes, std::string& bytes) {
    const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (descriptor < 0) return false;
    struct stat facts {};
    bool whole = fstat(descriptor, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_uid == geteuid() &&
                 (facts.st_mode & (S_IWGRP | S_IWOTH)) == 0 && uint64_t(facts.st_size) <= mostBytes;
    if (whole) bytes.resize(size_t(facts.st_size));
    for (size_t at = 0; whole && at < bytes.size();) {
        const ssize_t got = ::read(descriptor, bytes.data() + at, bytes.size() - at);
        whole = got > 0;
        if (whole) at += size_t(got);
    }
    close(descriptor);
    return whole;
}

} // namespace

std::string defaultCacheFolder() {
    const char* cache = std::getenv("XDG_CACHE_HOME");
    if (cache && cache[0] == '/') return std::string(cache) + "/fusescope/kernels"; // relative ones are to be ignored
    const char* home = std::getenv("HOME");
    return home && home[0] == '/' ? std::string(home) + "/.cache/fusescope/kernels" : std::string();
}

DiskCache::DiskCache(std::string folder, uint64_t mostBytes) : folder_(std::move(folder)), mostBytes_(mostBytes) {}

std::string DiskCache::pathOf(const std::string& key) const {
    char name[40];
    std::snprintf(name, sizeof name, "%016llx%016llx", static_cast<unsigned long long>(hashOf(key)),
                  static_cast<unsigned long long>(hashOf(key, 0x84222325cbf29ce4u)));
    return folder_ + "/" + name + suffix;
}

bool DiskCache::read(const std::string& key, std::string& value) const {
    if (folder_.empty()) return false;
    const std::string path = pathOf(key);
    std::string bytes;
    if (!readOwnFile(path, mostBytes_, bytes)) return false;
    const size_t start = bytes.find('\n') + 1; // of the key; npos + 1 is 0, and then the header is none
    if (bytes.size() - start < key.size() || bytes.compare(start, key.size(), key) != 0) return false;
    std::string rest = bytes.substr(start + key.size());
    if (bytes.compare(0, start, headerOf(key, rest)) != 0) return false;
    value = std::move(rest);
    std::error_code ignored;
    fs::last_write_time(path, fs::file_time_type::clock::now(), ignored); // for shrink(): used now
    return true;
}

void DiskCache::write(const std::string& key, const std::string& value) const {
    if (folder_.empty()) return;
    std::error_code error;
    fs::create_directories(folder_, error);
    if (error) return;
    std::string temporary = folder_ + "/.region-XXXXXX";
    const int descriptor = mkstemp(temporary.data()); // readable by its owner alone
    if (descriptor < 0) return;
    const std::string bytes = headerOf(key, value) + key + value;
    bool whole = true;
    for (size_t at = 0; whole && at < bytes.size();) {
        const ssize_t written = ::write(descriptor, bytes.data() + at, bytes.size() - at);
        whole = written > 0;
        if (whole) at += size_t(written);
    }
    whole = close(descriptor) == 0 && whole;
    if (whole) fs::rename(temporary, pathOf(key), error);
    if (!whole || error) {
        fs::remove(temporary, error);
        return;
    }
    shrink();
}

void DiskCache::shrink() const {
    struct File {
        fs::file_time_type used;
        uint64_t bytes;
        fs::path path;
    };
    std::vector<File> files;
    uint64_t bytes = 0;
    std::error_code error;
    for (fs::directory_iterator at(folder_, error), end; !error && at != end; at.increment(error)) {
        if (at->path().extension() != suffix) continue;
        std::error_code gone;
        const File file{at->last_write_time(gone), at->file_size(gone), at->path()};
        if (gone) continue;
        bytes += file.bytes;
        files.push_back(file);
    }
    if (bytes <= mostBytes_) return;
    std::sort(files.begin(), files.end(), [](const File& a, const File& b) { return a.used < b.used; });
    for (const File& file : files) {
        if (bytes <= mostBytes_) return;
        if (fs::remove(file.path, error)) bytes -= file.bytes;
    }
}

} // namespace fusescope::kernels::chain
