// SPDX-License-Identifier: Apache-2.0
#include "tests/support/synthetic_analysis.h"
#include "tests/support/synthetic_trace.h"

#include "core/graph/graph_builder.h"

#include <algorithm>
#include <array>
#include <map>
#include <vector>

namespace fusescope::testing {
namespace {

struct Ids { // rows of kLayer that a pattern covers
    Pattern pattern;
    std::vector<int> rows;
    int fused_kernels;
    double fused_share; // of its time once fused
    std::vector<int> signals;
    Verdict verdict;
};
const std::vector<Ids> kFindings = {
    {Pattern::Attention, {12, 13, 14, 15, 16}, 2, 0.35, {2, 3, 4}, Verdict::WorthIt},
    {Pattern::RmsNorm, {0, 1, 2, 3, 4, 5}, 2, 0.3, {1, 2, 3, 4}, Verdict::WorthIt},
    {Pattern::SwiGlu, {22, 24}, 2, 0.62, {2, 3}, Verdict::WorthIt},
    {Pattern::Rope, {9, 10, 11}, 2, 0.4, {1, 2, 3, 4}, Verdict::Marginal},
    {Pattern::AddRmsNorm, {18, 19, 20}, 2, 0.55, {2, 3}, Verdict::WorthIt},
    {Pattern::QkvProjection, {6, 7, 8}, 2, 0.99, {3}, Verdict::NotBeneficial},
};

TensorMeta tensor(std::vector<std::int64_t> sizes, DType type = DType::BFloat16) {
    TensorMeta meta;
    meta.dtype = type;
    meta.sizes = std::move(sizes);
    return meta;
}

// The layer's rows of kLayer as graph nodes; nodes of layer l start at result[l].
GraphPtr makeGraph(const SyntheticOptions& o, std::vector<NodeId>& first_of_layer) {
    GraphBuilder b;
    const std::string& x = o.name_suffix;
    const ValueId ids = b.input(ValueKind::Input, "input_ids" + x, tensor({1, 4096}, DType::Int64));
    const auto fqn = [&](const std::string& type) { return "transformers.models.qwen3.modeling_qwen3." + type + x; };
    const ModuleFrame root{"", "transformers.models.qwen3.modeling_qwen3.Qwen3ForCausalLM"},
        model{"model", "transformers.models.qwen3.modeling_qwen3.Qwen3Model"};
    const ValueId table = b.parameter(false, "p_embed", "model.embed_tokens.weight", tensor({151936, 4096}));
    b.node("embedding", "torch.ops.aten.embedding.default",
           {root, model, {"model.embed_tokens", "torch.nn.modules.sparse.Embedding"}}, "");
    b.argTensor("weight", false, table);
    b.argTensor("indices", false, ids);
    ValueId hidden = b.output("embedding", tensor({1, 4096, 4096}));
    int n = 0;
    for (int l = 0; l < o.layers; ++l) {
        const std::string layer = "model.layers." + std::to_string(l), layer_type = fqn("Qwen3DecoderLayer");
        bool first = true;
        const ValueId residual = hidden;
        for (const Call& call : kLayer) {
            std::vector<ModuleFrame> stack{root, model, {layer, layer_type}};
            std::vector<std::string> hold;
            hold.reserve(8);
            const std::string path = call.module;
            if (!path.empty()) {
                const std::size_t dot = path.find('.');
                if (dot != std::string::npos) {
                    hold.push_back(layer + "." + path.substr(0, dot));
                    hold.push_back(fqn(path.substr(0, dot) == "mlp" ? "Qwen3MLP" : "Qwen3Attention"));
                    stack.push_back({hold[0], hold[1]});
                }
                hold.push_back(layer + "." + path);
                hold.push_back(std::string(call.type) == "Linear" ? "torch.nn.modules.linear.Linear" : fqn(call.type));
                stack.push_back({hold[hold.size() - 2], hold.back()});
            }
            const std::string name = std::string(call.op).substr(6) + "_" + std::to_string(n++);
            const NodeId node = b.node(name, "torch.ops.aten." + std::string(call.op).substr(6) + ".default", stack,
                                       "  File \"/usr/lib/python3/transformers/models/qwen3/modeling_qwen3.py\", line "
                                       "63, in forward\n    return self.weight * x\n");
            if (first) first_of_layer.push_back(node);
            first = false;
            b.argTensor("self", false, hidden);
            if (std::string(call.op) == "aten::add") b.argTensor("other", false, residual);
            hidden = b.output(name, tensor({1, 4096, 4096}));
        }
    }
    b.node("mul_norm", "torch.ops.aten.mul.Tensor",
           {root, model, {"model.norm", "transformers.models.qwen3.modeling_qwen3.Qwen3RMSNorm"}}, "");
    b.argTensor("self", false, hidden);
    hidden = b.output("mul_norm", tensor({1, 4096, 4096}));
    const ValueId head = b.parameter(false, "p_head", "lm_head.weight", tensor({151936, 4096}));
    b.node("linear_head", "torch.ops.aten.linear.default", {root, {"lm_head", "torch.nn.modules.linear.Linear"}}, "");
    b.argTensor("input", false, hidden);
    b.argTensor("weight", false, head);
    b.graphOutput(b.output("logits", tensor({1, 4096, 151936})));
    Result<ModelGraph> graph = std::move(b).finish();
    if (!graph.ok()) return nullptr;
    graph->path = "/data/qwen3" + x + ".pt2";
    graph->format = "pt2";
    return std::make_shared<const ModelGraph>(std::move(graph).value());
}

void summaries(Analysis& a) {
    const TraceStore& t = *a.trace;
    std::map<std::string, std::size_t> kernels, ops;
    double all = 0;
    a.op_of_kernel.assign(t.kernels.size(), -1);
    for (std::size_t k = 0; k < t.kernels.size(); ++k) {
        const SliceId slice = t.kernels.slice[k];
        if (t.slices.step[slice.index()] != a.step) continue;
        const auto dur = static_cast<double>(t.slices.dur[slice.index()]);
        const std::string name(t.nameOf(slice)), op(t.nameOf(t.cpu_ops.slice[a.link.kernels[k].op.index()]));
        all += dur;
        auto& row = a.kernels;
        if (kernels.emplace(name, row.size()).second)
            row.push_back({name, a.link.kernels[k].kind, 0, 0, dur, dur, 0.1, {}});
        KernelSummary& ks = row[kernels[name]];
        ++ks.calls;
        ks.total_ns += dur;
        ks.min_ns = std::min(ks.min_ns, dur);
        ks.max_ns = std::max(ks.max_ns, dur);
        ks.kernels.emplace_back(k);
        const Direction direction = a.link.kernels[k].direction;
        const std::string key = op + '/' + std::to_string(static_cast<int>(a.link.kernels[k].kind)) + '/' +
                                std::to_string(static_cast<int>(direction));
        if (ops.emplace(key, a.ops.size()).second) {
            OpSummary o;
            o.op = op;
            o.module_type = a.link.kernels[k].module.valid() ? a.link.modules.at(a.link.kernels[k].module).type : "";
            o.direction = direction;
            o.kind = a.link.kernels[k].kind;
            o.bound = o.kind == OpKind::Matmul ? Bound::Compute : dur < 10'000 ? Bound::Launch : Bound::Memory;
            a.ops.push_back(std::move(o));
        }
        a.op_of_kernel[k] = static_cast<std::int32_t>(ops[key]);
        OpSummary& o = a.ops[ops[key]];
        ++o.calls;
        ++o.kernels_count;
        o.time_ns += dur;
        o.cost.flops += a.kernel_costs[k].flops;
        o.cost.bytes_read += a.kernel_costs[k].bytes_read;
        o.cost.bytes_written += a.kernel_costs[k].bytes_written;
        o.kernels.emplace_back(k);
    }
    std::sort(a.kernels.begin(), a.kernels.end(), [](const auto& x, const auto& y) { return x.total_ns > y.total_ns; });
    a.link.kernel_ns = a.link.op_ns = all;
    a.link.module_ns = all * 0.998;
    a.link.graph_ns = all * 0.61;
    a.link.unlinked.push_back({"launched outside of every module", all * 0.002, 7});
}

void finding(Analysis& a, const Ids& ids, const SyntheticOptions& o, const std::vector<NodeId>& layers,
             const std::vector<std::vector<KernelId>>& forward, const std::vector<std::vector<KernelId>>& backward) {
    Finding f;
    f.id = std::string(idOf(ids.pattern));
    f.pattern = ids.pattern;
    f.signals = ids.signals;
    f.signal_evidence.assign(ids.signals.size(),
                             "a chain of short kernels under 100 µs each, one after the other" + o.name_suffix);
    f.verdict = ids.verdict;
    for (int l = 0; l < o.layers; ++l) {
        Instance i;
        i.pattern = ids.pattern;
        i.shape = "4096x4096 bf16";
        const auto layer = static_cast<std::size_t>(l);
        for (const int row : ids.rows) {
            const auto r = static_cast<std::size_t>(row);
            if (layer < layers.size()) i.nodes.push_back(NodeId(layers[layer].index() + r));
            if (layer < forward.size()) {
                i.forward.push_back(forward[layer][r]);
                i.backward.push_back(backward[layer][kLayer.size() - 1 - r]);
            }
            i.forward_ns += kLayer[r].us * 1e3;
            i.backward_ns += kLayer[r].us * 1.6e3;
            f.bytes_now += kLayer[r].bytes * 2.6;
        }
        std::reverse(i.backward.begin(), i.backward.end());
        f.time_ns += i.forward_ns + i.backward_ns;
        f.instances.push_back(std::move(i));
    }
    f.kernels_now = static_cast<double>(ids.rows.size() * 2);
    f.kernels_fused = ids.fused_kernels;
    f.bytes_fused = f.bytes_now * ids.fused_share;
    f.predicted_ns = {f.time_ns * ids.fused_share * 0.85, f.time_ns * ids.fused_share,
                      std::min(f.time_ns, f.time_ns * ids.fused_share * 1.25)};
    f.saving_ns = {f.time_ns - f.predicted_ns.high, f.time_ns - f.predicted_ns.expected,
                   f.time_ns - f.predicted_ns.low};
    f.step_share = a.stepNs() > 0 ? f.saving_ns.expected / a.stepNs() : 0;
    f.time_estimated = !a.trace;
    f.reasons = {"It moves " + std::to_string(static_cast<int>(f.bytes_now / 1e6)) +
                     " MB less through HBM in each step." + o.name_suffix,
                 "Its kernels are bound by memory, so fewer bytes mean less time."};
    f.modules = {"model.layers.*.mlp" + o.name_suffix};
    f.source = {"modeling_qwen3.py:63"};
    a.findings.push_back(std::move(f));
}

} // namespace

Analysis syntheticAnalysisValue(const SyntheticOptions& o) {
    Analysis a;
    a.device.name = "NVIDIA H200";
    a.device.source = DeviceSource::Trace;
    a.device.bandwidth_Bps = 4.8e12;
    a.device.copy_bandwidth_Bps = 4.2e12;
    a.device.bf16_tensor = a.device.fp16_tensor = 989e12;
    a.device.fp32 = 67e12;
    a.device.sms = 132;
    std::vector<NodeId> layers;
    if (o.graph) {
        a.graph = makeGraph(o, layers);
        a.files.push_back("/data/qwen3" + o.name_suffix + ".pt2");
        if (a.graph) a.link.modules = a.graph->modules;
        a.link.modules_from_graph = true;
        a.model.layers = o.layers;
        a.model.hidden = 4096;
        a.model.decoder_class = "Qwen3DecoderLayer";
        a.model.parameters = 8'190'735'360;
    }
    std::vector<std::vector<KernelId>> forward, backward;
    if (o.trace) {
        auto t = std::make_shared<TraceStore>();
        TraceMaker maker(a, *t, o.name_suffix);
        const TrackId main = maker.track(TrackKind::CpuThread, 415, "thread 415 (python3)", -1, -1);
        const TrackId autograd = maker.track(TrackKind::CpuThread, 480, "thread 480 (pt_autograd_0)", -1, -1);
        const TrackId notes = maker.track(TrackKind::GpuAnnotation, 7, "", 0, 7);
        const TrackId stream = maker.track(TrackKind::GpuStream, 7, "stream 7 ", 0, 7);
        std::int64_t cpu = 5'105'189'000'000'000, gpu = cpu;
        t->begin = cpu;
        for (int s = 0; s < o.steps; ++s) {
            const auto step = static_cast<std::int16_t>(s);
            const std::int64_t begin = cpu;
            forward.clear();
            backward.clear();
            const std::int64_t gpu_begin = std::max(gpu, cpu + 20'000);
            for (int l = 0; l < o.layers; ++l) {
                forward.emplace_back();
                for (const Call& call : kLayer) {
                    forward.back().emplace_back(t->kernels.size());
                    maker.kernel(call, main, stream, cpu, gpu, step, Direction::Forward, 1);
                }
            }
            if (o.shuffle_idle) cpu = std::max(cpu, gpu + 2'500'000);
            for (int l = 0; l < o.layers; ++l) {
                backward.emplace_back();
                for (std::size_t r = kLayer.size(); r-- > 0;) {
                    backward.back().emplace_back(t->kernels.size());
                    maker.kernel(kLayer[r], autograd, stream, cpu, gpu, step, Direction::Backward, 1.6, 0);
                }
            }
            std::reverse(backward.begin(), backward.end());
            const Call adam{"aten::_fused_adamw_", "",   "",  "void at::native::multi_tensor_apply_kernel<adamw>(int)",
                            OpKind::Optimizer,     2400, 2e9, 9e9};
            maker.kernel(adam, main, stream, cpu, gpu, step, Direction::Optimizer, 1);
            const std::int64_t end = std::max(cpu, gpu);
            Step row;
            row.name = "ProfilerStep#" + std::to_string(s + 3);
            row.number = s + 3;
            row.begin = begin;
            row.end = end;
            row.slice = SliceId(maker.slice(Category::UserAnnotation, row.name, main, 0, begin, end - begin, step));
            maker.slice(Category::GpuUserAnnotation, row.name, notes, 0, gpu_begin, gpu - gpu_begin, step);
            t->steps.push_back(row);
            StepStats stats;
            stats.name = row.name;
            stats.begin = gpu_begin;
            stats.end = gpu;
            stats.wall_ns = static_cast<double>(gpu - gpu_begin);
            stats.gpu_idle_ns = o.shuffle_idle ? 2.5e6 : 0;
            stats.gpu_busy_ns = stats.kernel_ns = stats.wall_ns - stats.gpu_idle_ns;
            stats.kernels = stats.launches =
                static_cast<std::uint32_t>(kLayer.size() * 2 * static_cast<std::size_t>(o.layers) + 1);
            a.steps.push_back(stats);
            cpu = end + 50'000;
        }
        t->end = cpu;
        t->path = "/data/step" + o.name_suffix + ".pt.trace.json";
        a.files.push_back(t->path);
        maker.sort();
        a.step = static_cast<std::int16_t>(o.steps - 1);
        if (a.graph) {
            for (std::size_t l = 0; l < forward.size(); ++l)
                for (std::size_t r = 0; r < kLayer.size(); ++r) {
                    const NodeId node(layers[l].index() + r);
                    for (const KernelId k : {forward[l][r], backward[l][kLayer.size() - 1 - r]}) {
                        a.link.kernels[k.index()].node = node;
                        a.link.kernels[k.index()].module = a.graph->ops.at(node).module;
                    }
                }
            a.link.node_start.assign(a.graph->ops.nodes.size() + 1, 0);
            for (std::size_t n = 0; n < a.graph->ops.nodes.size(); ++n) {
                for (std::size_t k = 0; k < a.link.kernels.size(); ++k)
                    if (a.link.kernels[k].node == NodeId(n)) a.link.node_kernels.emplace_back(k);
                a.link.node_start[n + 1] = static_cast<std::uint32_t>(a.link.node_kernels.size());
            }
        }
        a.index = std::make_shared<const SliceIndex>(*t);
        a.trace = t;
        summaries(a);
    }
    a.modules.resize(a.link.modules.modules.size());
    for (std::size_t k = 0; k < a.link.kernels.size(); ++k) {
        const WorkLink& link = a.link.kernels[k];
        const SliceId slice = a.trace->kernels.slice[k];
        if (a.trace->slices.step[slice.index()] != a.step) continue;
        const auto dur = static_cast<double>(a.trace->slices.dur[slice.index()]);
        for (ModuleId m = link.module; m.valid(); m = a.link.modules.at(m).parent) {
            ModuleStats& stats = a.modules[m.index()];
            (link.direction == Direction::Backward ? stats.backward_ns : stats.forward_ns) += dur;
            stats.flops += a.kernel_costs[k].flops;
            stats.share += dur / a.link.kernel_ns;
        }
    }
    for (std::size_t m = 0; m < a.modules.size(); ++m) {
        a.modules[m].parameters = a.link.modules.parameterCount(ModuleId(m));
        a.modules[m].output_shape = "1x4096x4096";
        if (!a.trace) a.modules[m].flops = 1e9 * static_cast<double>(m + 1);
    }
    if (o.findings) {
        for (const Ids& ids : kFindings) finding(a, ids, o, layers, forward, backward);
        std::stable_sort(a.findings.begin(), a.findings.end(),
                         [](const auto& x, const auto& y) { return x.saving_ns.expected > y.saving_ns.expected; });
        a.plan.step_ns = a.stepNs();
        a.plan.predicted_step_ns = {a.plan.step_ns, a.plan.step_ns, a.plan.step_ns};
        for (const Finding& f : a.findings) {
            if (f.verdict != Verdict::WorthIt) continue;
            a.plan.findings.push_back(f.id);
            PlanPart part;
            part.finding = f.id;
            for (std::uint32_t i = 0; i < f.instances.size(); ++i) part.instances.push_back(i);
            part.saving_ns = f.saving_ns;
            a.plan.saving_ns.low += f.saving_ns.low;
            a.plan.saving_ns.expected += f.saving_ns.expected;
            a.plan.saving_ns.high += f.saving_ns.high;
            a.plan.parts.push_back(std::move(part));
            a.plan.predicted_step_ns.expected -= f.saving_ns.expected;
            a.plan.predicted_step_ns.low -= f.saving_ns.high;
            a.plan.predicted_step_ns.high -= f.saving_ns.low;
        }
    }
    return a;
}

AnalysisPtr syntheticAnalysis(const SyntheticOptions& options) {
    return std::make_shared<const Analysis>(syntheticAnalysisValue(options));
}

Analysis syntheticTimeline(std::size_t slices) {
    auto t = std::make_shared<TraceStore>();
    Analysis a;
    TraceMaker maker(a, *t, "");
    const TrackId cpu = maker.track(TrackKind::CpuThread, 415, "thread 415 (python3)", -1, -1);
    const TrackId stream = maker.track(TrackKind::GpuStream, 7, "stream 7", 0, 7);
    std::int64_t cpu_t = 0, gpu_t = 0;
    for (std::size_t i = 0; i * 3 < slices; ++i)
        maker.kernel(kLayer[i % kLayer.size()], cpu, stream, cpu_t, gpu_t, -1, Direction::Forward,
                     0.05 + static_cast<double>(i % 7) * 0.01, 0);
    t->end = std::max(cpu_t, gpu_t);
    maker.sort();
    a.index = std::make_shared<const SliceIndex>(*t);
    a.trace = std::move(t);
    return a;
}

} // namespace fusescope::testing
