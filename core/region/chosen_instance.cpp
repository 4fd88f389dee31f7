// SPDX-License-Identifier: Apache-2.0
#include "core/region/chosen_instance.h"

#include "core/fusion/places.h"
#include "core/fusion/predict.h"
#include "core/trace/op_args.h"

#include <algorithm>
#include <utility>

namespace fusescope::region {

using fusion::GraphFlow;

bool inStep(const Analysis& analysis, KernelId kernel) {
    return analysis.step < 0 ||
           analysis.trace->slices.step[analysis.trace->kernels.slice[kernel.index()].index()] == analysis.step;
}

namespace {
std::string sizesText(const std::vector<std::int64_t>& sizes) {
    std::string text;
    for (const std::int64_t size : sizes) text += (text.empty() ? "" : "x") + std::to_string(size);
    return text;
}

double timeOf(const Analysis& analysis, KernelId kernel) {
    const auto ns =
        static_cast<double>(analysis.trace->slices.dur[analysis.trace->kernels.slice[kernel.index()].index()]);
    return kernel.index() < analysis.time_factors.size() ? ns * analysis.time_factors[kernel.index()] : ns;
}

} // namespace

void addKernel(const Analysis& analysis, KernelId kernel, Instance& instance) {
    const bool backward = analysis.link.kernels[kernel.index()].direction == Direction::Backward;
    (backward ? instance.backward : instance.forward).push_back(kernel);
    (backward ? instance.backward_ns : instance.forward_ns) += timeOf(analysis, kernel);
    if (kernel.index() >= analysis.kernel_costs.size()) return;
    const OpCost& cost = analysis.kernel_costs[kernel.index()];
    instance.now.flops += cost.flops;
    instance.now.tensor_flops += cost.tensor_flops;
    instance.now.bytes_read += cost.bytes_read;
    instance.now.bytes_written += cost.bytes_written;
}

Instance instanceOf(const Analysis& analysis, std::vector<NodeId> nodes, ModuleId module) {
    Instance instance;
    instance.from_graph = true;
    instance.from_trace = analysis.trace != nullptr;
    instance.module = analysis.link.modules.find(analysis.graph->modules.at(module).path);
    instance.nodes = std::move(nodes);
    if (analysis.trace != nullptr && !analysis.link.node_start.empty()) {
        for (const NodeId node : instance.nodes)
            for (const KernelId kernel : analysis.link.kernelsOf(node))
                if (inStep(analysis, kernel)) addKernel(analysis, kernel, instance);
    } else if (analysis.trace == nullptr) {
        for (const NodeId node : instance.nodes)
            if (const OpCost cost = costOfNode(analysis.graph->ops, node); cost.bytes() > 0)
                instance.forward_ns += fusion::estimatedKernelNs(cost, analysis.device);
    }
    for (std::vector<KernelId>* kernels : {&instance.forward, &instance.backward})
        std::sort(kernels->begin(), kernels->end());
    return instance;
}

Runs runsOf(const Analysis& analysis, const std::vector<NodeId>& nodes) {
    Runs runs;
    if (analysis.trace == nullptr || analysis.link.node_start.empty()) return runs;
    const OpGraph& ops = analysis.graph->ops;
    const CpuOpTable& called = analysis.trace->cpu_ops;
    for (const NodeId node : nodes) {
        std::vector<CpuOpId> calls;
        for (const KernelId kernel : analysis.link.kernelsOf(node)) {
            const WorkLink& work = analysis.link.kernels[kernel.index()];
            if (!inStep(analysis, kernel) || work.direction != Direction::Forward || !work.top_op.valid()) continue;
            if (std::find(calls.begin(), calls.end(), work.top_op) != calls.end()) continue;
            calls.push_back(work.top_op);
            const ValueId first = ops.operand(node, 0);
            if (!runs.other_sizes.empty() || analysis.trace->nameOf(called.slice[work.top_op.index()]) != ops.op(node))
                continue;
            const std::vector<OpArg> args = parseOpArgs(*analysis.trace, work.top_op);
            if (args.empty() || args.front().kind != ArgKind::Tensor || !first.valid() ||
                args.front().tensor.sizes.empty() || args.front().tensor.sizes == ops.at(first).meta.sizes)
                continue;
            runs.other_sizes = "The step ran it at other sizes (" + sizesText(args.front().tensor.sizes) + " into " +
                               std::string(ops.name(node)) + ", where the graph has " +
                               sizesText(ops.at(first).meta.sizes) +
                               "): it is measured at the graph's, and nothing of it counts in the step";
        }
        runs.times = std::max(runs.times, calls.size());
    }
    return runs;
}

std::vector<Instance> asRun(Instance all, const Runs& runs) {
    if (!runs.other_sizes.empty()) {
        all.forward_ns = all.backward_ns = 0;
        return {std::move(all)};
    }
    const auto times = static_cast<double>(runs.times);
    all.forward_ns /= times;
    all.backward_ns /= times;
    Instance next = all;
    next.forward.clear();
    next.backward.clear();
    next.now = {};
    std::vector<Instance> out{std::move(all)};
    out.resize(runs.times, next);
    return out;
}

namespace {
void add(Range& to, const Range& more) {
    to.low += more.low;
    to.expected += more.expected;
    to.high += more.high;
}
} // namespace

void addPlanSavings(const Analysis& analysis, const std::vector<std::string>& findings, Instance& instance) {
    for (const PlanPart& part : analysis.plan.parts) {
        if (std::find(findings.begin(), findings.end(), part.finding) == findings.end()) continue;
        for (const Finding& finding : analysis.findings)
            if (finding.id == part.finding)
                for (const std::uint32_t i : part.instances)
                    if (const auto& nodes = finding.instances[i].nodes;
                        !nodes.empty() &&
                        std::includes(instance.nodes.begin(), instance.nodes.end(), nodes.begin(), nodes.end()))
                        add(instance.saving_ns, finding.instances[i].saving_ns);
    }
    const double time = instance.forward_ns + instance.backward_ns;
    instance.predicted_ns = {time - instance.saving_ns.high, time - instance.saving_ns.expected,
                             time - instance.saving_ns.low};
}

namespace {
template <class T> bool meet(std::vector<T> a, std::vector<T> b) {
    std::sort(a.begin(), a.end());
    return std::any_of(b.begin(), b.end(), [&](const T& one) { return std::binary_search(a.begin(), a.end(), one); });
}

bool overlap(const Instance& a, const Instance& b) {
    return meet(a.nodes, b.nodes) || meet(a.forward, b.forward) || meet(a.backward, b.backward);
}

} // namespace

// Sums over the instances, and what else a finding says of itself.
void sumUp(const Analysis& analysis, Finding& work) {
    double kernels = 0;
    for (const Instance& instance : work.instances) {
        kernels += static_cast<double>(instance.forward.size() + instance.backward.size());
        work.time_ns += instance.forward_ns + instance.backward_ns;
        work.bytes_now += instance.now.bytes();
        work.bytes_fused += instance.fused.bytes();
        add(work.saving_ns, instance.saving_ns);
        const std::string place = fusion::foldedPath(analysis.link.modules.at(instance.module).path);
        if (!place.empty() && std::find(work.modules.begin(), work.modules.end(), place) == work.modules.end())
            work.modules.push_back(place);
    }
    work.predicted_ns = {work.time_ns - work.saving_ns.high, work.time_ns - work.saving_ns.expected,
                         work.time_ns - work.saving_ns.low};
    work.kernels_now = kernels / static_cast<double>(std::max<std::size_t>(work.instances.size(), 1));
    work.kernels_fused = 1;
    work.time_estimated = analysis.trace == nullptr;
    const double step = analysis.stepNs();
    if (step > 0 && !work.time_estimated) work.step_share = work.saving_ns.expected / step;
    for (const Finding& finding : analysis.findings) {
        const bool shared =
            std::any_of(finding.instances.begin(), finding.instances.end(), [&](const Instance& theirs) {
                return std::any_of(work.instances.begin(), work.instances.end(),
                                   [&](const Instance& own) { return overlap(own, theirs); });
            });
        if (shared) work.conflicts.push_back(finding.id);
    }
}

} // namespace fusescope::region
