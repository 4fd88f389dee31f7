// SPDX-License-Identifier: Apache-2.0
// The shapes that traces in the wild have (facts/kineto-traces.md, tables 3C to 3E), each in a few rows.
#include "core/link/link.h"
#include "tests/core/link/toy_trace.h"

#include <gtest/gtest.h>

namespace fusescope {
namespace {

using test::ToyTrace;

struct Linked {
    TracePtr trace;
    Link link;
    [[nodiscard]] std::string op(std::size_t k) const { return name(link.kernels[k].op); }
    [[nodiscard]] std::string top(std::size_t k) const { return name(link.kernels[k].top_op); }
    [[nodiscard]] std::string forward(std::size_t k) const { return name(link.kernels[k].forward_op); }
    [[nodiscard]] std::string module(std::size_t k) const {
        return link.kernels[k].module.valid() ? link.modules.at(link.kernels[k].module).path : "-";
    }
    [[nodiscard]] std::string name(CpuOpId op) const {
        return op.valid() ? std::string(trace->nameOf(trace->cpu_ops.slice[op.index()])) : "-";
    }
};

Linked linked(ToyTrace& toy) {
    Linked out;
    out.trace = toy.finish();
    Progress progress;
    out.link = linkTrace(*out.trace, nullptr, progress);
    return out;
}

TEST(LinkLaunch, AnyApiNameLinksByCorrelation) { // D5
    ToyTrace toy;
    toy.op(toy.main(), "aten::mm", 0, 100);
    toy.launch(toy.main(), 10, 8, 0, "cuLaunchKernelSomeDay", Category::CudaDriver);
    toy.kernel(50, 10, 8);
    const Linked l = linked(toy);
    EXPECT_EQ(l.op(0), "aten::mm");
    EXPECT_EQ(l.link.kernels[0].launch_how, LinkHow::Correlation);
    EXPECT_EQ(l.link.kernels[0].op_how, LinkHow::TimeContainment);
    EXPECT_DOUBLE_EQ(l.link.op_ns, 10);
}

TEST(LinkLaunch, OrphansAreCountedWithTheirReason) { // D4
    ToyTrace toy;
    toy.op(toy.main(), "aten::mm", 0, 100);
    toy.kernel(50, 10, 0);
    toy.kernel(70, 20, 77);
    const Linked l = linked(toy);
    EXPECT_DOUBLE_EQ(l.link.kernel_ns, 30);
    EXPECT_DOUBLE_EQ(l.link.op_ns, 0);
    ASSERT_EQ(l.link.unlinked.size(), 2u); // the longer first
    EXPECT_EQ(l.link.unlinked[0].reason, "the launch is not in the trace");
    EXPECT_DOUBLE_EQ(l.link.unlinked[0].time_ns, 20);
    EXPECT_EQ(l.link.unlinked[1].reason, "no correlation recorded");
}

TEST(LinkLaunch, CapturedGraphHasALaunchButNoOperator) { // D1
    ToyTrace toy;
    toy.python(toy.main(), "nn.Module: Model_0", 0, 200);
    toy.op(toy.main(), "aten::something", 5, 100);
    toy.launch(toy.main(), 10, 9, 0, "cudaGraphLaunch");
    for (int i = 0; i < 3; ++i) toy.kernel(50 + 10 * i, 5, 9);
    const Linked l = linked(toy);
    for (std::size_t k = 0; k < 3; ++k) {
        EXPECT_TRUE(l.link.kernels[k].launch.valid());
        EXPECT_FALSE(l.link.kernels[k].op.valid());
        EXPECT_EQ(l.module(k), "Model_0");
    }
    ASSERT_EQ(l.link.unlinked.size(), 1u);
    EXPECT_EQ(l.link.unlinked[0].reason, "captured graph: no operator recorded");
    EXPECT_EQ(l.link.unlinked[0].kernels, 3u);
}

TEST(LinkLaunch, MergedRanksReuseNumbers) { // D9: the launch is the last one before the kernel
    ToyTrace toy;
    const TrackId other = toy.thread(200, 9);
    toy.op(toy.main(), "aten::mm", 0, 100);
    toy.launch(toy.main(), 10, 8);
    toy.kernel(20, 5, 8);
    toy.op(other, "aten::add", 1000, 100);
    toy.launch(other, 1010, 8);
    toy.kernel(1020, 5, 8);
    const Linked l = linked(toy);
    EXPECT_EQ(l.op(0), "aten::mm");
    EXPECT_EQ(l.op(1), "aten::add");
}

TEST(LinkLaunch, ExternalIdOfAnotherProcessIsNotOurs) {
    ToyTrace toy;
    const TrackId other = toy.thread(200, 9);
    toy.op(other, "aten::add", 0, 100, {3, -1, 0});
    toy.op(toy.main(), "aten::mm", 0, 100, {5, -1, 0});
    toy.launch(toy.main(), 10, 8, 3);
    toy.kernel(20, 5, 8);
    const Linked l = linked(toy);
    EXPECT_EQ(l.op(0), "aten::mm");
    EXPECT_EQ(l.link.kernels[0].op_how, LinkHow::TimeContainment);
}

TEST(LinkLaunch, ExternalIdServesWithoutALaunchRow) {
    ToyTrace toy;
    toy.op(toy.main(), "aten::mm", 0, 100, {5, -1, 0});
    CompleteEvent event;
    event.category = Category::Kernel;
    event.name = "gemm";
    event.track = toy.builder().track(TrackKind::GpuStream, 0, 7, 0, 7);
    event.ts = 50;
    event.dur = 10;
    event.external_id = 5;
    toy.builder().add(event, KernelDetail{});
    const Linked l = linked(toy);
    EXPECT_EQ(l.op(0), "aten::mm");
    EXPECT_EQ(l.link.kernels[0].op_how, LinkHow::ExternalId);
    EXPECT_FALSE(l.link.kernels[0].launch.valid());
}

TEST(LinkOps, LeafAndTopInsideTheModule) {
    ToyTrace toy;
    toy.python(toy.main(), "nn.Module: Model_0", 0, 1000);
    toy.python(toy.main(), "nn.Module: Linear_3", 10, 500);
    toy.op(toy.main(), "aten::linear", 20, 400);
    toy.op(toy.main(), "aten::matmul", 30, 300);
    toy.op(toy.main(), "aten::mm", 40, 200);
    toy.launch(toy.main(), 50, 1);
    toy.kernel(60, 5, 1);
    const Linked l = linked(toy);
    EXPECT_EQ(l.op(0), "aten::mm");
    EXPECT_EQ(l.top(0), "aten::linear");
    EXPECT_EQ(l.module(0), "Model_0/Linear_3");
    EXPECT_EQ(l.link.modules.at(l.link.kernels[0].module).type, "Linear");
    EXPECT_EQ(l.link.kernels[0].phase, Phase::Forward);
    EXPECT_EQ(l.link.kernels[0].direction, Direction::Forward);
    EXPECT_EQ(l.link.calls.size(), 2u);
}

// A forward operator carries the number its autograd node will get; operators without a node carry the next one's.
TEST(LinkBackward, TheNameDecidesAmongOperatorsOfOneNumber) {
    ToyTrace toy;
    toy.python(toy.main(), "nn.Module: Norm_0", 0, 100);
    toy.op(toy.main(), "aten::to", 10, 20, {0, 7, 0});
    toy.op(toy.main(), "aten::_to_copy", 12, 15, {0, 7, 0});
    toy.python(toy.main(), "nn.Module: Other_0", 200, 100);
    toy.op(toy.main(), "aten::view", 210, 10, {0, 7, 0}); // makes no node, same number
    toy.op(toy.backwardThread(), "autograd::engine::evaluate_function: ToCopyBackward0", 1000, 100, {0, 7, 1});
    toy.op(toy.backwardThread(), "ToCopyBackward0", 1010, 60, {0, 7, 1});
    toy.op(toy.backwardThread(), "aten::to", 1020, 40);
    toy.op(toy.backwardThread(), "aten::copy_", 1025, 20);
    toy.launch(toy.backwardThread(), 1030, 1);
    toy.op(toy.backwardThread(), "aten::add_", 1080, 15);
    toy.launch(toy.backwardThread(), 1085, 2);
    toy.kernel(1100, 5, 1);
    toy.kernel(1110, 5, 2);
    const Linked l = linked(toy);
    EXPECT_EQ(l.op(0), "aten::copy_");
    EXPECT_EQ(l.top(0), "aten::to"); // below both rows of the engine
    EXPECT_EQ(l.forward(0), "aten::_to_copy");
    EXPECT_EQ(l.module(0), "Norm_0");
    EXPECT_EQ(l.link.kernels[0].module_how, LinkHow::SequenceNumber);
    EXPECT_EQ(l.link.kernels[0].direction, Direction::Backward);
    EXPECT_EQ(l.forward(1), "aten::_to_copy"); // the sum of gradients belongs to the node being evaluated
    EXPECT_EQ(l.top(1), "aten::add_");
    EXPECT_DOUBLE_EQ(l.link.module_ns, l.link.kernel_ns);
}

TEST(LinkBackward, NumbersAreCountedPerThread) { // a checkpointed forward on the backward thread reuses them
    ToyTrace toy;
    toy.python(toy.main(), "nn.Module: Model_0", 0, 500);
    toy.python(toy.main(), "nn.Module: Layer_0", 10, 300);
    toy.op(toy.main(), "aten::mul", 20, 10, {0, 5, 0});
    toy.op(toy.main(), "aten::add", 40, 10, {0, 6, 0});
    toy.op(toy.backwardThread(), "autograd::engine::evaluate_function: AddBackward0", 1000, 500, {0, 6, 1});
    toy.op(toy.backwardThread(), "AddBackward0", 1010, 480, {0, 6, 1});
    toy.python(toy.backwardThread(), "nn.Module: Layer_0", 1020, 100); // recomputed
    toy.op(toy.backwardThread(), "aten::mul", 1030, 20, {0, 5, 0});
    toy.launch(toy.backwardThread(), 1035, 1);
    toy.op(toy.backwardThread(), "aten::add", 1200, 20);
    toy.launch(toy.backwardThread(), 1205, 2);
    toy.op(toy.backwardThread(), "autograd::engine::evaluate_function: MulBackward0", 2000, 100, {0, 5, 1});
    toy.op(toy.backwardThread(), "aten::mul", 2020, 20);
    toy.launch(toy.backwardThread(), 2025, 3);
    for (std::uint32_t c = 1; c <= 3; ++c) toy.kernel(3000 + 10 * c, 5, c);
    const Linked l = linked(toy);
    // Recomputed work is the layer's own forward, in the backward phase; the layer is not a second root.
    EXPECT_EQ(l.module(0), "Model_0/Layer_0");
    EXPECT_EQ(l.link.kernels[0].direction, Direction::Forward);
    EXPECT_EQ(l.link.kernels[0].phase, Phase::Backward);
    EXPECT_EQ(l.forward(1), "aten::add");
    EXPECT_EQ(l.link.kernels[1].direction, Direction::Backward);
    EXPECT_EQ(l.forward(2), "aten::mul");
    EXPECT_LT(l.trace->slices.ts[l.trace->cpu_ops.slice[l.link.kernels[2].forward_op.index()].index()], 500);
    EXPECT_EQ(l.link.modules.modules.size(), 3u); // root, Model_0, Layer_0
}

TEST(LinkBackward, AccumulateGradBelongsToTheNodeThatMadeTheGradient) {
    ToyTrace toy;
    toy.python(toy.main(), "nn.Module: Linear_0", 0, 100);
    toy.op(toy.main(), "aten::t", 10, 10, {0, 3, 0});
    toy.op(toy.backwardThread(), "autograd::engine::evaluate_function: TBackward0", 1000, 50, {0, 3, 1});
    toy.op(toy.backwardThread(), "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", 1100, 50);
    toy.op(toy.backwardThread(), "torch::autograd::AccumulateGrad", 1105, 40);
    toy.op(toy.backwardThread(), "aten::add_", 1110, 20);
    toy.launch(toy.backwardThread(), 1115, 1);
    toy.kernel(1200, 5, 1);
    const Linked l = linked(toy);
    EXPECT_EQ(l.module(0), "Linear_0");
    EXPECT_EQ(l.top(0), "aten::add_");
    EXPECT_EQ(l.link.kernels[0].phase, Phase::Backward);
}

TEST(LinkBackward, WithoutAForwardOperatorItSaysSo) {
    ToyTrace toy;
    toy.python(toy.main(), "nn.Module: Linear_0", 0, 100);
    toy.op(toy.backwardThread(), "autograd::engine::evaluate_function: MulBackward0", 1000, 100, {0, 12, 1});
    toy.op(toy.backwardThread(), "aten::mul", 1010, 50);
    toy.launch(toy.backwardThread(), 1020, 1);
    toy.kernel(1100, 5, 1);
    const Linked l = linked(toy);
    ASSERT_EQ(l.link.unlinked.size(), 1u);
    EXPECT_EQ(l.link.unlinked[0].reason, "backward without a forward operator in the trace");
}

TEST(LinkPhases, NamedWithoutAModule) {
    ToyTrace toy;
    std::uint32_t c = 0;
    const auto run = [&](std::string_view op, std::int64_t ts, std::string_view kernel = "k") {
        toy.op(toy.main(), op, ts, 50);
        toy.launch(toy.main(), ts + 5, ++c);
        toy.kernel(ts + 20, 5, c, kernel);
    };
    toy.annotation(toy.main(), "Optimizer.step#AdamW.step", 0, 200);
    run("aten::mul_", 10);
    toy.annotation(toy.main(), "Optimizer.zero_grad#AdamW.zero_grad", 300, 100);
    run("aten::zero_", 310);
    toy.python(toy.main(), "torch/nn/utils/clip_grad.py(171): clip_grad_norm_", 500, 100);
    run("aten::_foreach_norm", 510);
    toy.python(toy.main(), "loss_utils.py(49): ForCausalLMLoss", 700, 100);
    run("aten::to", 710);
    run("aten::cross_entropy_loss", 900);
    run("c10d::allreduce_", 1100, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)");
    toy.annotation(toy.main(), "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 1300, 100);
    run("aten::copy_", 1310);
    const Linked l = linked(toy);
    const Phase expected[] = {Phase::Optimizer, Phase::ZeroGrad,      Phase::GradClip, Phase::Loss,
                              Phase::Loss,      Phase::Communication, Phase::Data};
    for (std::size_t k = 0; k < 7; ++k) EXPECT_EQ(l.link.kernels[k].phase, expected[k]) << k;
    EXPECT_EQ(l.link.kernels[0].direction, Direction::Optimizer);
    EXPECT_EQ(l.link.kernels[5].kind, OpKind::Communication);
    EXPECT_DOUBLE_EQ(l.link.module_ns, l.link.kernel_ns);
    EXPECT_TRUE(l.link.unlinked.empty());
}

TEST(LinkPhases, WithoutFramesTheLogitsConversionIsLoss) {
    ToyTrace toy;
    std::uint32_t c = 0;
    std::int64_t ts = 0;
    for (const std::string_view op : {"aten::embedding", "aten::linear", "aten::to", "aten::cross_entropy_loss"}) {
        toy.op(toy.main(), op, ts, 50);
        toy.launch(toy.main(), ts + 5, ++c);
        toy.kernel(ts + 20, 5, c);
        ts += 100;
    }
    const Linked l = linked(toy);
    EXPECT_EQ(l.link.kernels[0].phase, Phase::Forward);
    EXPECT_EQ(l.link.kernels[1].phase, Phase::Forward);
    EXPECT_EQ(l.link.kernels[2].phase, Phase::Loss);
    EXPECT_EQ(l.link.kernels[3].phase, Phase::Loss);
    EXPECT_DOUBLE_EQ(l.link.module_ns, 10); // the loss is named; plain forward without a module is not
    ASSERT_EQ(l.link.unlinked.size(), 1u);
    EXPECT_EQ(l.link.unlinked[0].kernels, 2u);
}

TEST(LinkPhases, CompiledRegionsShowTheirInside) {
    ToyTrace toy;
    toy.python(toy.main(), "nn.Module: Model_0", 0, 1000);
    toy.op(toy.main(), "CompiledFunction", 10, 900, {0, 4, 0});
    toy.op(toy.main(), "triton_red_fused_mean_mul_pow_rsqrt_0", 20, 100);
    toy.launch(toy.main(), 30, 1);
    toy.kernel(50, 5, 1, "triton_red_fused_mean_mul_pow_rsqrt_0");
    toy.op(toy.backwardThread(), "CompiledFunctionBackward", 2000, 500, {0, 4, 1});
    toy.op(toy.backwardThread(), "aten::mm", 2010, 100);
    toy.launch(toy.backwardThread(), 2020, 2);
    toy.kernel(2050, 5, 2);
    const Linked l = linked(toy);
    EXPECT_EQ(l.top(0), "triton_red_fused_mean_mul_pow_rsqrt_0");
    EXPECT_EQ(l.link.kernels[0].kind, OpKind::Norm);
    EXPECT_EQ(l.top(1), "aten::mm");
    EXPECT_EQ(l.forward(1), "CompiledFunction");
    EXPECT_EQ(l.module(1), "Model_0");
}

TEST(LinkTrace, EmptyTraceIsNoProblem) {
    ToyTrace toy;
    toy.op(toy.main(), "aten::mm", 0, 100);
    const Linked l = linked(toy);
    EXPECT_TRUE(l.link.kernels.empty());
    EXPECT_TRUE(l.link.unlinked.empty());
    EXPECT_EQ(l.link.modules.modules.size(), 1u);
}

} // namespace
} // namespace fusescope
