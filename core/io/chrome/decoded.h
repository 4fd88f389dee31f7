// SPDX-License-Identifier: Apache-2.0
// What a worker makes of one batch of events. Rows refer to small tables of the batch (strings, tracks), so that the
// merging thread looks each distinct text up once, however many rows use it.
#pragma once

#include "core/trace/trace_builder.h"

#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace fusescope::chrome {

constexpr std::uint32_t kNone = 0xFFFFFFFFU;

// Distinct texts of a batch, numbered. The bytes stay where they are.
class LocalStrings {
public:
    struct Text {
        std::string_view text;
        std::uint64_t hash = 0;
    };
    std::uint32_t add(std::string_view text);
    [[nodiscard]] const std::vector<Text>& all() const noexcept { return texts_; }

private:
    void grow();
    std::vector<Text> texts_;
    std::vector<std::uint32_t> slots_;
};

// Where a row belongs, by category (never by pid: in a container the process may have the number of a GPU).
struct LocalTrack {
    TrackKind kind = TrackKind::CpuThread;
    std::int32_t device = -1;
    std::int64_t pid = -1, tid = -1, stream = -1;
    std::uint32_t pid_text = kNone, tid_text = kNone; // when they are words
    friend bool operator==(const LocalTrack&, const LocalTrack&) = default;
};

struct SliceRow {
    std::int64_t ts = 0, dur = 0;
    std::uint64_t args_offset = 0;
    std::uint32_t args_length = 0;
    std::uint32_t name = kNone, track = 0;
    std::uint32_t correlation = 0, external_id = 0;
    std::uint32_t detail = kNone; // row of kernels, copies or ops
    Category category = Category::Other;
};

struct OpRow {
    std::int64_t sequence = -1, fwd_thread = 0;
    std::uint32_t dims = kNone, types = kNone, strides = kNone, concrete = kNone;
};

struct NameRow { // a metadata event
    enum class What : std::uint8_t { ProcessName, ThreadName, ThreadOrder } what = What::ProcessName;
    std::int64_t pid = -1, tid = -1;
    std::uint32_t pid_text = kNone, tid_text = kNone;
    std::uint32_t text = kNone;
    std::int64_t order = 0;
};

enum class Oddity : std::uint8_t {
    BadEvent,
    BadArgs,
    BadEnd,
    RepairedText,
    NotANumber,
    StrayText,
    NoTime,
    BadTime,
    BadDuration,
    NegativeDuration,
    NoDuration,
    NoPhase,
    BeginEnd,
    WideId,
    FarTime,
    LongDuration,
    BadId,
    BadGrid,
    RepairedKey,
    GivenUp,
    Count,
};
[[nodiscard]] std::string_view kindOf(Oddity oddity) noexcept;
[[nodiscard]] std::string_view sentenceOf(Oddity oddity) noexcept;

struct Decoded {
    std::vector<SliceRow> slices;
    std::vector<KernelDetail> kernels;
    std::vector<CopyDetail> copies;
    std::vector<OpRow> ops;
    std::vector<NameRow> names;
    std::vector<LocalTrack> tracks;
    LocalStrings strings;
    std::deque<std::string> own_text; // names that had escapes
    EventCounts counts;
    struct Odd {
        std::uint64_t count = 0, first = 0;
    };
    std::array<Odd, static_cast<std::size_t>(Oddity::Count)> odd{};

    // How the batch ended. Offsets in the batch's text.
    enum class End : std::uint8_t { Open, Closed, Cut } end = End::Open;
    std::size_t end_at = 0; // Closed: behind the `]`. Cut: where the event begins that is not all there.
};

} // namespace fusescope::chrome
