// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/commands.h"
#include "app/cli/output.h"

#include "core/analysis/analysis.h"
#include "core/graph/print.h"
#include "core/ipc/exit_codes.h"
#include "core/report/report.h"

namespace fusescope::cli {

int runGraph(const GraphArguments& arguments) {
    Progress progress;
    std::vector<std::string> files{arguments.file};
    if (!arguments.trace.empty()) files.push_back(arguments.trace); // measured time joins the summary
    const auto analysed = analyzeFiles(files, {}, progress);
    if (!analysed) {
        complain(analysed.error().message());
        return kExitNoInput;
    }
    const Analysis& analysis = **analysed;
    if (!analysis.graph) {
        complain(arguments.file + ": expected a model graph (.pt2), found a profiler trace");
        return kExitNoInput;
    }
    for (const Error& error : analysis.file_errors) complain(error.message());
    for (const GraphProblem& problem : analysis.graph->problems) complain(arguments.file + ": " + problem.message);

    std::string text;
    if (arguments.nodes)
        text = printNodes(*analysis.graph);
    else if (arguments.summary)
        text = graphSummary(analysis);
    else if (arguments.json)
        text = graphJson(*analysis.graph);
    else
        text = printTree(*analysis.graph);
    if (text.empty() || text.back() != '\n') text += '\n';
    if (const Status written = writeResult("-", text); !written) {
        complain(written.error().message());
        return kExitUsage;
    }
    return kExitOk;
}

} // namespace fusescope::cli
