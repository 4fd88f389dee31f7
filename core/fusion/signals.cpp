// SPDX-License-Identifier: Apache-2.0
// 1 small kernels in a row: three or more forward kernels, each under 100 us (article 3.2 and 4)
// 2 memory-bound operators in a row: two or more forward, each under 10 FLOP/byte
// 3 repeated: the same in two or more layers (or, without module names, twice or more in a step)
// 4 one formula in several operators
#include "core/fusion/signals.h"

#include "core/base/format.h"

#include <algorithm>
#include <set>

namespace fusescope::fusion {
namespace {

constexpr double kSmallNs = 100e3, kLowIntensity = 10;

// Durations and costs of the forward operators of one instance: kernels, or nodes when there is no trace.
struct Forward {
    std::vector<double> ns;
    std::vector<OpCost> costs;
};

Forward forwardOf(const FusionInput& input, const Instance& instance) {
    Forward out;
    for (const KernelId k : instance.forward) {
        out.ns.push_back(kernelNs(input, k));
        if (input.kernel_costs != nullptr && k.index() < input.kernel_costs->size())
            out.costs.push_back((*input.kernel_costs)[k.index()]);
    }
    if (!instance.forward.empty() || input.graph == nullptr) return out;
    for (const NodeId node : instance.nodes) {
        const OpCost cost = costOfNode(input.graph->ops, node);
        if (cost.bytes() <= 0) continue;
        const double bandwidth = input.device.practicalBandwidth();
        out.ns.push_back(bandwidth > 0 ? cost.bytes() / bandwidth * 1e9 : 0);
        out.costs.push_back(cost);
    }
    return out;
}

void addSignal(Finding& finding, int signal, std::string evidence) {
    finding.signals.push_back(signal);
    finding.signal_evidence.push_back(std::move(evidence));
}

// Longest run of memory-bound operators with a low intensity.
std::size_t longestRun(const std::vector<OpCost>& costs, double& highest) {
    std::size_t best = 0, run = 0;
    double top = 0;
    for (const OpCost& cost : costs) {
        if (cost.bytes_known && cost.bytes() > 0 && cost.intensity() < kLowIntensity) {
            ++run;
            top = std::max(top, cost.intensity());
            if (run > best) {
                best = run;
                highest = top;
            }
        } else {
            run = 0;
            top = 0;
        }
    }
    return best;
}

// Numbers in a module's path: "model.layers.17.mlp" -> "17"; "Qwen3DecoderLayer_1/Qwen3MLP_1" -> the layer's.
std::string layerOf(const std::string& path) {
    std::string layer;
    std::size_t at = 0;
    while (at <= path.size()) {
        std::size_t end = path.find_first_of("./", at);
        if (end == std::string::npos) end = path.size();
        const std::string part = path.substr(at, end - at);
        const bool number = !part.empty() && part.find_first_not_of("0123456789") == std::string::npos;
        const bool trace_layer = part.find("Layer_") != std::string::npos || part.find("Block_") != std::string::npos;
        if (number || trace_layer) layer = path.substr(0, end);
        if (number || trace_layer) return layer;
        at = end + 1;
    }
    return layer;
}

const ModuleTree* treeOf(const FusionInput& input) {
    if (input.link != nullptr) return &input.link->modules;
    return input.graph != nullptr ? &input.graph->modules : nullptr;
}

} // namespace

void findSignals(const FusionInput& input, const std::vector<const Draft*>& drafts, Finding& finding) {
    std::vector<const Draft*> open;
    for (const Draft* draft : drafts)
        if (draft->instance.state != FusionState::Fused) open.push_back(draft);
    if (open.empty()) return;
    const bool estimated = finding.time_estimated;
    const std::string unit = estimated ? "operator" : "kernel";

    double kernels = 0, longest = 0, forward_ns = 0, intensity = 0;
    std::size_t fewest = 1000000, run = 1000000;
    for (const Draft* draft : open) {
        const Forward forward = forwardOf(input, draft->instance);
        kernels += static_cast<double>(forward.ns.size());
        fewest = std::min(fewest, forward.ns.size());
        for (const double ns : forward.ns) {
            longest = std::max(longest, ns);
            forward_ns += ns;
        }
        double top = 0;
        run = std::min(run, longestRun(forward.costs, top));
        intensity = std::max(intensity, top);
    }
    const double n = static_cast<double>(open.size());
    if (fewest >= 3 && longest > 0 && longest < kSmallNs) {
        const double launch_ns = kernels * input.device.launch_us * 1e3;
        addSignal(finding, 1,
                  formatAverage(kernels / n, unit) + " forward each time, the longest " + formatDuration(longest) +
                      "; launching them costs the CPU " + formatDuration(launch_ns) + " a step against " +
                      formatDuration(forward_ns) + " of GPU time (" +
                      formatPercent(launch_ns / (launch_ns + forward_ns)) + ").");
    }
    if (run >= 2)
        addSignal(finding, 2,
                  std::to_string(run) + " memory-bound " + unit + "s in a row, " +
                      (intensity > 0 ? "none above " + formatSignificant(intensity, 2) + " FLOP/byte: "
                                     : std::string("by their names (their arithmetic is not known): ")) +
                      (finding.bytes_fused > 0 ? formatBytes(finding.bytes_now) + " a step through memory where " +
                                                     formatBytes(finding.bytes_fused) + " would do."
                                               : "each writes what the next reads."));
    std::set<std::string> layers;
    if (const ModuleTree* tree = treeOf(input))
        for (const Draft* draft : open)
            if (const ModuleId m = draft->instance.module; m.valid() && m.index() < tree->modules.size())
                if (const std::string layer = layerOf(tree->at(m).path); !layer.empty()) layers.insert(layer);
    if (layers.size() >= 2)
        addSignal(finding, 3,
                  "The same in " + std::to_string(layers.size()) + " layers, " + std::to_string(open.size()) +
                      " times a step.");
    else if (open.size() >= 2 && layers.empty())
        addSignal(finding, 3, "The same " + std::to_string(open.size()) + " times a step.");

    if (finding.pattern != Pattern::QkvProjection && fewest >= 2)
        addSignal(finding, 4,
                  "One formula, " + catalogEntry(finding.pattern).formula + ", in " + formatAverage(kernels / n, unit) +
                      ".");
}

} // namespace fusescope::fusion
