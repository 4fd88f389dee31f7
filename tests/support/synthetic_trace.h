// SPDX-License-Identifier: Apache-2.0
// A trace written row by row, for synthetic_analysis.cpp.
#pragma once

#include "core/analysis/analysis.h"

#include <array>
#include <cstdint>
#include <string>

namespace fusescope::testing {

struct Call { // one operator of a layer
    const char *op, *module, *type, *kernel;
    OpKind kind;
    int us;
    double flops, bytes;
};
extern const std::array<Call, 26> kLayer; // a decoder layer, in the order it runs

class TraceMaker {
public:
    TraceMaker(Analysis& a, TraceStore& t, std::string suffix) : a_(a), t_(t), suffix_(std::move(suffix)) {}

    TrackId track(TrackKind kind, std::int64_t tid, const std::string& name, std::int32_t device, std::int64_t stream);
    std::size_t slice(Category category, const std::string& name, TrackId track, std::uint16_t depth, std::int64_t ts,
                      std::int64_t dur, std::int16_t step, std::uint32_t detail = 0xFFFFFFFFU);
    // An operator, its launch and its kernel; both clocks move on.
    void kernel(const Call& call, TrackId cpu, TrackId stream, std::int64_t& cpu_t, std::int64_t& gpu_t,
                std::int16_t step, Direction direction, double factor, std::uint16_t depth = 1);
    // Rows in order of time, as a TraceStore has them; everything that refers to a slice is renumbered.
    void sort();

private:
    Analysis& a_;
    TraceStore& t_;
    std::string suffix_;
};

} // namespace fusescope::testing
