// SPDX-License-Identifier: Apache-2.0
// Regions of the user's own choice on the bundled sample: 2 layers of Qwen3-8B, 4096 tokens of 4096, MLP of 12288.
#include "core/region/chosen.h"
#include "tests/core/region/sample.h"

namespace fusescope {
namespace {

using namespace test;
using Texts = std::vector<std::string>;

Result<ChosenWork> ofNodes(const Analysis& analysis, const std::vector<const char*>& names) {
    RegionWish wish;
    wish.nodes = nodesNamed(*analysis.graph, names);
    return workOfWish(analysis, wish);
}
Result<ChosenWork> ofModule(const Analysis& analysis, const char* path) {
    RegionWish wish;
    wish.module = analysis.link.modules.find(path);
    EXPECT_TRUE(wish.module.valid()) << path;
    return workOfWish(analysis, wish);
}
std::string problemOf(const Result<ChosenWork>& work) { return work ? "" : work.error().message(); }

double kernelTime(const Analysis& analysis, const std::vector<KernelId>& kernels) {
    double ns = 0;
    for (const KernelId kernel : kernels)
        ns += static_cast<double>(analysis.trace->slices.dur[analysis.trace->kernels.slice[kernel.index()].index()]);
    return ns;
}

TEST(ChosenRegion, WhatAFindingHasIsTheFinding) {
    const Result<ChosenWork> work = ofNodes(bothFiles(), {"silu", "mul_15"});
    ASSERT_TRUE(work.ok()) << problemOf(work);
    ASSERT_TRUE(work->finding.has_value());
    EXPECT_EQ(bothFiles().findings[*work->finding].id, "swiglu");
    // A norm's module holds just the norm.
    const Result<ChosenWork> norm = ofModule(bothFiles(), "model.model.layers.1.input_layernorm");
    ASSERT_TRUE(norm.ok() && norm->finding.has_value()) << problemOf(norm);
    EXPECT_EQ(bothFiles().findings[*norm->finding].pattern, Pattern::RmsNorm);
}

TEST(ChosenRegion, AChainOfEveryLayer) {
    const Result<ChosenWork> work = ofNodes(bothFiles(), {"mul_12", "add_8", "softmax"});
    ASSERT_TRUE(work.ok()) << problemOf(work);
    EXPECT_FALSE(work->finding.has_value());
    const ChosenRegion& chosen = work->chosen;
    EXPECT_EQ(chosen.title, "mul_12, add_8, softmax of model.model.layers.0.self_attn");
    EXPECT_EQ(chosen.nodes, (Texts{"mul_12", "add_8", "softmax"}));
    EXPECT_TRUE(chosen.has_form);
    EXPECT_EQ(chosen.reason, "");
    EXPECT_EQ(chosen.note, "");
    EXPECT_EQ(work->region.id, chosen.id);
    EXPECT_TRUE(chosen.backward);
    EXPECT_TRUE(work->region.backward);
    // The sample has two layers that are the same.
    ASSERT_EQ(chosen.work.instances.size(), 2u);
    for (const Instance& instance : chosen.work.instances) {
        EXPECT_EQ(instance.nodes.size(), 3u);
        // Eager: the product by the scale, the mask's addition, the cast to f32 that softmax is asked for, the softmax.
        EXPECT_EQ(instance.forward.size(), 4u);
        EXPECT_DOUBLE_EQ(instance.forward_ns, kernelTime(bothFiles(), instance.forward));
        EXPECT_GT(instance.backward_ns, 0);
    }
    EXPECT_NE(chosen.work.instances[0].nodes, chosen.work.instances[1].nodes);
    // Scores of 32 heads in bf16 and the mask enter, f32 leaves.
    const double scores = 32.0 * 4096 * 4096, mask = 4096.0 * 4096;
    const double bandwidth = bothFiles().device.practicalBandwidth();
    EXPECT_DOUBLE_EQ(chosen.limit_ns, (6 * scores + 2 * mask) / bandwidth * 1e9);
    // Backward: both once more, the result's gradient in f32; the scores' gradient leaves.
    EXPECT_DOUBLE_EQ(chosen.limit_backward_ns, (8 * scores + 2 * mask) / bandwidth * 1e9);
    EXPECT_DOUBLE_EQ(chosen.work.instances[0].fused.bytes(), 14 * scores + 4 * mask);
    EXPECT_DOUBLE_EQ(work->region.fused_bytes, 6 * scores + 2 * mask);
    EXPECT_DOUBLE_EQ(work->region.fused_backward_bytes, 8 * scores + 2 * mask);
    for (const Instance& one : chosen.work.instances)
        EXPECT_DOUBLE_EQ(one.saving_ns.expected,
                         one.forward_ns - chosen.limit_ns + one.backward_ns - chosen.limit_backward_ns);
    EXPECT_EQ(chosen.work.conflicts, (Texts{"attention"}));
}

TEST(ChosenRegion, WithoutAFusedFormItIsTheLimit) {
    const Result<ChosenWork> work = ofNodes(bothFiles(), {"linear_4", "silu"});
    ASSERT_TRUE(work.ok()) << problemOf(work);
    EXPECT_FALSE(work->chosen.has_form);
    EXPECT_EQ(work->chosen.reason, "linear_4 (aten::linear) is no elementwise operator of a chain");
    EXPECT_TRUE(work->region.fused.steps.empty());
    EXPECT_EQ(work->region.baseline.steps.size(), 2u);
    EXPECT_TRUE(work->region.backward);
    // A projection of 4096 tokens from 4096 to 12288: it computes more than it moves.
    const double flops = 2.0 * 4096 * 4096 * 12288;
    EXPECT_DOUBLE_EQ(work->chosen.limit_ns, flops / bothFiles().device.peak(DType::BFloat16, true) * 1e9);
    EXPECT_EQ(work->chosen.limit_backward_ns, 0);
    for (const Instance& one : work->chosen.work.instances)
        EXPECT_NEAR(one.saving_ns.expected, std::max(0.0, one.forward_ns - work->chosen.limit_ns), 1e-6);
}

TEST(ChosenRegion, SmallGapsAreClosed) {
    // The product between them reads what the other branch makes as well.
    const Result<ChosenWork> work = ofNodes(bothFiles(), {"silu", "linear_6"});
    ASSERT_TRUE(work.ok()) << problemOf(work);
    EXPECT_EQ(work->chosen.nodes, (Texts{"silu", "mul_15", "linear_6"}));
    EXPECT_EQ(work->chosen.note, "Added, because they lie between: mul_15");
    // With what lies between it is a finding.
    const Result<ChosenWork> norm = ofNodes(bothFiles(), {"to_9", "pow_1", "mean", "rsqrt", "mul_2", "to_10", "mul_3"});
    ASSERT_TRUE(norm.ok() && norm->finding.has_value()) << problemOf(norm);
}

TEST(ChosenRegion, FindingsInsideAreSwappedIn) {
    // What runs one after another around SwiGLU: a projection stands between its two kernels.
    const Result<ChosenWork> work = ofNodes(bothFiles(), {"silu", "linear_5", "mul_15"});
    ASSERT_TRUE(work.ok()) << problemOf(work);
    const ChosenRegion& chosen = work->chosen;
    EXPECT_TRUE(chosen.swapsIn());
    EXPECT_FALSE(chosen.wholeModule());
    EXPECT_EQ(opsOf(work->region.baseline), (Texts{"aten::silu", "aten::linear", "aten::mul.Tensor"}));
    EXPECT_EQ(opsOf(work->region.fused), (Texts{"aten::linear", "fusescope::swiglu"}));
    EXPECT_TRUE(work->region.backward);
    // Both layers' SwiGLU, as the plan promises them, and no limit of one kernel.
    EXPECT_EQ(chosen.limit_ns, 0);
    EXPECT_DOUBLE_EQ(chosen.work.saving_ns.expected, findingIn(bothFiles(), "swiglu").saving_ns.expected);
    const Result<ChosenWork> again = workOfChosen(bothFiles(), chosen);
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(again->chosen.fusions, chosen.fusions);
}

TEST(ChosenRegion, LargeGapsAreTold) {
    const Result<ChosenWork> work = ofNodes(bothFiles(), {"mul_3", "linear_6"});
    ASSERT_FALSE(work.ok());
    EXPECT_NE(problemOf(work).find("comes back at linear_6"), std::string::npos) << problemOf(work);
    EXPECT_NE(problemOf(work).find("%mul_3"), std::string::npos) << problemOf(work);
}

TEST(ChosenRegion, KernelsStandForTheirNodes) {
    const Analysis& both = bothFiles();
    const Result<ChosenWork> chain = ofNodes(both, {"mul_12", "add_8", "softmax"});
    ASSERT_TRUE(chain.ok());
    RegionWish wish;
    wish.kernels = chain->chosen.work.instances[0].forward;
    const Result<ChosenWork> same = workOfWish(both, wish);
    ASSERT_TRUE(same.ok()) << problemOf(same);
    EXPECT_EQ(same->chosen.id, chain->chosen.id);
    // Of the backward pass, and of the optimizer.
    wish.kernels = chain->chosen.work.instances[0].backward;
    const std::size_t backward = wish.kernels.size();
    ASSERT_GT(backward, 1u);
    const Finding& optimizer = findingIn(both, "optimizer");
    wish.kernels.push_back(optimizer.instances[0].forward.front());
    const Result<ChosenWork> more = workOfWish(both, wish);
    ASSERT_TRUE(more.ok()) << problemOf(more);
    EXPECT_EQ(more->chosen.note.find(std::to_string(backward) + " kernels of the backward pass"), 0u)
        << more->chosen.note;
    EXPECT_NE(more->chosen.note.find("Left out, because no node of the graph launched it: "), std::string::npos);
    // None of them has a node.
    wish.kernels = {wish.kernels.back()};
    EXPECT_NE(problemOf(workOfWish(both, wish)).find("expected kernels that are linked to nodes of the graph"),
              std::string::npos);
}

TEST(ChosenRegion, ALayerWithThePlan) {
    const Analysis& both = bothFiles();
    const Result<ChosenWork> work = ofModule(both, "model.model.layers.0");
    ASSERT_TRUE(work.ok()) << problemOf(work);
    const ChosenRegion& chosen = work->chosen;
    EXPECT_TRUE(chosen.wholeModule());
    EXPECT_EQ(chosen.id, "module.model.model.layers.0");
    EXPECT_EQ(chosen.title, "Layer 0");
    EXPECT_EQ(chosen.fusions, both.plan.findings);
    EXPECT_TRUE(chosen.has_form);
    EXPECT_EQ(work->region.pattern, "layer");
    ASSERT_EQ(chosen.work.instances.size(), 2u) << "two identical layers";
    // Both layers' time is what the model tree says of them.
    double measured = 0;
    for (const char* path : {"model.model.layers.0", "model.model.layers.1"}) {
        const ModuleStats& stats = both.modules[both.link.modules.find(path).index()];
        measured += stats.forward_ns + stats.backward_ns;
    }
    EXPECT_NEAR(chosen.work.time_ns, measured, 1e-3 * measured);
    EXPECT_GT(chosen.work.saving_ns.expected, 0);
    EXPECT_LT(chosen.work.saving_ns.expected, both.plan.saving_ns.expected) << "norm and loss lie outside";
}

TEST(ChosenRegion, ComesBackByItsNames) {
    for (const auto& made :
         {ofNodes(bothFiles(), {"linear_4", "silu"}), ofModule(bothFiles(), "model.model.layers.1")}) {
        ASSERT_TRUE(made.ok());
        ChosenRegion saved;
        saved.module = made->chosen.module;
        saved.nodes = made->chosen.nodes;
        saved.fusions = made->chosen.fusions;
        const Result<ChosenWork> again = workOfChosen(bothFiles(), saved);
        ASSERT_TRUE(again.ok()) << problemOf(again);
        EXPECT_EQ(again->chosen.id, made->chosen.id);
        EXPECT_EQ(again->chosen.work.time_ns, made->chosen.work.time_ns);
    }
    ChosenRegion other;
    other.nodes = {"not_there"};
    EXPECT_EQ(problemOf(workOfChosen(bothFiles(), other)), "region: expected a node of the graph, found 'not_there'");
    other = {};
    other.module = "elsewhere";
    EXPECT_FALSE(workOfChosen(bothFiles(), other).ok());
}

TEST(ChosenRegion, AStepThatRunsTheModelTwice) {
    Analysis twice = bothFiles();
    twice.step = -1; // both steps of the trace as one, as micro-batches are
    const Result<ChosenWork> work = ofNodes(twice, {"mul_12", "add_8", "softmax"});
    ASSERT_TRUE(work.ok()) << problemOf(work);
    ASSERT_EQ(work->chosen.work.instances.size(), 4u) << "two layers, two runs";
    const Instance &first = work->chosen.work.instances[0], &again = work->chosen.work.instances[1];
    EXPECT_EQ(first.forward.size(), 8u);
    EXPECT_DOUBLE_EQ(first.forward_ns + again.forward_ns, kernelTime(twice, first.forward));
    EXPECT_DOUBLE_EQ(first.saving_ns.expected,
                     first.forward_ns - work->chosen.limit_ns + first.backward_ns - work->chosen.limit_backward_ns);
    EXPECT_TRUE(again.forward.empty()) << "kernels are counted once";
}

// The operator has no largest of none: the baseline is measured, as of any nodes without a fused form.
TEST(ChosenRegion, ASoftmaxOfEmptyRowsHasNoChain) {
    Analysis empty = graphAlone();
    empty.graph = analysed({kGraphFile})->graph;              // a copy of its own
    auto* graph = const_cast<ModelGraph*>(empty.graph.get()); // NOLINT: nobody else reads it
    const NodeId softmax = nodeNamed(*graph, "softmax");
    for (const ValueId value : {graph->ops.operand(softmax, 0), graph->ops.output(softmax)})
        graph->ops.values[value.index()].meta.sizes.back() = 0;
    const Result<ChosenWork> work = ofNodes(empty, {"softmax"});
    ASSERT_TRUE(work.ok()) << problemOf(work);
    EXPECT_FALSE(work->chosen.has_form);
    EXPECT_EQ(work->chosen.reason, "softmax (aten::softmax) has rows without elements");
}

TEST(ChosenRegion, AStepAtOtherSizes) {
    Analysis other = bothFiles();
    other.graph = analysed({kGraphFile})->graph; // a copy of its own, for which the step's sizes are others
    auto* graph = const_cast<ModelGraph*>(other.graph.get()); // NOLINT: nobody else reads it
    const NodeId silu = nodeNamed(*graph, "silu");
    graph->ops.values[graph->ops.operand(silu, 0).index()].meta.sizes = {1, 512, 12288};
    const Result<ChosenWork> work = ofNodes(other, {"silu"});
    ASSERT_TRUE(work.ok()) << problemOf(work);
    EXPECT_EQ(
        work->chosen.other_sizes,
        "The step ran it at other sizes (1x4096x12288 into silu, where the graph has 1x512x12288): it is measured "
        "at the graph's, and nothing of it counts in the step");
    EXPECT_EQ(work->chosen.work.time_ns, 0);
    EXPECT_EQ(work->chosen.work.saving_ns.expected, 0);
    EXPECT_EQ(ofNodes(bothFiles(), {"silu"})->chosen.other_sizes, "");
}

TEST(ChosenRegion, NeedsAGraph) {
    RegionWish wish;
    wish.kernels = {KernelId(std::size_t{0})};
    EXPECT_NE(problemOf(workOfWish(traceAlone(), wish)).find("found a trace alone"), std::string::npos);
    // Without a trace the times are estimates.
    const Result<ChosenWork> alone = ofNodes(graphAlone(), {"mul_12", "add_8", "softmax"});
    ASSERT_TRUE(alone.ok()) << problemOf(alone);
    EXPECT_TRUE(alone->chosen.work.time_estimated);
    EXPECT_EQ(alone->chosen.work.instances.size(), 2u);
    EXPECT_GT(alone->chosen.work.time_ns, 0);
}

} // namespace
} // namespace fusescope
