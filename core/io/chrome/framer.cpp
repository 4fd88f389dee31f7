// SPDX-License-Identifier: Apache-2.0
#include "core/io/chrome/framer.h"

namespace fusescope::chrome {
namespace {

constexpr std::size_t kBatchBytes = std::size_t{4} << 20;
constexpr std::size_t kMaxEventBytes = std::size_t{4} << 20;    // a longer "event" is one that lost a quote
constexpr std::uint64_t kMaxFramedAgain = std::uint64_t{256} << 20;
constexpr std::size_t kMaxHeaderBytes = std::size_t{16} << 20;  // longer top-level values are skipped
constexpr std::size_t kMaxKeyBytes = 4096;

bool isSpace(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

} // namespace

std::size_t nextEventStart(std::string_view text, std::size_t from) {
    for (std::size_t at = text.find('{', from); at != std::string_view::npos; at = text.find('{', at + 1)) {
        std::size_t i = at + 1;
        while (i < text.size() && isSpace(text[i])) ++i;
        if (text.substr(i, 4) == "\"ph\"") return at;
    }
    return std::string_view::npos;
}

// The open event swallowed its followers: it ends before the next start, and what it swallowed is framed again.
bool Framer::resync() {
    const std::size_t next = nextEventStart(batch_.text, batch_.events.back().first + 1);
    if (next == std::string::npos || framed_again_ > kMaxFramedAgain) return false;
    const std::string swallowed = batch_.text.substr(next);
    framed_again_ += swallowed.size();
    batch_.text.resize(next);
    batch_.events.back().second = static_cast<std::uint32_t>(next); // the decoder saves what it can
    in_string_ = escaped_ = false;
    depth_ = 0;
    state_ = State::Events;
    at_ -= swallowed.size();
    if (batch_.text.size() >= kBatchBytes) flush();
    push(swallowed);
    return true;
}

void Framer::flush() {
    if (batch_.events.empty()) {
        batch_ = {};
        return;
    }
    batch_.text.resize(batch_.events.back().second); // separators after the last event
    batch_.text += ']';
    on_batch_(std::move(batch_));
    batch_ = {};
}

void Framer::endValue() {
    if (value_kept_ && value_.size() <= kMaxHeaderBytes) on_header_(key_, value_, value_at_);
    value_.clear();
    key_.clear();
}

void Framer::push(std::string_view bytes) {
    std::size_t i = 0;
    while (i < bytes.size()) {
        if (state_ != State::Event) {
            byteOutside(bytes[i]);
            ++at_;
            ++i;
            continue;
        }
        // Inside an event: only quotes, backslashes and braces matter. The run of bytes is appended at once.
        const std::size_t start = i;
        bool ended = false;
        for (; i < bytes.size() && !ended; ++i) {
            const char c = bytes[i];
            if (in_string_) {
                if (escaped_) escaped_ = false;
                else if (c == '\\') escaped_ = true;
                else if (c == '"' || c == '\n') in_string_ = false; // no string holds a raw line end: its quote was lost
            } else if (c == '"') {
                in_string_ = true;
            } else if (c == '{' || c == '[') {
                ++depth_;
            } else if (c == '}' || c == ']') {
                ended = --depth_ == 0;
            }
        }
        batch_.text.append(bytes.substr(start, i - start));
        at_ += i - start;
        const std::size_t size = batch_.text.size() - batch_.events.back().first;
        if (ended) {
            batch_.events.back().second = static_cast<std::uint32_t>(batch_.text.size());
            state_ = State::Events;
            if (batch_.text.size() >= kBatchBytes) flush();
        } else if (size > kMaxEventBytes && !resync()) {
            on_problem_("runaway_event", batch_.offset + batch_.events.back().first - 1,
                        "an event does not end within 4 MB; it is left out");
            batch_.text.resize(batch_.events.back().first);
            batch_.events.pop_back();
            in_string_ = escaped_ = false;
            depth_ = 0;
            state_ = State::Events;
        }
    }
}

void Framer::byteOutside(char c) {
    switch (state_) {
    case State::Start:
        if (isSpace(c) || static_cast<unsigned char>(c) == 0xEF || static_cast<unsigned char>(c) == 0xBB ||
            static_cast<unsigned char>(c) == 0xBF) // white space or a byte order mark
            return;
        first_ = c;
        if (c == '[') {
            array_root_ = saw_events_ = true;
            state_ = State::Events;
        } else {
            state_ = c == '{' ? State::Key : State::AfterRoot;
        }
        return;
    case State::Key:
        if (in_string_) {
            if (escaped_) escaped_ = false;
            else if (c == '\\') escaped_ = true;
            else if (c == '"') {
                in_string_ = false;
                state_ = State::Colon;
                return;
            }
            if (key_.size() < kMaxKeyBytes) key_ += c;
        } else if (c == '"') {
            in_string_ = true;
            key_.clear();
        } else if (c == '}') {
            closed_ = true;
            state_ = State::AfterRoot;
        }
        return;
    case State::Colon:
        if (c == ':') {
            state_ = State::Value;
            value_.clear();
            depth_ = 0;
            value_kept_ = false;
        }
        return;
    case State::Value:
        if (!value_kept_ && isSpace(c)) return;
        if (!value_kept_ && key_ == "traceEvents" && c == '[') {
            saw_events_ = true;
            state_ = State::Events;
            return;
        }
        if (!value_kept_) {
            value_kept_ = true;
            value_at_ = at_;
        }
        if (in_string_) {
            if (escaped_) escaped_ = false;
            else if (c == '\\') escaped_ = true;
            else if (c == '"') in_string_ = false;
        } else if (c == '"') {
            in_string_ = true;
        } else if (c == '{' || c == '[') {
            ++depth_;
        } else if (c == '}' || c == ']' || c == ',') {
            if (depth_ == 0) {
                endValue();
                closed_ = c == '}';
                state_ = closed_ ? State::AfterRoot : State::Key;
                return;
            }
            if (c != ',') --depth_;
        }
        if (value_.size() <= kMaxHeaderBytes) value_ += c;
        return;
    case State::Events:
        if (c == '{') {
            if (batch_.text.empty()) {
                batch_.text = "[";
                batch_.offset = at_;
            }
            // Separators are kept as they are, so that offsets in the batch stay offsets in the file.
            batch_.events.emplace_back(static_cast<std::uint32_t>(batch_.text.size()), 0U);
            batch_.text += c;
            depth_ = 1;
            in_string_ = escaped_ = false;
            state_ = State::Event;
        } else if (c == ']') {
            flush();
            closed_ = array_root_;
            state_ = array_root_ ? State::AfterRoot : State::Key;
        } else {
            if (!batch_.text.empty()) batch_.text += c;
            if (!isSpace(c) && c != ',') on_problem_("stray_text", at_, "there is text between events that is not an event");
        }
        return;
    case State::Event:
    case State::AfterRoot: return;
    }
}

void Framer::finish() {
    // Each round ends one event earlier than the text, so this ends.
    while (state_ == State::Event && resync()) {
    }
    if (state_ == State::Event) {
        on_problem_("truncated", batch_.offset + batch_.events.back().first - 1, "the file ends in the middle of an event");
        batch_.text.resize(batch_.events.back().first);
        batch_.events.pop_back();
    } else if (state_ != State::Start && !closed_ && state_ != State::AfterRoot) {
        on_problem_("truncated", at_, "the file ends early; everything before the end was read");
    }
    flush();
}

} // namespace fusescope::chrome
