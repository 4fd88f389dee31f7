// SPDX-License-Identifier: Apache-2.0
// A forward operator is recorded with the number its autograd node *will* get, so operators that make no node carry the
// number of the next one that does. Among the rows of one number the maker is the one whose name the node bears
// ("MmBackward0" of aten::mm); failing that, the one that started last. Numbers are counted per thread, and the thread
// is named in the profiler's own numbering ("Fwd thread id"), so the thread is found by vote. Of several processes in
// one file (merged ranks) each counts for itself.
#include "core/link/sequence.h"

#include "core/link/op_names.h"

#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

namespace fusescope {
namespace {

struct Maker { // a forward row with a sequence number
    std::int64_t sequence;
    SliceId slice;
    CpuOpId op;
    std::uint32_t spelling;
};

// Comparable spelling of each distinct name, as small numbers.
class Spellings {
public:
    explicit Spellings(const TraceStore& trace) : trace_(trace) {}
    std::uint32_t ofForward(StringId name) { return of(name, forward_, false); }
    std::uint32_t ofBackward(StringId name) { return of(name, backward_, true); }

private:
    std::uint32_t of(StringId name, std::unordered_map<std::uint32_t, std::uint32_t>& known, bool backward) {
        const auto found = known.find(name.value);
        if (found != known.end()) return found->second;
        const std::string_view text = trace_.strings.view(name);
        const std::string spelling = backward ? forwardNameOf(text) : comparableName(text);
        const auto id = numbers_.emplace(spelling, static_cast<std::uint32_t>(numbers_.size())).first->second;
        known.emplace(name.value, id);
        return id;
    }
    const TraceStore& trace_;
    std::unordered_map<std::uint32_t, std::uint32_t> forward_, backward_;
    std::unordered_map<std::string, std::uint32_t> numbers_;
};

struct Search {
    const TraceStore& trace;
    std::vector<Maker> makers; // by (sequence, time)
    Spellings spellings;

    // Rows of one number; at most so many are looked at, from the last one back. Real traces have a few hundred (a long
    // stretch without gradients) and never spend the budget; hostile ones could make this quadratic.
    std::size_t budget;

    [[nodiscard]] std::pair<std::size_t, std::size_t> rows(std::int64_t sequence) {
        const std::size_t most = budget > 0 ? 4096 : 1;
        const auto less = [](const Maker& m, std::int64_t s) { return m.sequence < s; };
        const auto more = [](std::int64_t s, const Maker& m) { return s < m.sequence; };
        const auto begin = std::lower_bound(makers.begin(), makers.end(), sequence, less);
        const auto end = std::upper_bound(begin, makers.end(), sequence, more);
        auto b = static_cast<std::size_t>(begin - makers.begin());
        const auto e = static_cast<std::size_t>(end - makers.begin());
        if (e - b > most) b = e - most;
        budget -= std::min(budget, e - b);
        return {b, e};
    }
    [[nodiscard]] TrackId trackOf(const Maker& maker) const { return trace.slices.track[maker.slice.index()]; }
    [[nodiscard]] std::int64_t pidOf(SliceId slice) const {
        return trace.tracks[trace.slices.track[slice.index()].index()].pid;
    }

    CpuOpId find(SliceId node, std::int64_t sequence, TrackId forward_track) {
        const auto [begin, end] = rows(sequence);
        const std::uint32_t wanted = spellings.ofBackward(trace.slices.name[node.index()]);
        const std::int64_t pid = pidOf(node);
        CpuOpId last;
        for (std::size_t i = end; i-- > begin;) {
            const Maker& maker = makers[i];
            if (pidOf(maker.slice) != pid) continue;
            if (forward_track.valid() && trackOf(maker) != forward_track) continue;
            if (trace.slices.ts[maker.slice.index()] > trace.slices.ts[node.index()]) continue;
            if (maker.spelling == wanted) return maker.op;
            if (!last.valid()) last = maker.op;
        }
        return last;
    }
};

std::vector<Maker> forwardMakers(const TraceStore& trace, const CpuContexts& contexts, Spellings& spellings) {
    std::vector<Maker> makers;
    for (std::size_t row = 0; row < trace.cpu_ops.size(); ++row) {
        if (trace.cpu_ops.sequence[row] < 0 || trace.cpu_ops.fwd_thread[row] > 0) continue;
        const SliceId slice = trace.cpu_ops.slice[row];
        if (contexts.of(slice).node == CpuOpId(row)) continue; // an engine row
        makers.push_back(
            {trace.cpu_ops.sequence[row], slice, CpuOpId(row), spellings.ofForward(trace.slices.name[slice.index()])});
    }
    std::sort(makers.begin(), makers.end(), [](const Maker& a, const Maker& b) {
        return a.sequence != b.sequence ? a.sequence < b.sequence : a.slice < b.slice;
    });
    return makers;
}

using Thread = std::pair<std::int64_t, std::int64_t>; // pid, Fwd thread id

// Track that made most of a thread's nodes.
std::map<Thread, TrackId> forwardTracks(Search& search) {
    const TraceStore& trace = search.trace;
    constexpr std::size_t kEnough = 65536; // nodes asked per thread
    std::map<Thread, std::size_t> nodes;
    std::map<Thread, std::unordered_map<std::uint32_t, std::uint64_t>> votes;
    for (std::size_t row = 0; row < trace.cpu_ops.size(); ++row) {
        if (trace.cpu_ops.fwd_thread[row] <= 0 || trace.cpu_ops.sequence[row] < 0) continue;
        const SliceId node = trace.cpu_ops.slice[row];
        const Thread thread{search.pidOf(node), trace.cpu_ops.fwd_thread[row]};
        if (++nodes[thread] > kEnough) continue;
        const std::uint32_t wanted = search.spellings.ofBackward(trace.slices.name[node.index()]);
        const auto [begin, end] = search.rows(trace.cpu_ops.sequence[row]);
        for (std::size_t i = begin; i < end; ++i)
            if (search.makers[i].spelling == wanted && search.pidOf(search.makers[i].slice) == thread.first)
                ++votes[thread][search.trackOf(search.makers[i]).value];
    }
    std::map<Thread, TrackId> tracks;
    for (const auto& [thread, by_track] : votes) {
        std::uint64_t most = 0;
        for (const auto& [track, count] : by_track) {
            TrackId& best = tracks[thread];
            if (count > most || (count == most && track < best.value)) {
                most = count;
                best = TrackId(track);
            }
        }
    }
    return tracks;
}

} // namespace

std::vector<CpuOpId> forwardOps(const TraceStore& trace, const CpuContexts& contexts) {
    std::vector<CpuOpId> forward(trace.cpu_ops.size());
    Spellings spellings(trace);
    std::vector<Maker> makers = forwardMakers(trace, contexts, spellings);
    Search search{trace, std::move(makers), std::move(spellings), std::size_t{1} << 26};
    const auto tracks = forwardTracks(search);

    std::vector<CpuOpId> last_node(trace.tracks.size()); // forward operator of the node that ran last, per thread
    for (std::size_t i = 0; i < trace.slices.size(); ++i) {
        if (trace.slices.category[i] != Category::CpuOp || trace.slices.detail[i] >= trace.cpu_ops.size()) continue;
        const CpuOpId op(trace.slices.detail[i]);
        if (contexts.of(SliceId(i)).node != op) continue;
        const std::size_t track = trace.slices.track[i].index();
        if (isAccumulateGrad(trace.nameOf(SliceId(i)))) {
            // The engine runs it at once after the node that made the gradient (its priority is the highest there is).
            if (track < last_node.size()) forward[op.index()] = last_node[track];
            continue;
        }
        const std::int64_t sequence = trace.cpu_ops.sequence[op.index()];
        if (sequence < 0) continue;
        const auto known = tracks.find({search.pidOf(SliceId(i)), trace.cpu_ops.fwd_thread[op.index()]});
        forward[op.index()] = search.find(SliceId(i), sequence, known == tracks.end() ? TrackId{} : known->second);
        if (track < last_node.size()) last_node[track] = forward[op.index()];
    }
    return forward;
}

} // namespace fusescope
