// SPDX-License-Identifier: Apache-2.0
// What must not match in a graph, and the reason given; and what must match in spite of its form.
#include "tests/core/fusion/toy_graph.h"

namespace fusescope::test {
namespace {

struct Norm {
    DType x = DType::BFloat16, weight = DType::BFloat16;
    const char* dim = "[-1]";
    bool eps = true, cast = true, extra_user = false, leaves = false, residual = false;
    const char* exponent = "2";
    std::int64_t width = 64;
};

fusion::Matches matchNorm(const Norm& n) {
    ToyGraph g;
    ValueId x = g.input("x", meta({2, 8, n.width}, n.x));
    if (n.residual)
        x = g.op("sum", "add.Tensor", {x, g.input("r", meta({2, 8, n.width}, n.x))}, meta({2, 8, n.width}, n.x));
    const ValueId w = g.weight("w", meta({64}, n.weight));
    const DType wide_type = n.cast ? DType::Float32 : n.x;
    const TensorMeta wide = meta({2, 8, n.width}, wide_type), small = meta({2, 8, 1}, wide_type);
    const ValueId up = n.cast ? g.op("up", "to.dtype", {x}, wide, {{"dtype", "torch.float32"}}) : x;
    const ValueId square = g.op("square", "pow.Tensor_Scalar", {up}, wide, {{"exponent", n.exponent}});
    const ValueId mean = g.op("mean", "mean.dim", {square}, small, {{"dim", n.dim}, {"keepdim", "True"}});
    const ValueId added = n.eps ? g.op("eps", "add.Tensor", {mean}, small, {{"other", "1e-06"}}) : mean;
    const ValueId root = g.op("rsqrt", "rsqrt.default", {added}, small);
    const ValueId scaled = g.op("scale", "mul.Tensor", {up, root}, wide);
    const ValueId down =
        n.cast ? g.op("down", "to.dtype", {scaled}, meta({2, 8, n.width}, n.x), {{"dtype", "torch.bfloat16"}}) : scaled;
    const ValueId y = g.op("y", "mul.Tensor", {w, down}, meta({2, 8, n.width}, n.x));
    if (n.extra_user) g.leaves(g.op("spy", "neg.default", {scaled}, wide));
    if (n.leaves) g.leaves(down);
    g.leaves(y);
    return g.match();
}

TEST(GraphMiss, TheNormItself) {
    const auto found = matchNorm({});
    ASSERT_EQ(countOf(found, Pattern::RmsNorm), 1U);
    EXPECT_EQ(found.found[0].nodes.size(), 8U);
    EXPECT_EQ(found.found[0].shape.rows, 16);
    EXPECT_TRUE(found.misses.empty());
    EXPECT_EQ(countOf(found, Pattern::AddRmsNorm), 0U);
}

TEST(GraphMiss, NormInFullPrecisionNeedsNoCasts) {
    Norm n;
    n.x = n.weight = DType::Float32;
    n.cast = false;
    EXPECT_EQ(countOf(matchNorm(n), Pattern::RmsNorm), 1U);
}

TEST(GraphMiss, NormWithResidual) {
    Norm n;
    n.residual = true;
    const auto found = matchNorm(n);
    EXPECT_EQ(countOf(found, Pattern::RmsNorm), 1U);
    EXPECT_EQ(countOf(found, Pattern::AddRmsNorm), 1U);
}

void expectMiss(const Norm& n, const char* words) {
    const auto found = matchNorm(n);
    EXPECT_EQ(countOf(found, Pattern::RmsNorm), 0U) << words;
    EXPECT_NE(missOf(found, Pattern::RmsNorm).find(words), std::string::npos) << missOf(found, Pattern::RmsNorm);
}

TEST(GraphMiss, NormOfComplexNumbers) {
    Norm n;
    n.x = n.weight = DType::Complex64;
    n.cast = false;
    expectMiss(n, "complex");
    n.residual = true;
    EXPECT_EQ(countOf(matchNorm(n), Pattern::AddRmsNorm), 0U);
}

TEST(GraphMiss, NormReasons) {
    Norm n;
    n.eps = false;
    expectMiss(n, "no eps");
    n = {};
    n.dim = "[1]";
    expectMiss(n, "last dimension");
    n = {};
    n.dim = "[1, 2]";
    expectMiss(n, "last dimension");
    n = {};
    n.weight = DType::Float32; // vllm#48330
    expectMiss(n, "the weight is f32 and the input bf16");
    n = {};
    n.cast = false;
    expectMiss(n, "taken in bf16");
    n = {};
    n.extra_user = true;
    expectMiss(n, "scale is also used by spy");
    n = {};
    n.leaves = true; // onnxruntime#4110
    expectMiss(n, "output of the graph");
    n = {};
    n.exponent = "3";
    expectMiss(n, "does not square");
}

TEST(GraphMiss, NormWhoseIntermediateIsUsedElsewhere) {
    ToyGraph g;
    const ValueId x = g.input("x", meta({4, 64}, DType::Float32)), w = g.weight("w", meta({64}, DType::Float32));
    const TensorMeta wide = meta({4, 64}, DType::Float32), small = meta({4, 1}, DType::Float32);
    const ValueId square = g.op("square", "pow.Tensor_Scalar", {x}, wide, {{"exponent", "2"}});
    const ValueId mean = g.op("mean", "mean.dim", {square}, small, {{"dim", "[-1]"}, {"keepdim", "True"}});
    const ValueId eps = g.op("eps", "add.Tensor", {mean}, small, {{"other", "1e-06"}});
    const ValueId root = g.op("rsqrt", "rsqrt.default", {eps}, small);
    g.leaves(g.op("y", "mul.Tensor", {w, g.op("scale", "mul.Tensor", {x, root}, wide)}, wide));
    g.leaves(g.op("spy", "neg.default", {mean}, small));
    const auto found = g.match();
    EXPECT_EQ(countOf(found, Pattern::RmsNorm), 0U);
    EXPECT_EQ(missOf(found, Pattern::RmsNorm), "mean is also used by spy");
}

// A mean of squares that normalises nothing is no near miss; nor is any other rsqrt.
TEST(GraphMiss, OtherRsqrtIsSilent) {
    ToyGraph g;
    const ValueId x = g.input("x", meta({4, 64}, DType::Float32));
    g.leaves(g.op("r", "rsqrt.default", {x}, meta({4, 64}, DType::Float32)));
    EXPECT_TRUE(g.match().misses.empty());
}

fusion::Matches matchMlp(DType up_type, std::int64_t up_width, bool spy) {
    ToyGraph g;
    const ValueId x = g.input("x", meta({2, 8, 64}));
    const ValueId gate = g.op("gate", "linear.default", {x, g.weight("wg", meta({128, 64}))}, meta({2, 8, 128}));
    const ValueId up = g.op("up", "linear.default", {x, g.weight("wu", meta({up_width, 64}, up_type))},
                            meta({2, 8, up_width}, up_type));
    const ValueId act = g.op("act", "silu.default", {gate}, meta({2, 8, 128}));
    g.leaves(g.op("h", "mul.Tensor", {act, up}, meta({2, 8, 128})));
    if (spy) g.leaves(g.op("spy", "neg.default", {act}, meta({2, 8, 128})));
    return g.match();
}

TEST(GraphMiss, SwiGlu) {
    EXPECT_EQ(countOf(matchMlp(DType::BFloat16, 128, false), Pattern::SwiGlu), 1U);
    EXPECT_NE(missOf(matchMlp(DType::Float32, 128, false), Pattern::SwiGlu).find("gate is bf16 and up f32"),
              std::string::npos);
    EXPECT_NE(missOf(matchMlp(DType::BFloat16, 1, false), Pattern::SwiGlu).find("differ in shape"), std::string::npos);
    EXPECT_EQ(missOf(matchMlp(DType::BFloat16, 128, true), Pattern::SwiGlu), "act is also used by spy");
}

fusion::Matches matchRotation(std::int64_t split, bool negate_low, bool swap) {
    ToyGraph g;
    const TensorMeta whole = meta({1, 4, 8, 16}), table = meta({1, 1, 8, 16});
    const ValueId x = g.input("x", whole), cos = g.input("cos", table), sin = g.input("sin", table);
    const std::string at = std::to_string(split);
    const ValueId low =
        g.op("low", "slice.Tensor", {x}, meta({1, 4, 8, split}), {{"dim", "3"}, {"start", "0"}, {"end", at.c_str()}});
    const ValueId high = g.op("high", "slice.Tensor", {x}, meta({1, 4, 8, 16 - split}),
                              {{"dim", "3"}, {"start", at.c_str()}, {"end", "9223372036854775807"}});
    const ValueId neg = g.op("neg", "neg.default", {negate_low ? low : high}, meta({1, 4, 8, 8}));
    const ValueId other = negate_low ? high : low;
    const ValueId turned =
        g.op("cat", "cat.default", swap ? std::vector<ValueId>{other, neg} : std::vector<ValueId>{neg, other}, whole,
             {{"dim", "-1"}});
    const ValueId a = g.op("a", "mul.Tensor", {x, cos}, whole), b = g.op("b", "mul.Tensor", {turned, sin}, whole);
    g.leaves(g.op("y", "add.Tensor", {a, b}, whole));
    return g.match();
}

TEST(GraphMiss, Rope) {
    EXPECT_EQ(countOf(matchRotation(8, false, false), Pattern::Rope), 1U);
    EXPECT_EQ(countOf(matchRotation(4, false, false), Pattern::Rope), 0U); // no halves
    EXPECT_NE(missOf(matchRotation(4, false, false), Pattern::Rope).find("halves"), std::string::npos);
    EXPECT_NE(missOf(matchRotation(8, true, false), Pattern::Rope).find("halves"),
              std::string::npos); // rotates the other way
    EXPECT_EQ(countOf(matchRotation(8, false, true), Pattern::Rope), 0U);
}

fusion::Matches matchProduct(const char* dim, bool weights_leave, DType v_type) {
    ToyGraph g;
    const TensorMeta heads = meta({1, 4, 8, 16}), scores = meta({1, 4, 8, 8});
    const ValueId q = g.input("q", heads), k = g.input("k", heads), v = g.input("v", meta({1, 4, 8, 16}, v_type));
    const ValueId kt = g.op("kt", "transpose.int", {k}, meta({1, 4, 16, 8}), {{"dim0", "2"}, {"dim1", "3"}});
    const ValueId s = g.op("s", "matmul.default", {q, kt}, scores);
    const ValueId scaled = g.op("scaled", "mul.Tensor", {s}, scores, {{"other", "0.25"}});
    const ValueId p = g.op("p", "softmax.int", {scaled}, scores, {{"dim", dim}});
    if (weights_leave) g.leaves(p);
    g.leaves(g.op("o", "matmul.default", {p, v}, heads));
    return g.match();
}

TEST(GraphMiss, Attention) {
    EXPECT_EQ(countOf(matchProduct("-1", false, DType::BFloat16), Pattern::Attention), 1U);
    EXPECT_NE(missOf(matchProduct("1", false, DType::BFloat16), Pattern::Attention).find("last dimension"),
              std::string::npos);
    EXPECT_EQ(missOf(matchProduct("-1", true, DType::BFloat16), Pattern::Attention),
              "p is an output of the graph"); // output_attentions
    EXPECT_NE(missOf(matchProduct("-1", false, DType::Float32), Pattern::Attention).find("differ in type"),
              std::string::npos);
}

TEST(GraphMiss, FusedFormsAreSeen) {
    ToyGraph g;
    const ValueId x = g.input("x", meta({4, 64})), w = g.weight("w", meta({64}));
    const ValueId y = g.op("n", "rms_norm.default", {x, w}, meta({4, 64}));
    const ValueId q = g.input("q", meta({1, 4, 8, 16}));
    g.leaves(y);
    g.leaves(g.op("a", "scaled_dot_product_attention.default", {q, q, q}, meta({1, 4, 8, 16})));
    const auto found = g.match();
    ASSERT_EQ(found.found.size(), 2U);
    for (const fusion::Match& match : found.found) EXPECT_EQ(match.state, FusionState::Fused);
}

TEST(GraphMatch, NormOfHeadsWithoutACast) {
    // An f32 model: no cast stands between the view into heads and the norm of each head.
    ToyGraph g;
    const auto f32 = [](std::vector<std::int64_t> sizes) { return meta(std::move(sizes), DType::Float32); };
    const ValueId x = g.input("x", f32({2, 3, 8})), w = g.weight("w", f32({4}));
    const ValueId heads = g.op("view", "view.default", {x}, f32({2, 3, 2, 4}), {{"size", "[2, 3, 2, 4]"}});
    const ValueId square = g.op("pow_1", "pow.Tensor_Scalar", {heads}, f32({2, 3, 2, 4}), {{"exponent", "2"}});
    const ValueId mean = g.op("mean", "mean.dim", {square}, f32({2, 3, 2, 1}), {{"dim", "[-1]"}});
    const ValueId sum = g.op("add", "add.Tensor", {mean}, f32({2, 3, 2, 1}), {{"other", "1e-06"}});
    const ValueId root = g.op("rsqrt", "rsqrt.default", {sum}, f32({2, 3, 2, 1}));
    const ValueId scaled = g.op("mul", "mul.Tensor", {heads, root}, f32({2, 3, 2, 4}));
    g.leaves(g.op("mul_1", "mul.Tensor", {w, scaled}, f32({2, 3, 2, 4})));
    const fusion::Matches matches = g.match();
    ASSERT_EQ(countOf(matches, Pattern::RmsNorm), 1u);
    EXPECT_EQ(matches.found[0].note, "") << "it has a weight";
    EXPECT_EQ(matches.found[0].shape.width, 4);
    EXPECT_EQ(matches.found[0].shape.rows, 12);
    EXPECT_EQ(matches.found[0].nodes.size(), 6u);
}

} // namespace
} // namespace fusescope::test
