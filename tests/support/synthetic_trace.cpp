// SPDX-License-Identifier: Apache-2.0
#include "tests/support/synthetic_trace.h"

#include <algorithm>
#include <vector>

namespace fusescope::testing {
namespace {

constexpr double kToken = 4096;
constexpr double kBig = 2 * kToken * kToken * 4096;
} // namespace

const std::array<Call, 26> kLayer = {{
    {"aten::to", "input_layernorm", "Qwen3RMSNorm",
     "void at::native::vectorized_elementwise_kernel<4, at::native::bfloat16_copy>(int)", OpKind::Norm, 12, 0, 100e6},
    {"aten::pow", "input_layernorm", "Qwen3RMSNorm",
     "void at::native::vectorized_elementwise_kernel<4, at::native::pow>(int)", OpKind::Norm, 18, 17e6, 134e6},
    {"aten::mean", "input_layernorm", "Qwen3RMSNorm",
     "void at::native::reduce_kernel<512, 1, at::native::MeanOps>(int)", OpKind::Norm, 16, 17e6, 67e6},
    {"aten::rsqrt", "input_layernorm", "Qwen3RMSNorm", "void at::native::vectorized_elementwise_kernel<4, rsqrt>(int)",
     OpKind::Norm, 3, 4e3, 32e3},
    {"aten::mul", "input_layernorm", "Qwen3RMSNorm", "void at::native::elementwise_kernel<128, 2, mul>(int)",
     OpKind::Norm, 20, 17e6, 134e6},
    {"aten::mul", "input_layernorm", "Qwen3RMSNorm", "void at::native::elementwise_kernel<128, 4, mul>(int)",
     OpKind::Norm, 14, 17e6, 67e6},
    {"aten::mm", "self_attn.q_proj", "Linear", "nvjet_tst_192x192_64x4_2x1_v_bz_coopB_TNT", OpKind::Matmul, 205, kBig,
     100e6},
    {"aten::mm", "self_attn.k_proj", "Linear", "nvjet_tst_128x160_64x4_2x1_v_bz_TNT", OpKind::Matmul, 60, kBig / 4,
     50e6},
    {"aten::mm", "self_attn.v_proj", "Linear", "nvjet_tst_128x160_64x4_2x1_v_bz_TNT", OpKind::Matmul, 58, kBig / 4,
     50e6},
    {"aten::mul", "self_attn", "Qwen3Attention", "void at::native::elementwise_kernel<128, 4, rope>(int)", OpKind::Rope,
     24, 17e6, 134e6},
    {"aten::cat", "self_attn", "Qwen3Attention", "void at::native::CatArrayBatchedCopy<int>(int)", OpKind::Rope, 17, 0,
     67e6},
    {"aten::add", "self_attn", "Qwen3Attention", "void at::native::elementwise_kernel<128, 4, add>(int)", OpKind::Rope,
     22, 17e6, 100e6},
    {"aten::bmm", "self_attn", "Qwen3Attention", "cutlass_80_tensorop_bf16_s16816gemm_bf16", OpKind::Attention, 390,
     kBig, 1.1e9},
    {"aten::mul", "self_attn", "Qwen3Attention", "void at::native::elementwise_kernel<128, 4, scale>(int)",
     OpKind::Attention, 560, 537e6, 2.1e9},
    {"aten::add", "self_attn", "Qwen3Attention", "void at::native::elementwise_kernel<128, 4, mask>(int)",
     OpKind::Attention, 610, 537e6, 2.2e9},
    {"aten::_softmax", "self_attn", "Qwen3Attention",
     "void (anonymous namespace)::softmax_warp_forward<c10::BFloat16>(int)", OpKind::Attention, 1150, 2.6e9, 3.2e9},
    {"aten::bmm", "self_attn", "Qwen3Attention", "cutlass_80_tensorop_bf16_s16816gemm_bf16_nn", OpKind::Attention, 410,
     kBig, 1.1e9},
    {"aten::mm", "self_attn.o_proj", "Linear", "nvjet_tst_192x192_64x4_2x1_v_bz_coopB_TNT", OpKind::Matmul, 203, kBig,
     100e6},
    {"aten::add", "", "Qwen3DecoderLayer", "void at::native::vectorized_elementwise_kernel<4, add>(int)",
     OpKind::Elementwise, 24, 17e6, 100e6},
    {"aten::mean", "post_attention_layernorm", "Qwen3RMSNorm",
     "void at::native::reduce_kernel<512, 1, at::native::MeanOps>(int)", OpKind::Norm, 16, 17e6, 67e6},
    {"aten::mul", "post_attention_layernorm", "Qwen3RMSNorm", "void at::native::elementwise_kernel<128, 2, mul>(int)",
     OpKind::Norm, 20, 17e6, 134e6},
    {"aten::mm", "mlp.gate_proj", "Linear", "nvjet_tst_256x128_64x4_2x1_v_bz_coopA_TNT", OpKind::Matmul, 640, kBig * 3,
     230e6},
    {"aten::silu", "mlp.act_fn", "SiLUActivation", "void at::native::vectorized_elementwise_kernel<8, silu>(int)",
     OpKind::Mlp, 48, 250e6, 200e6},
    {"aten::mm", "mlp.up_proj", "Linear", "nvjet_tst_256x128_64x4_2x1_v_bz_coopA_TNT", OpKind::Matmul, 638, kBig * 3,
     230e6},
    {"aten::mul", "mlp", "Qwen3MLP", "void at::native::vectorized_elementwise_kernel<8, mul>(int)", OpKind::Mlp, 72,
     50e6, 300e6},
    {"aten::mm", "mlp.down_proj", "Linear", "nvjet_tst_256x128_64x4_2x1_v_bz_coopA_NNT", OpKind::Matmul, 645, kBig * 3,
     230e6},
}};

TrackId TraceMaker::track(TrackKind kind, std::int64_t tid, const std::string& name, std::int32_t device,
                          std::int64_t stream) {
    Track track;
    track.kind = kind;
    track.pid = device < 0 ? 415 : device;
    track.tid = tid;
    track.device = device;
    track.stream = stream;
    track.name = t_.strings.intern(name);
    track.sort_index = tid;
    t_.tracks.push_back(track);
    return TrackId(t_.tracks.size() - 1);
}

std::size_t TraceMaker::slice(Category category, const std::string& name, TrackId track, std::uint16_t depth,
                              std::int64_t ts, std::int64_t dur, std::int16_t step, std::uint32_t detail) {
    SliceTable& s = t_.slices;
    s.ts.push_back(ts);
    s.dur.push_back(dur);
    s.name.push_back(t_.strings.intern(name));
    s.category.push_back(category);
    s.track.push_back(track);
    s.depth.push_back(depth);
    s.parent.emplace_back();
    s.correlation.push_back(0);
    s.external_id.push_back(0);
    s.step.push_back(step);
    s.detail.push_back(detail);
    s.args_offset.push_back(0);
    s.args_length.push_back(0);
    Track& tr = t_.tracks[track.index()];
    ++tr.slices;
    tr.depths = std::max<std::uint16_t>(tr.depths, static_cast<std::uint16_t>(depth + 1));
    return s.size() - 1;
}

void TraceMaker::kernel(const Call& call, TrackId cpu, TrackId stream, std::int64_t& cpu_t, std::int64_t& gpu_t,
                        std::int16_t step, Direction direction, double factor, std::uint16_t depth) {
    const auto op_row = static_cast<std::uint32_t>(t_.cpu_ops.size());
    const std::size_t op = slice(Category::CpuOp, call.op + suffix_, cpu, depth, cpu_t, 14'000, step, op_row);
    t_.cpu_ops.slice.emplace_back(op);
    t_.cpu_ops.sequence.push_back(-1);
    t_.cpu_ops.fwd_thread.push_back(0);
    for (auto* column : {&t_.cpu_ops.dims, &t_.cpu_ops.types, &t_.cpu_ops.strides, &t_.cpu_ops.concrete})
        column->emplace_back();
    const std::size_t launch = slice(Category::CudaRuntime, "cudaLaunchKernel", cpu,
                                     static_cast<std::uint16_t>(depth + 1), cpu_t + 5'000, 6'000, step);
    gpu_t = std::max(gpu_t + 800, cpu_t + 14'000);
    const auto dur = static_cast<std::int64_t>(call.us * 1000 * factor);
    const auto row = static_cast<std::uint32_t>(t_.kernels.size());
    const std::size_t k = slice(Category::Kernel, call.kernel + suffix_, stream, 0, gpu_t, dur, step, row);
    t_.kernels.slice.emplace_back(k);
    t_.kernels.device.push_back(0);
    t_.kernels.stream.push_back(7);
    t_.kernels.grid.push_back({132, 1, 1});
    t_.kernels.block.push_back({256, 1, 1});
    t_.kernels.registers.push_back(32);
    t_.kernels.shared_bytes.push_back(0);
    t_.kernels.occupancy.push_back(-1);
    t_.kernels.graph_id.push_back(0);
    t_.kernels.graph_node.push_back(0);
    WorkLink link;
    link.launch = SliceId(launch);
    link.op = CpuOpId(std::size_t{op_row});
    link.kind = call.kind;
    link.direction = direction;
    a_.link.kernels.push_back(link);
    OpCost cost;
    cost.flops = call.flops * factor;
    cost.bytes_read = call.bytes * factor * 0.6;
    cost.bytes_written = call.bytes * factor * 0.4;
    cost.flops_known = call.flops > 0;
    cost.bytes_known = true;
    cost.dtype = DType::BFloat16;
    a_.kernel_costs.push_back(cost);
    cpu_t += 17'000;
    gpu_t += dur;
}

void TraceMaker::sort() {
    SliceTable& s = t_.slices;
    std::vector<std::size_t> order(s.size()), place(s.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return s.ts[a] != s.ts[b] ? s.ts[a] < s.ts[b] : s.dur[a] > s.dur[b];
    });
    for (std::size_t i = 0; i < order.size(); ++i) place[order[i]] = i;
    const auto apply = [&](auto& column) {
        auto copy = column;
        for (std::size_t i = 0; i < order.size(); ++i) column[i] = copy[order[i]];
    };
    apply(s.ts), apply(s.dur), apply(s.name), apply(s.category), apply(s.track), apply(s.depth), apply(s.parent),
        apply(s.correlation);
    apply(s.external_id), apply(s.step), apply(s.detail), apply(s.args_offset), apply(s.args_length);
    const auto renumber = [&](SliceId& id) {
        if (id.valid()) id = SliceId(place[id.index()]);
    };
    for (SliceId& id : t_.kernels.slice) renumber(id);
    for (SliceId& id : t_.cpu_ops.slice) renumber(id);
    for (Step& step : t_.steps) renumber(step.slice);
    for (WorkLink& link : a_.link.kernels) renumber(link.launch);
}

} // namespace fusescope::testing
