// SPDX-License-Identifier: GPL-3.0-or-later
// The commands of fusescope-cli. Results go to stdout or the named files, sentences for people to stderr.
#pragma once

#include <string>
#include <vector>

namespace fusescope::cli {

struct AnalyzeArguments {
    std::vector<std::string> files; // any order, kind by content
    std::string device, step = "last";
    std::string json, html, markdown; // path, "-" = stdout, "" = not wanted
};
struct GraphArguments {
    std::string file, trace;
    bool tree = false, nodes = false, summary = false, json = false; // none: tree
};

[[nodiscard]] int runAnalyze(const AnalyzeArguments& arguments); // an ExitCode
[[nodiscard]] int runGraph(const GraphArguments& arguments);

} // namespace fusescope::cli
