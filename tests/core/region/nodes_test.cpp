// SPDX-License-Identifier: Apache-2.0
// Regions of chosen nodes: what enters and leaves, what is refused, and the text of pointwise_chain.
#include "core/region/node_step.h"
#include "tests/core/fusion/toy_graph.h"
#include "tests/core/region/sample.h"

namespace fusescope {
namespace {

using namespace test;
using Texts = std::vector<std::string>;

std::string problemOf(const Result<Region>& region) { return region ? "" : region.error().message(); }

std::string chainOf(const Result<Region>& region) {
    if (!region || region->fused.steps.size() != 1) return region ? region->reason : problemOf(region);
    return std::get<std::string>(*argOf(region->fused.steps[0], "program"));
}

const ModelGraph& graph() { return *graphAlone().graph; }

TEST(RegionOfNodes, SiluAndMul) {
    const Result<Region> region = regionOfNodes(graph(), nodesNamed(graph(), {"silu", "mul_15"}));
    ASSERT_TRUE(region.ok()) << region.error().message();
    EXPECT_EQ(region->id, "selection");
    EXPECT_EQ(region->title, "2 nodes of model.model.layers.0.mlp");
    // SWIGLU of tests/gpu/regions.py.
    EXPECT_EQ(chainOf(region), "%0 = input bf16\n%1 = input bf16\n%2 = silu.bf16 %0\n%3 = mul.bf16 %2 %1\noutput %3\n");
    EXPECT_TRUE(region->backward);
    EXPECT_EQ(region->reason, "");
}

TEST(RegionOfNodes, RmsNorm) {
    const Result<Region> region = regionOfNodes(
        graph(), nodesNamed(graph(), {"to_9", "pow_1", "mean", "add_3", "rsqrt", "mul_2", "to_10", "mul_3"}));
    // RMS_NORM of tests/gpu/regions.py: x and weight enter in this order, nothing but y leaves.
    EXPECT_EQ(chainOf(region), "%0 = input bf16\n"
                               "%1 = input bf16\n"
                               "%2 = to.f32 %0\n"
                               "%3 = pow.f32 %2 2\n"
                               "%4 = mean.f32 %3\n"
                               "%5 = add.f32 %4 1e-06\n"
                               "%6 = rsqrt.f32 %5\n"
                               "%7 = mul.f32 %2 %6\n"
                               "%8 = to.bf16 %7\n"
                               "%9 = mul.bf16 %1 %8\n"
                               "output %9\n");
}

TEST(RegionOfNodes, Softmax) {
    const Result<Region> region = regionOfNodes(graph(), nodesNamed(graph(), {"mul_12", "add_8", "softmax"}));
    // The masked scores, then SOFTMAX of tests/gpu/regions.py, whose result stays in f32 here.
    EXPECT_EQ(chainOf(region), "%0 = input bf16\n"
                               "%1 = input bf16\n"
                               "%2 = mul.bf16 %0 0.08838834764831845\n"
                               "%3 = add.bf16 %2 %1\n"
                               "%4 = to.f32 %3\n"
                               "%5 = amax.f32 %4\n"
                               "%6 = sub.f32 %4 %5\n"
                               "%7 = exp.f32 %6\n"
                               "%8 = sum.f32 %7\n"
                               "%9 = div.f32 %7 %8\n"
                               "output %9\n");
    EXPECT_EQ(inputTexts(*region), (Texts{"bf16 1x1x4096x4096 causal", "bf16 1x32x4096x4096 normal grad"}));
}

TEST(RegionOfNodes, StatisticsAlone) {
    const Result<Region> region = regionOfNodes(graph(), nodesNamed(graph(), {"rsqrt", "mul_2"}));
    ASSERT_TRUE(region.ok());
    // What stands under the root must not be negative.
    EXPECT_EQ(inputTexts(*region), (Texts{"f32 1x4096x1 near_one grad", "f32 1x4096x4096 normal grad"}));
}

TEST(RegionOfNodes, NotConvex) {
    EXPECT_EQ(problemOf(regionOfNodes(graph(), nodesNamed(graph(), {"silu", "linear_6"}))),
              "linear_6: expected nodes that enclose their flow, found linear_6, which reads them again through mul_15 "
              "outside");
    EXPECT_EQ(
        problemOf(regionOfNodes(graph(), nodesNamed(graph(), {"to_9", "mul_2"}))),
        "mul_2: expected nodes that enclose their flow, found mul_2, which reads them again through rsqrt outside");
}

TEST(RegionOfNodes, AssertsAreNoWork) {
    std::vector<NodeId> nodes = nodesNamed(graph(), {"mul_2", "_assert_tensor_metadata_default_10", "to_10"});
    const Result<Region> region = regionOfNodes(graph(), nodes);
    ASSERT_TRUE(region.ok());
    EXPECT_EQ(opsOf(region->baseline), (Texts{"aten::mul.Tensor", "aten::to.dtype"}));
    EXPECT_EQ(region->baseline.outputs.size(), 1u) << "an assert reads mul_2, and that is no use";
    EXPECT_EQ(problemOf(regionOfNodes(graph(), nodesNamed(graph(), {"_assert_tensor_metadata_default_10"}))),
              "region: expected nodes that compute something, found none");
    EXPECT_FALSE(regionOfNodes(graph(), {}).ok());
    const std::vector<NodeId> odd{NodeId{}, NodeId(std::size_t{4'000'000})};
    EXPECT_FALSE(regionOfNodes(graph(), odd).ok());
}

TEST(RegionOfNodes, ChainsThatAreNone) {
    EXPECT_EQ(chainOf(regionOfNodes(graph(), nodesNamed(graph(), {"linear_4", "silu"}))),
              "linear_4 (aten::linear) is no elementwise operator of a chain");
    EXPECT_EQ(chainOf(regionOfNodes(graph(), nodesNamed(graph(), {"transpose_1"}))),
              "transpose_1 (aten::transpose) changes the shape");
}

// --- graphs made by hand
// ----------------------------------------------------------------------------------------------

class Toy {
public:
    ValueId input(const char* name, std::vector<std::int64_t> sizes, DType type = DType::Float32) {
        return b.input(ValueKind::Input, name, meta(std::move(sizes), type));
    }
    ValueId op(const char* name, const char* target, const std::vector<std::pair<const char*, ValueId>>& tensors,
               std::vector<std::int64_t> sizes, DType type = DType::Float32) {
        b.node(name, target, {}, "");
        for (const auto& [argument, value] : tensors) b.argTensor(argument, false, value);
        return b.output(name, meta(std::move(sizes), type));
    }
    Result<Region> region() {
        Result<ModelGraph> made = std::move(b).finish();
        EXPECT_TRUE(made.ok());
        graph = std::move(*made);
        std::vector<NodeId> all;
        for (std::size_t n = 0; n < graph.ops.nodes.size(); ++n) all.emplace_back(n);
        return regionOfNodes(graph, all);
    }
    GraphBuilder b;
    ModelGraph graph;
};

TEST(RegionOfNodes, EveryKindOfArgument) {
    Toy toy;
    const ValueId x = toy.input("x", {2, 3}), i = toy.input("i", {2}, DType::Int64);
    toy.b.node("index", "torch.ops.aten.index.Tensor", {}, "");
    toy.b.argTensor("self", false, x);
    toy.b.argText("indices", false, ArgKind::TensorList, "[None, %i]", {i});
    const ValueId picked = toy.b.output("index", meta({2, 2}, DType::Float32));
    toy.b.node("made", "torch.ops.aten.new_full.default", {}, "");
    toy.b.argTensor("self", false, picked);
    toy.b.argText("size", false, ArgKind::ScalarList, "[2, 2]");
    toy.b.argText("fill_value", false, ArgKind::Scalar, "-inf");
    toy.b.argText("dtype", true, ArgKind::Text, "torch.bfloat16");
    toy.b.argText("device", true, ArgKind::Text, "cuda:0");
    toy.b.argText("pin_memory", true, ArgKind::Scalar, "False");
    const ValueId made = toy.b.output("made", meta({2, 2}));
    toy.b.node("copy", "torch.ops.aten.clone.default", {}, "");
    toy.b.argTensor("self", false, made);
    toy.b.argText("memory_format", true, ArgKind::Text, "torch.contiguous_format");
    (void)toy.b.output("copy", meta({2, 2}));
    const Result<Region> region = toy.region();
    ASSERT_TRUE(region.ok()) << region.error().message();
    ASSERT_EQ(region->baseline.steps.size(), 3u);
    const auto& steps = region->baseline.steps;
    EXPECT_EQ(*argOf(steps[0], "indices"), RegionArgValue(RegionRefs{RegionNone{}, RegionRef{-1, 1}}));
    EXPECT_EQ(*argOf(steps[1], "size"), RegionArgValue(std::vector<std::int64_t>{2, 2}));
    EXPECT_EQ(*argOf(steps[1], "fill_value"), RegionArgValue(-std::numeric_limits<double>::infinity()));
    EXPECT_EQ(*argOf(steps[1], "dtype"), RegionArgValue(RegionDType{DType::BFloat16}));
    EXPECT_EQ(argOf(steps[1], "device"), nullptr) << "tensors are where the runner is";
    EXPECT_EQ(argOf(steps[1], "pin_memory"), nullptr);
    EXPECT_EQ(*argOf(steps[2], "memory_format"), RegionArgValue(std::string("contiguous_format")));
    EXPECT_TRUE(steps[2].args[1].keyword);
    EXPECT_EQ(region->inputs[1].fill, Fill::Index);
    EXPECT_EQ(region->inputs[1].bound, 2) << "within the smaller dimension";
}

TEST(RegionOfNodes, TextsOfArguments) {
    const auto value = [](const char* text, ArgKind kind) {
        const Result<RegionArgValue> read = region::valueOfText(text, kind);
        return read ? *read : RegionArgValue(std::string("refused"));
    };
    EXPECT_EQ(value("1", ArgKind::Scalar), RegionArgValue(std::int64_t{1}));
    EXPECT_EQ(value("1.0", ArgKind::Scalar), RegionArgValue(1.0));
    EXPECT_EQ(value("9223372036854775807", ArgKind::Scalar), RegionArgValue(std::int64_t{9223372036854775807}));
    EXPECT_EQ(value("True", ArgKind::Scalar), RegionArgValue(true));
    EXPECT_EQ(value("None", ArgKind::Text), RegionArgValue(RegionNone{}));
    EXPECT_EQ(value("[]", ArgKind::ScalarList), RegionArgValue(std::vector<std::int64_t>{}));
    EXPECT_EQ(value("[1, 0.5]", ArgKind::ScalarList), RegionArgValue(std::vector<double>{1, 0.5}));
    EXPECT_EQ(value("[True, False]", ArgKind::ScalarList), RegionArgValue(std::vector<bool>{true, false}));
    EXPECT_EQ(value("tanh", ArgKind::Text), RegionArgValue(std::string("tanh")));
    EXPECT_EQ(value("torch.float16", ArgKind::Text), RegionArgValue(RegionDType{DType::Float16}));
    for (const char* text : {"(1+2j)", "[[1, 2], [3]]", "[1, 2", "[1, True]", "[1...", "[%s]"})
        EXPECT_EQ(value(text, ArgKind::ScalarList), RegionArgValue(std::string("refused"))) << text;
    EXPECT_EQ(value("(1+2j)", ArgKind::Scalar), RegionArgValue(std::string("refused")));
}

TEST(RegionOfNodes, SymbolicSizes) {
    Toy toy;
    const ValueId x = toy.input("x", {2, 3});
    toy.b.node("size", "torch.ops.aten.sym_size.int", {}, "");
    toy.b.argTensor("self", false, x);
    toy.b.argText("dim", false, ArgKind::Scalar, "0");
    const ValueId n = toy.b.output("s0", {}, ValueKind::Symbol);
    toy.b.node("view", "torch.ops.aten.view.default", {}, "");
    toy.b.argTensor("self", false, x);
    toy.b.argText("size", false, ArgKind::ScalarList, "[%s0, 3]", {n});
    (void)toy.b.output("view", meta({2, 3}));
    EXPECT_EQ(problemOf(toy.region()),
              "view: expected sizes that are known, found %s0, known only when the model runs");

    Toy dynamic;
    const ValueId y = dynamic.input("y", {kDynamicSize, 3});
    (void)dynamic.op("neg", "torch.ops.aten.neg.default", {{"self", y}}, {kDynamicSize, 3});
    EXPECT_EQ(problemOf(dynamic.region()),
              "%y: expected sizes that are known, found one that is known only when the model runs");
}

TEST(RegionOfNodes, InputsStayAsTheyAre) {
    Toy toy;
    const ValueId x = toy.input("x", {2, 3});
    (void)toy.op("add_", "torch.ops.aten.add_.Tensor", {{"self", x}, {"other", x}}, {2, 3});
    EXPECT_EQ(problemOf(toy.region()), "add_: expected operators that leave what enters as it is, found aten::add_");

    Toy inner; // on a value of its own it may
    const ValueId y = inner.input("y", {2, 3});
    const ValueId z = inner.op("neg", "torch.ops.aten.neg.default", {{"self", y}}, {2, 3});
    (void)inner.op("add_", "torch.ops.aten.add_.Tensor", {{"self", z}, {"other", y}}, {2, 3});
    EXPECT_EQ(problemOf(inner.region()), "");
}

TEST(RegionOfNodes, OperatorsOfTorchAlone) {
    Toy toy;
    const ValueId x = toy.input("x", {2, 3});
    (void)toy.op("call", "my_library.special", {{"self", x}}, {2, 3});
    EXPECT_EQ(problemOf(toy.region()), "call: expected an operator of torch.ops, found 'my_library.special'");
    Toy file;
    const ValueId y = file.input("y", {2, 3});
    (void)file.op("open", "torch.ops.aten.from_file.default", {{"self", y}}, {2, 3});
    EXPECT_EQ(problemOf(file.region()),
              "region.baseline.steps[0]: expected an operator that computes, found aten::from_file");
}

TEST(RegionOfNodes, Layouts) {
    Toy toy;
    TensorMeta turned = meta({2, 3}, DType::Float32), plain = meta({2, 3}, DType::Float32);
    turned.strides = {1, 2};
    plain.strides = {3, 1};
    const ValueId a = toy.b.input(ValueKind::Input, "a", turned), b = toy.b.input(ValueKind::Input, "b", plain);
    (void)toy.op("mul", "torch.ops.aten.mul.Tensor", {{"self", a}, {"other", b}}, {2, 3});
    const Result<Region> region = toy.region();
    ASSERT_TRUE(region.ok());
    EXPECT_EQ(region->inputs[0].meta.strides, (std::vector<std::int64_t>{1, 2}));
    EXPECT_TRUE(region->inputs[1].meta.strides.empty()) << "contiguous";
    EXPECT_FALSE(region->backward) << "nothing in it is trained";
}

} // namespace
} // namespace fusescope
