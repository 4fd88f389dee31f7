// SPDX-License-Identifier: Apache-2.0
#include "kernels/pointwise_chain/plan_cache.h"

#include <mutex>

namespace fusescope::kernels::chain {
namespace {

constexpr size_t mostPlans = 1024; // shapes may change with every call

/// What a plan depends on beside the program; "" where a tensor's number of dimensions cannot be.
std::string signatureOf(const Program& program, const FsPointwiseChain& call, int multiprocessors) {
    constexpr uint64_t widestAccess = 16;
    std::vector<int64_t> words{multiprocessors, call.rounding, call.hint.threads, call.hint.blocks_per_sm,
                               call.hint.variant};
    const auto add = [&](const FsChainTensor& t) {
        if (t.dims < 0 || t.dims > FS_CHAIN_MAX_DIMS) return false;
        words.insert(words.end(),
                     {t.dims, t.dtype, t.data != nullptr, int64_t(reinterpret_cast<uintptr_t>(t.data) % widestAccess)});
        words.insert(words.end(), t.size, t.size + t.dims);
        words.insert(words.end(), t.stride, t.stride + t.dims);
        return true;
    };
    for (int i = 0; i < program.inputs; ++i)
        if (!add(call.inputs[i])) return {};
    for (size_t i = 0; i < program.outputs.size(); ++i)
        if (!add(call.outputs[i])) return {};
    return {reinterpret_cast<const char*>(words.data()), words.size() * sizeof(int64_t)};
}

} // namespace

std::variant<Plan, std::string> PlanCache::planFor(const Program& program, const FsPointwiseChain& call,
                                                   int multiprocessors) {
    const std::string signature = signatureOf(program, call, multiprocessors);
    std::shared_ptr<const Plan> known;
    {
        std::shared_lock lock(mutex_);
        if (const auto found = plans_.find(signature); found != plans_.end()) known = found->second;
    }
    if (known) {
        Plan plan = *known;
        for (size_t i = 0; i < plan.inputs.size(); ++i) plan.inputs[i].data = call.inputs[i].data;
        for (size_t i = 0; i < plan.outputs.size(); ++i) plan.outputs[i].data = call.outputs[i].data;
        return plan;
    }
    auto made = planOf(program, call, multiprocessors);
    if (const auto* plan = std::get_if<Plan>(&made); plan && !signature.empty()) {
        auto kept = std::make_shared<const Plan>(*plan);
        std::lock_guard lock(mutex_);
        if (plans_.size() >= mostPlans) plans_.clear();
        plans_[signature] = std::move(kept);
    }
    return made;
}

} // namespace fusescope::kernels::chain
