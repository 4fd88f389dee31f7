// SPDX-License-Identifier: GPL-3.0-or-later
// fusescope-cli: the analysis without a screen. Its command line is a contract: scripts outside the project call it.
#include "app/cli/command_names.h"
#include "app/cli/commands.h"
#include "app/cli/output.h"

#include "core/ipc/exit_codes.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <iostream>
#include <new>
#include <string>
#include <vector>

namespace {

int run(int argc, char** argv) {
    using namespace fusescope;
    CLI::App app{"Finds the regions of a PyTorch model step that one kernel could do.", "fusescope-cli"};
    app.set_version_flag("--version", "fusescope " FUSESCOPE_VERSION);
    app.require_subcommand(0, 1); // none is said below: CLI11 would complain of that before it names an unknown one

    cli::AnalyzeArguments analyze_args;
    std::vector<std::string> graphs;
    std::string trace;
    CLI::App* analyze = app.add_subcommand("analyze", "Analyse a trace, a model graph, or both");
    analyze->add_option("files", analyze_args.files,
                        "Traces and graphs in any order; the kind is read off the content");
    analyze->add_option("--graph", graphs, "Model graph (.pt2)");
    analyze->add_option("--trace", trace, "Profiler trace (.pt.trace.json, .json.gz)");
    analyze->add_option("--device", analyze_args.device,
                        "GPU preset or JSON file (default: the one named in the trace)");
    analyze->add_option("--step", analyze_args.step, "ProfilerStep number, last or all")->capture_default_str();
    analyze
        ->add_option("--measured", analyze_args.measured,
                     "What fuse --json wrote, or a saved session: its results stand in the report")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    analyze->add_option("--json", analyze_args.json, "Write the analysis as JSON; - is standard output");
    analyze->add_option("--html", analyze_args.html, "Write a self-contained HTML report");
    analyze->add_option("--md", analyze_args.markdown, "Write a Markdown summary (default: to standard output)");

    cli::GraphArguments graph_args;
    CLI::App* graph = app.add_subcommand("graph", "Print a model graph");
    graph->add_option("file", graph_args.file, "Model graph (.pt2)")->required();
    graph->add_option("--trace", graph_args.trace, "Profiler trace: adds measured time to --summary");
    auto* forms = graph->add_option_group("form");
    forms->add_flag("--tree", graph_args.tree, "As print(model) (default)");
    forms->add_flag("--nodes", graph_args.nodes, "As FX prints its node list");
    forms->add_flag("--summary", graph_args.summary, "Per module: output shape, parameters, FLOPs, share");
    forms->add_flag("--json", graph_args.json, "Nodes, values and modules as JSON");
    forms->require_option(0, 1);

    constexpr const char* kRunner = "Command that starts a runner, \"ssh gpu-box fusescope-runner\" (default: "
                                    "FUSESCOPE_RUNNER, else fusescope-runner beside this program, in build/kernels/bin "
                                    "of its source tree or on PATH)";
    cli::FuseArguments fuse_args;
    CLI::App* fuse = app.add_subcommand("fuse", "Run flagged regions on the GPU, as they are and fused");
    fuse->add_option("files", fuse_args.files, "Traces and graphs in any order; the kind is read off the content");
    fuse->add_option("--graph", graphs, "Model graph (.pt2)");
    fuse->add_option("--trace", trace, "Profiler trace (.pt.trace.json, .json.gz)");
    fuse->add_option("--region", fuse_args.regions,
                     "Finding (rms_norm), one instance (rms_norm#3), layer.0, model, nodes of the graph "
                     "(nodes:silu+mul_15), or all; several with commas")
        ->required()
        ->delimiter(',')
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    fuse->add_option("--runner", fuse_args.runner, kRunner);
    fuse->add_option("--device", fuse_args.device,
                     "GPU that predictions are for (default: the one named in the trace)");
    fuse->add_option("--step", fuse_args.step, "ProfilerStep number or last")->capture_default_str();
    fuse->add_option("--rounds", fuse_args.effort.rounds,
                     "Runs of each form that are timed; of fewer than " + std::to_string(kFewestFuseRounds) +
                         " no speedup is told")
        ->check(CLI::Range(1, kMostFuseRounds))
        ->capture_default_str();
    fuse->add_option("--time-limit", fuse_args.effort.time_limit_s, "Seconds that one region may take")
        ->check(CLI::Validator(
            [](std::string& text) { // CLI::Range lets NaN through
                double seconds = 0;
                const bool good =
                    CLI::detail::lexical_cast(text, seconds) && seconds >= 1 && seconds <= kMostFuseSeconds;
                return good ? std::string() : "Value " + text + " not in range 1 to 3600";
            },
            "FLOAT in [1 - 3600]"))
        ->capture_default_str();
    fuse->add_option("--json", fuse_args.json, "Write the measurements as JSON; - is standard output");

    cli::DeviceArguments device_args;
    CLI::App* device = app.add_subcommand("device", "Say what the runner runs on, and measure it");
    device->add_option("--runner", device_args.runner, kRunner);
    device->add_flag("--calibrate", device_args.calibrate,
                     "Measure copy bandwidth, matrix product and launch; kept for traces of this GPU");
    device->add_option("--json", device_args.json, "Write a device file (as --device takes); - is standard output");

    const CLI::Validator some(
        [](std::string& text) { return std::string(text.empty() ? "expected a value that is not empty" : ""); }, "");
    for (CLI::App* command : {analyze, graph, fuse, device})
        for (CLI::Option* option : command->get_options())
            if (option->get_expected_max() > 0) option->check(some);

    std::vector<std::string> commands;
    for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
        commands.push_back(command->get_name());
    // The program's own options take no value: its first word is the command.
    const char* const* const first =
        std::find_if(argv + 1, argv + argc, [](const char* word) { return word[0] != '-'; });
    const std::string word = first == argv + argc ? std::string() : *first;
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() == 0) { // help, version
            if (app.exit(error) == 0 && std::cout.flush()) return kExitOk;
            cli::complain("expected to write to standard output, found no room for the whole text");
            return kExitUsage;
        }
        const bool unknown = !word.empty() && std::find(commands.begin(), commands.end(), word) == commands.end();
        cli::complain(unknown ? cli::noSuchCommand(commands, word) : error.what()); // one line, as every complaint
        return kExitUsage;
    }
    if (app.get_subcommands().empty()) {
        cli::complain(cli::noSuchCommand(commands, word));
        return kExitUsage;
    }
    if (graph->parsed()) return cli::runGraph(graph_args);
    if (device->parsed()) return cli::runDevice(device_args);
    std::vector<std::string>& files = fuse->parsed() ? fuse_args.files : analyze_args.files;
    files.insert(files.end(), graphs.begin(), graphs.end());
    if (!trace.empty()) files.push_back(trace);
    if (files.empty()) {
        std::fputs("fusescope-cli: expected a trace or a model graph to analyse, found no file on the command line\n",
                   stderr);
        return kExitUsage;
    }
    return fuse->parsed() ? cli::runFuse(fuse_args) : cli::runAnalyze(analyze_args);
}

} // namespace

int main(int argc, char** argv) {
    try {
        return run(argc, argv);
    } catch (const std::bad_alloc&) {
        fusescope::cli::complain("expected enough memory, found out of memory while writing the results");
        return fusescope::kExitNoInput;
    } catch (const std::exception& error) {
        fusescope::cli::complain(error.what());
        return fusescope::kExitNoInput;
    }
}
