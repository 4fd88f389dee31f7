// SPDX-License-Identifier: Apache-2.0
#include "core/analysis/step_savings.h"

#include <algorithm>
#include <map>
#include <string_view>

namespace fusescope {
namespace {

constexpr double kBeside = 0.01; // of a GPU's work: less of it beside others is chance

double lengthOf(const std::pair<std::int64_t, std::int64_t>& span) {
    return static_cast<double>(span.second - span.first);
}

bool inStep(const Analysis& analysis, SliceId slice) {
    return analysis.step < 0 || analysis.trace->slices.step[slice.index()] == analysis.step;
}

Range operator*(const Range& range, double factor) {
    return {range.low * factor, range.expected * factor, range.high * factor};
}

} // namespace

StepSavings::StepSavings(const Analysis& analysis)
    : trace_(analysis.trace.get()), beside_(analysis.trace.get(), &analysis.link, analysis.step) {
    if (trace_ == nullptr) return;
    std::map<std::int32_t, Spans> work;
    const KernelTable& kernels = trace_->kernels;
    const auto another = [&](std::int32_t device) { return device != kernels.device.front(); };
    if (std::none_of(kernels.device.begin(), kernels.device.end(), another)) return; // one GPU: the sum
    for (std::size_t k = 0; k < kernels.size(); ++k) {
        if (!inStep(analysis, kernels.slice[k])) continue;
        const std::int64_t begin = trace_->slices.ts[kernels.slice[k].index()], end = trace_->endOf(kernels.slice[k]);
        if (end > begin) work[kernels.device[k]].emplace_back(begin, end);
    }
    if (work.size() < 2) return;
    const std::vector<SliceId>& copies = trace_->copies.slice;
    hand_over_ = std::any_of(copies.begin(), copies.end(), [&](SliceId copy) {
        return inStep(analysis, copy) && trace_->nameOf(copy).find("PtoP") != std::string_view::npos;
    });
    for (auto& [device, spans] : work) {
        join(spans);
        Gpu& gpu = gpus_.emplace_back();
        gpu.device = device;
        gpu.busy = std::move(spans);
    }
    std::int64_t last = gpus_.front().busy.back().second;
    for (const Gpu& gpu : gpus_) last = std::max(last, gpu.busy.back().second);
    for (Gpu& gpu : gpus_) {
        for (const Gpu& other : gpus_)
            if (&other != &gpu) gpu.others.insert(gpu.others.end(), other.busy.begin(), other.busy.end());
        join(gpu.others);
        // On another GPU than the trace's, times are scaled kernel by kernel: how long it rests then is not known.
        if (analysis.time_factors.empty()) gpu.rest_ns = static_cast<double>(last - gpu.busy.back().second);
        double all = 0, beside = 0;
        for (const auto& span : gpu.busy) {
            all += lengthOf(span);
            beside += overlap(gpu.others, span.first, span.second);
        }
        gpu.beside = !hand_over_ || beside > kBeside * all;
    }
}

void StepSavings::join(Spans& spans) {
    std::sort(spans.begin(), spans.end());
    std::size_t kept = 0;
    for (std::size_t i = 1; i < spans.size(); ++i) {
        if (spans[i].first <= spans[kept].second)
            spans[kept].second = std::max(spans[kept].second, spans[i].second);
        else
            spans[++kept] = spans[i];
    }
    if (!spans.empty()) spans.resize(kept + 1);
}

double StepSavings::overlap(const Spans& spans, std::int64_t begin, std::int64_t end) {
    double shared = 0;
    for (auto at = std::lower_bound(spans.begin(), spans.end(), begin,
                                    [](const auto&span, std::int64_t t) { return span.second <= t; });
         at != spans.end() && at->first < end; ++at)
        shared += lengthOf({std::max(begin, at->first), std::min(end, at->second)});
    return shared;
}

void StepSavings::add(const Instance& instance, const Range& all_ns) {
    const Range saving_ns = all_ns * beside_.partOf(instance);
    struct Work {
        std::int64_t begin, end;
    };
    std::vector<Work> work;
    Gpu* on = nullptr; // a fused kernel runs on one
    double all = 0;
    for (const std::vector<KernelId>* kernels : {&instance.forward, &instance.backward})
        for (const KernelId k : *kernels) {
            if (gpus_.empty() || k.index() >= trace_->kernels.size()) continue;
            const auto gpu = std::find_if(gpus_.begin(), gpus_.end(), [&](const Gpu& one) {
                return one.device == trace_->kernels.device[k.index()];
            });
            if (on == nullptr && gpu != gpus_.end()) on = &*gpu;
            const SliceId slice = trace_->kernels.slice[k.index()];
            work.push_back({trace_->slices.ts[slice.index()], trace_->endOf(slice)});
            all += lengthOf({work.back().begin, work.back().end});
        }
    if (on == nullptr || !(all > 0)) {
        alone_ns_ += saving_ns;
        for (Gpu& gpu : gpus_) gpu.before_ns += saving_ns;
        return;
    }
    for (const Work& one : work) {
        // Of it, while no other GPU works, up to then.
        const auto alone = [&](std::int64_t until) {
            if (until <= one.begin || !hand_over_) return 0.0;
            const double beside = on->beside ? overlap(on->others, one.begin, until) : 0;
            return lengthOf({one.begin, until}) - beside;
        };
        const double of_all = alone(one.end);
        on->beside_ns += saving_ns * ((lengthOf({one.begin, one.end}) - of_all) / all);
        alone_ns_ += saving_ns * (of_all / all);
        for (Gpu& gpu : gpus_) gpu.before_ns += saving_ns * (alone(std::min(one.end, gpu.busy.back().second)) / all);
    }
}

Range StepSavings::ofStep() const {
    Range step = alone_ns_;
    bool any = false;
    for (const Gpu& gpu : gpus_) {
        if (!gpu.beside) continue;
        Range own = gpu.beside_ns; // so much earlier the step may end before it waits for this one
        own += gpu.before_ns;
        own += {gpu.rest_ns, gpu.rest_ns, gpu.rest_ns};
        step = any ? Range{std::min(step.low, own.low), std::min(step.expected, own.expected),
                           std::min(step.high, own.high)}
                   : own;
        any = true;
    }
    return step;
}

void predictStep(const Analysis& analysis, const MeasuredSavings& savings, Plan& plan,
                 std::span<const std::pair<const Instance*, double>> more) {
    StepSavings step(analysis);
    if (step.isTheSum()) return; // as it is
    for (const auto& [instance, saved] : more) step.add(*instance, {saved, saved, saved});
    for (const PlanPart& part : plan.parts)
        for (std::size_t f = 0; f < analysis.findings.size(); ++f) {
            const Finding& finding = analysis.findings[f];
            if (finding.id != part.finding) continue;
            for (const std::uint32_t i : part.instances) {
                const bool known = f < savings.size() && i < savings[f].size() && savings[f][i].has_value();
                const Instance& instance = finding.instances[i];
                if (instance.forward.empty() && instance.backward.empty()) continue; // not seen: no promise
                step.add(instance, known ? Range{*savings[f][i], *savings[f][i], *savings[f][i]} : instance.saving_ns);
            }
        }
    const Range saved = step.ofStep();
    plan.predicted_step_ns = {std::max(0.0, plan.step_ns - saved.high), std::max(0.0, plan.step_ns - saved.expected),
                              std::max(0.0, plan.step_ns - saved.low)};
}

} // namespace fusescope
