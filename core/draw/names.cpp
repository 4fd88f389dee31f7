// SPDX-License-Identifier: Apache-2.0
#include "core/draw/names.h"

namespace fusescope {

std::string_view displayKernelName(std::string_view name) noexcept {
    constexpr std::string_view prefix = "void ", anonymous = "(anonymous namespace)";
    std::string_view rest = name;
    if (rest.substr(0, prefix.size()) == prefix) rest.remove_prefix(prefix.size());
    std::size_t begin = 0, end = 0;
    while (end < rest.size()) {
        if (rest[end] == '(' && rest.substr(end, anonymous.size()) == anonymous) {
            end += anonymous.size();
            continue;
        }
        if (rest[end] == '<' || rest[end] == '(') break;
        if (rest[end] == ':') begin = end + 1;
        ++end;
    }
    rest = rest.substr(begin, end - begin);
    while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
    while (!rest.empty() && rest.back() == ' ') rest.remove_suffix(1);
    return rest.empty() ? name : rest;
}

std::string_view displayOpName(std::string_view name) noexcept {
    const std::size_t at = name.rfind("::");
    return at == std::string_view::npos || at + 2 >= name.size() ? name : name.substr(at + 2);
}

std::string_view displayFrameName(std::string_view name) noexcept {
    const std::size_t at = name.find(": ");
    return at == std::string_view::npos || at + 2 >= name.size() ? name : name.substr(at + 2);
}

std::string_view fileName(std::string_view path) noexcept {
    const std::size_t at = path.find_last_of("/\\");
    return at == std::string_view::npos || at + 1 >= path.size() ? path : path.substr(at + 1);
}

} // namespace fusescope
