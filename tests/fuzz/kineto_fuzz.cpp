// SPDX-License-Identifier: Apache-2.0
// Any bytes as a Kineto trace, in batches small enough that every border and every carried-over event is met; then
// everything that reads the finished store.
#include "core/io/chrome/reader.h"
#include "core/trace/op_args.h"
#include "core/trace/slice_index.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace {

void check(bool holds) {
    if (!holds) std::abort();
}

void checkStore(const fusescope::TraceStore& t) {
    using namespace fusescope;
    const SliceTable& s = t.slices;
    check(t.counts.total >= t.counts.dropped && t.counts.complete == s.size());
    for (std::size_t row = 0; row < s.size(); ++row) {
        check(s.dur[row] >= 0 && t.endOf(SliceId(row)) >= s.ts[row]);
        check(row == 0 || s.ts[row - 1] <= s.ts[row]);
        check(s.track[row].index() < t.tracks.size());
        check(s.depth[row] < t.tracks[s.track[row].index()].depths);
        check(!s.parent[row].valid() || s.parent[row].index() < row);
        check(s.step[row] < static_cast<std::int64_t>(t.steps.size()));
    }
    for (std::size_t op = 0; op < t.cpu_ops.size(); ++op) (void)parseOpArgs(t, CpuOpId(op));
    for (const Problem& p : t.problems) check(p.count > 0 && !p.kind.empty() && !p.message.empty());
    const SliceIndex index(t);
    std::vector<LodSpan> spans;
    for (std::size_t track = 0; track < t.tracks.size() && track < 64; ++track) {
        spans.clear();
        index.query(TrackId(track), 0, t.begin, t.end, 100, spans);
        check(spans.size() <= 204);
        (void)index.at(TrackId(track), 0, t.begin, 1000);
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace fusescope;
    const std::string_view text(reinterpret_cast<const char*>(data), size); // NOLINT
    for (const std::size_t batch : {std::size_t{0}, std::size_t{64}, std::size_t{300}}) {
        const auto trace = readKinetoText(text, {"fuzz", 0, batch});
        if (trace.ok())
            checkStore(**trace);
        else
            check(!trace.error().message().empty());
    }
    return 0;
}
