// SPDX-License-Identifier: Apache-2.0
#include "core/io/chrome/root_scanner.h"

namespace fusescope::chrome {
namespace {

constexpr std::size_t kMaxValueBytes = std::size_t{1} << 20; // longer top-level values are skipped
constexpr std::size_t kMaxKeyBytes = 256;
constexpr std::size_t kMaxKeysText = 80;
constexpr int kMaxArrays = 16; // a file with more traceEvents than that plays games

bool isSpace(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

} // namespace

std::size_t RootScanner::feed(std::string_view piece) {
    std::size_t i = 0;
    while (i < piece.size() && state_ != State::Events && state_ != State::AfterRoot) {
        byte(piece[i]);
        ++i;
        ++at_;
    }
    if (state_ == State::AfterRoot) {
        const std::size_t more = piece.find_first_not_of(" \n\r\t\0", i, 5);
        if (closed_ && trailing_at_ == 0 && more != std::string_view::npos) trailing_at_ = at_ + (more - i);
        at_ += piece.size() - i;
        i = piece.size();
    }
    return i;
}

void RootScanner::leaveEvents(std::uint64_t offset) {
    at_ = offset;
    closed_ = array_root_;
    state_ = array_root_ ? State::AfterRoot : State::Key;
    in_string_ = escaped_ = false;
}

void RootScanner::endValue() {
    if (value_begun_ && value_.size() < kMaxValueBytes) on_value_(key_, value_, value_at_);
    if (keys_.size() + key_.size() < kMaxKeysText) keys_ += (keys_.empty() ? "" : ", ") + key_;
    value_.clear();
    key_.clear();
}

void RootScanner::valueByte(char c) {
    if (!value_begun_) {
        if (isSpace(c)) return;
        if (c == '[' && key_ == "traceEvents" && arrays_ < kMaxArrays) {
            ++arrays_;
            saw_events_ = true;
            state_ = State::Events;
            return;
        }
        value_begun_ = true;
        value_at_ = at_;
    }
    if (in_string_) {
        if (escaped_)
            escaped_ = false;
        else if (c == '\\')
            escaped_ = true;
        else if (c == '"')
            in_string_ = false;
    } else if (c == '"') {
        in_string_ = true;
    } else if (c == '{' || c == '[') {
        ++depth_;
    } else if (c == '}' || c == ']' || c == ',') {
        if (depth_ == 0) {
            while (!value_.empty() && isSpace(value_.back())) value_.pop_back();
            endValue();
            closed_ = c == '}';
            state_ = closed_ ? State::AfterRoot : State::Key;
            return;
        }
        if (c != ',') --depth_;
    }
    if (value_.size() < kMaxValueBytes) value_ += c;
}

void RootScanner::byte(char c) {
    switch (state_) {
    case State::Start:
        if (isSpace(c)) return;
        if (const auto b = static_cast<unsigned char>(c); first_ == 0 && (b == 0xEF || b == 0xBB || b == 0xBF))
            return; // a byte order mark
        first_ = c;
        array_root_ = saw_events_ = c == '[';
        state_ = c == '[' ? State::Events : c == '{' ? State::Key : State::AfterRoot;
        return;
    case State::Key:
        if (in_string_) {
            if (escaped_)
                escaped_ = false;
            else if (c == '\\')
                escaped_ = true;
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
        if (c != ':') return;
        state_ = State::Value;
        value_.clear();
        depth_ = 0;
        value_begun_ = in_string_ = escaped_ = false;
        return;
    case State::Value: valueByte(c); return;
    case State::Events:
    case State::AfterRoot: return;
    }
}

} // namespace fusescope::chrome
