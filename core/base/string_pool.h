// SPDX-License-Identifier: Apache-2.0
// Interned text. Views stay valid for the life of the pool (blocks never move).
// One writer while building; any number of readers once frozen (no locks).
#pragma once

#include "core/base/ids.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace fusescope {

class StringPool {
public:
    StringPool();
    StringPool(StringPool&&) noexcept = default;
    StringPool& operator=(StringPool&&) noexcept = default;
    StringPool(const StringPool&) = delete;
    StringPool& operator=(const StringPool&) = delete;
    ~StringPool() = default;

    StringId intern(std::string_view text);
    // hash: hashText(text), for callers that have it already.
    StringId intern(std::string_view text, std::uint64_t hash);
    // Id of a text that is already there, or an invalid Id.
    [[nodiscard]] StringId find(std::string_view text) const;
    // Empty view for an invalid Id.
    [[nodiscard]] std::string_view view(StringId id) const noexcept;
    [[nodiscard]] std::size_t size() const noexcept { return views_.size(); }
    // Heap bytes held, text and index.
    [[nodiscard]] std::size_t bytes() const noexcept;

private:
    // Open addressing; kept at most 5/8 full. hash: the upper half of hashText, to skip most comparisons.
    struct Slot {
        std::uint32_t id = StringId::kNone;
        std::uint32_t hash = 0;
    };

    char* reserve(std::size_t n);
    void grow();

    std::vector<std::unique_ptr<char[]>> blocks_;
    std::size_t block_used_ = 0;
    std::size_t block_size_ = 0;
    std::size_t text_bytes_ = 0;
    std::vector<std::string_view> views_;
    std::vector<Slot> slots_;
};

} // namespace fusescope
