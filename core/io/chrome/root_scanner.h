// SPDX-License-Identifier: Apache-2.0
// Walks what stands around the events: the keys and values of the outer object, in pieces of any size. Values are
// handed out as raw JSON; events are not looked at, only where they begin.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace fusescope::chrome {

class RootScanner {
public:
    using OnValue = std::function<void(std::string_view key, std::string_view value, std::uint64_t offset)>;
    explicit RootScanner(OnValue value) : on_value_(std::move(value)) {}

    // Reads up to the first byte of the events (just behind their `[`) or to the end of the piece; returns how far.
    std::size_t feed(std::string_view piece);
    // The events ended with their `]`; offset: behind it.
    void leaveEvents(std::uint64_t offset);

    [[nodiscard]] bool inEvents() const noexcept { return state_ == State::Events; }
    [[nodiscard]] bool sawEvents() const noexcept { return saw_events_; }
    [[nodiscard]] bool closed() const noexcept { return closed_; } // the outer object or array ended properly
    // Where text stands behind the end; 0: nowhere.
    [[nodiscard]] std::uint64_t trailingAt() const noexcept { return trailing_at_; }
    [[nodiscard]] char firstByte() const noexcept { return first_; } // 0: nothing but white space so far
    [[nodiscard]] std::uint64_t offset() const noexcept { return at_; }
    [[nodiscard]] const std::string& currentKey() const noexcept { return key_; } // whose value has not ended
    [[nodiscard]] const std::string& keys() const noexcept { return keys_; }      // "nodes, schema, pid", the first few

private:
    enum class State : std::uint8_t { Start, Key, Colon, Value, Events, AfterRoot };
    void byte(char c);
    void valueByte(char c);
    void endValue();

    OnValue on_value_;
    State state_ = State::Start;
    bool array_root_ = false, saw_events_ = false, closed_ = false;
    bool in_string_ = false, escaped_ = false, value_begun_ = false;
    char first_ = 0;
    int depth_ = 0;
    int arrays_ = 0; // traceEvents seen
    std::uint64_t at_ = 0, value_at_ = 0, trailing_at_ = 0;
    std::string key_, value_, keys_;
};

} // namespace fusescope::chrome
