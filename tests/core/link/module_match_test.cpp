// SPDX-License-Identifier: Apache-2.0
#include "core/link/module_match.h"

#include <gtest/gtest.h>

#include <string>

namespace fusescope {
namespace {

struct Tree {
    ModuleTree tree;
    Tree() { tree.modules.emplace_back(); }
    ModuleId add(ModuleId parent, const char* name, const char* type) {
        Module module;
        module.name = name;
        module.type = type;
        module.path = tree.at(parent).path.empty() ? name : tree.at(parent).path + "." + name;
        module.parent = parent;
        const ModuleId id(tree.modules.size());
        tree.modules.push_back(module);
        tree.modules[parent.index()].children.push_back(id);
        return id;
    }
};
const ModuleId kRoot(std::size_t{0});

// model(LM) > layers(ModuleList) > 0, 1 (Layer) > mlp(MLP); lm_head(Linear)
Tree graphTree() {
    Tree t;
    t.tree.modules[0].type = "Wrap";
    const ModuleId lm = t.add(kRoot, "model", "LM");
    const ModuleId layers = t.add(lm, "layers", "ModuleList");
    for (const char* n : {"0", "1"}) {
        const ModuleId layer = t.add(layers, n, "Layer");
        (void)t.add(layer, "mlp", "MLP");
    }
    (void)t.add(lm, "lm_head", "Linear");
    return t;
}

TEST(ModuleMatch, WrapperInTheGraphAndContainersAreSkipped) {
    const Tree graph = graphTree();
    Tree trace;
    const ModuleId lm = trace.add(kRoot, "LM_0", "LM");
    const ModuleId first = trace.add(lm, "Layer_0", "Layer");
    const ModuleId second = trace.add(lm, "Layer_1", "Layer");
    const ModuleId mlp = trace.add(second, "MLP_1", "MLP");
    const std::vector<ModuleId> matched = matchModules(trace.tree, graph.tree);
    EXPECT_EQ(graph.tree.at(matched[lm.index()]).path, "model");
    EXPECT_EQ(graph.tree.at(matched[first.index()]).path, "model.layers.0");
    EXPECT_EQ(graph.tree.at(matched[second.index()]).path, "model.layers.1");
    EXPECT_EQ(graph.tree.at(matched[mlp.index()]).path, "model.layers.1.mlp");
}

TEST(ModuleMatch, WrapperInTheTrace) { // DistributedDataParallel around the model
    const Tree graph = graphTree();
    Tree trace;
    const ModuleId ddp = trace.add(kRoot, "DistributedDataParallel_0", "DistributedDataParallel");
    const ModuleId lm = trace.add(ddp, "LM_0", "LM");
    const ModuleId layer = trace.add(lm, "Layer_0", "Layer");
    std::vector<ModuleId> matched = matchModules(trace.tree, graph.tree);
    EXPECT_EQ(graph.tree.at(matched[layer.index()]).path, "model.layers.0");
    EXPECT_FALSE(matched[ddp.index()].valid());
    const ModuleTree merged = mergeModules(trace.tree, graph.tree, matched);
    EXPECT_EQ(merged.modules.size(), graph.tree.modules.size() + 1); // the wrapper is kept, at the end
    EXPECT_EQ(merged.at(matched[ddp.index()]).type, "DistributedDataParallel");
}

TEST(ModuleMatch, UnknownModulesAreAddedBelowTheirParent) {
    const Tree graph = graphTree();
    Tree trace;
    const ModuleId lm = trace.add(kRoot, "LM_0", "LM");
    (void)trace.add(lm, "Layer_0", "Layer");
    const ModuleId loss = trace.add(lm, "CrossEntropyLoss_0", "CrossEntropyLoss");
    const ModuleId extra = trace.add(lm, "Layer_1", "Layer");
    const ModuleId third = trace.add(lm, "Layer_2", "Layer"); // one more than the graph has
    std::vector<ModuleId> matched = matchModules(trace.tree, graph.tree);
    const ModuleTree merged = mergeModules(trace.tree, graph.tree, matched);
    EXPECT_EQ(merged.at(matched[loss.index()]).path, "model.CrossEntropyLoss_0");
    EXPECT_EQ(merged.at(matched[extra.index()]).path, "model.layers.1");
    EXPECT_EQ(merged.at(matched[third.index()]).path, "model.Layer_2");
    for (std::size_t m = 1; m < merged.modules.size(); ++m) EXPECT_LT(merged.modules[m].parent.index(), m);
}

TEST(ModuleMatch, OneObjectCalledFromTwoPlaces) { // a frame name is one Python object
    const Tree graph = graphTree();
    Tree trace;
    const ModuleId lm = trace.add(kRoot, "LM_0", "LM");
    (void)trace.add(lm, "Layer_0", "Layer");
    const ModuleId again = trace.add(kRoot, "Layer_0", "Layer");
    const std::vector<ModuleId> matched = matchModules(trace.tree, graph.tree);
    EXPECT_EQ(graph.tree.at(matched[again.index()]).path, "model.layers.0");
}

TEST(ModuleMatch, NothingInCommon) {
    const Tree graph = graphTree();
    Tree trace;
    const ModuleId other = trace.add(kRoot, "Bert_0", "Bert");
    std::vector<ModuleId> matched = matchModules(trace.tree, graph.tree);
    EXPECT_FALSE(matched[other.index()].valid());
    const ModuleTree merged = mergeModules(trace.tree, graph.tree, matched);
    EXPECT_EQ(merged.at(matched[other.index()]).parent, kRoot);
}

} // namespace
} // namespace fusescope
