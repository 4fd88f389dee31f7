// SPDX-License-Identifier: Apache-2.0
// The captured step: 2 layers of Qwen3-8B, two recorded steps of 521 kernels. What stands here was read off the trace
// file and the model's source by hand.
#include "core/io/open.h"
#include "core/link/link.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace fusescope {
namespace {

TracePtr sampleTrace() {
    static const TracePtr trace = [] {
        Progress progress;
        const Result<TracePtr> read =
            readKinetoTrace(FUSESCOPE_SAMPLES_DIR "/qwen3-8b-2layer-train-eager.pt.trace.json.gz", true, progress);
        return read.ok() ? *read : nullptr;
    }();
    return trace;
}
GraphPtr sampleGraph() {
    static const GraphPtr graph = [] {
        Progress progress;
        const Result<GraphPtr> read = readPt2(FUSESCOPE_SAMPLES_DIR "/qwen3-8b-2layer-eager.pt2", progress);
        return read.ok() ? *read : nullptr;
    }();
    return graph;
}

class LinkSample : public testing::TestWithParam<bool> {
protected:
    void SetUp() override {
        trace = sampleTrace();
        graph = GetParam() ? sampleGraph() : nullptr;
        ASSERT_NE(trace, nullptr);
        ASSERT_EQ(graph != nullptr, GetParam());
        Progress progress;
        link = linkTrace(*trace, graph.get(), progress);
        for (std::size_t k = 0; k < trace->kernels.size(); ++k)
            if (trace->slices.step[trace->kernels.slice[k].index()] == 0) step.push_back(k);
    }
    [[nodiscard]] std::string name(CpuOpId op) const {
        return op.valid() ? std::string(trace->nameOf(trace->cpu_ops.slice[op.index()])) : "-";
    }
    [[nodiscard]] const WorkLink& at(std::size_t i) const { return link.kernels[step[i]]; }
    [[nodiscard]] std::string path(std::size_t i) const {
        return at(i).module.valid() ? link.modules.at(at(i).module).path : "-";
    }
    TracePtr trace;
    GraphPtr graph;
    Link link;
    std::vector<std::size_t> step; // kernels of the first step
};

TEST_P(LinkSample, EveryKernelIsLinked) {
    ASSERT_EQ(step.size(), 521u);
    EXPECT_GE(link.op_ns / link.kernel_ns, 0.999);
    EXPECT_GE(link.module_ns / link.kernel_ns, 0.999);
    EXPECT_TRUE(link.unlinked.empty());
    for (const WorkLink& work : link.kernels) {
        EXPECT_EQ(work.launch_how, LinkHow::Correlation);
        EXPECT_EQ(work.op_how, LinkHow::ExternalId);
    }
}

TEST_P(LinkSample, ProjectionOfTheFirstLayer) { // kernel 37 of a step: nvjet, aten::linear > aten::matmul > aten::mm
    EXPECT_EQ(name(at(37).op), "aten::mm");
    EXPECT_EQ(name(at(37).top_op), "aten::linear");
    EXPECT_EQ(path(37), GetParam() ? "model.model.layers.0.self_attn.q_proj"
                                   : "Qwen3ForCausalLM_0/Qwen3Model_0/Qwen3DecoderLayer_0/Qwen3Attention_0/Linear_0");
    EXPECT_EQ(at(37).kind, OpKind::Matmul);
    EXPECT_EQ(at(37).direction, Direction::Forward);
}

TEST_P(LinkSample, BackwardFindsItsForward) {
    // 209: sum of MulBackward0 in the input norm of layer 1's MLP; 225: softmax backward; 421-441: embedding backward.
    EXPECT_EQ(name(at(209).op), "aten::sum");
    EXPECT_EQ(name(at(209).forward_op), "aten::mul");
    EXPECT_EQ(name(at(225).forward_op), "aten::_softmax");
    EXPECT_EQ(name(at(440).forward_op), "aten::embedding");
    EXPECT_EQ(link.modules.at(at(209).module).type, "Qwen3RMSNorm");
    EXPECT_EQ(link.modules.at(at(225).module).type, "Qwen3Attention");
    EXPECT_EQ(link.modules.at(at(440).module).type, "Embedding");
    EXPECT_EQ(at(209).module_how, LinkHow::SequenceNumber);
    for (std::size_t i = 170; i < 442; ++i) {
        EXPECT_EQ(at(i).direction, Direction::Backward) << i;
        EXPECT_TRUE(at(i).forward_op.valid()) << i;
        EXPECT_TRUE(at(i).module.valid()) << i;
    }
}

TEST_P(LinkSample, Phases) {
    for (std::size_t i = 0; i < 164; ++i) EXPECT_EQ(at(i).phase, Phase::Forward) << i;
    for (std::size_t i = 164; i < 176; ++i) EXPECT_EQ(at(i).phase, Phase::Loss) << i;
    for (std::size_t i = 176; i < 442; ++i) EXPECT_EQ(at(i).phase, Phase::Backward) << i;
    for (std::size_t i = 442; i < 521; ++i) {
        EXPECT_EQ(at(i).phase, Phase::Optimizer) << i;
        EXPECT_EQ(at(i).direction, Direction::Optimizer) << i;
    }
}

TEST_P(LinkSample, Kinds) {
    EXPECT_EQ(at(0).kind, OpKind::Embedding);
    for (std::size_t i = 29; i <= 36; ++i) EXPECT_EQ(at(i).kind, OpKind::Norm) << i;
    for (std::size_t i = 38; i <= 45; ++i) EXPECT_EQ(at(i).kind, OpKind::Norm) << i; // q_norm
    for (std::size_t i = 56; i <= 65; ++i) EXPECT_EQ(at(i).kind, OpKind::Rope) << i;
    for (std::size_t i : {66u, 67u}) EXPECT_EQ(at(i).kind, OpKind::Copy) << i; // repeat_kv
    for (std::size_t i = 68; i <= 74; ++i) EXPECT_EQ(at(i).kind, OpKind::Attention) << i;
    EXPECT_EQ(at(77).kind, OpKind::Elementwise); // residual
    for (std::size_t i : {87u, 89u, 195u, 196u, 199u}) EXPECT_EQ(at(i).kind, OpKind::Mlp) << i;
    for (std::size_t i = 221; i <= 229; ++i) EXPECT_EQ(at(i).kind, OpKind::Attention) << i;
    for (std::size_t i = 232; i <= 249; ++i) EXPECT_EQ(at(i).kind, OpKind::Rope) << i;
    for (std::size_t i = 442; i < 521; ++i) EXPECT_EQ(at(i).kind, OpKind::Optimizer) << i;
}

TEST_P(LinkSample, CallsOfModules) { // 2 layers x 4 norms + the last one
    std::map<std::string, int> calls;
    for (const ModuleCall& call : link.calls)
        if (call.step == 0) ++calls[link.modules.at(call.module).type];
    EXPECT_EQ(calls["Qwen3RMSNorm"], 9);
    EXPECT_EQ(calls["Linear"], 15);
    EXPECT_EQ(calls["Qwen3DecoderLayer"], 2);
    EXPECT_EQ(calls["Qwen3ForCausalLM"], 1);
}

INSTANTIATE_TEST_SUITE_P(TraceAloneAndWithGraph, LinkSample, testing::Bool());

class LinkSampleWithGraph : public LinkSample {};
INSTANTIATE_TEST_SUITE_P(WithGraph, LinkSampleWithGraph, testing::Values(true));

TEST_P(LinkSampleWithGraph, NodesOfTheGraph) {
    const auto node = [&](std::size_t i) {
        return at(i).node.valid() ? std::string(graph->ops.name(at(i).node)) : "-";
    };
    EXPECT_EQ(node(0), "embedding");
    EXPECT_EQ(node(29), "to_9");
    EXPECT_EQ(node(31), "mean");
    EXPECT_EQ(node(37), "linear");
    EXPECT_EQ(node(60), "add_6");     // q*cos + rotate_half(q)*sin
    EXPECT_EQ(node(67), "reshape_1"); // repeat_kv of v
    EXPECT_EQ(node(71), "softmax");   // the conversion inside softmax(dtype=float32)
    EXPECT_EQ(node(72), "softmax");
    EXPECT_EQ(node(91), "add_11"); // residual after the MLP of layer 0
    EXPECT_EQ(node(163), "linear_14");
    EXPECT_EQ(node(209), "mul_27"); // backward inherits the forward operator's node
    // Only loss, optimizer and the check of packed sequences (aten::eq, aten::ones_like) are outside the graph.
    for (std::size_t i = 0; i < 442; ++i)
        if (at(i).phase != Phase::Loss && i != 10) {
            EXPECT_TRUE(at(i).node.valid()) << i;
        }
    // Of 156.6 ms in both steps 16.1 ms are loss and 21.5 ms optimizer.
    EXPECT_NEAR(link.graph_ns / link.kernel_ns, 0.784, 0.002);
}

TEST_P(LinkSampleWithGraph, KernelsOfNode) {
    NodeId softmax;
    for (std::size_t n = 0; n < graph->ops.nodes.size(); ++n)
        if (graph->ops.name(NodeId(n)) == "softmax") softmax = NodeId(n);
    // Forward conversion and softmax; backward conversion, product and softmax; in each of two steps.
    EXPECT_EQ(link.kernelsOf(softmax).size(), 10u);
    std::size_t all = 0;
    for (std::size_t n = 0; n < graph->ops.nodes.size(); ++n) all += link.kernelsOf(NodeId(n)).size();
    std::size_t with_node = 0;
    for (const WorkLink& work : link.kernels) with_node += work.node.valid() ? 1 : 0;
    EXPECT_EQ(all, with_node);
    EXPECT_TRUE(link.kernelsOf(NodeId{}).empty());
}

// The modules of all kernels are the graph's, with nothing to add.
TEST_P(LinkSampleWithGraph, TreeIsTheGraphs) {
    EXPECT_TRUE(link.modules_from_graph);
    EXPECT_EQ(link.modules.modules.size(), graph->modules.modules.size());
}

// Without Python frames the whole forward pass is laid over the graph.
TEST(LinkSampleWithoutFrames, GraphGivesTheModules) {
    ASSERT_NE(sampleTrace(), nullptr);
    ASSERT_NE(sampleGraph(), nullptr);
    TraceStore bare; // the columns can be copied, the string pool is made again
    const TraceStore& full = *sampleTrace();
    for (std::size_t i = 0; i < full.strings.size(); ++i) (void)bare.strings.intern(full.strings.view(StringId(i)));
    bare.slices = full.slices;
    bare.kernels = full.kernels;
    bare.copies = full.copies;
    bare.cpu_ops = full.cpu_ops;
    bare.tracks = full.tracks;
    bare.steps = full.steps;
    for (std::size_t i = 0; i < bare.slices.size(); ++i)
        if (bare.slices.category[i] == Category::PythonFunction) bare.slices.category[i] = Category::Overhead;
    // Frames are gone: rows hang below the nearest row that is left.
    for (std::size_t i = 0; i < bare.slices.size(); ++i)
        while (bare.slices.parent[i].valid() &&
               bare.slices.category[bare.slices.parent[i].index()] == Category::Overhead)
            bare.slices.parent[i] = bare.slices.parent[bare.slices.parent[i].index()];
    Progress progress;
    const Link with = linkTrace(full, sampleGraph().get(), progress);
    const Link without = linkTrace(bare, sampleGraph().get(), progress);
    EXPECT_GE(without.module_ns / without.kernel_ns, 0.99);
    std::size_t same = 0, both = 0;
    for (std::size_t k = 0; k < with.kernels.size(); ++k) {
        if (!with.kernels[k].node.valid()) continue;
        ++both;
        same += with.kernels[k].node == without.kernels[k].node ? 1 : 0;
    }
    EXPECT_GE(static_cast<double>(same), 0.99 * static_cast<double>(both));

    const Link alone = linkTrace(bare, nullptr, progress);
    EXPECT_GE(alone.op_ns / alone.kernel_ns, 0.999);
    // Named phases only: loss 16.1 ms and optimizer 21.5 ms of 174.2 ms.
    EXPECT_NEAR(alone.module_ns / alone.kernel_ns, (16.09 + 21.51) / 174.24, 0.002);
    ASSERT_EQ(alone.unlinked.size(), 1u);
    EXPECT_EQ(alone.unlinked[0].reason, "no module frames in the trace (record with_stack=True)");
}

} // namespace
} // namespace fusescope
