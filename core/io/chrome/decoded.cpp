// SPDX-License-Identifier: Apache-2.0
#include "core/io/chrome/decoded.h"

#include "core/base/hash.h"

namespace fusescope::chrome {

std::uint32_t LocalStrings::add(std::string_view text) {
    if (slots_.size() <= texts_.size() * 2) grow();
    const std::uint64_t hash = hashText(text);
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = static_cast<std::size_t>(hash) & mask;
    for (; slots_[at] != kNone; at = (at + 1) & mask) {
        const Text& other = texts_[slots_[at]];
        if (other.hash == hash && other.text == text) return slots_[at];
    }
    const auto id = static_cast<std::uint32_t>(texts_.size());
    slots_[at] = id;
    texts_.push_back({text, hash});
    return id;
}

void LocalStrings::grow() {
    std::vector<std::uint32_t> bigger(slots_.empty() ? 1024 : slots_.size() * 2, kNone);
    const std::size_t mask = bigger.size() - 1;
    for (std::uint32_t id = 0; id < texts_.size(); ++id) {
        std::size_t at = static_cast<std::size_t>(texts_[id].hash) & mask;
        while (bigger[at] != kNone) at = (at + 1) & mask;
        bigger[at] = id;
    }
    slots_ = std::move(bigger);
}

std::string_view kindOf(Oddity oddity) noexcept {
    switch (oddity) {
    case Oddity::BadEvent: return "bad_event";
    case Oddity::BadArgs: return "bad_args";
    case Oddity::BadEnd: return "bad_end";
    case Oddity::RepairedText: return "repaired_event";
    case Oddity::NotANumber: return "not_a_number";
    case Oddity::StrayText: return "stray_text";
    case Oddity::NoTime: return "no_time";
    case Oddity::BadTime: return "bad_time";
    case Oddity::BadDuration: return "bad_duration";
    case Oddity::NegativeDuration: return "negative_duration";
    case Oddity::NoDuration: return "no_duration";
    case Oddity::NoPhase: return "no_phase";
    case Oddity::BeginEnd: return "begin_end";
    case Oddity::WideId: return "wide_id";
    case Oddity::FarTime: return "far_time";
    case Oddity::LongDuration: return "long_duration";
    case Oddity::BadId: return "bad_id";
    case Oddity::BadGrid: return "bad_grid";
    case Oddity::RepairedKey: return "bad_key";
    case Oddity::GivenUp: return "given_up";
    case Oddity::Count: break;
    }
    return "";
}

std::string_view sentenceOf(Oddity oddity) noexcept {
    switch (oddity) {
    case Oddity::BadEvent: return "an event is not valid JSON; it is left out";
    case Oddity::BadArgs: return "the arguments of an event are not valid JSON; the event is kept without them";
    case Oddity::BadEnd: return "an event is not valid JSON behind its arguments; what stands before that was kept";
    case Oddity::RepairedText:
        return "a text holds an escape that JSON does not have, a control character or bytes that are not UTF-8; it "
               "was repaired";
    case Oddity::NotANumber: return "a value is a bare inf, nan or N/A; it counts as missing";
    case Oddity::StrayText: return "there is text between events that is not an event";
    case Oddity::NoTime: return "an event has no time; it is left out";
    case Oddity::BadTime: return "the time of an event is not a number; it is left out";
    case Oddity::BadDuration: return "a duration is not a number; it is taken as zero";
    case Oddity::NegativeDuration: return "a duration is negative; it is taken as zero";
    case Oddity::NoDuration: return "a complete event has no duration; it is taken as zero";
    case Oddity::NoPhase: return "an entry has no phase (\"ph\"), so it is no event that can be drawn";
    case Oddity::BeginEnd: return "begin and end events are not drawn; profilers write complete events";
    case Oddity::WideId: return "a correlation or External id has more than 32 bits; it is not used for linking";
    case Oddity::FarTime: return "the time of an event is a century away from any clock's; the event is left out";
    case Oddity::LongDuration: return "a duration is longer than 36 years; it is taken as zero";
    case Oddity::BadId: return "a correlation or External id is not a number; it is not used for linking";
    case Oddity::BadGrid: return "a grid or block is not three whole numbers; it is not known";
    case Oddity::RepairedKey: return "a key of an event holds bytes that are not UTF-8; it was not recognised";
    case Oddity::GivenUp:
        return "the text is so damaged that reading on would not end; the rest of this piece (about a megabyte) is "
               "left "
               "out";
    case Oddity::Count: break;
    }
    return "";
}

} // namespace fusescope::chrome
