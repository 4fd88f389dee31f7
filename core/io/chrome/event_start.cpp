// SPDX-License-Identifier: Apache-2.0
#include "core/io/chrome/event_start.h"

#include <algorithm>
#include <cstring>

namespace fusescope::chrome {
namespace {

bool isSpace(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

constexpr std::string_view kFirstKeys[] = {"ph", "name", "cat", "ts", "pid", "tid", "dur", "id", "args"};
constexpr std::size_t kMaxSpace = 4096; // white space between two tokens; more is not written by anybody

} // namespace

bool isEventStart(std::string_view text, std::size_t at) noexcept {
    std::size_t i = at + 1;
    const std::size_t limit = std::min(text.size(), at + kMaxSpace);
    while (i < limit && isSpace(text[i])) ++i;
    if (i >= limit || text[i] != '"') return false;
    ++i;
    bool known = false;
    for (const std::string_view key : kFirstKeys) {
        if (text.substr(i, key.size()) != key || i + key.size() >= text.size() || text[i + key.size()] != '"') continue;
        i += key.size() + 1;
        known = true;
        break;
    }
    if (!known) return false;
    while (i < limit && isSpace(text[i])) ++i;
    if (i >= text.size() || text[i] != ':') return false;
    std::size_t before = at;
    const std::size_t floor = at > kMaxSpace ? at - kMaxSpace : 0;
    while (before > floor && isSpace(text[before - 1])) --before;
    if (before == 0) return true;
    const char c = text[before - 1];
    return c == ',' || c == '[' || c == '}';
}

std::size_t findEventStart(std::string_view text, std::size_t from, std::size_t to) noexcept {
    const std::size_t end = std::min(to, text.size());
    while (from < end) {
        const void* hit = std::memchr(text.data() + from, '{', end - from);
        if (hit == nullptr) break;
        const auto at = static_cast<std::size_t>(static_cast<const char*>(hit) - text.data());
        if (isEventStart(text, at)) return at;
        from = at + 1;
    }
    return kNowhere;
}

std::size_t findPhaseStart(std::string_view text, std::size_t from) noexcept {
    for (std::size_t at = findEventStart(text, from); at != kNowhere; at = findEventStart(text, at + 1)) {
        const std::size_t quote = text.find('"', at);
        if (text.substr(quote, 4) == "\"ph\"") return at;
    }
    return kNowhere;
}

std::size_t findLastEventStart(std::string_view text) noexcept {
    for (std::size_t at = text.rfind('{'); at != std::string_view::npos && at > 0; at = text.rfind('{', at - 1))
        if (isEventStart(text, at)) return at;
    return kNowhere;
}

} // namespace fusescope::chrome
