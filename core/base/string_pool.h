// SPDX-License-Identifier: Apache-2.0
// Interned text. Views stay valid for the life of the pool (blocks never move).
// One writer while building; any number of readers once frozen (no locks).
#pragma once

#include "core/base/ids.h"

#include <cstddef>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace fusescope {

class StringPool {
public:
    StringPool();
    StringPool(StringPool &&) noexcept = default;
    StringPool &operator=(StringPool &&) noexcept = default;
    StringPool(const StringPool &) = delete;
    StringPool &operator=(const StringPool &) = delete;
    ~StringPool() = default;

    StringId intern(std::string_view text);
    // Id of a text that is already there, or an invalid Id.
    [[nodiscard]] StringId find(std::string_view text) const;
    // Empty view for an invalid Id.
    [[nodiscard]] std::string_view view(StringId id) const noexcept;
    [[nodiscard]] std::size_t size() const noexcept { return views_.size(); }
    // Heap bytes held, text and index.
    [[nodiscard]] std::size_t bytes() const noexcept;

private:
    char *reserve(std::size_t n);

    std::vector<std::unique_ptr<char[]>> blocks_;
    std::size_t block_used_ = 0;
    std::size_t block_size_ = 0;
    std::size_t text_bytes_ = 0;
    std::vector<std::string_view> views_;
    std::unordered_map<std::string_view, StringId> index_;
};

} // namespace fusescope
