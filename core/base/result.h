// SPDX-License-Identifier: Apache-2.0
// Result<T>: a value, or an Error that says in one sentence what was expected, what was found and where.
// Nothing in FuseScope throws across a library border; every fallible function returns one of these.
#pragma once

#include <cassert>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>

namespace fusescope {

enum class ErrorCode : std::uint8_t {
    NotFound,    // no such file, module, device, step ...
    Unreadable,  // the operating system refused
    Empty,       // nothing in it
    WrongFormat, // another kind of file than wanted
    Damaged,     // the right kind, cut off or corrupt beyond recovery
    Unsupported, // understood, but not handled
    Limit,       // larger or deeper than the bounds for hostile input
    Cancelled,   // the user stopped it
    Internal,    // a broken invariant of ours
};

struct Error {
    ErrorCode code = ErrorCode::Internal;
    std::string expected; // noun phrase: "a Kineto trace with a traceEvents array"
    std::string found;    // noun phrase: "an empty file"
    std::string where;    // file name, and byte offset or JSON path if known; may be empty

    // "trace.json: expected a Kineto trace with a traceEvents array, found an empty file"
    [[nodiscard]] std::string message() const {
        std::string text;
        if (!where.empty()) text = where + ": ";
        text += "expected " + expected + ", found " + found;
        return text;
    }
};

template <class T> class [[nodiscard]] Result {
public:
    Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}     // NOLINT(google-explicit-constructor)
    Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {} // NOLINT(google-explicit-constructor)

    [[nodiscard]] bool ok() const noexcept { return state_.index() == 0; }
    explicit operator bool() const noexcept { return ok(); }

    [[nodiscard]] T& value() & {
        assert(ok());
        return *std::get_if<0>(&state_);
    }
    [[nodiscard]] const T& value() const& {
        assert(ok());
        return *std::get_if<0>(&state_);
    }
    [[nodiscard]] T&& value() && {
        assert(ok());
        return std::move(*std::get_if<0>(&state_));
    }
    [[nodiscard]] T& operator*() & { return value(); }
    [[nodiscard]] const T& operator*() const& { return value(); }
    [[nodiscard]] T&& operator*() && { return std::move(*this).value(); }
    [[nodiscard]] T* operator->() { return &value(); }
    [[nodiscard]] const T* operator->() const { return &value(); }

    [[nodiscard]] Error& error() & {
        assert(!ok());
        return *std::get_if<1>(&state_);
    }
    [[nodiscard]] const Error& error() const& {
        assert(!ok());
        return *std::get_if<1>(&state_);
    }
    [[nodiscard]] Error&& error() && {
        assert(!ok());
        return std::move(*std::get_if<1>(&state_));
    }

private:
    std::variant<T, Error> state_;
};

// For functions that only succeed or fail: `return done();`
using Status = Result<std::monostate>;
[[nodiscard]] inline Status done() { return std::monostate{}; }

} // namespace fusescope
