// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/commands.h"
#include "app/cli/output.h"

#include "core/analysis/analysis.h"
#include "core/cost/calibration.h"
#include "core/ipc/exit_codes.h"
#include "core/measured/measured_json.h"
#include "core/region/chosen.h"
#include "core/report/layout_client.h"
#include "core/report/report.h"

#include <memory>
#include <utility>

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

bool checkUse(const std::string& device, std::vector<std::string> inputs, const std::vector<std::string>& targets) {
    if (!device.empty())
        if (const auto known = deviceByName(device); !known) {
            complain(known.error().message());
            return false;
        }
    inputs.push_back(device); // may be a file
    const Status apart = checkTargets(inputs, targets);
    if (!apart) complain(apart.error().message());
    return apart.ok();
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

Result<std::vector<MeasuredFile>> readResults(const std::vector<std::string>& files) {
    std::vector<MeasuredFile> all;
    for (const std::string& path : files) {
        Result<MeasuredFile> file = readMeasuredFile(path);
        if (!file) return std::move(file).error();
        all.push_back(std::move(*file));
    }
    return all;
}

struct Results {
    MeasuredSet set;
    std::vector<ChosenPtr> regions;
};

// A later file's result takes the place of an earlier one's, unless that one is good for more; of a region that several
// files have the last one counts.
Results gather(const Analysis& analysis, const std::vector<MeasuredFile>& files) {
    Results all;
    for (const MeasuredFile& file : files) {
        for (const auto& [key, result] : file.set.results()) {
            const MeasuredResult* earlier = all.set.find(result.finding, result.instance_class);
            if (earlier == nullptr || takesThePlaceOf(analysis, earlier->result, result.result))
                all.set.set(result);
            else
                complain("the result of " + result.finding + " on " + earlier->result.device +
                         " stays: the later one, on " + result.result.device +
                         (doubtText(result.result).empty() ? "" : " in unsteady runs") + ", says less of the step");
        }
        for (const ChosenRegion& saved : file.regions) {
            Result<ChosenWork> work = workOfChosen(analysis, saved);
            if (!work) {
                complain("a region that was saved is left out: " + work.error().message());
                continue;
            }
            ChosenPtr made = std::make_shared<const ChosenRegion>(std::move(work->chosen));
            std::erase_if(all.regions, [&](const ChosenPtr& one) { return one->id == made->id; });
            all.regions.push_back(std::move(made));
        }
    }
    return all;
}

// Of other files or shapes: their finding or region is not here, or none of its instances is what was run.
void complainAboutStrangers(const Analysis& analysis, const Results& results) {
    const MeasuredSet& set = results.set;
    std::size_t strangers = set.results().size();
    const auto known = [&](const Finding& work) {
        if (!set.any(work.id)) return;
        for (const InstanceClass& one : instanceClasses(analysis, work))
            if (set.find(work.id, one.name) != nullptr) --strangers;
    };
    for (const Finding& finding : analysis.findings) known(finding);
    for (const ChosenPtr& region : results.regions) known(region->work);
    if (strangers > 0)
        complain(std::to_string(strangers) + " of " + std::to_string(set.results().size()) +
                 " measured results fit no finding or region of these files and are left out");
}

} // namespace

int runAnalyze(const AnalyzeArguments& arguments) {
    std::vector<std::string> inputs = arguments.files;
    inputs.insert(inputs.end(), arguments.measured.begin(), arguments.measured.end());
    if (!checkUse(arguments.device, inputs, {arguments.json, arguments.html, arguments.markdown})) return kExitUsage;
    const Result<std::vector<MeasuredFile>> read = readResults(arguments.measured);
    if (!read) {
        complain(read.error().message());
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

    const Results measured = gather(analysis, *read);
    complainAboutStrangers(analysis, measured);

    int status = kExitOk;
    const auto write = [&](const std::string& target, const std::string& text) {
        if (const Status written = writeResult(target, text); !written) {
            complain(written.error().message());
            status = kExitUsage;
        }
    };
    if (!arguments.json.empty()) write(arguments.json, analysisJson(analysis, measured.set, measured.regions));
    if (!arguments.html.empty())
        write(arguments.html, analysisHtml(analysis, layoutWithHelper, measured.set, measured.regions));
    if (!arguments.markdown.empty())
        write(arguments.markdown, analysisMarkdown(analysis, measured.set, measured.regions));
    if (arguments.json.empty() && arguments.html.empty() && arguments.markdown.empty())
        write("-", analysisMarkdown(analysis, measured.set, measured.regions));
    return status;
}

} // namespace fusescope::cli
