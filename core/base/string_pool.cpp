// SPDX-License-Identifier: Apache-2.0
#include "core/base/string_pool.h"

#include "core/base/hash.h"

#include <algorithm>
#include <cstring>

namespace fusescope {
namespace {
constexpr std::size_t kBlockBytes = std::size_t{1} << 18;
}

StringPool::StringPool() = default;

char* StringPool::reserve(std::size_t n) {
    if (blocks_.empty() || block_size_ - block_used_ < n) {
        block_size_ = std::max(kBlockBytes, n); // a text larger than a block gets one of its own
        blocks_.push_back(std::make_unique<char[]>(block_size_));
        text_bytes_ += block_size_;
        block_used_ = 0;
    }
    char* at = blocks_.back().get() + block_used_;
    block_used_ += n;
    return at;
}

StringId StringPool::intern(std::string_view text) { return intern(text, hashText(text)); }

StringId StringPool::intern(std::string_view text, std::uint64_t hash) {
    if (slots_.size() * 5 <= views_.size() * 8) grow();
    const auto tag = static_cast<std::uint32_t>(hash >> 32U);
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = static_cast<std::size_t>(hash) & mask;
    for (; slots_[at].id != StringId::kNone; at = (at + 1) & mask)
        if (slots_[at].hash == tag && views_[slots_[at].id] == text) return StringId(slots_[at].id);
    char* copy = reserve(text.size());
    if (!text.empty()) std::memcpy(copy, text.data(), text.size());
    const StringId id(views_.size());
    views_.emplace_back(copy, text.size());
    slots_[at] = {id.value, tag};
    return id;
}

StringId StringPool::find(std::string_view text) const {
    if (slots_.empty()) return {};
    const std::uint64_t hash = hashText(text);
    const auto tag = static_cast<std::uint32_t>(hash >> 32U);
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t at = static_cast<std::size_t>(hash) & mask; slots_[at].id != StringId::kNone; at = (at + 1) & mask)
        if (slots_[at].hash == tag && views_[slots_[at].id] == text) return StringId(slots_[at].id);
    return {};
}

void StringPool::grow() {
    std::vector<Slot> bigger(slots_.empty() ? 64 : slots_.size() * 2);
    const std::size_t mask = bigger.size() - 1;
    for (std::uint32_t id = 0; id < views_.size(); ++id) {
        const std::uint64_t hash = hashText(views_[id]);
        std::size_t at = static_cast<std::size_t>(hash) & mask;
        while (bigger[at].id != StringId::kNone) at = (at + 1) & mask;
        bigger[at] = {id, static_cast<std::uint32_t>(hash >> 32U)};
    }
    slots_ = std::move(bigger);
}

std::string_view StringPool::view(StringId id) const noexcept {
    return id.index() < views_.size() ? views_[id.index()] : std::string_view{};
}

std::size_t StringPool::bytes() const noexcept {
    return text_bytes_ + views_.capacity() * sizeof(std::string_view) + slots_.capacity() * sizeof(Slot);
}

} // namespace fusescope
