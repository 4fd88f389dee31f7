// SPDX-License-Identifier: Apache-2.0
// A fast hash of text for tables in memory. Not stable between versions and not for hostile collisions that matter:
// every table that uses it compares the text as well.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace fusescope {

[[nodiscard]] inline std::uint64_t hashText(std::string_view text) noexcept {
    constexpr std::uint64_t kA = 0x9E3779B97F4A7C15ULL, kB = 0xD6E8FEB86659FD93ULL;
    const char* at = text.data();
    std::size_t left = text.size();
    std::uint64_t a = kA ^ left, b = kB;
    const auto word = [](const char* from, std::size_t n) {
        std::uint64_t w = 0;
        std::memcpy(&w, from, n);
        return w;
    };
    // Two chains, so that the multiplications overlap.
    for (; left >= 16; left -= 16, at += 16) {
        a = (a ^ word(at, 8)) * kA;
        b = (b ^ word(at + 8, 8)) * kB;
        a ^= a >> 32U;
        b ^= b >> 32U;
    }
    if (left >= 8) {
        a = (a ^ word(at, 8)) * kA;
        a ^= a >> 32U;
        left -= 8;
        at += 8;
    }
    if (left > 0) b = (b ^ word(at, left)) * kB;
    std::uint64_t h = (a ^ (b >> 31U) ^ (b << 17U)) * kB;
    h ^= h >> 32U;
    return h;
}

} // namespace fusescope
