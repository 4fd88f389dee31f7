// SPDX-License-Identifier: Apache-2.0
// Costs of the kernels of small traces, whose operators have arguments.
#pragma once

#include "core/cost/cost.h"
#include "tests/core/link/toy_trace.h"

#include <string_view>
#include <vector>

namespace fusescope::test {

struct Span {
    std::int64_t ts, dur;
};

// dims, types and concrete as in a trace: "[[4,64],[]]", R"(["float","Scalar"])", R"(["","2"])".
inline void opWithArgs(ToyTrace& toy, std::string_view name, Span span, const char* dims, const char* types,
                       const char* concrete = "") {
    CompleteEvent event;
    event.category = Category::CpuOp;
    event.name = name;
    event.track = toy.main();
    event.ts = span.ts;
    event.dur = span.dur;
    CpuOpDetail detail;
    detail.dims = dims;
    detail.types = types;
    detail.concrete = concrete;
    toy.builder().add(event, detail);
}

inline std::vector<OpCost> costs(ToyTrace& toy) {
    const TracePtr trace = toy.finish();
    Progress progress;
    return costOfKernels(*trace, linkTrace(*trace, nullptr, progress));
}

} // namespace fusescope::test
