// SPDX-License-Identifier: Apache-2.0
#include "core/io/chrome/event_parser.h"

#include "core/base/time_text.h"
#include "core/io/chrome/json_text.h"

namespace fusescope::chrome {
namespace {

using Outcome = EventParser::Outcome;

// What a token's first byte says: Open and Close nest; Between needs values on both sides.
enum class Kind : std::uint8_t { Value, Open, Close, Between };
constexpr auto kKinds = [] {
    std::array<Kind, 256> kinds{};
    kinds['{'] = kinds['['] = Kind::Open;
    kinds['}'] = kinds[']'] = Kind::Close;
    kinds[','] = kinds[':'] = Kind::Between;
    return kinds;
}();

bool isSpace(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

} // namespace

void EventParser::note(Oddity oddity, std::size_t position) {
    Decoded::Odd& odd = out_.odd[static_cast<std::size_t>(oddity)];
    if (odd.count++ == 0) odd.first = base_ + position;
}

Outcome EventParser::skip(std::size_t& token) const {
    std::size_t t = token;
    const std::size_t count = tokens_.count;
    if (t >= count) return Outcome::Cut;
    Kind kind = kKinds[static_cast<unsigned char>(text_[tokens_.at[t]])];
    if (kind == Kind::Value) {
        token = t + 1;
        return Outcome::Done;
    }
    if (kind != Kind::Open) return Outcome::Bad;
    std::size_t depth = 1;
    for (++t; t < count; ++t) {
        const Kind next = kKinds[static_cast<unsigned char>(text_[tokens_.at[t]])];
        if (next == Kind::Open)
            ++depth;
        else if (next == Kind::Close) {
            if (--depth == 0) {
                walked_ += t - token;
                token = t + 1;
                return Outcome::Done;
            }
        } else if (next == Kind::Value && (kind == Kind::Value || kind == Kind::Close)) {
            walked_ += t - token;
            return Outcome::Bad; // two values side by side: a quote or comma was lost
        }
        kind = next;
    }
    walked_ += t - token;
    return Outcome::Cut;
}

Outcome EventParser::stringAt(std::size_t token, std::string_view& raw) const {
    if (token + 1 >= tokens_.count) return Outcome::Cut; // its end is where the next token begins
    const std::size_t begin = tokens_.at[token];
    std::size_t end = tokens_.at[token + 1] - 1;
    while (isSpace(text_[end])) --end;
    if (text_[end] != '"' || end <= begin) return Outcome::Bad;
    raw = text_.substr(begin + 1, end - begin - 1);
    return Outcome::Done;
}

Outcome EventParser::key(std::size_t token, std::string_view& out) const {
    if (token + 1 >= tokens_.count) return Outcome::Cut;
    if (text_[tokens_.at[token]] != '"' || text_[tokens_.at[token + 1]] != ':') return Outcome::Bad;
    return stringAt(token, out);
}

std::string_view EventParser::scalarAt(std::size_t token) const {
    std::size_t begin = tokens_.at[token];
    std::size_t end = tokens_.at[token + 1];
    while (end > begin && isSpace(text_[end - 1])) --end;
    if (text_[begin] == '"' && end > begin + 1 && text_[end - 1] == '"') {
        ++begin;
        --end;
    }
    return text_.substr(begin, end - begin);
}

// A bare inf, nan or N/A where a value stands. Everything else that is no JSON scalar is left to whoever reads it.
void EventParser::checkScalar(std::size_t token) {
    const char c = at(token);
    if (c == '"' || (c >= '0' && c <= '9') || kKinds[static_cast<unsigned char>(c)] != Kind::Value) return;
    const std::string_view text = scalarAt(token);
    const bool fine = (c == '-' && text.size() > 1 && text[1] >= '0' && text[1] <= '9') || text == "null" ||
                      text == "true" || text == "false";
    if (!fine) event_.not_a_number = true;
}

// A key with damaged bytes is none that anybody looks for: what it stood for is lost, and that has to be said.
void EventParser::checkKey(std::string_view name) {
    if (!needsUnescape(name, true)) return;
    TextRepair repair;
    (void)unescaped(name, repair);
    event_.bad_key = event_.bad_key || repair.bytes;
}

std::optional<std::int64_t> EventParser::integerAt(std::size_t token) { return integerOf(scalarAt(token)); }

void EventParser::idAt(std::size_t token, std::int64_t& number, std::string_view& text) {
    const std::string_view raw = scalarAt(token);
    if (const auto n = integerOf(raw)) {
        number = *n;
    } else if (raw.substr(0, 7) == "stream " && integerOf(raw.substr(7))) { // before 2021
        number = *integerOf(raw.substr(7));
    } else {
        number = -1;
        text = raw;
    }
}

Outcome EventParser::field(std::string_view name, std::size_t& token) {
    const char first = at(token);
    const bool nested = first == '{' || first == '[';
    const std::size_t value = token;
    if (name == "args" && first == '{') {
        event_.in_args = true;
        // Frequent and without anything that is kept: the range alone will do.
        const bool range_only = (event_.phase != 'X' && event_.phase != 'M' && event_.phase != 0) ||
                                (event_.has_cat && event_.cat == "python_function");
        event_.args_begin = tokens_.at[token];
        const Outcome outcome = range_only ? skip(token) : args(token);
        if (outcome != Outcome::Done) return outcome;
        event_.args_end = tokens_.at[token - 1] + 1;
        event_.has_args = true;
        return Outcome::Done;
    }
    if (const Outcome outcome = skip(token); outcome != Outcome::Done) return outcome;
    if (token >= tokens_.count) return Outcome::Cut;
    if (nested) return Outcome::Done;
    std::string_view raw;
    switch (name.size()) {
    case 2:
        if (name == "ph") {
            raw = scalarAt(value);
            event_.phase = raw.size() == 1 ? raw[0] : '?';
        } else if (name == "ts") {
            const auto ns = nanosecondsFromMicroseconds(scalarAt(value));
            event_.has_ts = ns.has_value();
            event_.bad_ts = !ns;
            event_.ts = ns.value_or(0);
        }
        return Outcome::Done;
    case 3:
        if (name == "cat") {
            event_.cat = scalarAt(value);
            event_.has_cat = true;
        } else if (name == "pid") {
            idAt(value, event_.pid, event_.pid_text);
        } else if (name == "tid") {
            idAt(value, event_.tid, event_.tid_text);
        } else if (name == "dur") {
            const auto ns = nanosecondsFromMicroseconds(scalarAt(value));
            event_.has_dur = true;
            event_.bad_dur = !ns;
            event_.dur = ns.value_or(0);
        }
        return Outcome::Done;
    case 4:
        if (name == "name") {
            if (first != '"') return Outcome::Done;
            return stringAt(value, event_.name);
        }
        return Outcome::Done;
    default: checkScalar(value); return Outcome::Done;
    }
}

Outcome EventParser::read(std::size_t& token) {
    event_ = Event{};
    args_ = Args{};
    event_.begin = tokens_.at[token];
    if (at(token + 1) == '}') { // {} ends some files
        token += 2;
        return Outcome::Done;
    }
    if (const Outcome outcome = members<&EventParser::field>(token); outcome != Outcome::Done) return outcome;
    emit();
    return Outcome::Done;
}

bool EventParser::salvage(std::size_t begin) {
    if (event_.emitted || event_.begin != begin || !event_.in_args || event_.phase != 'X' || !event_.has_ts ||
        !event_.has_dur)
        return false;
    note(event_.has_args ? Oddity::BadEnd : Oddity::BadArgs, event_.begin);
    if (!event_.has_args) args_ = Args{};
    emit();
    return true;
}

} // namespace fusescope::chrome
