// SPDX-License-Identifier: Apache-2.0
#include "core/io/open.h"
#include "pt2_support.h"
#include "tests/support/files.h"

namespace fusescope {
namespace {

using test::graphOf;
using test::Program;
using test::readFiles;
using test::relu;
using test::value;

TEST(Pt2Reader, SmallestProgram) {
    const GraphPtr graph = graphOf(relu());
    ASSERT_EQ(graph->ops.nodes.size(), 1u);
    const NodeId node(std::size_t{0});
    EXPECT_EQ(graph->ops.op(node), "aten::relu");
    EXPECT_EQ(graph->ops.name(node), "y");
    EXPECT_EQ(graph->modules.at(graph->ops.at(node).module).path, "act");
    EXPECT_EQ(graph->modules.modules[0].type, "Net");
    const Value& x = graph->ops.at(graph->ops.operand(node, 0));
    EXPECT_EQ(x.kind, ValueKind::Input);
    EXPECT_EQ(x.meta.dtype, DType::Float32);
    EXPECT_EQ(x.meta.sizes, (std::vector<std::int64_t>{2, 3}));
    EXPECT_EQ(x.meta.strides, (std::vector<std::int64_t>{3, 1}));
    EXPECT_TRUE(graph->ops.at(graph->ops.output(node)).is_graph_output);
    EXPECT_TRUE(graph->problems.empty());
}

TEST(Pt2Reader, NodesWithoutNamesTakeTheirFirstOutputs) {
    Program p = relu();
    p.nodes.replace(p.nodes.find(",'name':'y'}"), std::string::npos, "}");
    EXPECT_EQ(graphOf(p)->ops.name(NodeId(std::size_t{0})), "y");
}

TEST(Pt2Reader, SeveralOutputs) {
    Program p;
    p.nodes =
        "{'target':'torch.ops.aten.topk.default','inputs':[{'name':'self','arg':{'as_tensor':{'name':'x'}},'kind':1},"
        "{'name':'k','arg':{'as_int':2},'kind':1},{'name':'sorted','arg':{'as_bool':true},'kind':2}],"
        "'outputs':[{'as_tensor':{'name':'values'}},{'as_tensor':{'name':'indices'}}],'metadata':{},'name':'topk'},"
        "{'target':'torch.ops.aten.split.Tensor','inputs':[{'name':'self','arg':{'as_tensor':{'name':'values'}}}],"
        "'outputs':[{'as_tensors':[{'name':'a'},{'name':'y'}]}],'metadata':{},'name':'split'}";
    p.values =
        value("x") + "," + value("values") + "," + value("indices", "[]", 5) + "," + value("a") + "," + value("y");
    const GraphPtr graph = graphOf(p);
    ASSERT_EQ(graph->ops.nodes.size(), 2u);
    const NodeId topk(std::size_t{0}), split(std::size_t{1});
    EXPECT_EQ(graph->ops.at(topk).outputs, 2u);
    EXPECT_EQ(graph->ops.at(graph->ops.output(topk, 1)).meta.dtype, DType::Int64);
    EXPECT_EQ(graph->ops.at(graph->ops.output(topk, 1)).output, 1);
    EXPECT_EQ(graph->ops.at(split).outputs, 2u);
    EXPECT_TRUE(graph->ops.argsOf(topk)[2].keyword);
    EXPECT_FALSE(graph->ops.argsOf(topk)[1].keyword);
    EXPECT_EQ(graph->ops.argText(topk, "k"), "2");
}

Program withWeights() {
    Program p = relu();
    p.inputs = "{'as_tensor':{'name':'p_a'}},{'as_tensor':{'name':'x'}}";
    p.specs = "{'parameter':{'arg':{'name':'p_a'},'parameter_name':'embed.weight'}},{'user_input':{'arg':{'as_tensor':{"
              "'name':'x'}}}}";
    p.values += "," + value("p_a");
    return p;
}

std::string config(const std::string& path_b, int offset_b) {
    const auto meta = [](int offset) {
        return "'tensor_meta':{'dtype':7,'sizes':[{'as_int':2},{'as_int':3}],'strides':[],'storage_offset':{'as_int':" +
               std::to_string(offset) + "}}";
    };
    return test::json("{'config':{'embed.weight':{'path_name':'weight_0','is_param':true," + meta(0) +
                      "},'head.weight':{'path_name':'" + path_b + "','is_param':true," + meta(offset_b) +
                      "},'rope':{'path_name':'weight_0','is_param':false," + meta(0) + "}}}");
}

// Parameters counted in the root, so that tied ones count once.
std::int64_t counted(const std::string& weights_config, const std::string& weight_0,
                     const std::string& weight_1 = "w") {
    const Result<GraphPtr> graph = readFiles({{"m/models/model.json", withWeights().text()},
                                              {"m/data/weights/model_weights_config.json", weights_config},
                                              {"m/data/weights/weight_0", weight_0},
                                              {"m/data/weights/weight_1", weight_1}});
    EXPECT_TRUE(graph.ok());
    if (!graph) return -1;
    EXPECT_EQ((*graph)->modules.parameters.size(), 2u);
    EXPECT_TRUE((*graph)->modules.find("head").valid());
    return (*graph)->modules.parameterCount(ModuleId(std::size_t{0}));
}

TEST(Pt2Reader, TiedWeightsShareFileAndOffset) {
    EXPECT_EQ(counted(config("weight_0", 0), std::string(24, 'w')), 6);
    EXPECT_EQ(counted(config("weight_0", 6), std::string(48, 'w')), 12); // two views of one storage
    EXPECT_EQ(counted(config("weight_1", 0), std::string(24, 'w')), 12);
    EXPECT_EQ(counted(config("weight_0", 0), ""), 12); // exported on the meta device: one empty file for all, no tie
}

TEST(Pt2Reader, BrokenWeightsConfigIsAProblem) {
    const Result<GraphPtr> graph = readFiles(
        {{"m/models/model.json", withWeights().text()}, {"m/data/weights/model_weights_config.json", "{\"config\":{"}});
    ASSERT_TRUE(graph.ok());
    ASSERT_EQ((*graph)->problems.size(), 1u);
    EXPECT_EQ((*graph)->problems[0].kind, "weights config");
}

TEST(Pt2Reader, AnotherSchemaVersionIsAWarning) {
    for (const char* version : {"{'major':9,'minor':0}", "{'major':7,'minor':3}"}) {
        const Result<GraphPtr> graph = readFiles({{"models/model.json", relu().text(version)}});
        ASSERT_TRUE(graph.ok());
        ASSERT_EQ((*graph)->problems.size(), 1u);
        EXPECT_EQ((*graph)->problems[0].kind, "schema version");
    }
    EXPECT_TRUE((*readFiles({{"models/model.json", relu().text("{'major':8,'minor':99}")}}))->problems.empty());
}

TEST(Pt2Reader, UnknownKeysAreSkipped) {
    Program p = relu();
    p.extra = ",'news':{'a':[1,2,{'b':null}]}";
    p.nodes.insert(1, "'novelty':[{}],");
    EXPECT_EQ(graphOf(p)->ops.nodes.size(), 1u);
}

TEST(Pt2Reader, DamagedNodesAreProblems) {
    Program p = relu();
    p.nodes = "7," + p.nodes +
              ",{'target':'torch.ops.aten.neg.default','inputs':[{'name':'self','arg':{'as_tensor':{'name':'nobody'}}}]"
              ",'outputs':[]},{}";
    const GraphPtr graph = graphOf(p);
    EXPECT_EQ(graph->ops.nodes.size(), 3u);
    ASSERT_EQ(graph->problems.size(), 2u);
    EXPECT_EQ(graph->problems[0].kind, "node that is no object");
    EXPECT_EQ(graph->problems[1].kind, "unknown value");
}

// A graph gives a name to one value: a second maker is damage, and what it does must not count once more.
TEST(Pt2Reader, AValueThatIsMadeTwiceCountsOnce) {
    Program p = withWeights();
    const std::string relu_of_x = p.nodes;
    std::string once_more = relu_of_x;
    once_more.replace(once_more.find("'name':'y'}", once_more.size() - 12), 11, "'name':'other'}");
    p.nodes += "," + once_more +
               ",{'target':'torch.ops.aten.split.Tensor','inputs':[{'name':'self','arg':{'as_tensor':{'name':'y'}}}],"
               "'outputs':[{'as_tensors':[{'name':'a'},{'name':'a'},{'name':'b'}]}],'metadata':{},'name':'split'}," +
               relu_of_x;
    p.inputs += ",{'as_tensor':{'name':'x'}},{'as_tensor':{'name':'p_a'}}";
    const GraphPtr graph = graphOf(p);
    const OpGraph& ops = graph->ops;
    ASSERT_EQ(ops.nodes.size(), 2u); // relu, split
    EXPECT_EQ(ops.op(NodeId(std::size_t{0})), "aten::relu");
    ASSERT_EQ(ops.at(NodeId(std::size_t{1})).outputs, 2u);
    EXPECT_EQ(ops.values.size(), 5u); // p_a, x, y, a, b
    EXPECT_EQ(graph->modules.parameters.size(), 1u);
    // Whoever uses y uses the first one.
    EXPECT_EQ(ops.operand(NodeId(std::size_t{1}), 0), ops.output(NodeId(std::size_t{0})));
    EXPECT_TRUE(ops.at(ops.output(NodeId(std::size_t{0}))).is_graph_output);
    ASSERT_EQ(graph->problems.size(), 1u);
    EXPECT_EQ(graph->problems[0].kind, "value made twice");
    EXPECT_EQ(graph->problems[0].count, 5u); // two inputs, a node, an output, a node
    EXPECT_NE(graph->problems[0].message.find("graph.inputs[2] makes 'x' again"), std::string::npos)
        << graph->problems[0].message;
    p = relu();
    p.nodes += "," + once_more;
    EXPECT_NE(graphOf(p)->problems.at(0).message.find("model.json: graph.nodes[1] makes 'y' again"), std::string::npos);
    p.inputs = "{'as_tensor':{'name':'x'}},{'as_tensor':{'name':'y'}}"; // an input's name is taken, too
    EXPECT_EQ(graphOf(p)->ops.nodes.size(), 0u);
}

TEST(Pt2Reader, DeclaredModulesKeepTheirOrder) {
    Program p = relu();
    p.calls = "{'fqn':''},{'fqn':'zeta'},{'fqn':'act'}";
    const GraphPtr graph = graphOf(p);
    EXPECT_LT(graph->modules.at(graph->modules.find("zeta")).declared,
              graph->modules.at(graph->modules.find("act")).declared);
}

TEST(Pt2Reader, SymbolicSizes) {
    Program p;
    p.nodes =
        "{'target':'torch.ops.aten.sym_size.int','inputs':[{'name':'self','arg':{'as_tensor':{'name':'x'}},'kind':1},"
        "{'name':'dim','arg':{'as_int':0},'kind':1}],'outputs':[{'as_sym_int':{'as_name':'s'}}],'metadata':{},'name':'"
        "s'},"
        "{'target':'torch.ops.aten.view.default','inputs':[{'name':'self','arg':{'as_tensor':{'name':'x'}},'kind':1},"
        "{'name':'size','arg':{'as_sym_ints':[{'as_name':'s'},{'as_int':3}]},'kind':1}],'outputs':[{'as_tensor':{'name'"
        ":'y'}}],"
        "'metadata':{},'name':'y'}";
    p.values = value("x") + "," + value("y");
    const GraphPtr graph = graphOf(p);
    const NodeId view(std::size_t{1});
    EXPECT_EQ(graph->ops.at(graph->ops.output(NodeId(std::size_t{0}))).kind, ValueKind::Symbol);
    EXPECT_EQ(graph->ops.argText(view, "size"), "[%s, 3]");
    EXPECT_FALSE(graph->ops.operand(view, 1).valid());
    EXPECT_TRUE(graph->problems.empty());
}

TEST(Pt2Reader, ContentHashFollowsTheContent) {
    Program other = relu();
    other.values += ",'z':{}";
    EXPECT_EQ(graphOf(relu())->content_hash, graphOf(relu())->content_hash);
    EXPECT_NE(graphOf(relu())->content_hash, graphOf(other)->content_hash);
}

TEST(Pt2Reader, CancelledReadersStop) {
    Program p = relu();
    const std::string one = p.nodes;
    for (int i = 0; i < 600; ++i) p.nodes += "," + one;
    const test::TempDir folder;
    test::writeFile(folder.file("x.pt2"), test::zipOf({{"models/model.json", p.text()}}));
    Progress progress;
    progress.cancel();
    const Result<GraphPtr> graph = readPt2(folder.file("x.pt2"), progress);
    ASSERT_FALSE(graph.ok());
    EXPECT_EQ(graph.error().code, ErrorCode::Cancelled);
}

} // namespace
} // namespace fusescope
