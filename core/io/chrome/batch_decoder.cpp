// SPDX-License-Identifier: Apache-2.0
#include "core/io/chrome/batch_decoder.h"

#include "core/io/chrome/event_parser.h"
#include "core/io/chrome/event_start.h"

#include <algorithm>

namespace fusescope::chrome {
namespace {

using Outcome = EventParser::Outcome;

// Text is read again from a damaged event on, in windows: small ones after damage, so that a file of nothing but damage
// costs no more than a few readings.
constexpr std::size_t kSmallWindow = std::size_t{4} << 10;
constexpr std::size_t kLargeWindow = std::size_t{256} << 10;
// Damage can be built so that every reading ends at the same place and gives nothing. Past so many readings of the text
// (and a few megabytes, which a small text may always cost) what is left of the batch is given up.
constexpr std::uint64_t kMostReadings = 16, kFreeReading = std::uint64_t{4} << 20;
// Tokens of arrays between the events that turn out to have no end, per token of the text.
constexpr std::uint64_t kMostStrayWalk = 4;
constexpr std::uint64_t kPollEvery = 1024; // events

class Walk {
public:
    Walk(std::string_view text, std::uint64_t offset, bool last, JsonIndex& index, Decoded& out,
         const Progress& progress)
        : text_(text), last_(last), index_(index), out_(out), parser_(text, offset, out), progress_(progress),
          stray_allowance_(kMostStrayWalk * text.size()) {}

    void run() {
        Tokens tokens;
        if (index_.strict(text_, tokens)) {
            parser_.use(tokens, false);
            std::size_t token = 0;
            switch (events(tokens, token)) {
            case Outcome::Done: return;
            case Outcome::Cut:
                if (!last_) {
                    cut(tokens.at[token]);
                    return;
                }
                break;
            case Outcome::Bad: break;
            }
            lenient(tokens.at[token]);
        } else {
            lenient(0);
        }
    }

private:
    void cut(std::size_t at) {
        out_.end = Decoded::End::Cut;
        out_.end_at = at;
    }

    // Events up to the end of the tokens or the `]`. Cut, Bad: token is at the event's `{`.
    Outcome events(const Tokens& tokens, std::size_t& token) {
        bool stray = false;
        while (token < tokens.count) {
            const std::size_t at = tokens.at[token];
            switch (text_[at]) {
            case '{':
                stray = false;
                if (++read_ % kPollEvery == 0 && progress_.cancelled()) {
                    token = tokens.count;
                    return Outcome::Done;
                }
                if (const Outcome outcome = parser_.read(token); outcome != Outcome::Done) return outcome;
                continue;
            case ',': ++token; continue;
            case ']':
                if (!endsArray(at)) break;
                out_.end = Decoded::End::Closed;
                out_.end_at = at + 1;
                return Outcome::Done;
            default: break;
            }
            if (!stray) parser_.note(Oddity::StrayText, at);
            stray = true;
            if (text_[at] != '[' || !skipArray(token)) ++token;
        }
        return Outcome::Done;
    }

    // A whole array between events is one piece of stray text. Thousands of open ones must not each be followed to the
    // end of the text.
    bool skipArray(std::size_t& token) {
        if (stray_allowance_ == 0) return false;
        const std::uint64_t before = parser_.walked();
        if (parser_.skip(token) == Outcome::Done) return true;
        stray_allowance_ -= std::min(stray_allowance_, parser_.walked() - before);
        return false;
    }

    [[nodiscard]] bool exhausted() const {
        return lexed_ + parser_.walked() > kFreeReading + kMostReadings * text_.size();
    }

    // findEventStart(), remembering the answer: the same one is asked for from ever later places.
    std::size_t eventStartFrom(std::size_t from) {
        if (from < asked_from_ || from > start_from_there_) {
            asked_from_ = from;
            start_from_there_ = findEventStart(text_, from);
        }
        return start_from_there_;
    }

    // The `]` of the events is followed by the end, or by the next key of the outer object. Anything else is a bracket
    // that a damaged event left behind; behind a bad event, so is a key if events follow it.
    [[nodiscard]] bool endsArray(std::size_t at) {
        const auto next = [&](std::size_t from) {
            while (from < text_.size() && static_cast<unsigned char>(text_[from]) <= ' ') ++from;
            return from;
        };
        const std::size_t one = next(at + 1);
        if (one == text_.size()) return true;
        const std::size_t two = next(one + 1);
        if (text_[one] == '}') {
            if (two == text_.size()) return true;
            // Another text follows this one: an object whose first key is none of an event's.
            const std::size_t key = next(two + 1);
            return text_[two] == '{' && key < text_.size() && text_[key] == '"' && !isEventStart(text_, two);
        }
        if (text_[one] != ',') return false;
        if (two == text_.size()) return true;
        return text_[two] == '"' && (!damaged_ || eventStartFrom(two) == kNowhere);
    }

    // From an event (or the start of the text) on, trusting nothing.
    void lenient(std::size_t from) {
        std::size_t window = kSmallWindow;
        while (from < text_.size() && !progress_.cancelled()) {
            if (exhausted()) {
                parser_.note(Oddity::GivenUp, from);
                return;
            }
            const std::size_t to = std::min(text_.size(), from + window);
            Tokens tokens;
            std::size_t next_start = kNowhere;
            const JsonIndex::Stop stop = index_.lenient(text_, from, to, tokens, next_start);
            lexed_ += tokens.at[tokens.count] - from;
            // The last token may go on behind the window.
            if (stop == JsonIndex::Stop::End && to < text_.size() && tokens.count > 0) --tokens.count;
            parser_.use(tokens, true);
            std::size_t token = 0;
            Outcome outcome = events(tokens, token);
            // Behind a bad event what follows is in hand already, unless the damage hid where it begins.
            while (outcome == Outcome::Bad) {
                token = resync(tokens, token, from);
                if (exhausted()) token = kNowhere;
                if (token == kNowhere) break;
                outcome = events(tokens, token);
            }
            if (out_.end == Decoded::End::Closed) return;
            if (token == kNowhere) {
                window = kSmallWindow;
                continue;
            }
            const std::size_t reached = tokens.at[token];
            if (stop == JsonIndex::Stop::EventInString) { // a quote was lost between here and there
                bad(reached);
                from = next_start;
                window = kSmallWindow;
                continue;
            }
            if (to < text_.size()) {
                if (reached > from)
                    window = std::min(window * 2, kLargeWindow);
                else
                    window *= 2; // an event longer than the window
                from = reached;
                continue;
            }
            if (outcome == Outcome::Done && stop == JsonIndex::Stop::End) return;
            if (last_) {
                const std::size_t next = findPhaseStart(text_, reached + 1);
                if (next != kNowhere) {
                    bad(reached);
                    from = next;
                    window = kSmallWindow;
                    continue;
                }
            }
            cut(reached);
            return;
        }
    }

    void bad(std::size_t at) {
        damaged_ = true;
        if (parser_.salvage(at)) return;
        ++out_.counts.total;
        ++out_.counts.dropped;
        parser_.note(Oddity::BadEvent, at);
    }

    // Where to go on after a bad event: behind its own end if the braces show one before the next event starts. Gives
    // the token, or kNowhere if the text has to be read again, from `from` on.
    std::size_t resync(const Tokens& tokens, std::size_t token, std::size_t& from) {
        const std::size_t begin = tokens.at[token];
        bad(begin);
        const std::size_t next = eventStartFrom(begin + 1);
        std::size_t depth = 0, t = token;
        for (; t < tokens.count && tokens.at[t] < next; ++t) {
            const char c = text_[tokens.at[t]];
            if (c == '{' || c == '[') {
                ++depth;
            } else if ((c == '}' || c == ']') && --depth == 0) {
                from = tokens.at[t] + std::size_t{1};
                return t + 1 < tokens.count ? t + 1 : kNowhere;
            }
        }
        from = std::min(next, text_.size());
        return t < tokens.count && tokens.at[t] == next ? t : kNowhere;
    }

    std::string_view text_;
    bool last_;
    bool damaged_ = false; // an event of this batch was bad
    JsonIndex& index_;
    Decoded& out_;
    EventParser parser_;
    const Progress& progress_;
    std::uint64_t read_ = 0;                                   // events
    std::uint64_t lexed_ = 0;                                  // bytes, by lenient()
    std::uint64_t stray_allowance_;                            // of skipArray()
    std::size_t asked_from_ = kNowhere, start_from_there_ = 0; // of eventStartFrom()
};

} // namespace

Decoded BatchDecoder::decode(std::string_view text, std::uint64_t offset, bool last) {
    Decoded out;
    constexpr std::size_t kBytesPerEvent = 300; // as most traces have it; only a reservation
    out.slices.reserve(text.size() / kBytesPerEvent);
    Walk(text, offset, last, index_, out, progress_).run();
    return out;
}

} // namespace fusescope::chrome
