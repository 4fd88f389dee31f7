// SPDX-License-Identifier: GPL-3.0-or-later
#include "fuse.h"

#include "compare.h"
#include "measure.h"
#include "region_run.h"
#include "truth.h"

#include <c10/cuda/CUDAGuard.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>

namespace fusescope::runner {
namespace {

constexpr double kSmallInputs = 32e6; // bytes: inputs up to this size are rotated
constexpr std::size_t kCopies = 3;
constexpr double kOwnBytes = 256e6;    // for comparing values, beside what a region may take
constexpr double kTrustedSpread = 0.1; // (p90 - p10) / median of the copy; a CPU is never as quiet

// Everything on the GPU runs on one stream of its own: graphs cannot be captured on the default one.
class OnStream {
public:
    explicit OnStream(const Device& device) {
        if (!device.onGpu()) return;
        static const c10::cuda::CUDAStream stream = c10::cuda::getStreamFromPool(false, 0);
        guard_.emplace(stream);
    }

private:
    std::optional<c10::cuda::CUDAStreamGuard> guard_;
};

class MemoryLimit {
public:
    MemoryLimit(const Device& device, double bytes) : device_(device) { device.limitMemory(bytes); }
    ~MemoryLimit() {
        try {
            device_.limitMemory(0);
        } catch (const std::exception&) {
        } // the context is lost: serve.cpp finds out
    }
    MemoryLimit(const MemoryLimit&) = delete;
    MemoryLimit& operator=(const MemoryLimit&) = delete;

private:
    const Device& device_;
};

// One direction of one program: what is timed, and the values it gave.
struct Side {
    std::function<Tensors(std::size_t copy)> run;
    const Tensors* values = nullptr;
    Measured measured;
    std::unique_ptr<Graph> graph;
};

std::string fusedName(const RegionProgram& program) {
    for (const RegionStep& step : program.steps)
        if (step.op.rfind("fusescope::", 0) == 0) return step.op;
    return program.steps.empty() ? "" : program.steps.front().op;
}

class Fusion {
public:
    Fusion(const FuseRequest& request, const Device& device, Job& job)
        : request_(request), region_(request.region), device_(device), job_(job), watch_(device, job),
          rounds_(std::clamp(request.effort.rounds, 1, kMostFuseRounds)) {}

    FuseResult run(std::string other_job);

private:
    RegionRun prepare(const RegionProgram& program) const;
    // Bytes that may be allocated for the region, and all in all; 0: not known.
    struct Allowed {
        double region = 0, all = 0;
    };
    Allowed checkMemory() const;
    void makeInputCopies();
    Values valuesOf(const RegionRun& program);
    Truth makeTruth(double run_bytes) const;
    void addErrors(Measured& measured, const Tensors& values, const Tensors& baseline, const Tensors* truth,
                   const char* what) const;
    void measureDirection(Comparison& comparison, Side& baseline, Side* fused, double from, double to);
    void measureGraphs(Side& baseline, Side* fused, double budget_s, const std::string& stage, double at);
    void forward(const Truth& truth);
    void backward(const Truth& truth);

    const FuseRequest& request_;
    const Region& region_;
    const Device& device_;
    Job& job_;
    Stopwatch watch_;
    int rounds_;
    std::optional<RegionRun> baseline_, fused_;
    std::vector<Tensors> inputs_; // copies of the same values
    Tensors out_gradients_;
    Values baseline_values_, fused_values_;
    double copy_bytes_ = 0;
    Run copy_;
    FuseResult result_;
};

RegionRun Fusion::prepare(const RegionProgram& program) const {
    Result<Interpreter> interpreter = Interpreter::prepare(program, {device_.torch(), false});
    if (!interpreter) throw Failed("unsupported", interpreter.error().message());
    return {*std::move(interpreter), region_, job_};
}

Fusion::Allowed Fusion::checkMemory() const {
    const double there = 0.95 * device_.freeBytes(), asked = request_.memory_limit_bytes;
    const double most = asked > 0 && there > 0 ? std::min(asked, there) : std::max(asked, there);
    double needed = inputBytes(region_);
    if (region_.backward)
        for (const RegionInput& input : region_.inputs)
            if (input.gradient) needed += input.meta.bytes();
    if (most > 0 && needed > most) {
        std::array<char, 160> text{};
        std::snprintf(text.data(), text.size(),
                      "expected a region of at most %.3g GB, but its inputs and their gradients take %.3g GB",
                      most / 1e9, needed / 1e9);
        throw Failed("out_of_memory", text.data());
    }
    const double all = most > 0 ? most + kOwnBytes : 0;
    return {most, there > 0 ? std::min(all, there) : all};
}

void Fusion::makeInputCopies() {
    const bool rotate = inputBytes(region_) <= kSmallInputs && !baseline_->mutates() && !(fused_ && fused_->mutates());
    for (std::size_t i = 0; i < (rotate ? kCopies : 1); ++i)
        inputs_.push_back(makeInputs(region_, device_.torch(), region_.backward, job_));
}

Values Fusion::valuesOf(const RegionRun& program) {
    // A program that writes into its inputs gets some of its own.
    const Tensors inputs =
        program.mutates() ? makeInputs(region_, device_.torch(), region_.backward, job_) : inputs_.front();
    Values values;
    values.outputs = program.forward(inputs);
    if (region_.backward) {
        if (out_gradients_.empty()) out_gradients_ = makeGradients(values.outputs);
        values.gradients = program.backward(values.outputs, inputs, out_gradients_);
        for (at::Tensor& output : values.outputs) output = output.detach();
    }
    device_.synchronize();
    return values;
}

Truth Fusion::makeTruth(double run_bytes) const {
    const Tensors inputs =
        baseline_->mutates() ? makeInputs(region_, device_.torch(), region_.backward, job_) : inputs_.front();
    Truth truth = truthOf(region_, inputs, out_gradients_, run_bytes, device_, job_);
    if (!truth.values) return truth;
    const auto alike = [](const at::Tensor& a, const at::Tensor& b) {
        return !a.defined() || !b.defined() || a.sizes() == b.sizes();
    };
    const auto& [outputs, gradients] = *truth.values;
    if (!std::equal(outputs.begin(), outputs.end(), baseline_values_.outputs.begin(), alike) ||
        !std::equal(gradients.begin(), gradients.end(), baseline_values_.gradients.begin(), alike))
        return {std::nullopt, "in fp64 the results have other shapes: an operator looks at the bits of its input"};
    return truth;
}

void Fusion::addErrors(Measured& measured, const Tensors& values, const Tensors& baseline, const Tensors* truth,
                       const char* what) const {
    measured.bitwise = true;
    if (&values != &baseline) {
        const Difference to_baseline = differenceOf(values, baseline, what);
        measured.relative_to_baseline = to_baseline.relative;
        measured.max_abs_to_baseline = to_baseline.max_abs;
        measured.bitwise = to_baseline.bitwise;
    }
    if (truth == nullptr) return;
    const Difference to_truth = differenceOf(values, *truth, what);
    measured.relative_error = to_truth.relative;
    measured.max_abs_error = to_truth.max_abs;
}

void Fusion::measureGraphs(Side& baseline, Side* fused, double budget_s, const std::string& stage, double at) {
    if (!device_.onGpu()) return;
    std::vector<Side*> sides{&baseline};
    if (fused != nullptr) sides.push_back(fused);
    std::vector<Candidate> candidates;
    std::vector<Side*> captured;
    for (Side* side : sides) {
        job_.check();
        side->graph = Graph::capture(device_, [side] { return side->run(0); });
        if (!side->graph) continue;
        side->measured.launches = side->graph->kernels();
        candidates.emplace_back([side](std::size_t) { side->graph->replay(); });
        captured.push_back(side);
    }
    if (!candidates.empty()) watch_.measure(candidates, rounds_, budget_s, stage + " as a CUDA graph", at, at);
    for (std::size_t i = 0; i < captured.size(); ++i) {
        captured[i]->measured.graph_us = spreadOf(candidates[i].us);
        captured[i]->graph.reset();
    }
}

void Fusion::measureDirection(Comparison& comparison, Side& baseline, Side* fused, double from, double to) {
    const std::string stage = comparison.direction + (fused != nullptr ? ", baseline and fused" : ", baseline");
    const double share = region_.backward ? 0.35 : 0.6, budget_s = share * job_.secondsLeft();
    std::vector<Candidate> candidates;
    candidates.emplace_back(copy_);
    candidates.emplace_back([&](std::size_t round) { (void)baseline.run(round); });
    if (fused != nullptr) candidates.emplace_back([fused](std::size_t round) { (void)fused->run(round); });
    watch_.measure(candidates, rounds_, budget_s, stage, from, to);
    baseline.measured.us = spreadOf(candidates[1].us);
    baseline.measured.peak_bytes = candidates[1].peak_bytes;
    if (fused != nullptr) {
        fused->measured.us = spreadOf(candidates[2].us);
        fused->measured.peak_bytes = candidates[2].peak_bytes;
    }
    const Spread copy = spreadOf(candidates[0].us);
    if (result_.copy_Bps == 0 && copy.median > 0) result_.copy_Bps = copy_bytes_ / (copy.median / 1e6);
    const double spread = copy.median > 0 ? (copy.p90 - copy.p10) / copy.median : 0;
    if (device_.onGpu() && spread > kTrustedSpread && result_.busy_note.empty()) {
        std::array<char, 120> text{};
        std::snprintf(text.data(), text.size(), "a plain copy's times spread by %.0f%% of their median", 100 * spread);
        result_.busy_note = text.data();
    }
    measureGraphs(baseline, fused, 0.4 * budget_s, stage, to);
    comparison.baseline = baseline.measured;
    if (fused == nullptr) return;
    comparison.has_fused = true;
    comparison.fused = fused->measured;
    comparison.fused_name = fusedName(region_.fused);
}

void Fusion::forward(const Truth& truth) {
    Comparison comparison;
    comparison.direction = "forward";
    Side baseline, fused;
    const auto inputs = [this](std::size_t copy) -> const Tensors& { return inputs_[copy % inputs_.size()]; };
    baseline.run = [&, inputs](std::size_t copy) { return baseline_->forward(inputs(copy)); };
    fused.run = [&, inputs](std::size_t copy) { return fused_->forward(inputs(copy)); };
    const Tensors* exact = truth.values ? &truth.values->outputs : nullptr;
    addErrors(baseline.measured, baseline_values_.outputs, baseline_values_.outputs, exact, "output");
    if (fused_) addErrors(fused.measured, fused_values_.outputs, baseline_values_.outputs, exact, "output");
    measureDirection(comparison, baseline, fused_ ? &fused : nullptr, 0.3, region_.backward ? 0.6 : 0.9);
    result_.directions.push_back(std::move(comparison));
}

void Fusion::backward(const Truth& truth) {
    Comparison comparison;
    comparison.direction = "backward";
    // Outputs whose way back is kept, for each copy of the inputs.
    std::vector<Tensors> baseline_outputs, fused_outputs;
    for (const Tensors& inputs : inputs_) {
        baseline_outputs.push_back(baseline_->forward(inputs));
        if (fused_) fused_outputs.push_back(fused_->forward(inputs));
    }
    Side baseline, fused;
    baseline.run = [&](std::size_t copy) {
        copy %= inputs_.size();
        return baseline_->backward(baseline_outputs[copy], inputs_[copy], out_gradients_);
    };
    fused.run = [&](std::size_t copy) {
        copy %= inputs_.size();
        return fused_->backward(fused_outputs[copy], inputs_[copy], out_gradients_);
    };
    const Tensors* exact = truth.values ? &truth.values->gradients : nullptr;
    addErrors(baseline.measured, baseline_values_.gradients, baseline_values_.gradients, exact, "gradient");
    if (fused_) addErrors(fused.measured, fused_values_.gradients, baseline_values_.gradients, exact, "gradient");
    measureDirection(comparison, baseline, fused_ ? &fused : nullptr, 0.6, 0.95);
    result_.directions.push_back(std::move(comparison));
}

FuseResult Fusion::run(std::string other_job) {
    if (const Status status = checkRegion(region_); !status) throw Failed("bad_request", status.error().message());
    job_.progress("inputs", 0);
    baseline_.emplace(prepare(region_.baseline));
    if (!region_.fused.steps.empty()) fused_.emplace(prepare(region_.fused));
    const Allowed allowed = checkMemory();

    result_.region = region_.id;
    result_.pattern = region_.pattern;
    result_.on_gpu = device_.onGpu();
    result_.device = device_.onGpu() ? device_.name() : "CPU (reference kernels)";
    result_.busy_note = std::move(other_job);

    const OnStream stream(device_);
    const double moved = region_.fused_bytes > 0 ? region_.fused_bytes : 2 * inputBytes(region_);
    copy_bytes_ = device_.onGpu() ? std::clamp(moved, 64e6, 1e9) : std::clamp(moved, 4e6, 64e6);
    copy_bytes_ = std::max(1e6, std::min(copy_bytes_, 0.1 * device_.freeBytes()));
    copy_ = copyOf(copy_bytes_, device_);
    watch_.prepare();
    const bool limited = request_.memory_limit_bytes > 0 || (!device_.onGpu() && allowed.region > 0);
    const MemoryLimit limit(device_, limited ? device_.allocated() + allowed.all : 0);
    makeInputCopies();
    job_.progress("baseline", 0.05);
    const double before = device_.allocated();
    device_.resetPeak();
    baseline_values_ = valuesOf(*baseline_);
    const double run_bytes = device_.peak() - before;
    if (fused_) {
        job_.progress("fused", 0.1);
        fused_values_ = valuesOf(*fused_);
    }
    const Truth truth = makeTruth(run_bytes);
    result_.fp64_note = truth.note;
    forward(truth);
    if (region_.backward) {
        const bool wanted = std::any_of(out_gradients_.begin(), out_gradients_.end(),
                                        [](const at::Tensor& gradient) { return gradient.defined(); });
        if (wanted)
            backward(truth);
        else
            job_.log("no output depends on an input that wants a gradient: there is no backward to measure");
    }
    result_.busy = !result_.busy_note.empty();
    result_.seconds = job_.seconds();
    return std::move(result_);
}

} // namespace

FuseResult fuse(const FuseRequest& request, const Device& device, Job& job, std::string other_job) {
    const double limit = request.effort.time_limit_s;
    job.limitTime(limit > 0 ? std::min(limit, kMostFuseSeconds) : FuseEffort{}.time_limit_s);
    return Fusion(request, device, job).run(std::move(other_job));
}

} // namespace fusescope::runner
