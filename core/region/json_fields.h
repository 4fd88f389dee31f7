// SPDX-License-Identifier: Apache-2.0
// Reading members of a parsed JSON document that comes from anywhere: every type and bound is checked, the first thing
// that does not fit is kept with its path. Shared with core/ipc; includes simdjson, so only sources include it.
#pragma once

#include "core/base/result.h"

#include <simdjson.h>

#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fusescope::json {

using Element = simdjson::dom::element;
using Array = simdjson::dom::array;

// Short, for people: "the text 'abc'", "-3", "an array".
inline std::string describe(Element json) {
    using Type = simdjson::dom::element_type;
    switch (json.type()) {
    case Type::ARRAY: return "an array";
    case Type::OBJECT: return "an object";
    case Type::STRING: {
        const std::string_view text = std::string_view(json);
        return text.size() <= 60 ? "the text '" + std::string(text) + "'" : "a text";
    }
    case Type::BOOL: return bool(json) ? "true" : "false";
    case Type::NULL_VALUE: return "null";
    case Type::INT64: return std::to_string(std::int64_t(json));
    case Type::UINT64: return std::to_string(std::uint64_t(json));
    case Type::DOUBLE: { // 1e308 in full has 309 digits, 5e-324 seven zeros; the locale's comma is none of JSON's
        char digits[32];
        const auto written = std::to_chars(digits, digits + sizeof digits, double(json), std::chars_format::general, 9);
        return {digits, written.ptr};
    }
    }
    return "something else";
}

class Reader {
public:
    explicit Reader(const char* subject) : subject_(subject) {}

    // A part of the path, as long as it lives.
    class At {
    public:
        At(Reader& reader, const char* key) : reader_(reader) { reader_.path_.push_back({key, 0}); }
        At(Reader& reader, std::size_t index) : reader_(reader) { reader_.path_.push_back({nullptr, index}); }
        ~At() { reader_.path_.pop_back(); }
        At(const At&) = delete;
        At& operator=(const At&) = delete;

    private:
        Reader& reader_;
    };

    [[nodiscard]] bool failed() const { return error_.has_value(); }
    [[nodiscard]] Error error() const { return *error_; }
    // Always false. Only the first failure is kept.
    bool fail(std::string expected, std::string found, ErrorCode code = ErrorCode::Damaged) {
        if (error_) return false;
        std::string where;
        for (const Part& part : path_) {
            if (part.key == nullptr)
                where += "[" + std::to_string(part.index) + "]";
            else
                where += (where.empty() ? "" : ".") + std::string(part.key);
        }
        error_ = Error{code, std::move(expected), std::move(found),
                       where.empty() ? std::string(subject_) : std::string(subject_) + ": " + where};
        return false;
    }

    // Parses a line of at most `most` bytes into an object.
    std::optional<Element> parse(simdjson::dom::parser& parser, std::string_view line, std::size_t most) {
        while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.remove_suffix(1);
        if (line.size() > most) {
            fail("a line of at most " + std::to_string(most) + " bytes", std::to_string(line.size()), ErrorCode::Limit);
            return std::nullopt;
        }
        Element root;
        if (line.empty()) {
            fail("one line of JSON", "nothing");
        } else if (const auto problem = parser.parse(line.data(), line.size(), true).get(root)) {
            fail("one line of JSON", std::string("damaged JSON (") + simdjson::error_message(problem) + ")");
        } else if (!root.is_object()) {
            fail("a JSON object", describe(root));
        } else {
            return root;
        }
        return std::nullopt;
    }

    // None when absent or null.
    static std::optional<Element> find(Element object, const char* key) {
        Element value;
        if (!object.is_object() || object.at_key(key).get(value) != simdjson::SUCCESS || value.is_null())
            return std::nullopt;
        return value;
    }
    std::optional<Element> need(Element object, const char* key) {
        auto value = find(object, key);
        if (!value) fail(std::string("the member '") + key + "'", "none");
        return value;
    }

    bool text(Element value, std::string& out, std::size_t most) {
        std::string_view view;
        if (value.get(view) != simdjson::SUCCESS) return fail("a text", describe(value));
        if (view.size() > most)
            return fail("a text of at most " + std::to_string(most) + " bytes", std::to_string(view.size()) + " bytes",
                        ErrorCode::Limit);
        out = std::string(view);
        return true;
    }
    bool number(Element value, double& out, double least, double most) {
        double read = 0;
        if (!value.is_number() || value.get(read) != simdjson::SUCCESS || !std::isfinite(read))
            return fail("a number", describe(value));
        if (read < least || read > most) return fail("a number that makes sense here", describe(value));
        out = read + 0.0; // no -0
        return true;
    }
    bool whole(Element value, std::int64_t& out, std::int64_t least, std::int64_t most) {
        std::int64_t read = 0;
        if (value.get(read) != simdjson::SUCCESS) return fail("a whole number", describe(value));
        if (read < least || read > most)
            return fail("a whole number from " + std::to_string(least) + " to " + std::to_string(most),
                        describe(value));
        out = read;
        return true;
    }

    // Members; an absent one keeps what `out` holds.
    bool text(Element object, const char* key, std::string& out, std::size_t most) {
        const At at(*this, key);
        const auto value = find(object, key);
        return value ? text(*value, out, most) : !failed();
    }
    bool amount(Element object, const char* key, double& out, double most = 1e300) { // finite, not negative
        const At at(*this, key);
        const auto value = find(object, key);
        return value ? number(*value, out, 0, most) : !failed();
    }
    bool number(Element object, const char* key, double& out) {
        const At at(*this, key);
        const auto value = find(object, key);
        return value ? number(*value, out, -1e300, 1e300) : !failed();
    }
    bool flag(Element object, const char* key, bool& out) {
        const At at(*this, key);
        const auto value = find(object, key);
        if (!value) return !failed();
        return value->get(out) == simdjson::SUCCESS || fail("true or false", describe(*value));
    }
    template <class Int> bool whole(Element object, const char* key, Int& out, std::int64_t least, std::int64_t most) {
        const At at(*this, key);
        const auto value = find(object, key);
        std::int64_t read = 0;
        if (!value) return !failed();
        if (!whole(*value, read, least, most)) return false;
        out = static_cast<Int>(read);
        return true;
    }
    // Calls one(element, index) for each entry of an array; an absent array has none.
    template <class One> bool each(Element object, const char* key, std::size_t most, One one) {
        const At at(*this, key);
        const auto value = find(object, key);
        return value ? each(*value, most, one) : !failed();
    }
    template <class One> bool each(Element value, std::size_t most, One one) {
        Array array;
        if (value.get(array) != simdjson::SUCCESS) return fail("an array", describe(value));
        std::size_t i = 0;
        for (const Element item : array) {
            const At at(*this, i);
            if (i++ == most) return fail("at most " + std::to_string(most) + " entries", "more", ErrorCode::Limit);
            if (!one(item)) return false;
        }
        return true;
    }

private:
    struct Part {
        const char* key;
        std::size_t index;
    };
    const char* subject_;
    std::vector<Part> path_;
    std::optional<Error> error_;
};

} // namespace fusescope::json
