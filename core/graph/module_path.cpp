// SPDX-License-Identifier: Apache-2.0
#include "core/graph/module_path.h"

#include <algorithm>
#include <array>

namespace fusescope {
namespace {

bool isDigit(char c) { return c >= '0' && c <= '9'; }

// "mlp@1" -> "mlp"
std::string_view withoutCallNumber(std::string_view component) {
    const std::size_t at = component.rfind('@');
    if (at == std::string_view::npos || at + 1 == component.size()) return component;
    return std::all_of(component.begin() + static_cast<std::ptrdiff_t>(at) + 1, component.end(), isDigit)
               ? component.substr(0, at)
               : component;
}

// Words that belong to Dynamo's way of writing "self", not to the path.
bool isDynamoWord(std::string_view word) {
    constexpr std::array kWords{"L", "self", "getattr", "_modules", "L__self__"};
    return std::find(kWords.begin(), kWords.end(), word) != kWords.end();
}

} // namespace

std::string cleanModulePath(std::string_view path) {
    const bool expression = path.find_first_of("[(") != std::string_view::npos;
    const std::string_view separators = expression ? ".[](),'\" " : ".";
    std::string clean;
    clean.reserve(path.size());
    bool first = true;
    while (!path.empty()) {
        const std::size_t end = std::min(path.find_first_of(separators), path.size());
        const std::string_view word = withoutCallNumber(path.substr(0, end));
        path.remove_prefix(std::min(end + 1, path.size()));
        if (word.empty() || (expression && isDynamoWord(word)) || (first && word == "L__self__")) continue;
        if (!first) clean += '.';
        clean += word;
        first = false;
    }
    return clean;
}

std::string profilerOpName(std::string_view target) {
    constexpr std::string_view kOps = "torch.ops.";
    if (target.substr(0, kOps.size()) == kOps) {
        target.remove_prefix(kOps.size());
        const std::size_t dot = target.find('.');
        if (dot == std::string_view::npos) return std::string(target);
        std::string_view name = target.substr(dot + 1);
        name = name.substr(0, name.find('.', 1)); // the overload goes
        return std::string(target.substr(0, dot)).append("::").append(name);
    }
    if (!target.empty() && target.front() == '#') return std::string(target.substr(1)); // "#namespace:op", an extension
    const std::size_t dot = target.rfind('.');
    if (dot == std::string_view::npos) return std::string(target);
    std::string_view space = target.substr(0, dot);
    if (space == "_operator") space = "operator";
    return std::string(space).append("::").append(target.substr(dot + 1));
}

std::string_view lastComponent(std::string_view dotted) noexcept {
    const std::size_t dot = dotted.rfind('.');
    return dot == std::string_view::npos ? dotted : dotted.substr(dot + 1);
}

long long layerNumber(std::string_view name) noexcept {
    if (name.empty() || name.size() > 9) return -1;
    long long number = 0;
    for (const char c : name) {
        if (!isDigit(c)) return -1;
        number = number * 10 + (c - '0');
    }
    return number;
}

} // namespace fusescope
