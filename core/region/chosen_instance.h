// SPDX-License-Identifier: Apache-2.0
// One occurrence of chosen nodes in the step: its kernels and their time. Private to core/region.
#pragma once

#include "core/analysis/analysis.h"
#include "core/region/subgraph.h"

#include <cstddef>
#include <string>
#include <vector>

namespace fusescope::region {

[[nodiscard]] bool inStep(const Analysis& analysis, KernelId kernel); // the analysed one
void addKernel(const Analysis& analysis, KernelId kernel, Instance& instance);
// With the kernels that its nodes launched; without a trace, with the roofline's estimate.
[[nodiscard]] Instance instanceOf(const Analysis& analysis, std::vector<NodeId> nodes, ModuleId module);
// A graph is one run at sizes of its own. A step may run it several times (micro-batches), or at other sizes.
struct Runs {
    std::size_t times = 1;
    std::string other_sizes; // a sentence where the step's sizes are not the graph's
};
[[nodiscard]] Runs runsOf(const Analysis& analysis, const std::vector<NodeId>& nodes);
// One instance a run: each with its share of the time, the first with all the kernels. At other sizes: without a time,
// which would say nothing about what is measured.
[[nodiscard]] std::vector<Instance> asRun(Instance all, const Runs& runs);

// What the plan promises of these findings inside its nodes becomes its saving.
void addPlanSavings(const Analysis& analysis, const std::vector<std::string>& findings, Instance& instance);
// Sums over the instances, and what else a finding says of itself.
void sumUp(const Analysis& analysis, Finding& work);

} // namespace fusescope::region
