// SPDX-License-Identifier: Apache-2.0
// Small traces for the trace matchers: operators one after the other, each launching one kernel.
#pragma once

#include "core/cost/cost.h"
#include "core/fusion/matchers.h"
#include "core/link/link.h"
#include "core/trace/trace_builder.h"

#include <gtest/gtest.h>

#include <string>

namespace fusescope::test {

class ToyStep {
public:
    ToyStep() {
        thread_ = builder_.track(TrackKind::CpuThread, 100, 1);
        stream_ = builder_.track(TrackKind::GpuStream, 0, 7, 0, 7);
    }
    // dims and types as in a trace: "[[4, 64], []]", "[\"float\", \"Scalar\"]"; concrete: "[\"\", \"2\"]".
    void op(const char* name, const char* dims = "", const char* types = "", const char* concrete = "",
            const char* kernel = "elementwise_kernel", std::int64_t gpu_ns = 5000) {
        CompleteEvent event;
        event.category = Category::CpuOp;
        event.name = name;
        event.track = thread_;
        event.ts = cpu_;
        event.dur = 900;
        CpuOpDetail detail;
        detail.dims = dims;
        detail.types = types;
        detail.concrete = concrete;
        builder_.add(event, detail);
        if (kernel != nullptr) {
            ++correlation_;
            CompleteEvent launch;
            launch.category = Category::CudaRuntime;
            launch.name = "cudaLaunchKernel";
            launch.track = thread_;
            launch.ts = cpu_ + 100;
            launch.dur = 100;
            launch.correlation = correlation_;
            builder_.add(launch);
            CompleteEvent gpu;
            gpu.category = Category::Kernel;
            gpu.name = kernel;
            gpu.track = stream_;
            gpu_ = std::max(gpu_ + 1000, cpu_ + 500);
            gpu.ts = gpu_;
            gpu.dur = gpu_ns;
            gpu.correlation = correlation_;
            if (!side_by_side) gpu_ += gpu_ns;
            KernelDetail kernel_detail;
            kernel_detail.device = 0;
            kernel_detail.stream = 7;
            builder_.add(gpu, kernel_detail);
        }
        cpu_ += pace;
    }
    // A range of the CPU thread around the next `ops` operators.
    void annotation(const char* name, std::int64_t ops) {
        CompleteEvent event;
        event.category = Category::UserAnnotation;
        event.name = name;
        event.track = thread_;
        event.ts = cpu_ - 10;
        event.dur = ops * pace;
        builder_.add(event);
    }
    bool side_by_side = false; // kernels do not wait for the one before
    std::int64_t pace = 1000;  // ns from one operator to the next on the CPU

    void finish() {
        Result<TracePtr> made = std::move(builder_).finish();
        ASSERT_TRUE(made.ok());
        trace = *made;
        Progress progress;
        link = linkTrace(*trace, nullptr, progress);
        costs = costOfKernels(*trace, link);
    }
    fusion::Matches match() {
        finish();
        return fusion::matchTrace(fusion::StepOps(*trace, link, -1));
    }
    FusionInput input(DeviceSpec device) const {
        FusionInput in;
        in.trace = trace.get();
        in.link = &link;
        in.kernel_costs = &costs;
        in.device = std::move(device);
        in.step_ns = static_cast<double>(trace->end - trace->begin);
        return in;
    }
    TracePtr trace;
    Link link;
    std::vector<OpCost> costs;

private:
    TraceBuilder builder_;
    TrackId thread_, stream_;
    std::int64_t cpu_ = 1000, gpu_ = 0;
    std::uint32_t correlation_ = 0;
};

struct NormStep {
    const char* mean_result = "[[1, 16, 1], [], []]"; // what eps is added to
    const char* weight = "c10::BFloat16";
    const char* exponent = "[\"\", \"2\"]";
    const char* product = "[[1, 16, 64], [1, 16, 1]]";
    bool add_eps = true;
};

inline void addNorm(ToyStep& step, const NormStep& n = {}) {
    step.op("aten::to", "[[1, 16, 64], []]", "[\"c10::BFloat16\", \"Scalar\"]", "[\"\", \"6\"]");
    step.op("aten::pow", "[[1, 16, 64], []]", "[\"float\", \"Scalar\"]", n.exponent);
    step.op("aten::mean", "[[1, 16, 64], [], []]", "[\"float\", \"ScalarList\", \"Scalar\"]",
            "[\"\", \"[-1]\", \"True\"]");
    if (n.add_eps) step.op("aten::add", n.mean_result, "[\"float\", \"double\", \"Scalar\"]", "[\"\", \"\", \"1\"]");
    step.op("aten::rsqrt", "[[1, 16, 1]]", "[\"float\"]");
    step.op("aten::mul", n.product, "[\"float\", \"float\"]");
    step.op("aten::to", "[[1, 16, 64], []]", "[\"float\", \"Scalar\"]", "[\"\", \"15\"]");
    const std::string types = std::string("[\"") + n.weight + "\", \"c10::BFloat16\"]";
    step.op("aten::mul", "[[64], [1, 16, 64]]", types.c_str());
}

} // namespace fusescope::test
