// SPDX-License-Identifier: Apache-2.0
#include "core/base/string_pool.h"

#include <algorithm>
#include <cstring>

namespace fusescope {
namespace {
constexpr std::size_t kBlockBytes = std::size_t{1} << 18;
}

StringPool::StringPool() = default;

char *StringPool::reserve(std::size_t n) {
    if (blocks_.empty() || block_size_ - block_used_ < n) {
        block_size_ = std::max(kBlockBytes, n); // a text larger than a block gets one of its own
        blocks_.push_back(std::make_unique<char[]>(block_size_));
        text_bytes_ += block_size_;
        block_used_ = 0;
    }
    char *at = blocks_.back().get() + block_used_;
    block_used_ += n;
    return at;
}

StringId StringPool::intern(std::string_view text) {
    if (const auto it = index_.find(text); it != index_.end()) return it->second;
    char *at = reserve(text.size());
    if (!text.empty()) std::memcpy(at, text.data(), text.size());
    const StringId id(views_.size());
    views_.emplace_back(at, text.size());
    index_.emplace(views_.back(), id);
    return id;
}

StringId StringPool::find(std::string_view text) const {
    const auto it = index_.find(text);
    return it == index_.end() ? StringId{} : it->second;
}

std::string_view StringPool::view(StringId id) const noexcept {
    return id.index() < views_.size() ? views_[id.index()] : std::string_view{};
}

std::size_t StringPool::bytes() const noexcept {
    // An unordered_map node holds a view, an id, the hash and a link; the bucket array one pointer each.
    constexpr std::size_t kNode = sizeof(std::string_view) + 2 * sizeof(void *) + sizeof(std::size_t);
    return text_bytes_ + views_.capacity() * sizeof(std::string_view) + index_.size() * kNode +
           index_.bucket_count() * sizeof(void *);
}

} // namespace fusescope
