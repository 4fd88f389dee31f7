// SPDX-License-Identifier: Apache-2.0
#include "toy_model.h"

#include <gtest/gtest.h>

namespace fusescope {
namespace {

using test::Toy;
using test::toyModel;

// "0-2 4-5": the runs of layers that fold
std::string folds(const ModelGraph& graph) {
    std::string text;
    for (const FoldGroup& fold : graph.modules.folds)
        text += (text.empty() ? "" : " ") + graph.modules.at(fold.members.front()).name + "-" +
                graph.modules.at(fold.members.back()).name;
    return text;
}

TEST(Fold, EqualLayersFold) {
    const ModelGraph graph = toyModel();
    EXPECT_EQ(folds(graph), "0-2");
    ASSERT_EQ(graph.modules.folds.size(), 1u);
    EXPECT_EQ(graph.modules.folds[0].members.size(), 3u);
    for (const ModuleId member : graph.modules.folds[0].members) EXPECT_EQ(graph.modules.at(member).fold_group, 0u);
}

TEST(Fold, OneLayerDoesNot) {
    Toy toy;
    toy.layers = 1;
    EXPECT_EQ(folds(toyModel(toy)), "");
}

TEST(Fold, AnotherConstantBreaksIt) {
    Toy toy;
    toy.layers = 6;
    toy.eps = [](int i) { return std::string(i == 3 ? "1e-05" : "1e-06"); };
    EXPECT_EQ(folds(toyModel(toy)), "0-2 4-5");
}

TEST(Fold, AnotherShapeBreaksIt) {
    Toy toy;
    toy.layers = 4;
    toy.width = [](int i) { return std::int64_t{i < 2 ? 8 : 16}; };
    EXPECT_EQ(folds(toyModel(toy)), "0-1 2-3");
}

TEST(Fold, OtherWiringBreaksIt) {
    Toy toy;
    toy.layers = 3;
    toy.swapped = [](int i) { return i == 2; };
    EXPECT_EQ(folds(toyModel(toy)), "0-1");
}

TEST(Fold, AnotherClassBreaksIt) {
    Toy toy;
    toy.layers = 3;
    toy.type = [](int i) { return std::string(i == 0 ? "m.First" : "m.Layer"); };
    EXPECT_EQ(folds(toyModel(toy)), "1-2");
}

TEST(Fold, AlternatingLayersStayApart) {
    Toy toy;
    toy.layers = 6;
    toy.eps = [](int i) { return std::string(i % 2 ? "1e-05" : "1e-06"); };
    EXPECT_EQ(folds(toyModel(toy)), "");
}

TEST(Fold, NamedTwinsStayApart) { // gate_proj and up_proj are equal, and two things
    GraphBuilder b;
    const ValueId x = b.input(ValueKind::Input, "x", test::tensor({4}));
    for (const char* name : {"gate_proj", "up_proj"}) {
        b.node(name, "torch.ops.aten.relu.default", {{"", "M"}, {name, "R"}}, "");
        b.argTensor("self", false, x);
        (void)b.output(name, test::tensor({4}));
    }
    const Result<ModelGraph> graph = std::move(b).finish();
    ASSERT_TRUE(graph.ok());
    EXPECT_TRUE(graph->modules.folds.empty());
}

TEST(Fold, GapsInTheNumbersEndARun) {
    GraphBuilder b;
    for (const char* name : {"l.0", "l.1", "l.3", "l.4"}) b.node(name, "t", {{name, "L"}}, "");
    const Result<ModelGraph> graph = std::move(b).finish();
    ASSERT_TRUE(graph.ok());
    EXPECT_EQ(folds(*graph), "0-1 3-4");
}

TEST(Fold, ExpertsFoldInsideLayers) {
    GraphBuilder b;
    for (const char* layer : {"l.0", "l.1"})
        for (const char* expert : {".e.0", ".e.1", ".e.2"})
            b.node("n", "t", {{layer, "L"}, {std::string(layer) + expert, "E"}}, "");
    const Result<ModelGraph> graph = std::move(b).finish();
    ASSERT_TRUE(graph.ok());
    EXPECT_EQ(folds(*graph), "0-1 0-2 0-2");
}

TEST(Fold, SymbolNamesDoNotCount) {
    GraphBuilder b;
    const ValueId x = b.input(ValueKind::Input, "x", test::tensor({4}));
    for (const std::string n : {"0", "1"}) {
        const std::string path = "l." + n;
        b.node("size_" + n, "torch.ops.aten.sym_size.int", {{path, "L"}}, "");
        b.argTensor("self", false, x);
        const ValueId s = b.output("size_" + n, {}, ValueKind::Symbol);
        b.node("view_" + n, "torch.ops.aten.view.default", {{path, "L"}}, "");
        b.argTensor("self", false, x);
        b.argText("size", false, ArgKind::ScalarList, "[%size_" + n + ", -1]", {s});
        (void)b.output("view_" + n, test::tensor({4}));
    }
    const Result<ModelGraph> graph = std::move(b).finish();
    ASSERT_TRUE(graph.ok());
    EXPECT_EQ(folds(*graph), "0-1");
}

} // namespace
} // namespace fusescope
