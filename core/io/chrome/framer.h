// SPDX-License-Identifier: Apache-2.0
// Cuts the text of a Chrome-format trace into batches of whole events, in one pass over bytes that may arrive in pieces.
// It trusts nothing but strings and braces, so that one bad event cannot take its neighbours with it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fusescope::chrome {

struct Batch {
    std::string text;                 // "[" events "]"
    std::uint64_t offset = 0;         // of text[1] in the whole text
    std::vector<std::pair<std::uint32_t, std::uint32_t>> events; // [begin, end) in text
};

// Position of the next {"ph" (white space apart) from there on: where to go on after a lost quote or brace; npos if none.
[[nodiscard]] std::size_t nextEventStart(std::string_view text, std::size_t from);

class Framer {
public:
    using OnBatch = std::function<void(Batch &&)>;
    using OnHeader = std::function<void(std::string_view key, std::string_view value, std::uint64_t offset)>; // raw JSON
    using OnProblem = std::function<void(std::string_view kind, std::uint64_t offset, std::string_view message)>;

    Framer(OnBatch batch, OnHeader header, OnProblem problem)
        : on_batch_(std::move(batch)), on_header_(std::move(header)), on_problem_(std::move(problem)) {}

    void push(std::string_view bytes);
    void finish(); // end of text: reports a cut-off file

    [[nodiscard]] bool sawEvents() const noexcept { return saw_events_; } // traceEvents (or an array root) was there
    [[nodiscard]] bool sawRoot() const noexcept { return state_ != State::Start; }
    [[nodiscard]] char firstByte() const noexcept { return first_; }

private:
    enum class State : std::uint8_t { Start, Key, Colon, Value, Events, Event, AfterRoot };

    void byteOutside(char c);
    void flush();
    bool resync(); // false: nothing to go on with, or too much has been framed again already
    void endValue();

    OnBatch on_batch_;
    OnHeader on_header_;
    OnProblem on_problem_;
    State state_ = State::Start;
    bool array_root_ = false, saw_events_ = false, closed_ = false;
    bool in_string_ = false, escaped_ = false;
    char first_ = 0;
    int depth_ = 0;              // inside a value or an event
    std::uint64_t at_ = 0;       // offset of the byte in hand
    std::uint64_t value_at_ = 0;
    std::uint64_t framed_again_ = 0; // bytes: bounds what hostile text can cost
    bool value_kept_ = false;
    std::string key_, value_;
    Batch batch_;
};

} // namespace fusescope::chrome
