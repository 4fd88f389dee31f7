// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/commands.h"
#include "app/cli/output.h"

#include "core/analysis/analysis.h"
#include "core/cost/calibration.h"
#include "core/ipc/exit_codes.h"
#include "core/measured/measured_json.h"
#include "core/report/layout_client.h"
#include "core/report/report.h"

namespace fusescope::cli {

void complainAboutInputs(const Analysis& analysis) {
    for (const Error& error : analysis.file_errors) complain(error.message());
    if (analysis.trace)
        for (const Problem& problem : analysis.trace->problems)
            complain(analysis.trace->path + ": " + problem.message + " (" + std::to_string(problem.count) +
                     "x, first at byte " + std::to_string(problem.first_offset) + ")");
    if (analysis.graph)
        for (const GraphProblem& problem : analysis.graph->problems)
            complain(analysis.graph->path + ": " + problem.message +
                     (problem.count > 1 ? " (" + std::to_string(problem.count) + "x)" : ""));
}

int analyseInputs(const std::vector<std::string>& files, const AnalyzeOptions& options, AnalysisPtr& out) {
    Progress progress;
    std::vector<Error> unusable;
    auto analysed = analyzeFiles(files, options, progress, nullptr, &unusable);
    if (!analysed) {
        if (unusable.empty()) complain(analysed.error().message());
        for (const Error& error : unusable) complain(error.message());
        // A step that does not exist is the caller's mistake, not the input's.
        const bool option = analysed.error().expected.find("a step among") == 0;
        return option ? kExitUsage : kExitNoInput;
    }
    out = *analysed;
    complainAboutInputs(*out);
    return kExitOk;
}

namespace {

// A later file's result takes the place of an earlier one's.
Result<MeasuredSet> readResults(const std::vector<std::string>& files) {
    MeasuredSet all;
    for (const std::string& file : files) {
        Result<MeasuredSet> set = readMeasuredFile(file);
        if (!set) return std::move(set).error();
        for (const auto& [key, result] : set->results()) all.set(result);
    }
    return all;
}

// Of other files or shapes: their finding is not here, or none of its instances is what was run.
void complainAboutStrangers(const Analysis& analysis, const MeasuredSet& set) {
    std::size_t strangers = set.results().size();
    for (const Finding& finding : analysis.findings)
        if (set.any(finding.id))
            for (const InstanceClass& one : instanceClasses(analysis, finding))
                if (set.find(finding.id, one.name) != nullptr) --strangers;
    if (strangers > 0)
        complain(std::to_string(strangers) + " of " + std::to_string(set.results().size()) +
                 " measured results fit no finding of these files and are left out");
}

} // namespace

int runAnalyze(const AnalyzeArguments& arguments) {
    if (!arguments.device.empty())
        if (const auto device = deviceByName(arguments.device); !device) {
            complain(device.error().message());
            return kExitUsage;
        }
    std::vector<std::string> inputs = arguments.files;
    inputs.push_back(arguments.device);
    inputs.insert(inputs.end(), arguments.measured.begin(), arguments.measured.end());
    if (const Status apart = checkTargets(inputs, {arguments.json, arguments.html, arguments.markdown}); !apart) {
        complain(apart.error().message());
        return kExitUsage;
    }
    const Result<MeasuredSet> measured = readResults(arguments.measured);
    if (!measured) {
        complain(measured.error().message());
        return kExitNoInput;
    }
    AnalysisPtr analysed;
    if (const int status =
            analyseInputs(arguments.files, {arguments.device, arguments.step, calibrationFolder()}, analysed);
        status != kExitOk)
        return status;
    const Analysis& analysis = *analysed;
    if (arguments.device.empty() && !analysis.device.origin.empty())
        complain("figures of " + analysis.device.name + " are from its calibration, " + analysis.device.origin);

    complainAboutStrangers(analysis, *measured);

    int status = kExitOk;
    const auto write = [&](const std::string& target, const std::string& text) {
        if (const Status written = writeResult(target, text); !written) {
            complain(written.error().message());
            status = kExitUsage;
        }
    };
    if (!arguments.json.empty()) write(arguments.json, analysisJson(analysis, *measured));
    if (!arguments.html.empty()) write(arguments.html, analysisHtml(analysis, layoutWithHelper, *measured));
    if (!arguments.markdown.empty()) write(arguments.markdown, analysisMarkdown(analysis, *measured));
    if (arguments.json.empty() && arguments.html.empty() && arguments.markdown.empty())
        write("-", analysisMarkdown(analysis, *measured));
    return status;
}

} // namespace fusescope::cli
