// SPDX-License-Identifier: Apache-2.0
// Formats: proc(5), cgroups(7), the kernel's cgroup-v2.rst and cgroup-v1/memory.rst.
#include "core/base/memory_available.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <optional>
#include <string_view>

namespace fusescope {
namespace {

constexpr double kUnlimited = std::numeric_limits<double>::infinity();
constexpr int kMostLevels = 64;

std::optional<double> numberOf(const std::string& text) {
    char* end = nullptr;
    const double number = std::strtod(text.c_str(), &end);
    if (end == text.c_str() || !(number >= 0)) return std::nullopt;
    return number;
}

std::string firstLine(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

// "key 1024" or "key: 1024 kB".
std::optional<double> entryOf(const std::string& path, std::string_view key) {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);)
        if (line.size() > key.size() && line.compare(0, key.size(), key) == 0 &&
            (line[key.size()] == ' ' || line[key.size()] == ':'))
            return numberOf(line.substr(key.size() + 1));
    return std::nullopt;
}

struct Names {
    const char *limit, *used, *idle;
};
constexpr Names kV1{"/memory.limit_in_bytes", "/memory.usage_in_bytes", "total_inactive_file"};
constexpr Names kV2{"/memory.max", "/memory.current", "inactive_file"};

// What one group leaves: files that nobody uses make room.
double leftOf(const std::string& group, const Names& names) {
    const auto limit = numberOf(firstLine(group + names.limit)), used = numberOf(firstLine(group + names.used));
    if (!limit || !used) return kUnlimited; // "max"
    return *limit - std::max(0.0, *used - entryOf(group + "/memory.stat", names.idle).value_or(0));
}

// Of a group and those around it. A container may see itself as the topmost one, and its path nowhere.
double leftAlong(const std::string& mount, std::string path, const Names& names) {
    double left = leftOf(mount, names);
    if (path.find("..") != std::string::npos) return left; // of a namespace outside
    for (int level = 0; level < kMostLevels && path.size() > 1; ++level) {
        left = std::min(left, leftOf(mount + path, names));
        path.resize(path.rfind('/'));
    }
    return left;
}

bool listed(std::string_view list, std::string_view name) {
    for (std::size_t at = 0; at <= list.size();) {
        const std::size_t end = std::min(list.find(',', at), list.size());
        if (list.substr(at, end - at) == name) return true;
        at = end + 1;
    }
    return false;
}

} // namespace

double availableMemory(const std::string& root) {
    constexpr double kKiB = 1024;
    const auto machine = entryOf(root + "/proc/meminfo", "MemAvailable");
    double left = machine ? *machine * kKiB : kUnlimited;
    std::ifstream groups(root + "/proc/self/cgroup");
    for (std::string line; std::getline(groups, line);) { // "4:memory:/path", v2: "0::/path"
        const std::size_t first = line.find(':');
        const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
        if (second == std::string::npos || line.size() <= second + 1 || line[second + 1] != '/') continue;
        const std::string_view controllers = std::string_view(line).substr(first + 1, second - first - 1);
        const std::string path = line.substr(second + 1);
        if (controllers.empty())
            left = std::min(left, leftAlong(root + "/sys/fs/cgroup", path, kV2));
        else if (listed(controllers, "memory"))
            left = std::min(left, leftAlong(root + "/sys/fs/cgroup/memory", path, kV1));
    }
    return left < kUnlimited ? std::max(left, 1.0) : 0; // nothing left is not "not known"
}

} // namespace fusescope
