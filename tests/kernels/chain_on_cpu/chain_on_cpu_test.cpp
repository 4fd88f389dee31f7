// SPDX-License-Identifier: Apache-2.0
// The kernels that pointwise_chain writes, as threads of the CPU, beside the fp64 reference. Built with ThreadSanitizer
// where that works, this sees two threads that touch shared memory without a barrier between; in the build with
// AddressSanitizer, an access beyond a tensor, the workspace or shared memory.
#include "cases.h"
#include "cuda_on_cpu.h"
#include "kernels/pointwise_chain/pointwise_chain_ref.h"

#include <cstdlib>
#include <gtest/gtest.h>
#include <thread>

#define CASE(n)                                                                                                        \
    namespace case_##n {                                                                                               \
        size_t argumentBytes();                                                                                        \
        void run(const void* words);                                                                                   \
    }
#include "cases.inc"
#undef CASE

namespace fusescope::kernels::chain {
namespace {

struct Kernel {
    size_t (*argumentBytes)();
    void (*run)(const void* words);
};

#define CASE(n) {case_##n::argumentBytes, case_##n::run},
const Kernel kernels[] = {
#include "cases.inc"
};
#undef CASE

void launch(const Kernel& kernel, const Plan& plan, const void* words) {
    gridDim.x = unsigned(plan.grid);
    blockDim.x = unsigned(plan.threads);
    for (unsigned b = 0; b < gridDim.x; ++b) {
        cuda_on_cpu::Block block(blockDim.x);
        cuda_on_cpu::block = &block;
        blockIdx.x = b;
        std::vector<std::thread> threads;
        for (unsigned t = 0; t < blockDim.x; ++t)
            threads.emplace_back([&kernel, words, t] {
                threadIdx.x = t;
                cuda_on_cpu::exchanges = 0;
                kernel.run(words);
            });
        for (std::thread& thread : threads) thread.join();
    }
}

double valueAt(const FsChainTensor& t, int64_t at) {
    const char* p = static_cast<const char*>(t.data) + at * sizeOf(t.dtype);
    double wide = 0;
    float narrow = 0;
    uint32_t bits = 0;
    switch (t.dtype) {
    case FS_CHAIN_F64: std::memcpy(&wide, p, sizeof wide); return wide;
    case FS_CHAIN_F32: std::memcpy(&narrow, p, sizeof narrow); return double(narrow);
    case FS_CHAIN_BF16:
        std::memcpy(reinterpret_cast<char*>(&bits) + 2, p, 2);
        std::memcpy(&narrow, &bits, sizeof narrow);
        return double(narrow);
    default: ADD_FAILURE() << "no case has this type"; return 0;
    }
}

/// Every element of a tensor, in the order of its indices.
std::vector<double> valuesOf(const FsChainTensor& t) {
    const int64_t width = t.dims > 0 ? t.size[t.dims - 1] : 1;
    const int64_t step = t.dims > 1 ? t.stride[t.dims - 2] : width; // of rows: nothing else lies apart here
    int64_t rows = 1;
    for (int d = 0; d + 1 < t.dims; ++d) rows *= t.size[d];
    std::vector<double> values;
    for (int64_t r = 0; r < rows; ++r)
        for (int64_t i = 0; i < width; ++i) values.push_back(valueAt(t, r * step + i));
    return values;
}

/// What row_sums.cu makes of the blocks' parts.
std::vector<double> summed(const Plan& plan, const TensorPlan& t) {
    FsChainTensor parts{};
    parts.data = t.partial;
    parts.dtype = sumType(t.dtype);
    std::vector<double> sums(size_t(plan.width));
    for (int64_t b = 0; b < plan.grid; ++b)
        for (size_t c = 0; c < sums.size(); ++c) sums[c] += valueAt(parts, b * plan.width + int64_t(c));
    return sums;
}

class OnCpu : public testing::TestWithParam<size_t> {};

TEST_P(OnCpu, AgreesWithTheReference) {
    const Case& of = cases()[GetParam()];
    SCOPED_TRACE(of.name);
    Prepared made;
    prepare(of, made);
    Plan& plan = made.plan;
    ASSERT_GT(plan.grid, 0);
    std::vector<uint64_t> workspace(workspaceOf(plan) / sizeof(uint64_t) + 64, ~uint64_t{0}); // NaN
    void* start = workspace.data();
    size_t space = workspace.size() * sizeof(uint64_t);
    placeSums(plan, std::align(256, workspaceOf(plan), start, space));
    const std::vector<uint64_t> words = argumentsOf(made.program, plan);
    ASSERT_EQ(kernels[GetParam()].argumentBytes(), words.size() * sizeof(uint64_t));
    launch(kernels[GetParam()], plan, words.data());

    std::vector<std::vector<double>> inputs;
    std::vector<const double*> data;
    for (const FsChainTensor& t : made.inputs) inputs.push_back(valuesOf(t));
    for (const std::vector<double>& values : inputs) data.push_back(values.data());
    const auto want = reference::pointwiseChain(made.program, made.shapes, data, true);
    for (size_t i = 0; i < want.size(); ++i) {
        const bool isSum = plan.outputs[i].summed;
        const std::vector<double> mine = isSum ? summed(plan, plan.outputs[i]) : valuesOf(made.outputs[i]);
        ASSERT_EQ(mine.size(), want[i].size());
        double most = 1, furthest = 0;
        for (double v : want[i]) most = std::max(most, std::abs(v));
        for (size_t e = 0; e < mine.size(); ++e)
            furthest = std::max(furthest, std::isfinite(mine[e]) ? std::abs(mine[e] - want[i][e]) : HUGE_VAL);
        const double step = plan.outputs[i].dtype == FS_CHAIN_BF16 ? 0x1p-7 : 1e-5; // a rounding may fall otherwise
        EXPECT_LE(furthest, most * step) << "output " << i << ", grid " << plan.grid << ", threads " << plan.threads;
    }
}

INSTANTIATE_TEST_SUITE_P(Kernels, OnCpu, testing::Range(size_t{0}, std::size(kernels)));

/// Each kind of plan, and what goes with it, is among the cases.
TEST(Cases, AreOfEveryKind) {
    bool lanes = false, block = false, looped = false, staged = false, once = false;
    for (const Case& of : cases()) {
        Prepared made;
        prepare(of, made);
        const Plan& plan = made.plan;
        lanes = lanes || (plan.kind == Kind::rows && plan.lanes > 0 && plan.persistent);
        block = block || (plan.kind == Kind::rows && plan.lanes == 0 && plan.grid < plan.rows && plan.persistent);
        looped = looped || (plan.kind == Kind::looped && plan.persistent && plan.grid < plan.rows);
        once = once || !plan.persistent;
        for (const TensorPlan& t : plan.inputs) staged = staged || t.staged;
    }
    EXPECT_TRUE(lanes);
    EXPECT_TRUE(block);
    EXPECT_TRUE(looped);
    EXPECT_TRUE(staged);
    EXPECT_TRUE(once);
}

} // namespace
} // namespace fusescope::kernels::chain
