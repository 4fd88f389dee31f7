// SPDX-License-Identifier: Apache-2.0
#include "core/region/region_json.h"
#include "tests/core/region/sample.h"

namespace fusescope {
namespace {

using namespace test;
using Texts = std::vector<std::string>;

Region moduleRegion(const char* module, const Texts& findings, const Analysis& analysis = bothFiles()) {
    const Result<Region> region = regionOfModule(analysis, module, findings);
    EXPECT_TRUE(region.ok()) << module << ": " << (region ? "" : region.error().message());
    return region ? *region : Region{};
}

std::size_t countOf(const RegionProgram& program, const char* op) {
    const Texts ops = opsOf(program);
    return static_cast<std::size_t>(std::count(ops.begin(), ops.end(), op));
}

const Texts kAll{"attention", "rms_norm", "add_rms_norm", "rope", "swiglu", "qkv_projection", "linear_cross_entropy"};

TEST(RegionOfModule, LayerAsItIs) {
    const Region region = moduleRegion("model.model.layers.0", {});
    EXPECT_EQ(region.id, "layer.0");
    EXPECT_EQ(region.pattern, "layer");
    EXPECT_TRUE(region.fused.steps.empty());
    EXPECT_EQ(region.reason, "no fusion was chosen");
    EXPECT_TRUE(region.backward);
    // The hidden state, mask, two tables; 7 projections, 4 norms.
    EXPECT_EQ(region.inputs.size(), 4u + 7u + 4u);
    EXPECT_EQ(region.baseline.outputs.size(), 1u);
    EXPECT_EQ(countOf(region.baseline, "aten::linear"), 7u);
    EXPECT_EQ(countOf(region.baseline, "aten::_assert_tensor_metadata"), 0u);
}

TEST(RegionOfModule, LayerWithFusions) {
    const Region plain = moduleRegion("model.model.layers.0", {}), fused = moduleRegion("model.model.layers.0", kAll);
    EXPECT_EQ(inputTexts(fused), inputTexts(plain));
    EXPECT_EQ(fused.baseline.outputs, plain.baseline.outputs);
    EXPECT_EQ(fused.fused.outputs.size(), 1u);
    EXPECT_EQ(fused.reason, "");
    // The layer's own additions: attention's goes into the norm after it, the MLP's belongs to the next layer's norm.
    EXPECT_EQ(countOf(fused.fused, "fusescope::rms_norm"), 3u);
    EXPECT_EQ(countOf(fused.fused, "fusescope::add_rms_norm"), 1u);
    EXPECT_EQ(countOf(fused.fused, "fusescope::rope"), 1u);
    EXPECT_EQ(countOf(fused.fused, "fusescope::swiglu"), 1u);
    EXPECT_EQ(countOf(fused.fused, "fusescope::attention"), 1u);
    EXPECT_EQ(countOf(fused.fused, "fusescope::qkv_projection_separate"), 1u);
    EXPECT_EQ(countOf(fused.fused, "aten::linear"), 4u) << "o, gate, up, down";
    EXPECT_EQ(countOf(fused.fused, "aten::softmax.int") + countOf(fused.fused, "aten::rsqrt"), 0u);
}

TEST(RegionOfModule, OneFusion) {
    const Region region = moduleRegion("model.model.layers.1", {"swiglu"});
    EXPECT_EQ(countOf(region.fused, "fusescope::swiglu"), 1u);
    EXPECT_EQ(countOf(region.fused, "aten::silu"), 0u);
    EXPECT_EQ(region.fused.steps.size(), region.baseline.steps.size() - 1) << "silu and mul became one";
    EXPECT_EQ(countOf(region.fused, "aten::rsqrt"), 4u);
}

TEST(RegionOfModule, OverlapsAreChosenAsInThePlan) {
    // rms_norm alone takes all four norms; with add_rms_norm one of them goes over to it.
    EXPECT_EQ(countOf(moduleRegion("model.model.layers.0", {"rms_norm"}).fused, "fusescope::rms_norm"), 4u);
    const Region both = moduleRegion("model.model.layers.0", {"rms_norm", "add_rms_norm"});
    EXPECT_EQ(countOf(both.fused, "fusescope::rms_norm"), 3u);
    EXPECT_EQ(countOf(both.fused, "fusescope::add_rms_norm"), 1u);
}

TEST(RegionOfModule, WholeModel) {
    const Region region = moduleRegion("", kAll);
    EXPECT_EQ(region.id, "model");
    EXPECT_EQ(region.pattern, "model");
    ASSERT_EQ(region.baseline.outputs.size(), 1u) << "the logits";
    // Every residual addition is taken into the norm after it; left: the first norm, and q's and k's in two layers.
    EXPECT_EQ(countOf(region.fused, "fusescope::add_rms_norm"), 4u);
    EXPECT_EQ(countOf(region.fused, "fusescope::rms_norm"), 5u);
    EXPECT_EQ(countOf(region.fused, "fusescope::attention"), 2u);
    const auto ids = std::find_if(region.inputs.begin(), region.inputs.end(),
                                  [](const RegionInput& input) { return input.name == "input_ids"; });
    ASSERT_NE(ids, region.inputs.end());
    EXPECT_EQ(ids->fill, Fill::Index);
    EXPECT_EQ(ids->bound, 151936);
    EXPECT_FALSE(ids->gradient);
    // A number lifted out of the code, selected where nothing is masked.
    const auto lifted = std::find_if(region.inputs.begin(), region.inputs.end(), [](const RegionInput& input) {
        return input.name == "c_model_model_lifted_tensor_0";
    });
    ASSERT_NE(lifted, region.inputs.end());
    EXPECT_EQ(lifted->fill, Fill::Constant);
    EXPECT_EQ(lifted->scale, 0);
    EXPECT_LT(regionJson(region).size(), std::size_t{1} << 15);
}

TEST(RegionOfModule, PartsAndNames) {
    EXPECT_EQ(moduleRegion("model.model.layers.0.mlp", kAll).pattern, "selection");
    EXPECT_EQ(moduleRegion("layers.1", {}).title, "model.model.layers.1") << "the end of one path";
    EXPECT_FALSE(regionOfModule(bothFiles(), "input_layernorm", {}).ok()) << "the end of two";
    EXPECT_FALSE(regionOfModule(bothFiles(), "no.such.module", {}).ok());
    const Result<Region> traced = regionOfModule(traceAlone(), "", {});
    ASSERT_FALSE(traced.ok());
    EXPECT_EQ(traced.error().message(),
              "region: expected a graph, whose nodes a module's region is made of, found a trace alone");
    EXPECT_EQ(moduleRegion("model.model.layers.0.mlp", {"attention"}).reason, "none of the chosen fusions lies inside");
}

} // namespace
} // namespace fusescope
