// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/commands.h"
#include "app/cli/output.h"
#include "app/cli/runner_session.h"

#include "core/cost/calibration.h"
#include "core/ipc/exit_codes.h"
#include "core/report/fuse_report.h"

#include <filesystem>
#include <optional>

namespace fusescope::cli {
namespace {

constexpr double kMostSeconds = 120; // the runner's own limit is 60

// Keeps the calibration where `analyze` finds it. What goes wrong is said, and loses nothing that was measured.
void store(const RunnerHello& hello, const std::string& json) {
    const std::string folder = calibrationFolder();
    if (folder.empty() || hello.gpus.empty() || hello.gpus.front().uuid.empty()) return;
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    const std::string file = folder + "/" + calibrationFile(hello.gpus.front().uuid, hello.driver);
    const Status written =
        error ? Status(Error{ErrorCode::Unreadable, "a folder for calibrations", error.message(), folder})
              : writeResult(file, json);
    if (written)
        complain("kept in " + file + "; analyze uses it for traces of this GPU");
    else
        complain(written.error().message());
}

} // namespace

int runDevice(const DeviceArguments& arguments) {
    if (const Status writable = checkWritable(arguments.json); !writable) {
        complain(writable.error().message());
        return kExitUsage;
    }
    RunnerSession session(arguments.runner);
    const auto failed = [](const std::string& why) {
        if (RunnerSession::interrupted()) return kExitInterrupted;
        complain(why);
        return static_cast<int>(kExitRunnerFailed);
    };
    if (const Status started = session.start(kMostSeconds); !started) return failed(started.error().message());
    std::optional<CalibrateResult> calibration;
    if (arguments.calibrate) {
        const auto answer = session.ask(CalibrateRequest{}, kMostSeconds, "calibrating");
        if (answer.failed) return failed(answer.failed->message());
        if (answer.refused) return failed(answer.refused->code + ": " + answer.refused->message);
        const auto* result = answer.result ? std::get_if<CalibrateResult>(&*answer.result) : nullptr;
        if (result == nullptr) return failed("expected a calibration, found another kind of result");
        calibration = *result;
    }
    const std::string json = deviceReportJson(session.hello(), calibration);
    if (calibration && calibration->on_gpu) store(session.hello(), json);
    int status = kExitOk;
    const auto write = [&](const std::string& target, const std::string& text) {
        if (const Status written = writeResult(target, text); !written) {
            complain(written.error().message());
            status = kExitUsage;
        }
    };
    if (!arguments.json.empty()) write(arguments.json, json);
    if (arguments.json != "-") write("-", deviceReportText(session.hello(), calibration));
    return status;
}

} // namespace fusescope::cli
