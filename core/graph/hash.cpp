// SPDX-License-Identifier: Apache-2.0
#include "core/graph/hash.h"

#include <bit>

namespace fusescope {
namespace {

// The finaliser of MurmurHash3: every input bit reaches every output bit.
constexpr std::uint64_t mix(std::uint64_t x) noexcept {
    x ^= x >> 33;
    x *= 0xFF51AFD7ED558CCDu;
    x ^= x >> 33;
    x *= 0xC4CEB9FE1A85EC53u;
    x ^= x >> 33;
    return x;
}

} // namespace

void Hash128::add(std::uint64_t word) noexcept {
    a_ = mix(a_ ^ word) + 0x9E3779B97F4A7C15u;
    b_ = std::rotl(b_ ^ (word * 0xD6E8FEB86659FD93u), 29) * 0xA0761D6478BD642Fu + a_;
}

void Hash128::add(std::string_view text) noexcept {
    add(static_cast<std::uint64_t>(text.size()));
    // Bytes are put together by hand, not by memcpy: the same on every byte order.
    std::size_t i = 0;
    for (; i + 8 <= text.size(); i += 8) {
        std::uint64_t word = 0;
        for (std::size_t k = 0; k < 8; ++k)
            word |= static_cast<std::uint64_t>(static_cast<unsigned char>(text[i + k])) << (8 * k);
        add(word);
    }
    if (i < text.size()) {
        std::uint64_t word = 0;
        for (std::size_t k = 0; i + k < text.size(); ++k)
            word |= static_cast<std::uint64_t>(static_cast<unsigned char>(text[i + k])) << (8 * k);
        add(word);
    }
}

std::array<std::uint64_t, 2> Hash128::digest() const noexcept {
    const std::uint64_t high = mix(a_ + std::rotl(b_, 17));
    return {high, mix(b_ ^ high)};
}

std::string Hash128::hex() const {
    static constexpr char kDigits[] = "0123456789abcdef";
    std::string text;
    text.reserve(32);
    for (const std::uint64_t word : digest())
        for (int shift = 60; shift >= 0; shift -= 4) text += kDigits[(word >> shift) & 15u];
    return text;
}

} // namespace fusescope
