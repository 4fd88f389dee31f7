// SPDX-License-Identifier: Apache-2.0
// A step as a trace with nothing but kernels tells it (ProfilerActivity.CUDA alone): one after the other, 500 ns apart.
#pragma once

#include "tests/core/fusion/sample.h"
#include "tests/core/fusion/toy_step.h"

#include <string>
#include <utility>
#include <vector>

namespace fusescope::test {

inline TracePtr traceOfKernels(const std::vector<std::pair<std::string, std::int64_t>>& names_and_ns) {
    TraceBuilder builder;
    const TrackId stream = builder.track(TrackKind::GpuStream, 0, 7, 0, 7);
    std::int64_t ts = 1000;
    for (const auto& [name, ns] : names_and_ns) {
        CompleteEvent event;
        event.category = Category::Kernel;
        event.name = name;
        event.track = stream;
        event.ts = ts;
        event.dur = ns;
        ts += ns + 500;
        builder.add(event, KernelDetail{});
    }
    return *std::move(builder).finish();
}

inline std::vector<Finding> findingsOfKernels(const std::vector<std::pair<std::string, std::int64_t>>& names_and_ns,
                                              double step_ns) {
    const TracePtr trace = traceOfKernels(names_and_ns);
    Progress progress;
    const Link link = linkTrace(*trace, nullptr, progress);
    FusionInput input;
    input.trace = trace.get();
    input.link = &link;
    input.device = sample().device;
    input.step_ns = step_ns;
    return findFusions(input);
}

} // namespace fusescope::test
