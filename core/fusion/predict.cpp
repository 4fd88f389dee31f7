// SPDX-License-Identifier: Apache-2.0
// Predicted time of a fused kernel: as this project's own was measured (core/cost/fused_curve.h). Where it was not,
// what it must move / (bandwidth of a plain copy x the share its class reaches) + a floor, or its tensor-core work /
// (peak x share), whichever is longer. The shares lean on other kernels measured on one H200
// (truth/kernels-peer-h200.json; copy 4.25 TB/s); low, expected, high:
//
//   streaming         0.75  0.97  1.00  compiled SwiGLU 4.3 TB/s, eager elementwise 3.9-4.4
//   strided           0.40  0.57  0.95  compiled RoPE 2.4 TB/s, the only kernel measured
//   row reduction     0.50  0.80  1.00  F.rms_norm 2.4 and 3.2, compiled 3.4 TB/s
//   column reduction  0.20  0.40  0.90  backward of F.rms_norm 0.8-1.8, compiled 0.4-0.9 TB/s; 0.90 is the aim of this
//                                       project's own kernels, nobody's measurement
//   attention         0.27  0.40  0.65  of the bf16 peak, forward: Flash 2, a value between, this project's own kernel
//                     0.25  0.33  0.55  backward                   (4096 causal tokens; cuDNN lies at 0.54 and 0.42)
//   matmul            the rate at which the region's own matmuls run: 5% slower, as now, the best of them
//   loss              passes over the logits: an assumption; its range holds the compiled loss (-5.0 of 28.6 ms)
//
// For patterns that only move memory 0.95 of the kernel time saved is promised (0.85 low, 1.0 high). That is a fit, not
// a derivation: in a training step of 8 layers on an H200 (tests/gpu/step.py) the norms gave back 0.96 of what the
// kernels alone save, q/k norms with RoPE 0.92, SwiGLU 0.86; regions measured alone gave back 1.0 by definition. linear
// + cross-entropy: its matmuls run 5% slower than the ones it replaces (8% low), since they work beside passes
// over the logits: also a fit, to seven runs of the region alone, which gave back 4.6 to 5.5 ms, and a training
// step, 5.9 ms. A saving is never more than the region's own time, and waits count only where the GPU really waits.
#include "core/fusion/predict.h"

#include "core/cost/roofline.h"

#include <algorithm>

namespace fusescope::fusion {
namespace {

struct Shares {
    double low, expected, high;
};

Shares sharesOf(const FusedPart& part) {
    switch (part.kind) {
    case KernelClass::Streaming: return {0.75, 0.97, 1.0};
    case KernelClass::Strided: return {0.4, 0.57, 0.95};
    case KernelClass::RowReduction: return {0.5, 0.8, 1.0};
    case KernelClass::ColumnReduction: return {0.2, 0.4, 0.9};
    case KernelClass::Attention: return {0.65, 0.85, 1.0};
    case KernelClass::Matmul: return {0.65, 0.85, 1.0};
    }
    return {0.65, 0.85, 1.0};
}

// Share of the kernel time saved that comes back as step time (fitted, see above).
Shares realised(Pattern pattern) { return movesMemoryAlone(pattern) ? Shares{0.85, 0.95, 1.0} : Shares{1.0, 1.0, 1.0}; }

constexpr Shares kFloorNs{4000, kKernelFloorNs, 1500};

struct MatmulRate {
    double now = 0, best = 0;
}; // FLOP/s over the region's matmul kernels of one direction

MatmulRate rateOf(const FusionInput& input, const std::vector<KernelId>& kernels) {
    MatmulRate rate;
    if (input.kernel_costs == nullptr || input.trace == nullptr) return rate;
    double flops = 0, ns = 0, largest = 0;
    for (const KernelId k : kernels)
        if (k.index() < input.kernel_costs->size())
            largest = std::max(largest, (*input.kernel_costs)[k.index()].tensor_flops);
    for (const KernelId k : kernels) {
        if (k.index() >= input.kernel_costs->size()) continue;
        const double f = (*input.kernel_costs)[k.index()].tensor_flops;
        const double dur = kernelNs(input, k);
        if (f <= 0 || dur <= 0) continue;
        flops += f;
        ns += dur;
        if (f > 0.2 * largest) rate.best = std::max(rate.best, f / dur * 1e9);
    }
    if (ns > 0) rate.now = flops / ns * 1e9;
    return rate;
}

// This project's own kernel, measured; all 0 where it was not. 2-byte elements were measured, but time follows bytes.
// Low: 15% slower, as other machines and a busy step make it; on another GPU, scaled, a third.
Range measuredNs(Pattern pattern, const FusedPart& part, const Geometry& shape, const DeviceSpec& device) {
    if (part.kind == KernelClass::Attention || part.kind == KernelClass::Matmul) return {};
    const FusedTime time = fusedTime(device, idOf(pattern), part.backward, part.bytes(), std::max(1.0, shape.width));
    return {time.ns * (time.borrowed ? 1.33 : 1.15), time.ns, time.ns * (time.borrowed ? 0.9 : 0.97)};
}

// Longest predicted time at `low`, shortest at `high`.
Range partNs(Pattern pattern, const FusedPart& part, const Geometry& shape, const DeviceSpec& device,
             const MatmulRate& rate) {
    if (const Range measured = measuredNs(pattern, part, shape, device); measured.expected > 0) return measured;
    const DType type = shape.dtype;
    const double bandwidth = device.practicalBandwidth();
    const Shares share = sharesOf(part);
    const double bytes_ns = bandwidth > 0 ? part.bytes() / bandwidth * 1e9 : 0;
    Range memory{bytes_ns / share.low, bytes_ns / share.expected, bytes_ns / share.high};
    Range compute;
    const double peak = device.peak(type, true);
    if (part.kind == KernelClass::Attention && peak > 0) {
        const Shares reached = part.backward ? Shares{0.25, 0.33, 0.55} : Shares{0.27, 0.40, 0.65};
        const double ns = part.flops / peak * 1e9;
        compute = {ns / reached.low, ns / reached.expected, ns / reached.high};
    } else if (part.kind == KernelClass::Matmul) {
        const double guess = type == DType::BFloat16 && device.matmul_bf16 > 0 ? device.matmul_bf16 : 0.65 * peak;
        const double now = rate.now > 0 ? rate.now : guess, best = std::max(now, rate.best);
        const bool loss = pattern == Pattern::LinearCrossEntropy;
        const Shares reached = loss ? Shares{0.92, 0.95, 1} : Shares{0.95, 1, 1};
        const double ns = now > 0 ? part.flops / now * 1e9 : 0;
        if (now > 0) compute = {ns / reached.low, ns / reached.expected, part.flops / best * 1e9};
        // A matmul that runs at its memory's speed already (one token) is not sped up by the roofline's word alone.
        if (rate.now > 0) memory = {0, 0, 0};
    }
    const double n = part.kernels;
    return {std::max(memory.low, compute.low) + n * kFloorNs.low,
            std::max(memory.expected, compute.expected) + n * kFloorNs.expected,
            std::max(memory.high, compute.high) + n * kFloorNs.high};
}

// The logits' way through memory, beyond the matmuls. Best case: the gradient is made in one pass; worst: statistics,
// loss and gradient in passes of their own, and each chunk reads and writes the weight's gradient again.
Range lossPassNs(const FusedPart& pass, const Geometry& shape, const DeviceSpec& device, bool training) {
    const double z = shape.rows * shape.width * sizeOf(shape.dtype);
    const double bandwidth = device.practicalBandwidth();
    if (bandwidth <= 0) return {};
    constexpr double kChunk = 1024; // tokens; below that the matmuls suffer
    const double chunks = std::max(1.0, shape.rows / kChunk);
    const double gradient = shape.width * shape.hidden * sizeOf(shape.dtype); // of the weight
    const double accumulate = training ? (chunks - 1) * 2 * gradient : 0;
    const double scaling = training ? 2 * gradient : 0; // by the gradient that the loss is given
    return {((training ? 5 : 2) * z / 0.65 + accumulate) / bandwidth * 1e9 + kFloorNs.low,
            (pass.bytes() / 0.85 + scaling) / bandwidth * 1e9 + kFloorNs.expected,
            (training ? 2 : 1) * z / bandwidth * 1e9 + kFloorNs.high};
}

double longest(const FusionInput& input, const std::vector<KernelId>& kernels) {
    double ns = 0;
    for (const KernelId k : kernels) ns = std::max(ns, kernelNs(input, k));
    return ns;
}

bool isMatmul(const FusionInput& input, KernelId kernel) {
    return opCodeOfKernel(input.trace->nameOf(input.trace->kernels.slice[kernel.index()])) == OpCode::Matmul;
}

double longestBesideMatmuls(const FusionInput& input, const std::vector<KernelId>& kernels) {
    double ns = 0;
    for (const KernelId k : kernels)
        if (!isMatmul(input, k)) ns = std::max(ns, kernelNs(input, k));
    return ns;
}

double matmulNs(const FusionInput& input, const std::vector<KernelId>& kernels) {
    double ns = 0;
    for (const KernelId k : kernels)
        if (isMatmul(input, k)) ns += kernelNs(input, k);
    return ns;
}

// The softmax reads and writes the logits in f32, 8 bytes each, and is the longest of the kernels beside the matmuls.
// The fused loss still takes the logits through memory: 2 bytes each when it only reads them, 4 when it leaves their
// gradient in place, 8 with statistics, loss and gradient in passes of their own. Matmuls in chunks are up to 10%
// slower.
Range lossWithoutShapes(const FusionInput& input, const Instance& instance) {
    const double softmax = longestBesideMatmuls(input, instance.forward);
    const double matmul = matmulNs(input, instance.forward) + matmulNs(input, instance.backward);
    return {1.1 * matmul + softmax, matmul + softmax / 2, matmul + softmax / 4};
}

// Shapes not recorded: a fused kernel moves no more than the largest of the kernels it replaces, and matmuls stay.
Range withoutShapes(const FusionInput& input, const Instance& instance) {
    if (input.trace == nullptr || instance.pattern == Pattern::QkvProjection) {
        const double now = instance.forward_ns + instance.backward_ns;
        return {now, now, now};
    }
    if (instance.pattern == Pattern::LinearCrossEntropy) return lossWithoutShapes(input, instance);
    double one = 0;
    for (const std::vector<KernelId>* side : {&instance.forward, &instance.backward}) {
        const double matmul = matmulNs(input, *side);
        one += matmul > 0 ? matmul + kFloorNs.expected : longest(input, *side);
    }
    return {1.3 * one, one, 0.8 * one};
}

void add(Range& sum, const Range& one) {
    sum.low += one.low;
    sum.expected += one.expected;
    sum.high += one.high;
}

} // namespace

bool movesMemoryAlone(Pattern pattern) noexcept {
    switch (pattern) {
    case Pattern::RmsNorm:
    case Pattern::AddRmsNorm:
    case Pattern::QkNormRope:
    case Pattern::Rope:
    case Pattern::SwiGlu:
    case Pattern::PointwiseChain: return true;
    default: return false;
    }
}

double estimatedKernelNs(const OpCost& cost, const DeviceSpec& device) noexcept {
    const double bandwidth = device.practicalBandwidth();
    const double memory = bandwidth > 0 ? cost.bytes() / (0.85 * bandwidth) * 1e9 : 0;
    double compute = 0;
    if (cost.tensor_flops > 0) {
        const double peak = device.peak(cost.dtype, true);
        const double rate = cost.dtype == DType::BFloat16 && device.matmul_bf16 > 0 ? device.matmul_bf16 : 0.65 * peak;
        compute = rate > 0 ? cost.tensor_flops / rate * 1e9 : 0;
    }
    return std::max({memory, compute, kFloorNs.expected});
}

void predict(const FusionInput& input, Draft& draft) {
    Instance& instance = draft.instance;
    const bool training = !instance.backward.empty();
    const double time = instance.forward_ns + instance.backward_ns;
    const std::vector<FusedPart> parts = fusedParts(instance.pattern, draft.shape, training, draft.recomputed);
    instance.fused = {};
    instance.fused_backward = {};
    instance.fused.dtype = draft.shape.dtype;
    instance.fused.flops = instance.now.flops;
    instance.fused.flops_known = instance.now.flops_known;
    instance.fused_kernels = 0;
    double tensor = 0;
    for (const FusedPart& part : parts) {
        instance.fused.bytes_read += part.read;
        instance.fused.bytes_written += part.written;
        instance.fused.bytes_known = true;
        if (part.backward) {
            instance.fused_backward.bytes_read += part.read;
            instance.fused_backward.bytes_written += part.written;
            instance.fused_backward.tensor_flops += part.flops;
            instance.fused_backward.bytes_known = true;
        }
        instance.fused_kernels += part.kernels;
        tensor += part.flops;
    }
    instance.fused.tensor_flops = tensor;
    // Causal attention leaves out half of the products: there the FLOPs do change.
    if (instance.pattern == Pattern::Attention && tensor > 0) instance.fused.flops = tensor;

    if (instance.state == FusionState::Fused) {
        instance.fused = instance.now;
        instance.fused_backward = {};
        instance.fused_kernels = static_cast<int>(instance.forward.size() + instance.backward.size());
        if (instance.fused_kernels == 0) instance.fused_kernels = 1;
        instance.idle_ns = 0;
        instance.predicted_ns = {time, time, time};
        instance.saving_ns = {};
        return;
    }

    if (instance.pattern == Pattern::Optimizer) { // what a fused one saves is not modelled: nothing is promised
        const double all = time + instance.idle_ns;
        instance.predicted_ns = {all, all, all};
        instance.saving_ns = {};
        return;
    }

    Range slow_to_fast;
    if (parts.empty()) {
        instance.fused_kernels = training ? 2 : 1;
        slow_to_fast = withoutShapes(input, instance);
    } else {
        const MatmulRate forward = rateOf(input, instance.forward), backward = rateOf(input, instance.backward);
        for (const FusedPart& part : parts) {
            const bool loss = instance.pattern == Pattern::LinearCrossEntropy && part.kind != KernelClass::Matmul;
            add(slow_to_fast,
                loss ? lossPassNs(part, draft.shape, input.device, training)
                     : partNs(instance.pattern, part, draft.shape, input.device, part.backward ? backward : forward));
        }
    }

    // Launches that go shorten the waits between the kernels, by what a launch costs and no more than the waits are.
    const double launches =
        static_cast<double>(instance.forward.size() + instance.backward.size()) - instance.fused_kernels;
    const double wait = std::min(instance.idle_ns, std::max(0.0, launches) * input.device.launch_us * 1e3);
    const auto kernelSaving = [&](double predicted) { return std::clamp(time - predicted, 0.0, time); };
    // Low: half of the waiting stays (the launches before and after are slow too).
    const Shares real = realised(instance.pattern);
    instance.saving_ns = {real.low * kernelSaving(slow_to_fast.low) + 0.5 * wait,
                          real.expected * kernelSaving(slow_to_fast.expected) + 0.8 * wait,
                          real.high * kernelSaving(slow_to_fast.high) + wait};
    const double all = time + instance.idle_ns;
    instance.predicted_ns = {all - instance.saving_ns.high, all - instance.saving_ns.expected,
                             all - instance.saving_ns.low};
}

} // namespace fusescope::fusion
