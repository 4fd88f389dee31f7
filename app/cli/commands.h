// SPDX-License-Identifier: GPL-3.0-or-later
// The commands of fusescope-cli. Results go to stdout or the named files, sentences for people to stderr.
#pragma once

#include "core/analysis/analysis.h"
#include "core/ipc/fuse_effort.h"

#include <string>
#include <vector>

namespace fusescope::cli {

struct AnalyzeArguments {
    std::vector<std::string> files; // any order, kind by content
    std::string device, step = "last";
    std::vector<std::string> measured; // files with results: of fuse --json, sessions
    std::string json, html, markdown;  // path, "-" = stdout, "" = not wanted
};
struct GraphArguments {
    std::string file, trace;
    bool tree = false, nodes = false, summary = false, json = false; // none: tree
};
struct FuseArguments {
    std::vector<std::string> files;
    std::vector<std::string> regions;
    std::string runner, device, step = "last", json;
    FuseEffort effort;
};
struct DeviceArguments {
    std::string runner, json;
    bool calibrate = false;
};

// What was wrong with inputs that could be used all the same: a line each on stderr, the details are in the JSON.
void complainAboutInputs(const Analysis& analysis);
// Whether the GPU is one that is known ("" is the files' own) and no result would be written over an input or another
// result; what is wrong is said on stderr.
[[nodiscard]] bool checkUse(const std::string& device, std::vector<std::string> inputs,
                            const std::vector<std::string>& targets);
// analyzeFiles(), with everything that went wrong said on stderr. kExitOk, or the status to end with.
[[nodiscard]] int analyseInputs(const std::vector<std::string>& files, const AnalyzeOptions& options, AnalysisPtr& out);
[[nodiscard]] int runAnalyze(const AnalyzeArguments& arguments); // an ExitCode
[[nodiscard]] int runGraph(const GraphArguments& arguments);
[[nodiscard]] int runFuse(const FuseArguments& arguments);
[[nodiscard]] int runDevice(const DeviceArguments& arguments);

} // namespace fusescope::cli
