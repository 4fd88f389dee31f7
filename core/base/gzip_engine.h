// SPDX-License-Identifier: Apache-2.0
// What inflates gzip members for GzipStream: ISA-L where it was found when the program was configured (some three times
// as fast), else zlib. Private to core/base.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

namespace fusescope {

class GzipEngine {
public:
    GzipEngine();
    ~GzipEngine();
    GzipEngine(const GzipEngine&) = delete;
    GzipEngine& operator=(const GzipEngine&) = delete;
    [[nodiscard]] bool open() const noexcept { return state_ != nullptr; } // false: out of memory

    // The compressed bytes that follow, once left() is empty. At most 2^32 - 1; they must stay until they are taken.
    void feed(std::string_view bytes) noexcept;
    [[nodiscard]] std::string_view left() const noexcept; // of them, not taken yet

    enum class Step { More, MemberEnd, Damaged };
    // Adds to written. More: the output is full, or there is no input. At most 2^32 - 1 bytes of output.
    Step step(std::span<char> out, std::size_t& written) noexcept;
    [[nodiscard]] bool restart() noexcept; // for the next member, at left()

private:
    struct State;
    std::unique_ptr<State> state_;
};

} // namespace fusescope
