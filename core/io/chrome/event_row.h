// SPDX-License-Identifier: Apache-2.0
// One decoded event, and the decoding of a batch. Text is kept as views into the batch (or into Decoded::fixed).
#pragma once

#include "core/io/chrome/framer.h"
#include "core/trace/trace_builder.h"

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace fusescope::chrome {

enum class RowKind : std::uint8_t { Slice, ProcessName, ThreadName, ProcessLabels, SortIndex, Instant, Flow, Counter, Other };

struct EventRow {
    RowKind kind = RowKind::Other;
    Category category = Category::Other;
    std::string_view name;
    std::int64_t ts = 0, dur = 0;
    std::int64_t pid = -1, tid = -1;
    std::string_view pid_text, tid_text; // when they are not numbers
    std::uint64_t offset = 0;            // of the event
    std::uint64_t args_offset = 0;
    std::uint32_t args_length = 0;
    std::uint32_t correlation = 0, external_id = 0;
    std::string_view label;              // metadata: the name or label given
    std::int64_t sort_index = 0;
    KernelDetail kernel;
    std::uint64_t bytes = 0;             // copies
    CpuOpDetail op;
};

struct RowProblem { std::string_view kind; std::uint64_t offset; std::string_view message; };

struct Decoded {
    std::unique_ptr<Batch> batch;  // owns the text that the rows' names point into
    std::deque<std::string> fixed; // sanitised copies and unescaped names
    std::vector<EventRow> rows;
    std::vector<RowProblem> problems; // literals only
    EventCounts counts;
};

[[nodiscard]] Decoded decode(Batch &&batch);
[[nodiscard]] Category categoryOf(std::string_view text) noexcept; // old spellings too

} // namespace fusescope::chrome
