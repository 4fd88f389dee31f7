// SPDX-License-Identifier: Apache-2.0
// What measuring regions gave, as JSON (fusescope.fuse/1) and as a table for people. Filled by whoever talked to the
// runner.
#pragma once

#include "core/analysis/analysis.h"
#include "core/ipc/runner_protocol.h"
#include "core/region/program.h"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace fusescope {

// One region that was asked for, and the answer.
struct MeasuredRegion {
    std::string region, pattern, title, shape; // Region::id ...; shape: "4096x4096 bf16", "" of modules
    std::string finding;                       // id; "" of a module
    std::vector<std::uint32_t> members;        // instances of the finding that it stands for
    double instances = 1;                      // per step
    Range predicted_saving_ns;                 // of all of them, per step
    bool predicted = false;
    double time_ns = 0; // of all of them in the trace's step; 0: there is no trace
    double fused_bytes = 0, fused_backward_bytes = 0, fused_flops = 0, fused_backward_flops = 0; // 0: not known
    std::string reason;                                                                          // Region::reason
    std::optional<FuseResult> result;
    std::string error_code, error; // instead of a result
};

struct FuseReport {
    RunnerHello hello;
    bool answered = false;     // a runner has said its hello
    std::string predicted_for; // the GPU that predictions and the trace's times are of
    bool same_device = false;  // and the measurement is of the same kind
    bool traced = false;
    double matmul_flops = 0; // per second that a large matrix product reaches on the measuring GPU; 0: not known
    std::vector<MeasuredRegion> regions;

    [[nodiscard]] bool onGpu() const { return !hello.gpus.empty(); }
    [[nodiscard]] std::string device() const; // "NVIDIA H200", "CPU"
};

// Of the plan, each kernel counted once; only when every part of it was measured.
struct PlanSaving {
    double measured_ns = 0;
    Range predicted_ns;
};
[[nodiscard]] std::optional<PlanSaving> planSaving(const FuseReport& report, const Analysis& analysis);

// What all instances of it save together per step (negative: cost). On the trace's own GPU never more than they take in
// the trace. Nothing where it was not measured or has no fused form.
[[nodiscard]] std::optional<double> measuredSavingNs(const MeasuredRegion& region, const FuseReport& report);

// What the fused form does beside the roof: the time that its bytes take at the copy bandwidth of the same run, or its
// FLOPs at the rate of a large matrix product, whichever is longer. 0: not known.
struct RoofShare {
    double Bps = 0, flops = 0; // reached
    double share = 0;
    bool by_flops = false;
};
[[nodiscard]] RoofShare roofShare(const MeasuredRegion& region, const Comparison& direction, const FuseReport& report);

[[nodiscard]] std::string fuseJson(const FuseReport& report, const Analysis& analysis);
[[nodiscard]] std::string fuseTable(const FuseReport& report, const Analysis& analysis);

// A device description (fusescope.device/1, as resources/devices) of the runner's first GPU or of the CPU, with what
// the runner is and, where it calibrated, what it measured.
[[nodiscard]] std::string deviceReportJson(const RunnerHello& hello, const std::optional<CalibrateResult>& calibration);
[[nodiscard]] std::string deviceReportText(const RunnerHello& hello, const std::optional<CalibrateResult>& calibration);

} // namespace fusescope
