// SPDX-License-Identifier: Apache-2.0
#include "core/analysis/selection.h"

#include <algorithm>

namespace fusescope {
namespace {

template <class T> void sortUnique(std::vector<T>& v) {
    std::sort(v.begin(), v.end());
    v.erase(std::unique(v.begin(), v.end()), v.end());
}

template <class T> bool intersects(const std::vector<T>& sorted, const std::vector<T>& other) {
    return std::any_of(other.begin(), other.end(),
                       [&](const T& x) { return std::binary_search(sorted.begin(), sorted.end(), x); });
}

void addInstance(const Instance& instance, SelectionSets& sets) {
    sets.kernels.insert(sets.kernels.end(), instance.forward.begin(), instance.forward.end());
    sets.kernels.insert(sets.kernels.end(), instance.backward.begin(), instance.backward.end());
    sets.nodes.insert(sets.nodes.end(), instance.nodes.begin(), instance.nodes.end());
    if (instance.module.valid()) sets.modules.push_back(instance.module);
}

void addNode(const Analysis& a, NodeId node, SelectionSets& sets) {
    sets.nodes.push_back(node);
    for (const KernelId k : a.link.kernelsOf(node))
        if (k.index() < a.op_of_kernel.size() && a.op_of_kernel[k.index()] >= 0) sets.kernels.push_back(k);
}

// Kernels of the analysed step whose module lies in or below m.
void addModule(const Analysis& a, ModuleId m, SelectionSets& sets) {
    sets.modules.push_back(m);
    if (a.graph && a.link.modules_from_graph)
        for (std::size_t n = 0; n < a.graph->ops.nodes.size(); ++n)
            if (a.link.modules.contains(m, a.graph->ops.nodes[n].module)) sets.nodes.push_back(NodeId(n));
    for (std::size_t k = 0; k < a.op_of_kernel.size(); ++k)
        if (a.op_of_kernel[k] >= 0 && a.link.kernels[k].module.valid() &&
            a.link.modules.contains(m, a.link.kernels[k].module))
            sets.kernels.push_back(KernelId(k));
}

void addKernel(const Analysis& a, KernelId k, SelectionSets& sets) {
    if (k.index() >= a.link.kernels.size()) return;
    sets.kernels.push_back(k);
    sets.slice = a.trace->kernels.slice[k.index()];
}

// A CPU row selects what it launched: every kernel whose launch, operator or module frame lies inside it.
void addSlice(const Analysis& a, SliceId s, SelectionSets& sets) {
    const TraceStore& trace = *a.trace;
    if (s.index() >= trace.slices.size()) return;
    sets.slice = s;
    if (trace.slices.category[s.index()] == Category::Kernel) {
        if (trace.slices.detail[s.index()] < trace.kernels.size())
            sets.kernels.push_back(KernelId(trace.slices.detail[s.index()]));
        return;
    }
    const std::int64_t begin = trace.slices.ts[s.index()], end = trace.endOf(s);
    const TrackId track = trace.slices.track[s.index()];
    for (std::size_t k = 0; k < a.op_of_kernel.size(); ++k) {
        const SliceId launch = a.link.kernels[k].launch;
        if (a.op_of_kernel[k] < 0 || !launch.valid() || trace.slices.track[launch.index()] != track) continue;
        const std::int64_t at = trace.slices.ts[launch.index()];
        if (at >= begin && at < end) sets.kernels.push_back(KernelId(k));
    }
    for (const ModuleCall& call : a.link.calls)
        if (call.slice == s) sets.modules.push_back(call.module);
}

// What the primary sets drag along.
void complete(const Analysis& a, SelectionSets& sets) {
    sortUnique(sets.kernels);
    const PickKind kind = sets.pick.kind;
    const bool from_nodes = kind == PickKind::Node || kind == PickKind::Nodes || kind == PickKind::Region;
    for (const KernelId k : sets.kernels) {
        const WorkLink& link = a.link.kernels[k.index()];
        if (!from_nodes && link.node.valid()) sets.nodes.push_back(link.node);
        if (link.module.valid() && sets.pick.kind != PickKind::Module) sets.modules.push_back(link.module);
        if (a.op_of_kernel[k.index()] >= 0) sets.ops.push_back(static_cast<std::uint32_t>(a.op_of_kernel[k.index()]));
    }
    sortUnique(sets.nodes);
    if (a.graph && a.link.modules_from_graph && from_nodes)
        for (const NodeId n : sets.nodes)
            if (a.graph->ops.at(n).module.valid()) sets.modules.push_back(a.graph->ops.at(n).module);
    sortUnique(sets.modules);
    sortUnique(sets.ops);
    if (sets.findings.empty()) {
        for (std::size_t f = 0; f < a.findings.size(); ++f)
            for (const Instance& instance : a.findings[f].instances)
                if (intersects(sets.kernels, instance.forward) || intersects(sets.kernels, instance.backward) ||
                    intersects(sets.nodes, instance.nodes)) {
                    sets.findings.push_back(static_cast<std::uint32_t>(f));
                    break;
                }
    }
    sortUnique(sets.findings);
}

} // namespace

SelectionSets select(const Analysis& a, Pick pick) {
    SelectionSets sets;
    sets.pick = pick;
    switch (pick.kind) {
    case PickKind::None: return sets;
    case PickKind::Finding:
        if (pick.id >= a.findings.size()) break;
        sets.findings.push_back(pick.id);
        for (const Instance& instance : a.findings[pick.id].instances) addInstance(instance, sets);
        break;
    case PickKind::Instance: {
        const std::uint32_t finding = pick.id >> 16U, instance = pick.id & 0xFFFFU;
        if (finding >= a.findings.size() || instance >= a.findings[finding].instances.size()) break;
        sets.findings.push_back(finding);
        addInstance(a.findings[finding].instances[instance], sets);
        break;
    }
    case PickKind::Node: {
        const NodeId node(pick.id);
        if (!a.graph || node.index() >= a.graph->ops.nodes.size()) break;
        addNode(a, node, sets);
        break;
    }
    case PickKind::Module:
        if (pick.id < a.link.modules.modules.size()) addModule(a, ModuleId(pick.id), sets);
        break;
    case PickKind::Kernel:
        if (a.trace) addKernel(a, KernelId(pick.id), sets);
        break;
    case PickKind::Op:
        if (pick.id >= a.ops.size()) break;
        sets.ops.push_back(pick.id);
        sets.kernels = a.ops[pick.id].kernels;
        break;
    case PickKind::Slice:
        if (a.trace) addSlice(a, SliceId(pick.id), sets);
        break;
    case PickKind::Nodes:
    case PickKind::Region: break;
    }
    complete(a, sets);
    return sets;
}

SelectionSets selectNodes(const Analysis& a, Pick pick, const std::vector<NodeId>& nodes) {
    SelectionSets sets;
    sets.pick = pick;
    for (const NodeId node : nodes)
        if (a.graph && node.index() < a.graph->ops.nodes.size()) addNode(a, node, sets);
    complete(a, sets);
    return sets;
}

} // namespace fusescope
