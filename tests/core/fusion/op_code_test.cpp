// SPDX-License-Identifier: Apache-2.0
#include "core/fusion/op_code.h"

#include <gtest/gtest.h>

namespace fusescope::fusion {
namespace {

TEST(OpCode, OneCodeForAllSpellings) {
    EXPECT_EQ(opCodeOf("aten::to"), OpCode::Cast);
    EXPECT_EQ(opCodeOf("aten::_to_copy"), OpCode::Cast);
    EXPECT_EQ(opCodeOf("prims::convert_element_type"), OpCode::Cast);
    EXPECT_EQ(opCodeOf("aten::_softmax"), OpCode::Softmax);
    EXPECT_EQ(opCodeOf("aten::mm"), OpCode::Linear);
    EXPECT_EQ(opCodeOf("aten::bmm"), OpCode::Matmul);
    EXPECT_EQ(opCodeOf("aten::permute"), OpCode::View);
}

TEST(OpCode, OtherLibrariesMeanTheirOwn) {
    EXPECT_EQ(opCodeOf("mylib::mul"), OpCode::Other);
    EXPECT_EQ(opCodeOf(""), OpCode::Other);
    EXPECT_EQ(opCodeOf("aten::mul_something"), OpCode::Other);
}

// Names as in samples/traces/odd-cuda-only.
TEST(OpCode, EagerKernelsByName) {
    EXPECT_EQ(opCodeOfKernel("void at::native::vectorized_elementwise_kernel<4, at::native::rsqrt_kernel_cuda(...)>"),
              OpCode::Rsqrt);
    EXPECT_EQ(opCodeOfKernel(
                  "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float>>>"),
              OpCode::Mean);
    EXPECT_EQ(
        opCodeOfKernel(
            "void at::native::vectorized_elementwise_kernel<8, at::native::(anonymous namespace)::silu_kernel(...)>"),
        OpCode::Silu);
    EXPECT_EQ(opCodeOfKernel("void at::native::vectorized_elementwise_kernel<8, silu_backward_kernel(...)>"),
              OpCode::Other);
    EXPECT_EQ(opCodeOfKernel("nvjet_sm90_tst_64x64_64x13_2x1_v_bz_TNT"), OpCode::Matmul);
    EXPECT_EQ(opCodeOfKernel("triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_0"), OpCode::Other);
}

} // namespace
} // namespace fusescope::fusion
