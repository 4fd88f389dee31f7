// SPDX-License-Identifier: Apache-2.0
// What measuring regions gave, as JSON (fusescope.fuse/1) and as a table for people. Filled by whoever talked to the
// runner.
#pragma once

#include "core/analysis/analysis.h"
#include "core/ipc/runner_protocol.h"
#include "core/measured/measured.h"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace fusescope {

// One region that was asked for, and the answer.
struct MeasuredRegion {
    std::string region, pattern, title, shape; // Region::id ...; shape: "4096x4096 bf16", "" of modules
    std::string finding, instance_class;       // "" of a module
    std::vector<std::uint32_t> members;        // instances of the finding that it stands for
    double instances = 1;                      // per step
    Range predicted_saving_ns;                 // of all of them, per step
    bool predicted = false;
    double time_ns = 0; // of all of them in the trace's step; 0: there is no trace
    // Of a module: what one of `instances` takes of the step; none where that is not known. Findings tell it
    // themselves.
    std::optional<StepTime> module_time;
    std::string reason; // Region::reason
    std::optional<MeasuredResult> result;
    std::string error_code, error; // instead of a result
};

struct FuseReport {
    RunnerHello hello;
    bool answered = false;     // a runner has said its hello
    std::string predicted_for; // the GPU that predictions and the trace's times are of
    bool same_device = false;  // and the measurement is of the same kind
    bool traced = false;
    std::vector<MeasuredRegion> regions;

    [[nodiscard]] bool onGpu() const { return !hello.gpus.empty(); }
    [[nodiscard]] std::string device() const; // "NVIDIA H200", "CPU"
};

// What was measured of findings.
[[nodiscard]] MeasuredSet measuredSet(const FuseReport& report);
// What all instances of it save together per step (negative: cost), as measuredSaving() counts; on another device than
// the trace's as the runner launched them. Nothing where it was not measured or has no fused form.
[[nodiscard]] std::optional<double> measuredSavingNs(const MeasuredRegion& region, const Analysis& analysis);

[[nodiscard]] std::string fuseJson(const FuseReport& report, const Analysis& analysis);
[[nodiscard]] std::string fuseTable(const FuseReport& report, const Analysis& analysis);

// What a calibration measured, for people: "copy", "4.20 TB/s ±0.5% (read and written)".
struct CalibrationLine {
    std::string what, value;
};
[[nodiscard]] std::vector<CalibrationLine> calibrationLines(const CalibrateResult& measured);
// A device description (fusescope.device/1, as resources/devices) of the runner's first GPU or of the CPU, with what
// the runner is and, where it calibrated, what it measured.
[[nodiscard]] std::string deviceReportJson(const RunnerHello& hello, const std::optional<CalibrateResult>& calibration);
[[nodiscard]] std::string deviceReportText(const RunnerHello& hello, const std::optional<CalibrateResult>& calibration);

} // namespace fusescope
