// SPDX-License-Identifier: Apache-2.0
// What fusescope-runner and its clients say to each other: one JSON object a line, at most kMaxRunnerLine bytes, over
// the runner's stdin and stdout. Bulk data goes by file (kept by name in a request, read by the runner).
//
//   runner -> hello                                 once, first
//   client -> {"id":7,"op":"fuse","params":{...}}   ids are the client's, ascending
//   runner -> {"id":7,"ev":"progress","stage":"fused forward","fraction":0.4}
//   runner -> {"id":7,"ev":"log","text":"..."}
//   runner -> {"id":7,"ev":"result","kind":"fuse","result":{...}}  or  {"id":7,"ev":"error","code":"out_of_memory",
//   ...}
//
// kind: "device" (its result is a hello), "calibrate", "fuse", "torchscript". A region of a layer or a model is asked
// for with op "layer", anything else with "fuse"; both mean the same.
//
// A request has exactly one result or error. `cancel` names another request: that one ends with error "cancelled".
// Requests run one after another in the order they came; `cancel` is read at once.
#pragma once

#include "core/base/result.h"
#include "core/ipc/fuse_effort.h"
#include "core/region/program.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace fusescope {

constexpr int kRunnerProtocol = 1;
constexpr std::size_t kMaxRunnerLine = std::size_t{1} << 20;

// --- what the runner is ---------------------------------------------------------------------------------------------

struct RunnerGpu {
    std::string name;           // "NVIDIA H200"
    int compute_capability = 0; // 90
    int multiprocessors = 0;
    double memory_bytes = 0, free_bytes = 0;
    double l2_bytes = 0;
    std::string uuid;
};

struct RunnerHello {
    int protocol = 0;
    std::string build;           // version of FuseScope
    std::string torch;           // "2.11.0+cu130"
    std::string cuda;            // of Torch: "13.0"; "" without
    std::string driver;          // "580.159.04"; "" without
    bool kernels = false;        // libfusescope_kernels.so is loaded
    std::string kernels_problem; // why not
    std::vector<RunnerGpu> gpus; // none: requests run on the CPU, and say so
};

[[nodiscard]] std::string versionsText(const RunnerHello& hello); // "torch 2.11.0+cu130, driver 580.159.04"

// --- requests -------------------------------------------------------------------------------------------------------

struct DeviceRequest {};
struct CalibrateRequest {};
struct LoadTorchscriptRequest {
    std::string path;
    bool run_code = false; // the user agreed that code of the file may run in a limited child process
};
struct FuseRequest {
    Region region; // also a layer or a model
    FuseEffort effort{};
    double memory_limit_bytes = 0; // 0: what the device has free
};
struct CancelRequest {
    std::int64_t target = 0;
};
using RunnerCall = std::variant<DeviceRequest, CalibrateRequest, LoadTorchscriptRequest, FuseRequest, CancelRequest>;
struct RunnerRequest {
    std::int64_t id = 0;
    RunnerCall call;
};

// --- answers --------------------------------------------------------------------------------------------------------

// Microseconds over the rounds.
struct Spread {
    double median = 0, p10 = 0, p90 = 0;
    int rounds = 0; // 0: not told
    // Percentiles of a few rounds say nothing (fewest: fuse_effort.h); where rounds are not told, equal ones are of a
    // single round.
    [[nodiscard]] bool known() const noexcept {
        return p10 > 0 && (rounds > 0 ? rounds >= kFewestFuseRounds : p90 > p10);
    }
};

struct CalibrateResult {
    std::string device; // GPU's name, or "CPU"
    bool on_gpu = false;
    double copy_Bps = 0;          // device-to-device copy, bytes read plus written
    double bf16_matmul_flops = 0; // per second, 0 when the device cannot
    double launch_us = 0;         // from one empty kernel's start to the next one's, launched one by one
    double seconds = 0;           // that the calibration took
    // The 90th less the 10th percentile of the rounds, divided by the median. 0: not told.
    double copy_spread = 0, matmul_spread = 0, launch_spread = 0;
};

// One program in one direction.
struct Measured {
    Spread us;             // GPU: between events; CPU: wall time
    Spread graph_us;       // under a CUDA graph; median 0 where it could not be captured
    double launches = 0;   // kernels
    double peak_bytes = 0; // allocated beyond what was there before
    // Against fp64 (||out - ref|| / ||ref|| and the largest difference) and against the baseline's values.
    double relative_error = 0, max_abs_error = 0;
    double relative_to_baseline = 0, max_abs_to_baseline = 0;
    bool bitwise = false; // the baseline's bits
};

struct Comparison {
    std::string direction; // "forward", "backward"
    Measured baseline, fused;
    bool has_fused = false;
    std::string fused_name; // "fusescope::rms_norm"
};

struct FuseResult {
    std::string region, pattern;
    std::string device; // GPU's name, or "CPU (reference kernels)"
    bool on_gpu = false;
    double copy_Bps = 0; // of the same run: the roof that shares are of
    bool busy = false;   // another job uses the GPU, or its times spread too much to be trusted
    std::string busy_note;
    std::vector<Comparison> directions;
    std::string fp64_note; // why errors against fp64 are missing ("" when they are there)
    double seconds = 0;
};

struct TorchscriptResult {
    std::string graph_json; // path of a file that the client removes
};

// "bad_request" (the request is wrong), "unsupported" (an operator or shape that this runner cannot do),
// "out_of_memory", "time_limit", "cancelled", "cuda" (a kernel failed: the runner ends with kExitCudaError after it),
// "version" (another protocol), "internal".
struct RunnerError {
    std::string code;
    std::string message;
    bool fatal = false; // the runner ends after this line
};

struct RunnerProgress {
    std::string stage;
    double fraction = -1; // 0..1; negative: not known
};
struct RunnerLog {
    std::string text;
};
using RunnerResult = std::variant<RunnerHello, CalibrateResult, FuseResult, TorchscriptResult>;
using RunnerEvent = std::variant<RunnerProgress, RunnerLog, RunnerResult, RunnerError>;
struct RunnerAnswer {
    std::int64_t id = 0; // 0: belongs to no request (a line that could not be read)
    RunnerEvent event;
};

constexpr int kExitCudaError = 40; // the runner's status after a CUDA error that does not go away

// Lines end with a line feed; decoding takes them with and without. What a later version adds is skipped. A hello of
// another protocol is an error (Unsupported) that names both versions.
[[nodiscard]] std::string encodeHello(const RunnerHello& hello);
[[nodiscard]] Result<RunnerHello> decodeHello(std::string_view line);
// Whether a line before the hello is what a login on another machine says to anybody: no JSON object. At most
// kMaxRunnerGreeting of them are passed over.
[[nodiscard]] bool isGreeting(std::string_view line);
constexpr int kMaxRunnerGreeting = 200;
[[nodiscard]] Result<std::string> encodeRequest(const RunnerRequest& request); // error: longer than a line may be
[[nodiscard]] Result<RunnerRequest> decodeRequest(std::string_view line);
[[nodiscard]] Result<std::string> encodeAnswer(const RunnerAnswer& answer); // error: longer than a line may be
[[nodiscard]] Result<RunnerAnswer> decodeAnswer(std::string_view line);
// Whose request a line is, also when decodeRequest() refuses it (its error can then be answered); 0: not told.
[[nodiscard]] std::int64_t requestIdIn(std::string_view line);

} // namespace fusescope
