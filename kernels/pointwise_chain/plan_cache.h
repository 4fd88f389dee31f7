// SPDX-License-Identifier: Apache-2.0
// A region's plans by what they depend on. Making one takes as long as a launch.
#pragma once

#include "kernels/pointwise_chain/plan.h"

#include <memory>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <variant>

namespace fusescope::kernels::chain {

/// May be used by many threads at once.
class PlanCache {
public:
    /// planOf(), with the call's addresses in it.
    std::variant<Plan, std::string> planFor(const Program& program, const FsPointwiseChain& call, int multiprocessors);

private:
    std::shared_mutex mutex_;
    std::unordered_map<std::string, std::shared_ptr<const Plan>> plans_;
};

} // namespace fusescope::kernels::chain
