// SPDX-License-Identifier: Apache-2.0
// Higher-order operators carry graphs as arguments; those are read in place.
#include "pt2_support.h"

namespace fusescope {
namespace {

using test::graphOf;
using test::Program;
using test::value;

std::string call(const std::string& name, const std::string& op, const std::string& input,
                 const std::string& stack = {}) {
    return "{'target':'torch.ops.aten." + op + ".default','inputs':[{'name':'self','arg':{'as_tensor':{'name':'" +
           input + "'}},'kind':1}],'outputs':[{'as_tensor':{'name':'" + name + "'}}],'metadata':{'nn_module_stack':'" +
           stack + "'},'name':'" + name + "'}";
}

std::string graph(const std::string& inputs, const std::string& output, const std::string& nodes,
                  const std::string& values) {
    return "{'as_graph':{'name':'submod','graph':{'inputs':[" + inputs + "],'outputs':[{'as_tensor':{'name':'" +
           output + "'}}],'nodes':[" + nodes + "],'tensor_values':{" + values + "},'sym_int_values':{}}}}";
}

std::string tensorName(const std::string& name) { return "{'as_tensor':{'name':'" + name + "'}}"; }

// y = wrapper(flag, graph, x), then z = neg(y)
Program wrapped(const std::string& target) {
    Program p;
    p.nodes =
        call("a", "relu", "x") + ",{'target':'torch.ops.higher_order." + target +
        "','inputs':[{'name':'','arg':{'as_bool':false},'kind':1},{'name':'','arg':" +
        graph(tensorName("x"), "a", call("a", "cos", "x") + "," + call("inner", "sin", "a"),
              value("a", "[{'as_int':9}]")) +
        ",'kind':1},{'name':'','arg':{'as_tensor':{'name':'a'}},'kind':1}],'outputs':[{'as_tensor':{'name':'y'}}],"
        "'metadata':{'nn_module_stack':'L,,m.Net;L_r,rotary,m.Rotary'},'name':'hop'}," +
        call("z", "neg", "y");
    p.values = value("x") + "," + value("a") + "," + value("y") + "," + value("z");
    p.outputs = tensorName("z");
    return p;
}

TEST(Pt2Subgraph, WrappersDissolve) {
    const GraphPtr graph = graphOf(wrapped("wrap_with_set_grad_enabled"));
    ASSERT_EQ(graph->ops.nodes.size(), 4u); // relu, cos, sin, neg
    const NodeId relu(std::size_t{0}), cos(std::size_t{1}), sin(std::size_t{2}), neg(std::size_t{3});
    EXPECT_EQ(graph->ops.op(cos), "aten::cos");
    // The graph's input is the operand; its output is the wrapper's.
    EXPECT_EQ(graph->ops.operand(cos, 0), graph->ops.output(relu));
    EXPECT_EQ(graph->ops.operand(neg, 0), graph->ops.output(cos));
    EXPECT_EQ(graph->ops.operand(sin, 0), graph->ops.output(cos));
    // "a" is taken outside; "inner" is free.
    EXPECT_EQ(graph->ops.name(cos), "hop.a");
    EXPECT_EQ(graph->ops.name(sin), "inner");
    EXPECT_EQ(graph->ops.at(graph->ops.output(cos)).meta.sizes, std::vector<std::int64_t>{9}); // its own value table
    EXPECT_EQ(graph->modules.at(graph->ops.at(cos).module).path, "rotary");                    // inherited
    EXPECT_TRUE(graph->problems.empty());
}

TEST(Pt2Subgraph, AValueThatIsMadeTwiceCountsOnce) {
    Program p = wrapped("wrap_with_set_grad_enabled");
    const std::string inner = call("inner", "sin", "a");
    p.nodes.insert(p.nodes.find(inner), inner + ",");
    p.nodes.insert(p.nodes.find("{'as_tensor':{'name':'x'}}],'outputs'"), "{'as_tensor':{'name':'x'}},");
    const GraphPtr graph = graphOf(p);
    EXPECT_EQ(graph->ops.nodes.size(), 4u); // relu, cos, sin, neg
    ASSERT_EQ(graph->problems.size(), 1u);
    EXPECT_EQ(graph->problems[0].kind, "value made twice");
    EXPECT_EQ(graph->problems[0].count, 2u);
    EXPECT_NE(graph->problems[0].message.find("hop.graph.inputs[1] makes 'x' again"), std::string::npos)
        << graph->problems[0].message;
    // The whole operator once more: its graph is not read again.
    p = wrapped("wrap_with_set_grad_enabled");
    p.nodes += "," + p.nodes.substr(p.nodes.find("{'target':'torch.ops.higher_order"));
    EXPECT_EQ(graphOf(p)->ops.nodes.size(), 4u);
    EXPECT_EQ(graphOf(p)->problems.at(0).count, 2u); // the operator, and neg after it
}

TEST(Pt2Subgraph, OthersJoinTheResults) {
    Program p;
    const std::string yes = graph(tensorName("t"), "r", call("r", "cos", "t"), value("r"));
    const std::string no = graph(tensorName("t"), "r", call("r", "sin", "t"), value("r"));
    p.nodes = "{'target':'torch.ops.higher_order.cond','inputs':[{'name':'','arg':{'as_tensor':{'name':'x'}}},{'name':'"
              "','arg':" +
              yes + "},{'name':'','arg':" + no +
              "},{'name':'','arg':{'as_tensors':[{'name':'x'}]}}],'outputs':[{'as_tensor':{'name':'y'}}],'metadata':{},"
              "'name':'cond'}";
    p.values = value("x") + "," + value("y");
    const GraphPtr graph = graphOf(p);
    ASSERT_EQ(graph->ops.nodes.size(), 3u);
    const NodeId cos(std::size_t{0}), sin(std::size_t{1}), cond(std::size_t{2});
    EXPECT_EQ(graph->ops.op(cond), "higher_order::cond");
    EXPECT_EQ(graph->ops.op(sin), "aten::sin");
    EXPECT_EQ(graph->ops.operand(cos, 0), graph->ops.operand(sin, 0));
    ASSERT_EQ(graph->ops.consumersOf(graph->ops.output(sin)).size(), 1u);
    EXPECT_EQ(graph->ops.consumersOf(graph->ops.output(sin))[0], cond);
    EXPECT_EQ(graph->ops.consumersOf(graph->ops.output(cos))[0], cond);
    EXPECT_NE(graph->ops.name(cos), graph->ops.name(sin));
    EXPECT_TRUE(graph->problems.empty());
}

TEST(Pt2Subgraph, InputsNobodyHandsInBecomeConstants) {
    Program p;
    p.nodes = "{'target':'torch.ops.higher_order.flex_attention','inputs':[{'name':'','arg':{'as_tensor':{'name':'x'}}}"
              ",{'name':'','arg':" +
              graph(tensorName("score") + ",{'as_int':3}," + tensorName("b"), "r", call("r", "cos", "score"),
                    value("score")) +
              "}],'outputs':[{'as_tensor':{'name':'y'}}],'metadata':{},'name':'flex'}";
    p.values = value("x") + "," + value("y");
    const GraphPtr graph = graphOf(p);
    ASSERT_EQ(graph->ops.nodes.size(), 2u);
    EXPECT_EQ(graph->ops.at(graph->ops.operand(NodeId(std::size_t{0}), 0)).kind, ValueKind::Constant);
    EXPECT_TRUE(graph->problems.empty());
}

TEST(Pt2Subgraph, NestingIsBounded) {
    std::string inner = call("r", "cos", "t");
    for (int i = 0; i < 30; ++i) // JSON itself may nest 256 deep: some seven levels for each graph
        inner = "{'target':'torch.ops.higher_order.wrap','inputs':[{'name':'','arg':" +
                graph(tensorName("t"), "r", inner, "") +
                "},{'name':'','arg':{'as_tensor':{'name':'t'}}}],'outputs':[{'as_tensor':{'name':'r'}}],'metadata':{},'"
                "name':'r'}";
    Program p;
    p.inputs = tensorName("t");
    p.outputs = tensorName("r");
    p.values = value("t");
    p.nodes = inner;
    const GraphPtr graph = graphOf(p);
    EXPECT_EQ(graph->ops.nodes.size(), 1u);
}

TEST(Pt2Subgraph, GraphsWithoutNodesAreProblems) {
    Program p;
    p.nodes =
        "{'target':'torch.ops.higher_order.wrap','inputs':[{'name':'','arg':{'as_graph':{'name':'s','graph':{}}}}],"
        "'outputs':[{'as_tensor':{'name':'y'}}],'metadata':{},'name':'hop'}";
    p.values = value("x") + "," + value("y");
    const GraphPtr graph = graphOf(p);
    ASSERT_EQ(graph->problems.size(), 1u);
    EXPECT_EQ(graph->problems[0].kind, "sub-graph");
    EXPECT_EQ(graph->ops.nodes.size(), 1u); // the operator itself
}

} // namespace
} // namespace fusescope
