// SPDX-License-Identifier: Apache-2.0
// A 128-bit running hash for cache keys and for telling identical layers. Not cryptographic. Stable between runs,
// machines and versions of the standard library, so that its text may be stored.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace fusescope {

class Hash128 {
public:
    void add(std::uint64_t word) noexcept;
    void add(std::string_view text) noexcept; // length first: ("ab", "c") and ("a", "bc") differ

    // Final mixing; the running state is not changed.
    [[nodiscard]] std::array<std::uint64_t, 2> digest() const noexcept;
    [[nodiscard]] std::string hex() const; // 32 digits

private:
    std::uint64_t a_ = 0x243F6A8885A308D3u, b_ = 0x13198A2E03707344u;
};

} // namespace fusescope
