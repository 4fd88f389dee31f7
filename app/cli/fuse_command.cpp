// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/chosen_regions.h"
#include "app/cli/commands.h"
#include "app/cli/output.h"
#include "app/cli/runner_session.h"

#include "core/cost/calibration.h"
#include "core/ipc/exit_codes.h"
#include "core/report/fuse_report.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace fusescope::cli {
namespace {

constexpr int kMostStarts = 4; // a runner that dies is started again for the next region, so often
constexpr double kMargin = 30; // seconds beyond the region's own limit: loading, what cannot be stopped

int chooseAll(const Analysis& analysis, const std::vector<std::string>& ids, std::vector<RequestedRegion>& out) {
    for (const std::string& id : ids) {
        if (id == "all")
            for (const Finding& finding : analysis.findings)
                if (finding.state == FusionState::Fused)
                    complain(finding.id + ": left out of all, as it is fused already");
        auto chosen = chooseRegions(analysis, id);
        if (!chosen) {
            complain(chosen.error().message());
            return chosen.error().code == ErrorCode::NotFound ? kExitUsage : kExitNoInput;
        }
        for (RequestedRegion& one : *chosen) {
            const bool twice = std::any_of(out.begin(), out.end(), [&](const RequestedRegion& other) {
                return other.about.region == one.about.region && other.about.members == one.about.members;
            });
            if (!twice) out.push_back(std::move(one));
        }
    }
    if (out.empty()) {
        complain("expected a finding that can be fused, found none");
        return kExitNoInput;
    }
    const bool any = std::any_of(out.begin(), out.end(), [](const auto& one) { return one.about.error.empty(); });
    if (any) return kExitOk;
    for (const RequestedRegion& one : out) complain(one.about.region + ": " + one.about.error);
    return kExitNoInput;
}

class Measuring {
public:
    Measuring(const FuseArguments& arguments, const Analysis& analysis)
        : arguments_(arguments), analysis_(analysis), session_(arguments.runner) {}

    // Fills the report; false when the runner failed.
    bool run(std::vector<RequestedRegion>& chosen, FuseReport& report);

private:
    bool begin(FuseReport& report);
    void take(RunnerSession::Answer& answer, const Region& region, MeasuredRegion& about);

    const FuseArguments& arguments_;
    const Analysis& analysis_;
    RunnerSession session_;
    int starts_ = 0;
    bool failed_ = false;
};

bool Measuring::begin(FuseReport& report) {
    ++starts_;
    if (const Status started = session_.start(arguments_.effort.time_limit_s + kMargin); !started) {
        failed_ = true;
        if (!RunnerSession::interrupted()) complain(started.error().message());
        return false;
    }
    const RunnerHello& hello = session_.hello();
    if (starts_ == 1 && hello.build != FUSESCOPE_VERSION)
        complain("the runner is of FuseScope " + hello.build + ", this program of " FUSESCOPE_VERSION);
    report.hello = hello;
    report.answered = true;
    if (hello.gpus.empty()) return true;
    DeviceSpec gpu;
    gpu.name = hello.gpus.front().name;
    report.same_device = analysis_.device.source != DeviceSource::Assumed && sameDevice(analysis_.device, gpu);
    return true;
}

void Measuring::take(RunnerSession::Answer& answer, const Region& region, MeasuredRegion& about) {
    about.reason = region.reason;
    about.title = region.title;
    const auto failed = [&](std::string code, std::string message) {
        about.error_code = std::move(code);
        about.error = std::move(message);
        complain(about.region + ": " + about.error);
    };
    if (answer.result) {
        if (auto* result = std::get_if<FuseResult>(&*answer.result)) {
            MeasuredResult& landed = about.result.emplace();
            landed.finding = about.finding;
            landed.instance_class = about.instance_class;
            landed.shape = about.shape;
            landed.result = std::move(*result);
            landed.fused_bytes = region.fused_bytes;
            landed.fused_backward_bytes = region.fused_backward_bytes;
            landed.fused_flops = region.fused_flops;
            landed.fused_backward_flops = region.fused_backward_flops;
            landed.runner = session_.commandText();
            landed.versions = versionsText(session_.hello());
            landed.note = region.reason;
            landed.when_s =
                std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch())
                    .count();
        } else
            failed("internal", "expected a measurement, found another kind of result");
    } else if (answer.refused) {
        failed_ = failed_ || answer.refused->fatal;
        const bool late = answer.refused->code == "time_limit";
        failed(answer.refused->code, answer.refused->code + ": " + answer.refused->message +
                                         (late ? " (a higher --time-limit or fewer --rounds give it time)" : ""));
    } else if (answer.failed) {
        failed_ = true;
        failed("runner", answer.failed->message());
    }
}

bool Measuring::run(std::vector<RequestedRegion>& chosen, FuseReport& report) {
    for (std::size_t i = 0; i < chosen.size() && !RunnerSession::interrupted(); ++i) {
        RequestedRegion& one = chosen[i];
        if (one.about.error.empty()) {
            if (!session_.alive() && (starts_ >= kMostStarts || !begin(report))) {
                if (!report.answered) return false;
                one.about.error_code = "runner";
                one.about.error = "not measured: the runner failed before";
                report.regions.push_back(std::move(one.about));
                continue;
            }
            FuseRequest request;
            request.region = one.region;
            request.effort = arguments_.effort;
            const std::string what =
                "[" + std::to_string(i + 1) + "/" + std::to_string(chosen.size()) + "] " + one.about.region;
            auto answer = session_.ask(std::move(request), arguments_.effort.time_limit_s + kMargin, what);
            if (RunnerSession::interrupted() && !answer.result) break;
            take(answer, one.region, one.about);
        }
        report.regions.push_back(std::move(one.about));
    }
    return !failed_;
}

} // namespace

int runFuse(const FuseArguments& arguments) {
    if (!checkUse(arguments.device, arguments.files, {arguments.json})) return kExitUsage;
    if (const Status writable = checkWritable(arguments.json); !writable) {
        complain(writable.error().message());
        return kExitUsage;
    }
    AnalysisPtr analysis;
    if (const int status =
            analyseInputs(arguments.files, {arguments.device, arguments.step, calibrationFolder()}, analysis);
        status != kExitOk)
        return status;
    std::vector<RequestedRegion> chosen;
    if (const int status = chooseAll(*analysis, arguments.regions, chosen); status != kExitOk) return status;

    FuseReport report;
    report.predicted_for = analysis->device.name;
    report.traced = analysis->trace != nullptr;
    const bool went_well = Measuring(arguments, *analysis).run(chosen, report);
    if (!report.answered) return RunnerSession::interrupted() ? kExitInterrupted : kExitRunnerFailed;

    const bool any = std::any_of(report.regions.begin(), report.regions.end(),
                                 [](const MeasuredRegion& one) { return one.result.has_value(); });
    int status = went_well && any ? kExitOk : kExitRunnerFailed;
    if (RunnerSession::interrupted()) status = kExitInterrupted;
    if (status == kExitInterrupted && !any) return status;
    const auto write = [&](const std::string& target, const std::string& text) {
        if (const Status written = writeResult(target, text); !written) {
            complain(written.error().message());
            status = kExitUsage;
        }
    };
    if (!arguments.json.empty()) write(arguments.json, fuseJson(report, *analysis));
    if (arguments.json != "-" && any) write("-", fuseTable(report, *analysis));
    return status;
}

} // namespace fusescope::cli
