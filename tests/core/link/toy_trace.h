// SPDX-License-Identifier: Apache-2.0
// Small traces for tests, written row by row (times in ns, any order).
#pragma once

#include "core/trace/trace_builder.h"

#include <gtest/gtest.h>

#include <string_view>

namespace fusescope::test {

class ToyTrace {
public:
    ToyTrace() {
        main_ = builder_.track(TrackKind::CpuThread, 100, 1);
        backward_ = builder_.track(TrackKind::CpuThread, 100, 2);
        stream_ = builder_.track(TrackKind::GpuStream, 0, 7, 0, 7);
    }
    [[nodiscard]] TrackId main() const { return main_; }
    [[nodiscard]] TrackId backwardThread() const { return backward_; }
    TrackId thread(std::int64_t pid, std::int64_t tid) { return builder_.track(TrackKind::CpuThread, pid, tid); }

    struct Op {
        std::uint32_t external = 0;
        std::int64_t sequence = -1, fwd_thread = 0;
    };
    void op(TrackId track, std::string_view name, std::int64_t ts, std::int64_t dur) { op(track, name, ts, dur, Op{}); }
    void op(TrackId track, std::string_view name, std::int64_t ts, std::int64_t dur, Op with) {
        CompleteEvent event = row(Category::CpuOp, name, track, ts, dur);
        event.external_id = with.external;
        CpuOpDetail detail;
        detail.sequence = with.sequence;
        detail.fwd_thread = with.fwd_thread;
        builder_.add(event, detail);
    }
    void python(TrackId track, std::string_view name, std::int64_t ts, std::int64_t dur) {
        builder_.add(row(Category::PythonFunction, name, track, ts, dur));
    }
    void annotation(TrackId track, std::string_view name, std::int64_t ts, std::int64_t dur) {
        builder_.add(row(Category::UserAnnotation, name, track, ts, dur));
    }
    void launch(TrackId track, std::int64_t ts, std::uint32_t correlation, std::uint32_t external = 0,
                std::string_view name = "cudaLaunchKernel", Category category = Category::CudaRuntime) {
        CompleteEvent event = row(category, name, track, ts, 2);
        event.correlation = correlation;
        event.external_id = external;
        builder_.add(event);
    }
    void kernel(std::int64_t ts, std::int64_t dur, std::uint32_t correlation, std::string_view name = "some_kernel",
                std::uint32_t grid = 1) {
        CompleteEvent event = row(Category::Kernel, name, stream_, ts, dur);
        event.correlation = correlation;
        KernelDetail detail;
        detail.device = 0;
        detail.stream = 7;
        detail.grid = {grid, 1, 1};
        builder_.add(event, detail);
    }
    TraceBuilder& builder() { return builder_; }
    TracePtr finish() {
        Result<TracePtr> trace = std::move(builder_).finish();
        EXPECT_TRUE(trace.ok());
        return trace.ok() ? *trace : nullptr;
    }

private:
    static CompleteEvent row(Category category, std::string_view name, TrackId track, std::int64_t ts,
                             std::int64_t dur) {
        CompleteEvent event;
        event.category = category;
        event.name = name;
        event.track = track;
        event.ts = ts;
        event.dur = dur;
        return event;
    }
    TraceBuilder builder_;
    TrackId main_, backward_, stream_;
};

} // namespace fusescope::test
