// SPDX-License-Identifier: Apache-2.0
// What an FsChain is: the region, its plans, and its kernels found so far by the plans they serve.
#pragma once

#include "kernels/pointwise_chain/plan_cache.h"
#include "kernels/pointwise_chain/program.h"

#include <cuda_runtime_api.h>
#include <shared_mutex>
#include <string>
#include <unordered_map>

struct FsChain {
    fusescope::kernels::chain::Program program;
    mutable fusescope::kernels::chain::PlanCache plans;
    mutable std::shared_mutex mutex;
    mutable std::unordered_map<std::string, cudaKernel_t> kernels;
};
