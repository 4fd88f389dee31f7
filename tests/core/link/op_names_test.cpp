// SPDX-License-Identifier: Apache-2.0
#include "core/link/op_names.h"

#include <gtest/gtest.h>

namespace fusescope {
namespace {

TEST(OpNames, BackwardNodeBearsTheNameOfItsForwardOperator) {
    EXPECT_EQ(forwardNameOf("autograd::engine::evaluate_function: MulBackward0"), comparableName("aten::mul"));
    EXPECT_EQ(forwardNameOf("ToCopyBackward0"), comparableName("aten::_to_copy"));
    EXPECT_EQ(forwardNameOf("MeanBackward1"), comparableName("aten::mean"));
    EXPECT_EQ(forwardNameOf("UnsafeViewBackward0"), comparableName("aten::_unsafe_view"));
    EXPECT_EQ(forwardNameOf("ScaledDotProductCudnnAttentionBackward0"),
              comparableName("aten::_scaled_dot_product_cudnn_attention"));
    EXPECT_EQ(forwardNameOf("CompiledFunctionBackward"), comparableName("CompiledFunction"));
    EXPECT_NE(forwardNameOf("MmBackward0"), comparableName("aten::bmm"));
}

TEST(OpNames, ModuleFrames) {
    EXPECT_EQ(moduleFrameName("nn.Module: Qwen3Attention_0"), "Qwen3Attention_0");
    EXPECT_EQ(moduleFrameName("modeling_qwen3.py(241): forward"), "");
    EXPECT_EQ(moduleClass("Qwen3Attention_12"), "Qwen3Attention");
    EXPECT_EQ(moduleClass("My_Module_3"), "My_Module");
    EXPECT_EQ(moduleClass("NoNumber"), "NoNumber");
    EXPECT_EQ(moduleClass("Odd_x1"), "Odd_x1");
}

TEST(OpNames, PhasesOfPythonFunctions) {
    EXPECT_EQ(phaseOfPython("loss_utils.py(49): ForCausalLMLoss"), Phase::Loss);
    EXPECT_EQ(phaseOfPython("torch/nn/functional.py(3421): cross_entropy"), Phase::Loss);
    EXPECT_EQ(phaseOfPython("torch/nn/utils/clip_grad.py(171): clip_grad_norm_"), Phase::GradClip);
    EXPECT_EQ(phaseOfPython("torch/optim/adam.py(214): step"), Phase::Optimizer);
    EXPECT_EQ(phaseOfPython("torch/profiler/profiler.py(894): step"), Phase::Unknown);
    EXPECT_EQ(phaseOfPython("modeling_qwen3.py(446): forward"), Phase::Unknown);
    EXPECT_EQ(phaseOfPython("<built-in function cross_entropy_loss>"), Phase::Unknown);
}

TEST(OpNames, Kinds) {
    EXPECT_EQ(kindOf("aten::mm", "Linear", Direction::Forward, ""), OpKind::Matmul);
    EXPECT_EQ(kindOf("aten::bmm", "Qwen3Attention", Direction::Forward, ""), OpKind::Attention);
    EXPECT_EQ(kindOf("aten::_cudnn_attention_forward", "", Direction::Forward, ""), OpKind::Attention);
    EXPECT_EQ(kindOf("aten::copy_", "Qwen3RMSNorm", Direction::Forward, ""), OpKind::Norm);
    EXPECT_EQ(kindOf("aten::copy_", "", Direction::Forward, ""), OpKind::Copy);
    EXPECT_EQ(kindOf("aten::mul", "Qwen3MLP", Direction::Backward, ""), OpKind::Mlp);
    EXPECT_EQ(kindOf("aten::mul", "", Direction::Optimizer, ""), OpKind::Optimizer);
    EXPECT_EQ(kindOf("aten::gather", "Embedding", Direction::Forward, ""), OpKind::Embedding);
    EXPECT_EQ(kindOf("", "", Direction::Other, "ncclDevKernel_AllReduce"), OpKind::Communication);
    EXPECT_EQ(kindOf("", "", Direction::Other, "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT"), OpKind::Matmul);
}

} // namespace
} // namespace fusescope
