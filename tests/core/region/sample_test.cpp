// SPDX-License-Identifier: Apache-2.0
// Regions of the sample's findings. What they should be is read off the model (modeling_qwen3.py, Qwen3-8B's sizes at
// 1 x 4096 tokens), the printed graph and the operators' schemas.
#include "core/region/region_json.h"
#include "tests/core/region/sample.h"
#include "tests/core/region/sizes.h"

namespace fusescope {
namespace {

using namespace test;
using Texts = std::vector<std::string>;

Region first(const Analysis& analysis, const char* id, std::size_t instance = 0) {
    const Result<Region> region = regionOfInstance(analysis, findingIn(analysis, id), instance);
    EXPECT_TRUE(region.ok()) << id << ": " << (region ? "" : region.error().message());
    return region ? *region : Region{};
}

TEST(RegionOfInstance, RmsNorm) {
    const Region region = first(bothFiles(), "rms_norm");
    EXPECT_EQ(region.id, "rms_norm");
    EXPECT_EQ(region.pattern, "rms_norm");
    EXPECT_EQ(region.title, "RMSNorm of model.model.layers.0.input_layernorm");
    EXPECT_EQ(region.numerics, "framework order");
    EXPECT_TRUE(region.backward);
    ASSERT_EQ(region.inputs.size(), 2u);
    EXPECT_EQ(region.inputs[0].name, "embedding");
    EXPECT_EQ(region.inputs[0].meta.sizes, (std::vector<std::int64_t>{1, 4096, 4096}));
    EXPECT_EQ(region.inputs[1].name, "p_model_model_layers_0_input_layernorm_weight");
    EXPECT_EQ(region.inputs[1].meta.sizes, std::vector<std::int64_t>{4096});
    EXPECT_EQ(inputTexts(region), (Texts{"bf16 1x4096x4096 normal grad", "bf16 4096 near_one grad"}));
    EXPECT_EQ(opsOf(region.baseline),
              (Texts{"aten::to.dtype", "aten::pow.Tensor_Scalar", "aten::mean.dim", "aten::add.Tensor", "aten::rsqrt",
                     "aten::mul.Tensor", "aten::to.dtype", "aten::mul.Tensor"}));
    EXPECT_EQ(region.baseline.outputs, (std::vector<RegionRef>{{7, 0}}));
    EXPECT_EQ(*argOf(region.baseline.steps[0], "dtype"), RegionArgValue(RegionDType{DType::Float32}));
    EXPECT_EQ(*argOf(region.baseline.steps[1], "exponent"), RegionArgValue(std::int64_t{2}));
    EXPECT_EQ(*argOf(region.baseline.steps[2], "dim"), RegionArgValue(std::vector<std::int64_t>{-1}));
    EXPECT_EQ(*argOf(region.baseline.steps[2], "keepdim"), RegionArgValue(true));
    EXPECT_EQ(region.baseline.steps[7].label, "mul_3");

    ASSERT_EQ(opsOf(region.fused), Texts{"fusescope::rms_norm"});
    EXPECT_EQ(*argOf(region.fused.steps[0], "x"), RegionArgValue(RegionRef{-1, 0}));
    EXPECT_EQ(*argOf(region.fused.steps[0], "weight"), RegionArgValue(RegionRef{-1, 1}));
    EXPECT_EQ(*argOf(region.fused.steps[0], "eps"), RegionArgValue(1e-6));
    EXPECT_EQ(region.fused.outputs, (std::vector<RegionRef>{{0, 0}}));
    EXPECT_EQ(region.reason, "");
    // x read and y written in bf16, the weight, 1/rms in fp32 saved for the backward.
    EXPECT_EQ(region.fused_bytes, 2 * 2.0 * 4096 * 4096 + 2 * 4096 + 4 * 4096);
    // dy and x read, dx written; small: the weight, its gradient, 1/rms.
    EXPECT_NEAR(region.fused_backward_bytes, 3 * 2.0 * 4096 * 4096, 100'000);
}

TEST(RegionOfInstance, AddRmsNorm) {
    const Region region = first(bothFiles(), "add_rms_norm");
    EXPECT_EQ(inputTexts(region),
              (Texts{"bf16 1x4096x4096 normal grad", "bf16 1x4096x4096 normal grad", "bf16 4096 near_one grad"}));
    EXPECT_EQ(region.baseline.steps.size(), 9u);
    EXPECT_EQ(region.baseline.outputs.size(), 2u) << "the sum is the next residual";
    EXPECT_EQ(opsOf(region.fused), Texts{"fusescope::add_rms_norm"});
    EXPECT_EQ(region.fused.steps[0].outputs, 2u);
    // In the order of the nodes: the sum first, then the norm of it.
    EXPECT_EQ(region.fused.outputs, (std::vector<RegionRef>{{0, 1}, {0, 0}}));
}

TEST(RegionOfInstance, Rope) {
    const Region region = first(bothFiles(), "rope");
    EXPECT_EQ(inputTexts(region), (Texts{"bf16 1x1x4096x128 uniform", "bf16 1x1x4096x128 uniform",
                                         "bf16 1x32x4096x128 normal grad", "bf16 1x8x4096x128 normal grad"}));
    EXPECT_EQ(region.inputs[0].meta.strides, (std::vector<std::int64_t>{16777216, 128, 4096, 1}))
        << "q is a transposed view";
    EXPECT_EQ(region.baseline.steps.size(), 14u) << "two slices, neg, cat, two mul, add; twice";
    EXPECT_EQ(opsOf(region.fused), (Texts{"aten::squeeze.dim", "aten::squeeze.dim", "fusescope::rope"}));
    EXPECT_EQ(*argOf(region.fused.steps[2], "unsqueeze_dim"), RegionArgValue(std::int64_t{1}));
    EXPECT_EQ(*argOf(region.fused.steps[2], "q"), RegionArgValue(RegionRef{-1, 0}));
    EXPECT_EQ(region.fused.outputs, (std::vector<RegionRef>{{2, 0}, {2, 1}}));
}

TEST(RegionOfInstance, Attention) {
    const Region region = first(bothFiles(), "attention");
    EXPECT_EQ(inputTexts(region), (Texts{"bf16 1x1x4096x4096 causal", "bf16 1x32x4096x128 normal grad",
                                         "bf16 1x8x4096x128 normal grad", "bf16 1x8x4096x128 normal grad"}));
    EXPECT_EQ(opsOf(region.fused), (Texts{"fusescope::attention", "aten::transpose.int", "aten::contiguous"}));
    const RegionStep& step = region.fused.steps[0];
    // The sample's mask is key <= query on arange alone: no data reaches it.
    EXPECT_EQ(*argOf(step, "causal"), RegionArgValue(true));
    EXPECT_EQ(*argOf(step, "mask"), RegionArgValue(RegionNone{}));
    EXPECT_EQ(*argOf(step, "scale"), RegionArgValue(0.08838834764831845)); // 128^-0.5 as in the printed graph
    const auto input = [&](const char* name) {
        return region.inputs[std::get<RegionRef>(*argOf(step, name)).index].name;
    };
    EXPECT_EQ(input("q"), "add_6");
    EXPECT_EQ(input("k"), "add_7");
    EXPECT_EQ(input("v"), "transpose_3");
    ASSERT_EQ(region.baseline.outputs.size(), 1u);
    EXPECT_EQ(region.baseline.steps[static_cast<std::size_t>(region.baseline.outputs[0].step)].label, "contiguous");
}

TEST(RegionOfInstance, SwiGlu) {
    const Region region = first(bothFiles(), "swiglu");
    EXPECT_EQ(opsOf(region.baseline), (Texts{"aten::silu", "aten::mul.Tensor"}));
    EXPECT_EQ(inputTexts(region), (Texts{"bf16 1x4096x12288 normal grad", "bf16 1x4096x12288 normal grad"}));
    EXPECT_EQ(opsOf(region.fused), Texts{"fusescope::swiglu"});
    EXPECT_EQ(region.inputs[0].name, "linear_4") << "what silu reads";
    EXPECT_EQ(*argOf(region.fused.steps[0], "gate"), RegionArgValue(RegionRef{-1, 0}));
    // Two read, one written, 4096 x 12288 of 2 bytes; backward: dh, gate, up read, two gradients written.
    EXPECT_EQ(region.fused_bytes, 3 * 2.0 * 4096 * 12288);
    EXPECT_EQ(region.fused_backward_bytes, 5 * 2.0 * 4096 * 12288);
}

TEST(RegionOfInstance, QkvProjection) {
    const Region region = first(bothFiles(), "qkv_projection");
    EXPECT_EQ(inputTexts(region), (Texts{"bf16 1024x4096 normal grad", "bf16 1024x4096 normal grad",
                                         "bf16 1x4096x4096 normal grad", "bf16 4096x4096 normal grad"}));
    EXPECT_EQ(region.inputs[1].scale, 1 / 64.0) << "1 / sqrt(4096)";
    EXPECT_EQ(opsOf(region.fused), Texts{"fusescope::qkv_projection_separate"});
    EXPECT_EQ(region.fused.outputs, (std::vector<RegionRef>{{0, 0}, {0, 1}, {0, 2}}));
}

TEST(RegionOfInstance, LossOutsideTheGraph) {
    // The exported model ends with the logits: the form is the catalogue's.
    const Region region = first(bothFiles(), "linear_cross_entropy");
    EXPECT_EQ(inputTexts(region),
              (Texts{"bf16 151936x4096 normal grad", "bf16 1x4096x4096 normal grad", "i64 4096 index 151936"}));
    EXPECT_EQ(opsOf(region.baseline),
              (Texts{"aten::linear", "aten::to.dtype", "aten::view", "aten::cross_entropy_loss"}));
    EXPECT_EQ(opsOf(region.fused), (Texts{"aten::reshape", "fusescope::linear_cross_entropy"}));
    EXPECT_EQ(*argOf(region.fused.steps[1], "ignore_index"), RegionArgValue(std::int64_t{-100}));
    EXPECT_TRUE(region.backward);
    // Its forward makes the gradients: logits, dx and dweight, three products of 2 T H V.
    EXPECT_NEAR(region.fused_flops, 3.0 * 2 * 4096 * 4096 * 151936, 1e9);
    EXPECT_EQ(region.fused_backward_flops, 0);
    EXPECT_EQ(region.fused_backward_bytes, 0);
    EXPECT_NE(region.reason.find("compare forward and backward together"), std::string::npos);
}

TEST(RegionOfInstance, EveryFindingOfEverySource) {
    for (const Analysis* analysis : {&bothFiles(), &graphAlone(), &traceAlone()})
        for (const Finding& finding : analysis->findings) {
            const Result<Region> region = regionOfInstance(*analysis, finding, 0);
            if (finding.pattern == Pattern::Optimizer) {
                EXPECT_FALSE(region.ok());
                continue;
            }
            ASSERT_TRUE(region.ok()) << finding.id << ": " << region.error().message();
            EXPECT_TRUE(checkRegion(*region).ok());
            EXPECT_FALSE(region->fused.steps.empty()) << finding.id << ": " << region->reason;
            EXPECT_TRUE(region->backward) << finding.id;
            EXPECT_GT(region->fused_bytes, 0) << finding.id;
            const bool apart = finding.pattern != Pattern::LinearCrossEntropy; // gradients not in the forward
            EXPECT_EQ(region->fused_backward_bytes > 0, apart && analysis->trace != nullptr) << finding.id;
        }
}

TEST(RegionOfInstance, TraceAloneHasTheSameInputs) {
    for (const char* id : {"rms_norm", "add_rms_norm", "rope", "attention", "swiglu", "qkv_projection"}) {
        const Finding &known = findingIn(graphAlone(), id), &traced = findingIn(traceAlone(), id);
        ASSERT_EQ(distinctInstances(graphAlone(), known).size(), distinctInstances(traceAlone(), traced).size()) << id;
        for (const RegionClass& one : distinctInstances(traceAlone(), traced)) {
            const Region from_graph = first(graphAlone(), id, one.instance),
                         from_trace = first(traceAlone(), id, one.instance);
            EXPECT_EQ(inputTexts(from_trace), inputTexts(from_graph)) << id << one.instance;
            EXPECT_EQ(opsOf(from_trace.fused), opsOf(from_graph.fused)) << id << one.instance;
            EXPECT_EQ(from_trace.baseline.outputs.size(), from_graph.baseline.outputs.size()) << id << one.instance;
        }
    }
    const Region attention = first(traceAlone(), "attention");
    EXPECT_EQ(*argOf(attention.fused.steps[0], "causal"), RegionArgValue(true));
    EXPECT_EQ(*argOf(attention.fused.steps[0], "scale"), RegionArgValue(0.08838834764831845));
    const Region norm = first(traceAlone(), "rms_norm");
    EXPECT_EQ(opsOf(norm.baseline), opsOf(first(graphAlone(), "rms_norm").baseline));
    EXPECT_EQ(norm.inputs[0].name, "x");
    EXPECT_EQ(norm.inputs[1].name, "weight");
    EXPECT_EQ(*argOf(norm.fused.steps[0], "eps"), RegionArgValue(1e-6));
}

TEST(RegionOfInstance, AttentionThatIsFusedAlready) {
    Finding finding = findingOf(Pattern::Attention, smallSizes(Pattern::Attention));
    EXPECT_EQ(opsOf(regionOfInstance(Analysis{}, finding, 0)->baseline).front(), "aten::unsqueeze") << "spelled out";
    finding.instances[0].state = FusionState::Fused;
    const Result<Region> region = regionOfInstance(Analysis{}, finding, 0);
    ASSERT_TRUE(region.ok()) << region.error().message();
    EXPECT_EQ(opsOf(region->baseline), Texts{"aten::scaled_dot_product_attention"});
    EXPECT_EQ(*argOf(region->baseline.steps[0], "is_causal"), RegionArgValue(true));
    EXPECT_EQ(*argOf(region->baseline.steps[0], "enable_gqa"), RegionArgValue(true)); // 4 heads on 2
    ASSERT_EQ(opsOf(region->fused), Texts{"fusescope::attention"});
    EXPECT_EQ(*argOf(region->fused.steps[0], "causal"), RegionArgValue(true));
    EXPECT_EQ(argOf(region->fused.steps[0], "scale"), nullptr) << "the default of both";
}

TEST(RegionOfInstance, DistinctOnes) {
    // Hidden size 4096 five times; q's norm with 32 heads and k's with 8, twice each.
    const std::vector<RegionClass> norms = distinctInstances(bothFiles(), findingIn(bothFiles(), "rms_norm"));
    ASSERT_EQ(norms.size(), 3u);
    EXPECT_EQ(norms[0].count, 5u);
    EXPECT_EQ(norms[1].count, 2u);
    EXPECT_EQ(norms[2].count, 2u);
    EXPECT_EQ(norms[0].instance, 0u);
    const Region q = first(bothFiles(), "rms_norm", norms[1].instance),
                 k = first(bothFiles(), "rms_norm", norms[2].instance);
    EXPECT_EQ(q.inputs[0].meta.sizes, (std::vector<std::int64_t>{1, 4096, 32, 128}));
    EXPECT_EQ(k.inputs[0].meta.sizes, (std::vector<std::int64_t>{1, 4096, 8, 128}));
    EXPECT_EQ(q.id, "rms_norm#" + std::to_string(norms[1].instance));
    EXPECT_EQ(distinctInstances(bothFiles(), findingIn(bothFiles(), "attention")).size(), 1u);
}

TEST(RegionOfInstance, QkNormRope) {
    const Analysis& analysis = graphAlone();
    const Result<Region> region = regionOfInstance(analysis, qkNormRope(analysis), 0);
    ASSERT_TRUE(region.ok()) << region.error().message();
    EXPECT_EQ(region->reason, "");
    EXPECT_EQ(opsOf(region->fused), (Texts{"aten::squeeze.dim", "aten::squeeze.dim", "fusescope::qk_norm_rope",
                                           "aten::transpose.int", "aten::transpose.int"}));
    const auto input = [&](const char* name) {
        return region->inputs[std::get<RegionRef>(*argOf(region->fused.steps[2], name)).index].name;
    };
    EXPECT_EQ(input("q"), "view"); // before the norms: [B, S, H, D]
    EXPECT_EQ(input("k"), "view_1");
    EXPECT_EQ(input("q_weight"), "p_model_model_layers_0_self_attn_q_norm_weight");
    EXPECT_EQ(input("k_weight"), "p_model_model_layers_0_self_attn_k_norm_weight");
    EXPECT_EQ(region->baseline.outputs.size(), 2u);
}

TEST(RegionOfInstance, Refusals) {
    EXPECT_FALSE(regionOfInstance(bothFiles(), findingIn(bothFiles(), "rms_norm"), 900).ok());
    const Result<Region> unknown = regionOfInstance(Analysis{}, findingOf(Pattern::RmsNorm, {}), 0);
    ASSERT_FALSE(unknown.ok());
    EXPECT_EQ(unknown.error().message(),
              "catalogue: expected a region whose shapes are known, found none: the trace was "
              "recorded without record_shapes");
    Geometry odd = smallSizes(Pattern::Attention);
    odd.kv_heads = 3;
    EXPECT_FALSE(regionOfInstance(Analysis{}, findingOf(Pattern::Attention, odd), 0).ok());
    Geometry huge = smallSizes(Pattern::RmsNorm);
    huge.sizes = {std::int64_t{1} << 40, std::int64_t{1} << 40};
    EXPECT_FALSE(regionOfInstance(Analysis{}, findingOf(Pattern::RmsNorm, huge), 0).ok());
}

} // namespace
} // namespace fusescope
