// SPDX-License-Identifier: Apache-2.0
// Streaming JSON writer. Objects, arrays and keys are checked by assertions only; non-finite numbers become null;
// text that is not UTF-8 has its bad bytes replaced by U+FFFD.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fusescope {

class JsonWriter {
public:
    // indent 0: one line.
    explicit JsonWriter(int indent = 0) : indent_(indent) {}

    JsonWriter& beginObject();
    JsonWriter& endObject();
    JsonWriter& beginArray();
    JsonWriter& endArray();
    JsonWriter& key(std::string_view name);
    JsonWriter& value(std::string_view text);
    JsonWriter& value(const char* text) { return value(std::string_view(text)); }
    JsonWriter& value(const std::string& text) { return value(std::string_view(text)); }
    JsonWriter& value(bool b);
    JsonWriter& value(double number); // shortest text that reads back the same
    JsonWriter& value(std::int64_t number);
    JsonWriter& value(std::uint64_t number);
    JsonWriter& value(int number) { return value(static_cast<std::int64_t>(number)); }
    JsonWriter& value(unsigned number) { return value(static_cast<std::uint64_t>(number)); }
    JsonWriter& null();
    JsonWriter& raw(std::string_view json); // a value that is JSON already, taken as it is
    template <class T> JsonWriter& member(std::string_view name, const T& v) { return key(name).value(v); }

    [[nodiscard]] const std::string& text() const& { return out_; }
    [[nodiscard]] std::string take() && { return std::move(out_); }

private:
    void separate();
    void newline();

    std::string out_;
    std::vector<bool> first_; // per open container
    int indent_ = 0;
    bool after_key_ = false;
};

} // namespace fusescope
