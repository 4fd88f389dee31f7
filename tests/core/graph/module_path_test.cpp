// SPDX-License-Identifier: Apache-2.0
#include "core/graph/module_path.h"

#include <gtest/gtest.h>

namespace fusescope {
namespace {

TEST(ModulePath, StaysAsItIs) {
    EXPECT_EQ(cleanModulePath(""), "");
    EXPECT_EQ(cleanModulePath("model.layers.0.self_attn"), "model.layers.0.self_attn");
}

TEST(ModulePath, DynamoSpellings) {
    EXPECT_EQ(cleanModulePath("L['self']"), "");
    EXPECT_EQ(cleanModulePath("L['self'].model.embed_tokens"), "model.embed_tokens");
    EXPECT_EQ(cleanModulePath("getattr(L['self'].layers, '0').mlp"), "layers.0.mlp");
    EXPECT_EQ(cleanModulePath("getattr(getattr(L['self'].model.layers, '12').experts, '3')"),
              "model.layers.12.experts.3");
    EXPECT_EQ(cleanModulePath("L['self']._modules['layers']._modules['0']"), "layers.0");
    EXPECT_EQ(cleanModulePath("L__self__"), "");
}

TEST(ModulePath, SecondCallsAreTheSameModule) {
    EXPECT_EQ(cleanModulePath("model.act@1"), "model.act");
    EXPECT_EQ(cleanModulePath("model@2.act@13"), "model.act");
    EXPECT_EQ(cleanModulePath("mail@home"), "mail@home");
}

TEST(ModulePath, OperatorNames) {
    EXPECT_EQ(profilerOpName("torch.ops.aten.mul.Tensor"), "aten::mul");
    EXPECT_EQ(profilerOpName("torch.ops.aten.__and__.Tensor"), "aten::__and__");
    EXPECT_EQ(profilerOpName("torch.ops.higher_order.cond"), "higher_order::cond");
    EXPECT_EQ(profilerOpName("torch.ops._c10d_functional.all_reduce.default"), "_c10d_functional::all_reduce");
    EXPECT_EQ(profilerOpName("_operator.add"), "operator::add");
    EXPECT_EQ(profilerOpName("torch.sym_max"), "torch::sym_max");
    EXPECT_EQ(profilerOpName("math.trunc"), "math::trunc");
    EXPECT_EQ(profilerOpName("#mylib:op"), "mylib:op");
    EXPECT_EQ(profilerOpName("lonely"), "lonely");
    EXPECT_EQ(profilerOpName(""), "");
    EXPECT_EQ(profilerOpName("torch.ops."), "");
    EXPECT_EQ(profilerOpName("torch.ops.aten."), "aten::");
}

TEST(ModulePath, LayerNumbers) {
    EXPECT_EQ(layerNumber("35"), 35);
    EXPECT_EQ(layerNumber("mlp"), -1);
    EXPECT_EQ(layerNumber(""), -1);
    EXPECT_EQ(layerNumber("12345678901234567890"), -1);
    EXPECT_EQ(lastComponent("a.b.C"), "C");
    EXPECT_EQ(lastComponent("C"), "C");
}

} // namespace
} // namespace fusescope
