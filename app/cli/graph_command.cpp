// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/commands.h"
#include "app/cli/output.h"

#include "core/analysis/analysis.h"
#include "core/base/printable.h"
#include "core/graph/print.h"
#include "core/io/open.h"
#include "core/ipc/exit_codes.h"
#include "core/report/report.h"

namespace fusescope::cli {

namespace {

// Each file has to be what its place on the command line says: no guessing here.
Result<AnalysisPtr> analyzeAs(const GraphArguments& arguments, Progress& progress) {
    auto graph = openFile(arguments.file, progress);
    if (!graph) return std::move(graph).error();
    if (!std::holds_alternative<GraphPtr>(*graph))
        return Error{ErrorCode::WrongFormat, "a model graph (.pt2)", "a profiler trace", arguments.file};
    TracePtr trace;
    if (!arguments.trace.empty()) { // measured time joins the summary
        auto opened = openFile(arguments.trace, progress);
        if (!opened) return std::move(opened).error();
        if (!std::holds_alternative<TracePtr>(*opened))
            return Error{ErrorCode::WrongFormat, "a profiler trace", "a model graph", arguments.trace};
        trace = std::get<TracePtr>(*opened);
    }
    return analyze(trace, std::get<GraphPtr>(*graph), {}, progress);
}

} // namespace

int runGraph(const GraphArguments& arguments) {
    Progress progress;
    const auto analysed = analyzeAs(arguments, progress);
    if (!analysed) {
        complain(analysed.error().message());
        return kExitNoInput;
    }
    const Analysis& analysis = **analysed;
    complainAboutInputs(analysis);

    std::string text;
    if (arguments.nodes)
        text = printNodes(*analysis.graph);
    else if (arguments.summary)
        text = graphSummary(analysis);
    else if (arguments.json)
        text = graphJson(*analysis.graph);
    else
        text = printTree(*analysis.graph);
    if (!arguments.json) text = printableText(text); // names come from the file
    if (text.empty() || text.back() != '\n') text += '\n';
    if (const Status written = writeResult("-", text); !written) {
        complain(written.error().message());
        return kExitUsage;
    }
    return kExitOk;
}

} // namespace fusescope::cli
