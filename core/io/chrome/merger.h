// SPDX-License-Identifier: Apache-2.0
// Batches, in the file's order, into the builder; top-level values and metadata events into what they describe.
#pragma once

#include "core/io/chrome/decoded.h"

#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace fusescope::chrome {

class Merger {
public:
    explicit Merger(TraceBuilder& builder) : builder_(builder) {}
    void add(const Decoded& decoded);
    void rootValue(std::string_view key, std::string_view json, std::uint64_t offset);
    void finish(); // names and order of tracks, names of processes

private:
    using Thread = std::pair<std::int64_t, std::int64_t>; // pid, tid
    struct ThreadFacts {
        std::string name;
        std::int64_t order = 0;
    };
    void devices(std::string_view json, std::uint64_t offset);
    void name(const NameRow& row, const Decoded& decoded);
    std::int64_t numberOf(std::int64_t number, std::uint32_t text, const Decoded& decoded);

    TraceBuilder& builder_;
    std::map<Thread, ThreadFacts> threads_;
    std::map<std::int64_t, std::string> processes_;
    std::map<std::string, std::int64_t, std::less<>> word_ids_; // pids and tids that are words, and numbers for them
    std::vector<StringId> strings_;                             // of the batch in hand
    std::vector<TrackId> tracks_;
};

} // namespace fusescope::chrome
