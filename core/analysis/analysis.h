// SPDX-License-Identifier: Apache-2.0
// Everything known about the opened files, computed once off the GUI thread, immutable, shared by every view and
// report.
#pragma once

#include "core/analysis/model_facts.h"
#include "core/base/progress.h"
#include "core/base/result.h"
#include "core/cost/cost.h"
#include "core/cost/device.h"
#include "core/cost/roofline.h"
#include "core/fusion/finding.h"
#include "core/graph/op_graph.h"
#include "core/link/link.h"
#include "core/trace/slice_index.h"
#include "core/trace/trace_store.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fusescope {

enum class StepBound : std::uint8_t {
    Unknown,  // no GPU work
    Kernels,  // the GPU is busy most of the step
    Launches, // it waits for the CPU to launch the next work
    Idle,     // it waits although the work has been launched
};
[[nodiscard]] std::string_view nameOf(StepBound bound) noexcept; // "kernels" ...

struct StepStats {
    std::string name;
    double wall_ns = 0;        // end - begin; how the borders are found: step_stats.h
    double gpu_busy_ns = 0;    // union of GPU work
    double gpu_idle_ns = 0;    // wall - busy
    double kernel_ns = 0;      // sum of kernel durations
    double launch_wait_ns = 0; // of gpu_idle_ns: the next work had not been launched yet
    StepBound bound = StepBound::Unknown;
    std::uint32_t kernels = 0, launches = 0;
    std::int64_t begin = 0, end = 0; // ns
};

struct KernelSummary { // analysed step(s), by kernel name
    std::string name;
    OpKind kind = OpKind::Other;
    std::uint32_t calls = 0;
    double total_ns = 0, min_ns = 0, max_ns = 0;
    double launch_overhead_share = 0; // calls * launch cost / (total + calls * launch cost)
    std::vector<KernelId> kernels;
};

struct OpSummary { // analysed step, by (leaf operator, module class, direction, kind): a row of the table, a point of
                   // the roofline
    std::string op, module_type;
    Direction direction = Direction::Other;
    OpKind kind = OpKind::Other;
    std::uint32_t calls = 0, kernels_count = 0;
    double time_ns = 0;
    OpCost cost;         // sum
    double coverage = 0; // share of the time whose FLOPs and bytes are known
    Bound bound = Bound::Unknown;
    std::vector<KernelId> kernels;
    [[nodiscard]] double intensity() const noexcept { return cost.intensity(); }
    [[nodiscard]] double achievedFlops() const noexcept { return time_ns > 0 ? cost.flops / time_ns * 1e9 : 0; }
    [[nodiscard]] double achievedBps() const noexcept { return time_ns > 0 ? cost.bytes() / time_ns * 1e9 : 0; }
};

struct ModuleStats { // per module of Link::modules (or the graph's tree), everything below it included
    std::int64_t parameters = 0;
    double flops = 0;                       // forward, per step
    double forward_ns = 0, backward_ns = 0; // measured kernel time in the analysed step
    double share = 0;                       // of the step's kernel time
    std::string output_shape;               // "1x4096x4096"
};

struct AnalyzeOptions {
    std::string device;            // "" = from the trace
    std::string step = "last";     // number, "last" or "all"
    std::string calibrations = {}; // folder of calibrated devices (core/cost/calibration.h); "" = none is used
    bool step_may_lack = false; // a step that is not there means the last, and file_errors says so; else it is an error
};

struct Analysis {
    TracePtr trace; // null without a trace
    GraphPtr graph; // null without a graph
    std::vector<std::string> files;
    std::vector<Error> file_errors; // inputs that could not be used, while others could

    Link link; // link.modules is the tree that every ModuleId below refers to (graph only: the graph's)
    DeviceSpec device;
    // The trace's GPU when `device` is another one, else "". Findings and plan are then of `device`: every measured
    // time in them is scaled by time_factors. Steps, kernels, operators and modules stay as measured.
    std::string measured_on;
    std::vector<double> time_factors;       // parallel to trace->kernels; empty: nothing is scaled
    std::vector<OpCost> kernel_costs;       // parallel to trace->kernels
    std::vector<StepStats> steps;           // parallel to trace->steps; one pseudo step "all" when the trace has none
    std::int16_t step = -1;                 // the analysed one; -1 = the trace has no steps
    bool all_steps = false;                 // kernels and ops sum over every step (findings are always of one)
    std::vector<KernelSummary> kernels;     // by total time
    std::vector<OpSummary> ops;             // by time
    std::vector<std::int32_t> op_of_kernel; // row of ops for each kernel, -1 outside the analysed step
    std::vector<ModuleStats> modules;       // parallel to link.modules.modules
    ModelFacts model;
    std::vector<Finding> findings;
    Plan plan;
    std::shared_ptr<const SliceIndex> index; // null without a trace

    [[nodiscard]] double stepNs() const noexcept {
        if (steps.empty()) return 0;
        return step < 0 ? steps.front().wall_ns : steps[static_cast<std::size_t>(step)].wall_ns;
    }
};
using AnalysisPtr = std::shared_ptr<const Analysis>;

// Opens every path (kind by content; at most one trace and one graph are used, more are reported in file_errors) and
// analyses. keep: what is open already; its trace or graph stays when no path brings another, and is not read again (no
// path at all: analysed anew with other options). Fails when nothing usable comes together: the first error, and in
// *unusable (may be null) those of all files.
[[nodiscard]] Result<AnalysisPtr> analyzeFiles(const std::vector<std::string>& paths, const AnalyzeOptions& options,
                                               Progress& progress, const AnalysisPtr& keep = nullptr,
                                               std::vector<Error>* unusable = nullptr);
[[nodiscard]] Result<AnalysisPtr> analyze(TracePtr trace, GraphPtr graph, const AnalyzeOptions& options,
                                          Progress& progress);

} // namespace fusescope
