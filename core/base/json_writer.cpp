// SPDX-License-Identifier: Apache-2.0
#include "core/base/json_writer.h"

#include <cassert>
#include <charconv>
#include <cmath>

namespace fusescope {
namespace {

// Length of the well-formed UTF-8 sequence at the start of text, 0 if there is none.
std::size_t utf8Length(std::string_view text) {
    const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
    const auto tail = [&](std::size_t i) { return (byte(i) & 0xC0U) == 0x80U; };
    const unsigned b = byte(0);
    if (b < 0x80) return 1;
    if (b >= 0xC2 && b <= 0xDF) return tail(1) ? 2 : 0;
    if (b >= 0xE0 && b <= 0xEF) {
        if (!tail(1) || !tail(2)) return 0;
        if (b == 0xE0 && byte(1) < 0xA0) return 0; // overlong
        if (b == 0xED && byte(1) > 0x9F) return 0; // surrogate
        return 3;
    }
    if (b >= 0xF0 && b <= 0xF4) {
        if (!tail(1) || !tail(2) || !tail(3)) return 0;
        if (b == 0xF0 && byte(1) < 0x90) return 0;
        if (b == 0xF4 && byte(1) > 0x8F) return 0; // beyond U+10FFFF
        return 4;
    }
    return 0;
}

void appendQuoted(std::string& out, std::string_view text) {
    static constexpr char kHex[] = "0123456789abcdef";
    out += '"';
    while (!text.empty()) {
        const auto c = static_cast<unsigned char>(text.front());
        std::size_t n = 1;
        if (c == '"' || c == '\\') {
            out += '\\';
            out += static_cast<char>(c);
        } else if (c == '\n') {
            out += "\\n";
        } else if (c == '\t') {
            out += "\\t";
        } else if (c == '\r') {
            out += "\\r";
        } else if (c < 0x20) {
            out += "\\u00";
            out += kHex[c >> 4U];
            out += kHex[c & 15U];
        } else if (const std::size_t length = utf8Length(text); length > 0) {
            out.append(text.substr(0, length));
            n = length;
        } else {
            out += "\xEF\xBF\xBD"; // U+FFFD
        }
        text.remove_prefix(n);
    }
    out += '"';
}

} // namespace

void JsonWriter::newline() {
    if (indent_ == 0) return;
    out_ += '\n';
    out_.append(first_.size() * static_cast<std::size_t>(indent_), ' ');
}

void JsonWriter::separate() {
    if (after_key_) {
        after_key_ = false;
        return;
    }
    if (first_.empty()) return;
    if (!first_.back()) out_ += ',';
    first_.back() = false;
    newline();
}

JsonWriter& JsonWriter::beginObject() {
    separate();
    out_ += '{';
    first_.push_back(true);
    return *this;
}
JsonWriter& JsonWriter::beginArray() {
    separate();
    out_ += '[';
    first_.push_back(true);
    return *this;
}
JsonWriter& JsonWriter::endObject() {
    assert(!first_.empty() && !after_key_);
    const bool empty = first_.back();
    first_.pop_back();
    if (!empty) newline();
    out_ += '}';
    return *this;
}
JsonWriter& JsonWriter::endArray() {
    assert(!first_.empty() && !after_key_);
    const bool empty = first_.back();
    first_.pop_back();
    if (!empty) newline();
    out_ += ']';
    return *this;
}
JsonWriter& JsonWriter::key(std::string_view name) {
    separate();
    appendQuoted(out_, name);
    out_ += indent_ > 0 ? ": " : ":";
    after_key_ = true;
    return *this;
}
JsonWriter& JsonWriter::value(std::string_view text) {
    separate();
    appendQuoted(out_, text);
    return *this;
}
JsonWriter& JsonWriter::value(bool b) {
    separate();
    out_ += b ? "true" : "false";
    return *this;
}
JsonWriter& JsonWriter::value(double number) {
    if (!std::isfinite(number)) return null();
    separate();
    char text[32];
    // More than 19 digits in a row are no double to some JSON readers.
    const auto [end, ec] = std::fabs(number) < 1e18
                               ? std::to_chars(text, text + sizeof text, number)
                               : std::to_chars(text, text + sizeof text, number, std::chars_format::scientific);
    out_.append(text, ec == std::errc{} ? end : text);
    return *this;
}
JsonWriter& JsonWriter::value(std::int64_t number) {
    separate();
    out_ += std::to_string(number);
    return *this;
}
JsonWriter& JsonWriter::value(std::uint64_t number) {
    separate();
    out_ += std::to_string(number);
    return *this;
}
JsonWriter& JsonWriter::raw(std::string_view json) {
    separate();
    out_ += json;
    return *this;
}
JsonWriter& JsonWriter::null() {
    separate();
    out_ += "null";
    return *this;
}

} // namespace fusescope
