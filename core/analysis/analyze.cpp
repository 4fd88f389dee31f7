// SPDX-License-Identifier: Apache-2.0
#include "core/analysis/other_device.h"
#include "core/analysis/step_savings.h"
#include "core/analysis/step_stats.h"
#include "core/analysis/tables.h"
#include "core/base/memory_guard.h"
#include "core/io/open.h"

#include <algorithm>
#include <charconv>
#include <string_view>

namespace fusescope {
namespace {

bool isAnyStep(const std::string& wanted) { return wanted.empty() || wanted == "last" || wanted == "all"; }

// "3, 4", "0, 1, 2 ... 32766": a message, not a list.
std::string numbersOf(const std::vector<Step>& steps, bool several_processes) {
    constexpr std::size_t kListed = 12, kFirst = 3;
    std::string text;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        if (steps.size() > kListed && i == kFirst) {
            text += " ... ";
            i = steps.size() - 1;
        } else if (i > 0) {
            text += ", ";
        }
        text += several_processes ? '\'' + steps[i].name + '\'' : std::to_string(steps[i].number);
    }
    return text;
}

Error noStep(const std::string& of, const std::string& wanted, const std::string& where) {
    return {ErrorCode::NotFound, "a step among " + of, "'" + wanted + "'", where};
}

// "last", "all" or the number of a ProfilerStep, alone or with its name as the trace has it ("ProfilerStep#3",
// "ProfilerStep#3 of rank 1").
Result<std::int16_t> chooseStep(const TraceStore& trace, const std::string& wanted) {
    if (trace.steps.empty()) {
        if (isAnyStep(wanted)) return std::int16_t{-1};
        return noStep("those of the trace, which has none (ProfilerStep#n)", wanted, trace.path);
    }
    const auto last = static_cast<std::int16_t>(trace.steps.size() - 1);
    if (isAnyStep(wanted)) return last;
    for (std::size_t i = 0; i < trace.steps.size(); ++i)
        if (trace.steps[i].name == wanted) return static_cast<std::int16_t>(i);
    // A number, or the name that another file gave the step, is of several processes' the first one's.
    constexpr std::string_view kPrefix = "ProfilerStep#";
    std::string_view digits = wanted;
    if (digits.substr(0, kPrefix.size()) == kPrefix) digits.remove_prefix(kPrefix.size());
    std::int64_t number = 0;
    const auto [end, ec] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (ec == std::errc{} && end == digits.data() + digits.size())
        for (std::size_t i = 0; i < trace.steps.size(); ++i)
            if (trace.steps[i].number == number) return static_cast<std::int16_t>(i);
    return noStep(numbersOf(trace.steps, trace.several_processes) + " (or last, all)", wanted, trace.path);
}

// Whether kernels may be missing: the file ended early, or reading stopped at a limit.
bool isCut(const TraceStore& trace) {
    return std::any_of(trace.problems.begin(), trace.problems.end(), [](const Problem& problem) {
        return problem.kind == "truncated" || problem.kind == "too_many_events" || problem.kind == "file_changed";
    });
}

// In a cut trace only steps that agree with another in their number of kernels, the most, are taken for whole. What
// bounds the others cannot be told. The last one with the most kernels is the one to look at.
void judgeCutSteps(Analysis& a, bool choose) {
    std::uint32_t most = 0;
    for (const StepStats& step : a.steps) most = std::max(most, step.kernels);
    const auto has_most = [most](const StepStats& step) { return step.kernels == most; };
    const bool agree = std::count_if(a.steps.begin(), a.steps.end(), has_most) > 1;
    for (std::size_t i = 0; i < a.steps.size(); ++i) {
        if (!agree || !has_most(a.steps[i])) a.steps[i].bound = StepBound::Unknown;
        if (choose && has_most(a.steps[i])) a.step = static_cast<std::int16_t>(i);
    }
}

Error cancelled() { return {ErrorCode::Cancelled, "the analysis to finish", "that it was cancelled", ""}; }

Result<std::shared_ptr<Analysis>> run(TracePtr trace, GraphPtr graph, const AnalyzeOptions& options,
                                      Progress& progress) {
    if (!trace && !graph) return Error{ErrorCode::NotFound, "a profiler trace or a model graph", "neither", ""};
    auto result = std::make_shared<Analysis>();
    Analysis& a = *result;
    a.trace = std::move(trace);
    a.graph = std::move(graph);

    if (!options.device.empty()) {
        auto device = deviceByName(options.device);
        if (!device) return device.error();
        a.device = std::move(*device);
    } else if (a.trace) {
        a.device = deviceOfTrace(*a.trace, options.calibrations);
    } else {
        a.device = deviceOfTrace(TraceStore{}); // assumed, and named so
    }

    FusionInput fusion;
    if (a.trace) {
        auto step = chooseStep(*a.trace, options.step);
        const bool lacks = !step;
        if (lacks) {
            if (!options.step_may_lack) return step.error();
            a.file_errors.push_back(step.error());
            step = chooseStep(*a.trace, "last");
        }
        a.step = *step;
        a.all_steps = options.step == "all";
        progress.begin("linking kernels to operators and modules");
        a.link = linkTrace(*a.trace, a.graph.get(), progress);
        if (progress.cancelled()) return cancelled();
        progress.begin("computing costs");
        a.kernel_costs = costOfKernels(*a.trace, a.link);
        a.steps = stepStats(*a.trace);
        if (isCut(*a.trace)) judgeCutSteps(a, a.step >= 0 && (options.step.empty() || options.step == "last" || lacks));
        fillKernelTable(a);
        fillOpTable(a);
        a.index = std::make_shared<const SliceIndex>(*a.trace);
        fusion.trace = a.trace.get();
        fusion.link = &a.link;
        fusion.kernel_costs = &a.kernel_costs;
        fusion.step = a.step;
        fusion.step_ns = a.stepNs();
        const DeviceSpec measured = deviceOfTrace(*a.trace);
        if (measured.source == DeviceSource::Trace && !sameDevice(measured, a.device)) {
            a.measured_on = measured.name;
            a.time_factors = timeFactors(*a.trace, a.kernel_costs, measured, a.device);
            const StepStats& stats = a.steps[static_cast<std::size_t>(std::max<std::int16_t>(a.step, 0))];
            fusion.step_ns = scaledStepNs(*a.trace, a.time_factors, a.step, stats.wall_ns, stats.gpu_busy_ns);
            fusion.time_factors = &a.time_factors;
        }
    } else {
        if (!isAnyStep(options.step)) {
            Error error = noStep("those of a trace, and there is none", options.step, a.graph->path);
            if (!options.step_may_lack) return error;
            a.file_errors.push_back(std::move(error));
        }
        a.link.modules = a.graph->modules;
        a.link.modules_from_graph = true;
    }
    if (progress.cancelled()) return cancelled();
    fillModuleStats(a);
    a.model = a.graph ? modelFacts(*a.graph) : modelFacts(*a.trace, a.link);
    if (progress.cancelled()) return cancelled();
    progress.begin("looking for fusions");
    fusion.graph = a.graph.get();
    fusion.device = a.device;
    a.findings = findFusions(fusion);
    a.plan = makePlan(a.findings, fusion.step_ns);
    predictStep(a, {}, a.plan);
    if (progress.cancelled()) return cancelled();
    return result;
}

} // namespace

Result<AnalysisPtr> analyze(TracePtr trace, GraphPtr graph, const AnalyzeOptions& options, Progress& progress) {
    return guardedByMemory("", progress, [&]() -> Result<AnalysisPtr> {
        auto analysed = run(std::move(trace), std::move(graph), options, progress);
        if (!analysed) return std::move(analysed).error();
        return AnalysisPtr(std::move(*analysed));
    });
}

namespace {

Result<AnalysisPtr> openAndAnalyze(const std::vector<std::string>& paths, const AnalyzeOptions& options,
                                   Progress& progress, const AnalysisPtr& keep, std::vector<Error>* unusable) {
    TracePtr trace;
    GraphPtr graph;
    std::vector<Error> errors;
    for (const std::string& path : paths) {
        auto opened = openFile(path, progress);
        if (!opened) {
            if (opened.error().code == ErrorCode::Cancelled) return std::move(opened).error();
            errors.push_back(std::move(opened).error());
            continue;
        }
        const bool is_trace = std::holds_alternative<TracePtr>(*opened);
        if (is_trace ? trace != nullptr : graph != nullptr) {
            errors.push_back({ErrorCode::Unsupported, is_trace ? "one trace at a time" : "one model graph at a time",
                              "a second one, which is left out", path});
            continue;
        }
        if (is_trace)
            trace = std::get<TracePtr>(*opened);
        else
            graph = std::get<GraphPtr>(*opened);
    }
    const bool nothing_new = !trace && !graph;
    if (nothing_new && !errors.empty()) {
        Error first = errors.front();
        if (unusable != nullptr) *unusable = std::move(errors);
        return first;
    }
    if (keep) {
        if (!trace) trace = keep->trace;
        if (!graph) graph = keep->graph;
    }
    if (!trace && !graph) return Error{ErrorCode::NotFound, "a profiler trace or a model graph", "no file", ""};
    std::vector<std::string> used;
    if (graph) used.push_back(graph->path);
    if (trace) used.push_back(trace->path);
    auto analysed = run(std::move(trace), std::move(graph), options, progress);
    if (!analysed) return std::move(analysed).error();
    (*analysed)->files = std::move(used);
    for (Error& error : (*analysed)->file_errors) errors.push_back(std::move(error));
    (*analysed)->file_errors = std::move(errors);
    return AnalysisPtr(std::move(*analysed));
}

} // namespace

Result<AnalysisPtr> analyzeFiles(const std::vector<std::string>& paths, const AnalyzeOptions& options,
                                 Progress& progress, const AnalysisPtr& keep, std::vector<Error>* unusable) {
    return guardedByMemory("", progress, [&] { return openAndAnalyze(paths, options, progress, keep, unusable); });
}

} // namespace fusescope
