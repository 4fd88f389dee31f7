// SPDX-License-Identifier: GPL-3.0-or-later
#include "serve.h"

#include "calibrate.h"
#include "failure.h"
#include "fuse.h"
#include "torchscript.h"

#include <utility>

namespace fusescope::runner {

RunnerResult Server::answer(const RunnerCall& call, Job& job) {
    struct {
        Server& server;
        Job& job;
        RunnerResult operator()(const DeviceRequest&) const { return hello(server.kernels_problem_); }
        RunnerResult operator()(const CalibrateRequest&) const { return calibrate(server.device_, job); }
        RunnerResult operator()(const LoadTorchscriptRequest& request) const { return loadTorchscript(request, job); }
        RunnerResult operator()(const FuseRequest& request) const {
            const std::chrono::duration<double> idle = Job::Clock::now() - server.idle_since_;
            return fuse(request, server.device_, job, otherJob(server.device_, idle.count()));
        }
        RunnerResult operator()(const CancelRequest&) const { // read where lines are read; never queued
            throw Failed("internal", "a cancel was queued");
        }
    } const visitor{*this, job};
    return std::visit(visitor, call);
}

// After everything of the request was freed, so that what is asked of the device is true.
RunnerError Server::errorOf(const std::exception& error) const {
    RunnerError answered = failureOf(error, {}).error;
    if (device_.lost()) {
        answered.code = "cuda";
        answered.fatal = true;
    } else if (answered.code == "cuda") {
        answered.code = "unsupported"; // a call that CUDA refused; the next one works
    }
    return answered;
}

bool Server::serve(const RunnerRequest& request, const std::atomic<bool>& cancelled) {
    RunnerAnswer answered{request.id, RunnerProgress{}};
    Job job(cancelled, [&](RunnerEvent event) { send_({request.id, std::move(event)}); });
    watchdog_.begin(request.id, job);
    try {
        answered.event = answer(request.call, job);
    } catch (const std::exception& e) {
        answered.event = errorOf(e);
    }
    bool fatal = false;
    if (auto* error = std::get_if<RunnerError>(&answered.event)) fatal = error->fatal;
    if (!fatal) {
        try {
            device_.emptyCache(); // nothing is kept between requests: others may want the memory
        } catch (const std::exception& e) {
            answered.event = errorOf(e);
            fatal = std::get<RunnerError>(answered.event).fatal;
        }
    }
    idle_since_ = Job::Clock::now();
    watchdog_.end();
    send_(answered);
    return !fatal;
}

} // namespace fusescope::runner
