// SPDX-License-Identifier: Apache-2.0
// With module frames: per module and forward pass, the operators recorded directly in its frames against the graph's
// nodes of that module. Without frames: each whole forward pass (from one first operator to the next) against the whole
// graph, kept only when most of both agree; operators between two matched ones of one module belong to that module too.
#include "core/link/node_match.h"

#include "core/link/align.h"

#include <algorithm>
#include <map>

namespace fusescope {
namespace {

struct Entry { // an operator of a group
    std::uint64_t group;
    CpuOpId op;
};

class Matcher {
public:
    Matcher(const TraceStore& trace, const CpuContexts& contexts, const ModelGraph& graph)
        : trace_(trace), contexts_(contexts), graph_(graph) {
        out_.node.resize(trace.cpu_ops.size());
        trace_letter_.assign(trace.strings.size(), kUnseen);
    }

    NodeMatch byFrames(const std::unordered_map<std::uint32_t, ModuleId>& frames) {
        const std::size_t graph_modules = graph_.modules.modules.size();
        std::vector<std::vector<NodeId>> nodes_of(graph_modules);
        for (std::size_t n = 0; n < graph_.ops.nodes.size(); ++n) {
            const ModuleId module = graph_.ops.nodes[n].module;
            if (module.valid() && module.index() < graph_modules) nodes_of[module.index()].push_back(NodeId(n));
        }

        std::vector<Entry> entries;
        forEachOp([&](CpuOpId op, const CpuContext& context) {
            if (!context.frame.valid() || context.backward()) return;
            const auto found = frames.find(context.frame.value);
            if (found == frames.end() || found->second.index() >= graph_modules) return;
            if (nodes_of[found->second.index()].empty()) return;
            entries.push_back({(static_cast<std::uint64_t>(context.root_frame.value) << 32) | found->second.value, op});
        });
        std::stable_sort(entries.begin(), entries.end(),
                         [](const Entry& a, const Entry& b) { return a.group < b.group; });

        std::vector<std::uint32_t> sequence_of(graph_modules);
        for (std::size_t m = 0; m < graph_modules; ++m) sequence_of[m] = sequenceOf(nodes_of[m]);
        for (std::size_t begin = 0; begin < entries.size();) {
            std::size_t end = begin;
            std::vector<CpuOpId> ops;
            while (end < entries.size() && entries[end].group == entries[begin].group) ops.push_back(entries[end++].op);
            const std::size_t module = entries[begin].group & 0xFFFFFFFFu;
            (void)alignOps(ops, nodes_of[module], sequence_of[module]);
            begin = end;
        }
        inherit();
        return std::move(out_);
    }

    NodeMatch byWholePasses() {
        out_.module.resize(trace_.cpu_ops.size());
        std::vector<NodeId> nodes;
        std::uint32_t first_letter = kUnseen;
        std::size_t computing = 0;
        for (std::size_t n = 0; n < graph_.ops.nodes.size(); ++n) {
            const std::uint32_t letter = alphabet_.of(graph_.ops.op(NodeId(n)));
            nodes.push_back(NodeId(n));
            if (alphabet_.plumbing(letter)) continue;
            if (first_letter == kUnseen) first_letter = letter;
            ++computing;
        }
        if (computing == 0) return std::move(out_);

        std::map<std::uint32_t, std::vector<std::vector<CpuOpId>>> passes; // per thread
        forEachOp([&](CpuOpId op, const CpuContext& context) {
            if (context.node.valid() || context.phase != Phase::Unknown || context.top_op != op) return;
            const SliceId slice = trace_.cpu_ops.slice[op.index()];
            auto& of_thread = passes[trace_.slices.track[slice.index()].value];
            if (letterOf(slice) == first_letter) of_thread.emplace_back();
            if (!of_thread.empty()) of_thread.back().push_back(op);
        });
        const std::uint32_t sequence = sequenceOf(nodes);
        for (const auto& [thread, of_thread] : passes)
            for (const std::vector<CpuOpId>& ops : of_thread) alignPass(ops, nodes, sequence, computing);
        inherit();
        return std::move(out_);
    }

private:
    static constexpr std::uint32_t kUnseen = 0xFFFFFFFFu;

    template <class Visit> void forEachOp(Visit visit) const {
        for (std::size_t i = 0; i < trace_.slices.size(); ++i) {
            if (trace_.slices.category[i] != Category::CpuOp || trace_.slices.detail[i] >= trace_.cpu_ops.size())
                continue;
            visit(CpuOpId(trace_.slices.detail[i]), contexts_.of(SliceId(i)));
        }
    }

    std::uint32_t letterOf(SliceId slice) {
        const StringId name = trace_.slices.name[slice.index()];
        std::uint32_t& letter = trace_letter_[name.index()];
        if (letter == kUnseen) letter = alphabet_.of(trace_.strings.view(name));
        return letter;
    }

    std::uint32_t sequenceOf(const std::vector<NodeId>& nodes) {
        std::vector<std::uint32_t> letters;
        letters.reserve(nodes.size());
        for (const NodeId node : nodes) letters.push_back(alphabet_.of(graph_.ops.op(node)));
        return aligner_.sequence(std::move(letters));
    }

    // Returns how many operators that compute were matched.
    std::size_t alignOps(const std::vector<CpuOpId>& ops, const std::vector<NodeId>& nodes, std::uint32_t sequence) {
        std::vector<TraceOp> left;
        left.reserve(ops.size());
        for (const CpuOpId op : ops) {
            const SliceId slice = trace_.cpu_ops.slice[op.index()];
            left.push_back({letterOf(slice), contexts_.of(slice).top_op == op});
        }
        const std::vector<std::int32_t>& match = aligner_.align(left, sequence, alphabet_);
        std::size_t computing = 0;
        for (std::size_t i = 0; i < ops.size(); ++i) {
            if (match[i] < 0) continue;
            out_.node[ops[i].index()] = nodes[static_cast<std::size_t>(match[i])];
            if (!alphabet_.plumbing(left[i].letter)) ++computing;
        }
        return computing;
    }

    void alignPass(const std::vector<CpuOpId>& ops, const std::vector<NodeId>& nodes, std::uint32_t sequence,
                   std::size_t computing) {
        const std::size_t matched = alignOps(ops, nodes, sequence);
        std::size_t recorded = 0;
        for (const CpuOpId op : ops)
            if (!alphabet_.plumbing(letterOf(trace_.cpu_ops.slice[op.index()]))) ++recorded;
        // Another model than the graph's shares operators with it too: only near agreement is an alignment.
        if (matched * 10 < computing * 6 || matched * 10 < recorded * 5) {
            for (const CpuOpId op : ops) out_.node[op.index()] = {};
            return;
        }
        const auto moduleAt = [&](std::size_t i) { return graph_.ops.at(out_.node[ops[i].index()]).module; };
        std::size_t last = ops.size(); // index of the last matched operator
        for (std::size_t i = 0; i < ops.size(); ++i) {
            if (!out_.node[ops[i].index()].valid()) continue;
            out_.module[ops[i].index()] = moduleAt(i);
            if (last < i && moduleAt(last) == moduleAt(i))
                for (std::size_t between = last + 1; between < i; ++between)
                    out_.module[ops[between].index()] = moduleAt(i);
            last = i;
        }
    }

    // An operator inside a matched one (aten::copy_ in aten::to) does that node's work.
    void inherit() {
        forEachOp([&](CpuOpId op, const CpuContext& context) {
            const SliceId parent = trace_.slices.parent[trace_.cpu_ops.slice[op.index()].index()];
            if (!parent.valid()) return;
            const CpuContext& around = contexts_.of(parent);
            if (!around.op.valid() || around.frame != context.frame || around.node != context.node) return;
            if (!out_.node[op.index()].valid()) out_.node[op.index()] = out_.node[around.op.index()];
            if (!out_.module.empty() && !out_.module[op.index()].valid())
                out_.module[op.index()] = out_.module[around.op.index()];
        });
    }

    const TraceStore& trace_;
    const CpuContexts& contexts_;
    const ModelGraph& graph_;
    NodeMatch out_;
    OpAlphabet alphabet_;
    Aligner aligner_;
    std::vector<std::uint32_t> trace_letter_; // by StringId
};

} // namespace

NodeMatch matchNodes(const TraceStore& trace, const CpuContexts& contexts, const ModelGraph& graph,
                     const std::unordered_map<std::uint32_t, ModuleId>& frames) {
    Matcher matcher(trace, contexts, graph);
    return contexts.has_frames ? matcher.byFrames(frames) : matcher.byWholePasses();
}

} // namespace fusescope
