// SPDX-License-Identifier: Apache-2.0
// What the step gets of savings where work runs side by side, on one GPU or on several.
#pragma once

#include "core/analysis/analysis.h"
#include "core/fusion/side_by_side.h"

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace fusescope {

// Savings of instances add up on one GPU; of kernels that run beside others there, by their part. Several work each for
// itself: the step gets what the one leaves that is through last then, and one that saves nothing holds it; nothing is
// promised of what waits in a collective. Where GPUs hand work over (a copy from one to another in the step), the step
// gets all of what an instance saves while no other GPU works.
class StepSavings {
public:
    explicit StepSavings(const Analysis& analysis);          // its trace and step; findings are not looked at
    void add(const Instance& instance, const Range& all_ns); // what it saves of its own time
    [[nodiscard]] bool isTheSum() const noexcept { return gpus_.empty() && !beside_.any(); }
    [[nodiscard]] Range ofStep() const; // ns; on one GPU, and without a trace, the sum

private:
    using Spans = std::vector<std::pair<std::int64_t, std::int64_t>>; // ascending, apart from each other
    struct Gpu {
        std::int32_t device = -1;
        Spans busy, others;  // when it works; when another one does
        double rest_ns = 0;  // from its last work to the last work of all
        bool beside = false; // it works while another one does
        Range beside_ns;     // what it saves meanwhile
        Range before_ns;     // what any of them saves alone, before this one's last work ends
    };
    static void join(Spans& spans);
    static double overlap(const Spans& spans, std::int64_t begin, std::int64_t end);

    const TraceStore* trace_ = nullptr;
    SideBySide beside_;     // on one GPU
    std::vector<Gpu> gpus_; // empty: only one works
    bool hand_over_ = false;
    Range alone_ns_; // saved while no other one works, where they hand over
};

// Plan::predicted_step_ns where work runs side by side in the step; else it stays. savings: as makePlan() was given.
// more: instances beside the plan, with what each saves, ns.
void predictStep(const Analysis& analysis, const MeasuredSavings& savings, Plan& plan,
                 std::span<const std::pair<const Instance*, double>> more = {});

} // namespace fusescope
