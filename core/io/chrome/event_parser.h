// SPDX-License-Identifier: Apache-2.0
// One event, read from its tokens into the rows of a Decoded.
#pragma once

#include "core/io/chrome/decoded.h"
#include "core/io/chrome/json_index.h"

#include <optional>
#include <string_view>

namespace fusescope::chrome {

class EventParser {
public:
    // offset: of text[0] in the whole file. check_bytes: the text is not known to be valid UTF-8.
    EventParser(std::string_view text, std::uint64_t offset, Decoded& out) : text_(text), base_(offset), out_(out) {}
    void use(Tokens tokens, bool check_bytes) {
        tokens_ = tokens;
        check_bytes_ = check_bytes;
    }

    enum class Outcome : std::uint8_t { Done, Cut, Bad };
    // token: of the event's `{`; moves behind the event's `}` when Done. Bad and Cut leave nothing behind.
    Outcome read(std::size_t& token);
    // After Bad: keeps the event if everything up to its arguments was read.
    bool salvage(std::size_t begin);

    void note(Oddity oddity, std::size_t position);
    // A value of any kind, nested or not. Cut: the tokens end before it does.
    Outcome skip(std::size_t& token) const;
    // Tokens that skip() has walked over so far: what is paid for damage, which has to have a bound.
    [[nodiscard]] std::uint64_t walked() const noexcept { return walked_; }

private:
    struct Args { // of all categories; which are used is decided by the event's own
        std::int64_t device = -1, stream = -1, bytes = 0, sequence = -1, fwd_thread = 0, occupancy = -1, sort_index = 0;
        std::int64_t registers = 0, shared = 0, graph_id = 0, graph_node = 0;
        std::int64_t correlation = 0, external_id = 0;
        std::array<std::uint32_t, 3> grid{}, block{};
        std::string_view dims, types, strides, concrete;
        std::string_view name;
        bool has_name = false, bad_id = false, bad_grid = false;
    };
    struct Event {
        std::size_t begin = 0;
        char phase = 0;
        std::string_view name, cat, pid_text, tid_text; // raw, between the quotes
        std::int64_t ts = 0, dur = 0, pid = -1, tid = -1;
        bool has_ts = false, bad_ts = false, has_dur = false, bad_dur = false, has_cat = false, in_args = false;
        bool has_args = false, not_a_number = false, bad_key = false, emitted = false;
        std::size_t args_begin = 0, args_end = 0;
    };

    [[nodiscard]] char at(std::size_t token) const { return token < tokens_.count ? text_[tokens_.at[token]] : '\0'; }
    Outcome key(std::size_t token, std::string_view& out) const;
    Outcome stringAt(std::size_t token, std::string_view& raw) const;
    [[nodiscard]] std::string_view scalarAt(std::size_t token) const; // without quotes if it has some
    std::optional<std::int64_t> integerAt(std::size_t token);
    void idAt(std::size_t token, std::int64_t& number, std::string_view& text);
    // The members of an object, from its `{` to behind its `}`. Read (field or argument) takes each; a template, since
    // it runs for every member of every event.
    template <Outcome (EventParser::*Read)(std::string_view, std::size_t&)> Outcome members(std::size_t& token) {
        std::size_t t = token + 1;
        for (bool more = at(t) != '}'; more;) {
            std::string_view name;
            if (const Outcome outcome = key(t, name); outcome != Outcome::Done) return outcome;
            if (check_bytes_) checkKey(name);
            t += 2;
            if (const Outcome outcome = (this->*Read)(name, t); outcome != Outcome::Done) return outcome;
            if (t >= tokens_.count) return Outcome::Cut;
            if (at(t) != '}' && at(t) != ',') return Outcome::Bad;
            if (at(t) == ',') ++t;
            more = at(t) != '}'; // also after a trailing comma
        }
        token = t + 1;
        return Outcome::Done;
    }
    Outcome field(std::string_view key, std::size_t& token);
    Outcome args(std::size_t& token);
    Outcome argument(std::string_view key, std::size_t& token);
    Outcome threeNumbers(std::size_t& token, std::array<std::uint32_t, 3>& out);
    void checkScalar(std::size_t token);
    void checkKey(std::string_view name);

    void emit();
    void emitSlice();
    void emitName();
    std::uint32_t textId(std::string_view raw);
    std::uint32_t narrowId(std::int64_t id);
    std::uint32_t trackOf(Category category);

    std::string_view text_;
    std::uint64_t base_;
    Decoded& out_;
    Tokens tokens_;
    bool check_bytes_ = false;
    mutable std::uint64_t walked_ = 0;
    Event event_;
    Args args_;
    std::array<std::uint32_t, 5> last_track_{kNone, kNone, kNone, kNone, kNone}; // per TrackKind
    struct TrackHash {
        std::size_t operator()(const LocalTrack& t) const noexcept;
    };
    std::unordered_map<LocalTrack, std::uint32_t, TrackHash> track_ids_;
};

[[nodiscard]] Category categoryOf(std::string_view text) noexcept; // old spellings too

} // namespace fusescope::chrome
