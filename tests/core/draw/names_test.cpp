// SPDX-License-Identifier: Apache-2.0
#include "core/draw/names.h"
#include "core/draw/text_fit.h"

#include <gtest/gtest.h>

#include <string>

namespace fusescope {
namespace {

TEST(Names, Kernels) {
    EXPECT_EQ(displayKernelName("void at::native::vectorized_elementwise_kernel<4, at::native::Foo>(int)"),
              "vectorized_elementwise_kernel");
    EXPECT_EQ(displayKernelName("void at::native::(anonymous namespace)::CatArrayBatchedCopy<a, b>(x)"),
              "CatArrayBatchedCopy");
    EXPECT_EQ(displayKernelName("void (anonymous namespace)::softmax_warp_forward<float>(float*)"),
              "softmax_warp_forward");
    EXPECT_EQ(displayKernelName("nvjet_tst_192x192_64x4_2x1_v_bz_coopB_TNT"),
              "nvjet_tst_192x192_64x4_2x1_v_bz_coopB_TNT");
    EXPECT_EQ(displayKernelName("triton_red_fused__to_copy_add_0"), "triton_red_fused__to_copy_add_0");
    EXPECT_EQ(displayKernelName(""), "");
    EXPECT_EQ(displayKernelName("<<<"), "<<<");
}

TEST(Names, WhatAGenericKernelDoes) {
    EXPECT_EQ(telltaleKernelName(
                  "void at::native::vectorized_elementwise_kernel<4, at::native::BinaryFunctor<float, float, float, "
                  "at::native::binary_internal::MulFunctor<float> >, std::array<char*, 3ul> >(int)"),
              "vectorized_elementwise_kernel<MulFunctor>");
    EXPECT_EQ(
        telltaleKernelName(
            "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float> > >(x)"),
        "reduce_kernel<MeanOps>");
    EXPECT_EQ(telltaleKernelName("plain"), "plain");
    EXPECT_EQ(telltaleKernelName("f<"), "f");
}

TEST(Names, OpsAndFrames) {
    EXPECT_EQ(displayOpName("aten::mul"), "mul");
    EXPECT_EQ(displayOpName("aten::"), "aten::");
    EXPECT_EQ(displayOpName("x"), "x");
    EXPECT_EQ(displayFrameName("torch/nn/modules/module.py(1775): _call_impl"), "_call_impl");
    EXPECT_EQ(displayFrameName("nn.Module: Qwen3MLP_0"), "Qwen3MLP_0");
    EXPECT_EQ(fileName("/a/b.json"), "b.json");
    EXPECT_EQ(shareText(0.318), "31.8%");
    EXPECT_EQ(shareText(0.0001), "<0.1%");
    EXPECT_EQ(shareText(0), "0.0%");
}

TEST(Names, ModulesReadTheSameEverywhere) {
    ModuleTree tree;
    const auto add = [&](const char* name, const char* type, std::uint32_t parent) {
        Module module;
        module.name = name;
        module.type = type;
        if (!tree.modules.empty()) module.parent = ModuleId(parent);
        tree.modules.push_back(module);
    };
    add("", "Qwen3ForCausalLM", 0);
    add("layers", "ModuleList", 0);
    for (const char* name : {"0", "1", "2"}) add(name, "Qwen3DecoderLayer", 1);
    tree.folds.push_back({{ModuleId(2), ModuleId(3)}});
    tree.modules[2].fold_group = tree.modules[3].fold_group = 0;
    EXPECT_EQ(displayModuleName(tree, ModuleId(0), true), "Qwen3ForCausalLM");
    EXPECT_EQ(displayModuleName(tree, ModuleId(1), true), "layers");
    EXPECT_EQ(displayModuleName(tree, ModuleId(2), true), "layers 0–1 ×2");
    EXPECT_EQ(displayModuleName(tree, ModuleId(3), true), "layers 0–1 ×2");
    EXPECT_EQ(displayModuleName(tree, ModuleId(3), false), "layers 1");
    EXPECT_EQ(displayModuleName(tree, ModuleId(4), true), "layers 2");
    EXPECT_EQ(displayModuleName(tree, ModuleId(9), true), "");
}

TEST(Text, ControlCharactersAreSeen) {
    EXPECT_EQ(visibleText("a\nb"), "a\u240Ab");
    EXPECT_EQ(visibleText(std::string_view("\0", 1)), "\u2400");
    EXPECT_EQ(visibleText("\x7f"), "\u2421");
    EXPECT_EQ(visibleText("\xff\xfe"), "\uFFFD\uFFFD");
    EXPECT_EQ(visibleText("\xed\xa0\x80"), "\uFFFD\uFFFD\uFFFD"); // a surrogate is not text
    EXPECT_EQ(visibleText("\u202Eabc"), "\uFFFD"
                                        "abc");       // nor is a change of direction
    EXPECT_EQ(visibleText("\xef\xbf\xbf"), "\uFFFD"); // U+FFFF is not allowed in XML
    EXPECT_EQ(visibleText("µ → 中"), "µ → 中");
    EXPECT_EQ(visibleText(std::string(100'000, 'x'), 100).size(), 103U);
}

TEST(Text, ElidedFits) {
    const TextStyle style{12};
    EXPECT_EQ(elided("short", style, 200), "short");
    const std::string longer = elided(std::string(500, 'm'), style, 100);
    EXPECT_LE(textWidth(longer, style), 100);
    EXPECT_EQ(longer.substr(longer.size() - 3), "…");
    EXPECT_EQ(elided("anything", style, 3), "");
    EXPECT_EQ(elided("", style, 100), "");
    for (double room = 0; room < 120; room += 1)
        EXPECT_LE(textWidth(elided("µ中文字 kernel name", style, room), style), std::max(room, 0.0)) << room;
}

} // namespace
} // namespace fusescope
