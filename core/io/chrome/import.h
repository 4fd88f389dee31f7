// SPDX-License-Identifier: Apache-2.0
// Decoded rows into the builder: tracks by category (never by pid), metadata onto them.
#pragma once

#include "core/io/chrome/event_row.h"

#include <map>
#include <string>
#include <utility>

namespace fusescope::chrome {

class Importer {
public:
    explicit Importer(TraceBuilder &builder) : builder_(builder) {}
    void add(const Decoded &decoded);
    void header(std::string_view key, std::string_view value); // a top-level value of the file
    void finish();                                             // names and order of tracks

private:
    TrackId trackOf(const EventRow &row);
    std::int64_t numberOf(std::int64_t number, std::string_view text);

    struct ThreadInfo { std::string name; std::int64_t sort_index = 0; };
    TraceBuilder &builder_;
    std::map<std::pair<std::int64_t, std::int64_t>, ThreadInfo> threads_; // (pid, tid)
    std::map<std::int64_t, std::string> processes_;
    std::map<std::string, std::int64_t, std::less<>> text_ids_; // pids and tids that are words: -2, -3 ...
};

} // namespace fusescope::chrome
