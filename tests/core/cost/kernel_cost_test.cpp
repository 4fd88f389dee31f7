// SPDX-License-Identifier: Apache-2.0
// How an operator's cost is shared among its kernels.
#include "core/cost/cost.h"
#include "core/cost/multi_tensor.h"
#include "tests/core/cost/toy_costs.h"

#include <gtest/gtest.h>

namespace fusescope {
namespace {

using test::costs;
using test::opWithArgs;
using test::ToyTrace;

TEST(KernelCost, ProductGoesToTheKernelThatMultiplies) { // split-K: the reduction may even take longer
    ToyTrace toy;
    opWithArgs(toy, "aten::mm", {0, 90}, "[[64,4096],[4096,64]]", R"(["c10::BFloat16","c10::BFloat16"])");
    toy.launch(toy.main(), 10, 1);
    toy.launch(toy.main(), 20, 2);
    toy.kernel(100, 5, 1, "nvjet_sm90_tst_64x64");
    toy.kernel(110, 9, 2, "void cublasLt::splitKreduce_kernel<32, 16>");
    const std::vector<OpCost> c = costs(toy);
    EXPECT_DOUBLE_EQ(c[0].flops, 2.0 * 64 * 64 * 4096);
    EXPECT_DOUBLE_EQ(c[1].flops, 0);
    EXPECT_TRUE(c[1].flops_known);
}

TEST(KernelCost, OthersByTime) {
    ToyTrace toy;
    opWithArgs(toy, "aten::fill_", {0, 90}, "[[1000],[]]", R"(["float","Scalar"])");
    toy.launch(toy.main(), 10, 1);
    toy.launch(toy.main(), 20, 2);
    toy.kernel(100, 30, 1);
    toy.kernel(200, 10, 2);
    const std::vector<OpCost> c = costs(toy);
    EXPECT_DOUBLE_EQ(c[0].bytes_written, 3000);
    EXPECT_DOUBLE_EQ(c[1].bytes_written, 1000);
}

TEST(KernelCost, Tf32ByTheKernelsName) {
    ToyTrace toy;
    opWithArgs(toy, "aten::mm", {0, 90}, "[[64,64],[64,64]]", R"(["float","float"])");
    toy.launch(toy.main(), 10, 1);
    toy.kernel(100, 5, 1, "cutlass_80_tensorop_s1688gemm_128x128");
    opWithArgs(toy, "aten::mm", {1000, 90}, "[[64,64],[64,64]]", R"(["float","float"])");
    toy.launch(toy.main(), 1010, 2);
    toy.kernel(1100, 5, 2, "cutlass_80_simt_sgemm_128x32");
    const std::vector<OpCost> c = costs(toy);
    EXPECT_DOUBLE_EQ(c[0].tensor_flops, 2.0 * 64 * 64 * 64);
    EXPECT_DOUBLE_EQ(c[1].tensor_flops, 0);
}

TEST(KernelCost, ListsHaveNoTypesInTraces) { // the kernel's name tells the size of an element
    ToyTrace toy;
    opWithArgs(toy, "aten::cat", {0, 90}, "[[[4,64],[4,64]],[]]", R"(["TensorList","Scalar"])");
    toy.launch(toy.main(), 10, 1);
    toy.kernel(100, 5, 1,
               "void at::native::CatArrayBatchedCopy<at::native::OpaqueType<2u>, unsigned int, 4, 64, 64>(int)");
    const std::vector<OpCost> c = costs(toy);
    EXPECT_DOUBLE_EQ(c[0].bytes_read, 2 * 4 * 64 * 2);
    EXPECT_DOUBLE_EQ(c[0].bytes_written, 2 * 4 * 64 * 2);
}

TEST(KernelCost, LongListsAreReadOffTheGrid) { // 30 tensors and more are recorded as []
    constexpr const char* kAdam =
        "void at::native::multi_tensor_apply_kernel<at::native::FusedOptimizerTensorListMetadata<4>, "
        "at::native::FusedAdamMathFunctor<c10::BFloat16, 4, (at::native::ADAM_MODE)1, false>, float const*>";
    ToyTrace toy;
    opWithArgs(toy, "aten::_fused_adamw_", {0, 90}, "[[],[],[],[]]",
               R"(["TensorList","TensorList","TensorList","TensorList"])");
    toy.launch(toy.main(), 10, 1);
    toy.launch(toy.main(), 20, 2);
    toy.kernel(100, 50, 1, kAdam, 320);
    toy.kernel(200, 5, 2, kAdam, 32);
    const std::vector<OpCost> c = costs(toy);
    EXPECT_DOUBLE_EQ(c[0].bytes_read, 4 * 2 * 320 * 65536.0);
    EXPECT_DOUBLE_EQ(c[0].bytes_written, 3 * 2 * 320 * 65536.0);
    EXPECT_DOUBLE_EQ(c[1].flops, 14 * 32 * 65536.0);
    OpCost none;
    EXPECT_FALSE(multiTensorCost("void at::native::multi_tensor_apply_kernel<SomethingElse>", 320, none));
    EXPECT_FALSE(multiTensorCost("elementwise_kernel", 320, none));
}

TEST(KernelCost, WithoutAnOperatorNothingIsKnown) {
    ToyTrace toy;
    toy.kernel(100, 5, 0);
    const std::vector<OpCost> c = costs(toy);
    EXPECT_FALSE(c[0].flops_known);
    EXPECT_FALSE(c[0].bytes_known);
}

} // namespace
} // namespace fusescope
