// SPDX-License-Identifier: Apache-2.0
// What a launch of a plan takes along: the kernel's arguments, and where its sums over rows lie.
#include "kernels/pointwise_chain/plan.h"

#include <bit>

namespace fusescope::kernels::chain {
namespace {

/// floor(n / divisor) for n < 2^31 as a product: (high(n * magic) + n) >> shift.
uint64_t magicOf(uint32_t divisor, uint32_t& shift) {
    for (shift = 0; (uint64_t{1} << shift) < divisor; ++shift) {
    }
    return ((uint64_t{1} << 32) * ((uint64_t{1} << shift) - divisor)) / divisor + 1;
}

struct Filler {
    const Plan& plan;
    std::vector<uint64_t> words;

    void pointer(const char*, int, Dtype, bool, void* value) { words.push_back(reinterpret_cast<uintptr_t>(value)); }
    void number(const char*, int, int, int64_t value) { words.push_back(uint64_t(value)); }
    void divider(const char*, int, int64_t divisor) {
        uint32_t shift = 0;
        const uint64_t magic = plan.wide ? 0 : magicOf(uint32_t(divisor), shift);
        words.push_back(plan.wide ? uint64_t(divisor) : uint64_t(uint32_t(divisor)) | magic << 32);
        words.push_back(shift);
    }
    void factor(int, Dtype dtype, double value) {
        words.push_back(dtype == FS_CHAIN_F64 ? std::bit_cast<uint64_t>(value)
                                              : uint64_t(std::bit_cast<uint32_t>(float(value))));
    }
};

size_t sumsOf(const Plan& plan, const TensorPlan& t) {
    constexpr size_t alignment = 256;
    const size_t bytes = size_t(plan.grid) * size_t(plan.width) * size_t(sizeOf(sumType(t.dtype)));
    return (bytes + alignment - 1) / alignment * alignment;
}

} // namespace

size_t workspaceOf(const Plan& plan) {
    size_t bytes = 0;
    for (const TensorPlan& t : plan.outputs)
        if (t.summed) bytes += sumsOf(plan, t);
    return bytes;
}

void placeSums(Plan& plan, void* workspace) {
    char* at = static_cast<char*>(workspace);
    for (TensorPlan& t : plan.outputs) {
        if (!t.summed) continue;
        t.partial = at;
        at += sumsOf(plan, t);
    }
}

std::vector<uint64_t> argumentsOf(const Program& program, const Plan& plan) {
    Filler filler{plan, {}};
    visitArguments(program, plan, filler);
    return std::move(filler.words);
}

} // namespace fusescope::kernels::chain
