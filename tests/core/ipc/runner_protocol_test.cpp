// SPDX-License-Identifier: Apache-2.0
#include "core/ipc/runner_protocol.h"

#include "core/region/region_json.h"
#include "tests/core/region/example.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace fusescope {
namespace {

RunnerHello hello() {
    RunnerHello h;
    h.protocol = kRunnerProtocol;
    h.build = "0.1.0";
    h.torch = "2.11.0+cu130";
    h.cuda = "13.0";
    h.driver = "580.159.04";
    h.kernels = true;
    h.kernels_problem = "none";
    h.gpus = {{"NVIDIA H200", 90, 132, 1.5e11, 1.4e11, 6e7, "GPU-1"}, {"other", 80, 108, 4e10, 0, 4e7, ""}};
    return h;
}

constexpr const char* kHelloLine =
    R"({"ev":"hello","protocol":1,"build":"0.1.0","torch":"2.11.0+cu130","cuda":"13.0","driver":"580.159.04",)"
    R"("kernels":true,"kernels_problem":"none","gpus":[{"name":"NVIDIA H200","compute_capability":90,)"
    R"("multiprocessors":132,"memory_bytes":150000000000,"free_bytes":140000000000,"l2_bytes":60000000,"uuid":"GPU-1"},)"
    R"({"name":"other","compute_capability":80,"multiprocessors":108,"memory_bytes":40000000000,"free_bytes":0,)"
    R"("l2_bytes":40000000,"uuid":""}]})";

// "1.5e+11" and "150000000000" are one number: lines are compared after a second round.
template <class Decoded> std::string problemOf(const Result<Decoded>& result) {
    return result ? "" : result.error().message();
}

void expectSame(const RunnerHello& a, const RunnerHello& b) {
    EXPECT_EQ(a.protocol, b.protocol);
    EXPECT_EQ(a.build, b.build);
    EXPECT_EQ(a.torch, b.torch);
    EXPECT_EQ(a.cuda, b.cuda);
    EXPECT_EQ(a.driver, b.driver);
    EXPECT_EQ(a.kernels, b.kernels);
    EXPECT_EQ(a.kernels_problem, b.kernels_problem);
    ASSERT_EQ(a.gpus.size(), b.gpus.size());
    for (std::size_t i = 0; i < a.gpus.size(); ++i) {
        EXPECT_EQ(a.gpus[i].name, b.gpus[i].name);
        EXPECT_EQ(a.gpus[i].compute_capability, b.gpus[i].compute_capability);
        EXPECT_EQ(a.gpus[i].multiprocessors, b.gpus[i].multiprocessors);
        EXPECT_EQ(a.gpus[i].memory_bytes, b.gpus[i].memory_bytes);
        EXPECT_EQ(a.gpus[i].free_bytes, b.gpus[i].free_bytes);
        EXPECT_EQ(a.gpus[i].l2_bytes, b.gpus[i].l2_bytes);
        EXPECT_EQ(a.gpus[i].uuid, b.gpus[i].uuid);
    }
}

TEST(RunnerProtocol, HelloComesBack) {
    const std::string line = encodeHello(hello());
    EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1);
    EXPECT_EQ(line.back(), '\n');
    const Result<RunnerHello> back = decodeHello(line), from_text = decodeHello(kHelloLine);
    ASSERT_TRUE(back.ok()) << back.error().message();
    ASSERT_TRUE(from_text.ok()) << from_text.error().message();
    expectSame(*back, hello());
    expectSame(*from_text, hello());
}

TEST(RunnerProtocol, HelloOfAnotherVersion) {
    const Result<RunnerHello> newer = decodeHello(R"({"ev":"hello","protocol":2,"build":"9","novelty":[1]})");
    ASSERT_FALSE(newer.ok());
    EXPECT_EQ(newer.error().code, ErrorCode::Unsupported);
    EXPECT_EQ(newer.error().message(),
              "runner protocol: expected a runner that speaks protocol 1, found one that speaks 2");
    EXPECT_EQ(problemOf(decodeHello(R"({"id":1,"ev":"log","text":"x"})")),
              "runner protocol: expected the hello of a runner as its first line, found 'log'");
    EXPECT_EQ(problemOf(decodeHello("bash: fusescope-runner: command not found")).substr(0, 65),
              "runner protocol: expected one line of JSON, found damaged JSON (T");
    EXPECT_EQ(problemOf(decodeHello(R"({"ev":"hello"})")),
              "runner protocol: expected the member 'protocol', found none");
    EXPECT_NE(problemOf(decodeHello(R"({"ev":"hello","protocol":1,"gpus":[7]})")), "");
    EXPECT_NE(problemOf(decodeHello(R"({"ev":"hello","protocol":1,"gpus":[{"memory_bytes":-1}]})")), "");
    EXPECT_NE(problemOf(decodeHello(R"({"ev":"hello","protocol":1,"gpus":[{"memory_bytes":1e999}]})")), "");
}

RunnerCall again(const RunnerCall& call) {
    const Result<std::string> line = encodeRequest({7, call});
    EXPECT_TRUE(line.ok());
    EXPECT_EQ(line->back(), '\n');
    EXPECT_EQ(requestIdIn(*line), 7);
    const Result<RunnerRequest> back = decodeRequest(*line);
    EXPECT_TRUE(back.ok()) << (back ? "" : back.error().message());
    if (!back) return DeviceRequest{};
    EXPECT_EQ(back->id, 7);
    EXPECT_EQ(back->call.index(), call.index());
    return back->call;
}

TEST(RunnerProtocol, RequestsComeBack) {
    (void)again(DeviceRequest{});
    (void)again(CalibrateRequest{});
    const auto load = std::get<LoadTorchscriptRequest>(again(LoadTorchscriptRequest{"/tmp/a \"b\".pt", true}));
    EXPECT_EQ(load.path, "/tmp/a \"b\".pt");
    EXPECT_TRUE(load.run_code);
    EXPECT_EQ(std::get<CancelRequest>(again(CancelRequest{5})).target, 5);
    const FuseRequest fuse{test::exampleRegion(), {31, 7.5}, 2e9};
    const auto back = std::get<FuseRequest>(again(fuse));
    EXPECT_EQ(regionJson(back.region), regionJson(fuse.region));
    EXPECT_EQ(back.effort.rounds, 31);
    EXPECT_EQ(back.memory_limit_bytes, 2e9);
    EXPECT_EQ(back.effort.time_limit_s, 7.5);
}

TEST(RunnerProtocol, RequestLines) {
    EXPECT_EQ(*encodeRequest({1, DeviceRequest{}}), R"({"id":1,"op":"device","params":{}})"
                                                    "\n");
    EXPECT_EQ(*encodeRequest({2, CalibrateRequest{}}), R"({"id":2,"op":"calibrate","params":{}})"
                                                       "\n");
    EXPECT_EQ(*encodeRequest({3, LoadTorchscriptRequest{"m.pt", false}}),
              R"({"id":3,"op":"load_torchscript","params":{"path":"m.pt","run_code":false}})"
              "\n");
    EXPECT_EQ(*encodeRequest({4, CancelRequest{3}}), R"({"id":4,"op":"cancel","params":{"target":3}})"
                                                     "\n");
    FuseRequest fuse;
    fuse.region = test::exampleRegion();
    const std::string text = regionJson(fuse.region);
    EXPECT_EQ(*encodeRequest({5, fuse}), R"({"id":5,"op":"fuse","params":{"region":)" + text +
                                             R"(,"rounds":20,"memory_limit_bytes":0,"time_limit_s":60}})"
                                             "\n");
    fuse.region.pattern = "layer";
    EXPECT_EQ(encodeRequest({5, fuse})->substr(0, 20), R"({"id":5,"op":"layer")");
}

TEST(RunnerProtocol, RefusesBadRequests) {
    const auto problem = [](std::string_view line) { return problemOf(decodeRequest(line)); };
    EXPECT_EQ(problem(""), "runner protocol: expected one line of JSON, found nothing");
    EXPECT_EQ(problem(R"({"op":"device"})"), "runner protocol: expected the member 'id', found none");
    EXPECT_EQ(problem(R"({"id":"7","op":"device"})"),
              "runner protocol: id: expected a whole number, found the text '7'");
    EXPECT_EQ(problem(R"({"id":0,"op":"device"})"),
              "runner protocol: id: expected a whole number from 1 to 9223372036854775807, found 0");
    EXPECT_EQ(problem(R"({"id":7,"op":"format"})"),
              "runner protocol: expected an operation (device, calibrate, load_torchscript, fuse, layer or cancel), "
              "found 'format'");
    EXPECT_EQ(problem(R"({"id":7,"op":"fuse","params":[]})"),
              "runner protocol: expected params that are an object, found an array");
    EXPECT_EQ(problem(R"({"id":7,"op":"fuse"})"), "runner protocol: params: expected the member 'region', found none");
    EXPECT_EQ(problem(R"({"id":7,"op":"cancel","params":{"target":"all"}})"),
              "runner protocol: params.target: expected a whole number, found the text 'all'");
    EXPECT_EQ(problem(R"({"id":7,"op":"fuse","params":{"region":{"inputs":[{"dtype":"f32","sizes":[-3]}]}}})"),
              "runner protocol: params.region.inputs[0].sizes[0]: expected a whole number from 0 to 4503599627370496, "
              "found -3");
    EXPECT_NE(problem(R"({"id":7,"op":"load_torchscript","params":{}})"), "");
    EXPECT_EQ(problem(R"({"id":7,"op":"device","later":{"x":[1,2]},"params":{"also":null}})"), "");
    EXPECT_EQ(requestIdIn(R"({"id":7,"op":"format"})"), 7);
    EXPECT_EQ(requestIdIn(R"({"id":-7})"), 0);
    EXPECT_EQ(requestIdIn("nonsense"), 0);
}

TEST(RunnerProtocol, CutLines) {
    const std::string line = *encodeRequest({7, FuseRequest{test::exampleRegion(), 20, 0, 60}});
    for (std::size_t end = 0; end + 1 < line.size(); ++end)
        ASSERT_FALSE(decodeRequest(std::string_view(line).substr(0, end)).ok()) << end;
}

TEST(RunnerProtocol, LinesHaveABound) {
    FuseRequest fuse;
    fuse.region = test::exampleRegion();
    fuse.region.baseline.steps.resize(20'000, fuse.region.baseline.steps[0]);
    const Result<std::string> line = encodeRequest({7, fuse});
    ASSERT_FALSE(line.ok());
    EXPECT_EQ(line.error().code, ErrorCode::Limit);
    EXPECT_FALSE(encodeAnswer({7, RunnerLog{std::string(kMaxRunnerLine, 'x')}}).ok());
    const std::string large = R"({"id":7,"ev":"log","text":")" + std::string(kMaxRunnerLine, 'x') + "\"}";
    const Result<RunnerAnswer> answer = decodeAnswer(large);
    ASSERT_FALSE(answer.ok());
    EXPECT_EQ(answer.error().code, ErrorCode::Limit);
}

RunnerEvent again(const RunnerEvent& event) {
    const Result<std::string> line = encodeAnswer({9, event});
    EXPECT_TRUE(line.ok());
    const Result<RunnerAnswer> back = decodeAnswer(*line);
    EXPECT_TRUE(back.ok()) << (back ? "" : back.error().message());
    if (!back) return RunnerLog{};
    EXPECT_EQ(back->id, 9);
    EXPECT_EQ(back->event.index(), event.index());
    EXPECT_EQ(*encodeAnswer(*back), *line);
    return back->event;
}

template <class T> T resultAgain(const T& result) {
    return std::get<T>(std::get<RunnerResult>(again(RunnerEvent(RunnerResult(result)))));
}

Measured measured(double base) {
    Measured m;
    m.us = {base, base - 1, base + 1, 20};
    m.graph_us = {base + 10, base + 9, base + 11};
    m.launches = 7;
    m.peak_bytes = 4096;
    m.relative_error = 0.001;
    m.max_abs_error = 0.5;
    m.relative_to_baseline = 0.25;
    m.max_abs_to_baseline = 0.125;
    m.bitwise = true;
    return m;
}

void expectSame(const Measured& a, const Measured& b) {
    EXPECT_EQ(a.us.median, b.us.median);
    EXPECT_EQ(a.us.p10, b.us.p10);
    EXPECT_EQ(a.us.p90, b.us.p90);
    EXPECT_EQ(a.us.rounds, b.us.rounds);
    EXPECT_EQ(a.graph_us.median, b.graph_us.median);
    EXPECT_EQ(a.graph_us.p10, b.graph_us.p10);
    EXPECT_EQ(a.graph_us.p90, b.graph_us.p90);
    EXPECT_EQ(a.launches, b.launches);
    EXPECT_EQ(a.peak_bytes, b.peak_bytes);
    EXPECT_EQ(a.relative_error, b.relative_error);
    EXPECT_EQ(a.max_abs_error, b.max_abs_error);
    EXPECT_EQ(a.relative_to_baseline, b.relative_to_baseline);
    EXPECT_EQ(a.max_abs_to_baseline, b.max_abs_to_baseline);
    EXPECT_EQ(a.bitwise, b.bitwise);
}

TEST(RunnerProtocol, AnswersComeBack) {
    const auto progress = std::get<RunnerProgress>(again(RunnerEvent(RunnerProgress{"fused forward", 0.4})));
    EXPECT_EQ(progress.stage, "fused forward");
    EXPECT_EQ(progress.fraction, 0.4);
    EXPECT_EQ(std::get<RunnerProgress>(again(RunnerEvent(RunnerProgress{"x", -1}))).fraction, -1);
    EXPECT_EQ(std::get<RunnerLog>(again(RunnerEvent(RunnerLog{"a\nb\x1b"}))).text, "a\nb\x1b");
    const auto error = std::get<RunnerError>(again(RunnerEvent(RunnerError{"cuda", "illegal address", true})));
    EXPECT_EQ(error.code, "cuda");
    EXPECT_EQ(error.message, "illegal address");
    EXPECT_TRUE(error.fatal);
    EXPECT_EQ(resultAgain(TorchscriptResult{"/tmp/g.json"}).graph_json, "/tmp/g.json");
    expectSame(resultAgain(hello()), hello());
}

TEST(RunnerProtocol, ResultsComeBack) {
    const CalibrateResult calibrated =
        resultAgain(CalibrateResult{"NVIDIA H200", true, 4.1e12, 7.2e14, 2.25, 6.5, 0.01, 0.02, 0.03});
    EXPECT_EQ(calibrated.device, "NVIDIA H200");
    EXPECT_TRUE(calibrated.on_gpu);
    EXPECT_EQ(calibrated.copy_Bps, 4.1e12);
    EXPECT_EQ(calibrated.bf16_matmul_flops, 7.2e14);
    EXPECT_EQ(calibrated.launch_us, 2.25);
    EXPECT_EQ(calibrated.copy_spread, 0.01);
    EXPECT_EQ(calibrated.matmul_spread, 0.02);
    EXPECT_EQ(calibrated.launch_spread, 0.03);
    EXPECT_EQ(calibrated.seconds, 6.5);

    FuseResult result;
    result.region = "rms_norm#3";
    result.pattern = "rms_norm";
    result.device = "NVIDIA H200";
    result.on_gpu = result.busy = true;
    result.copy_Bps = 4.1e12;
    result.busy_note = "another process holds 40 GB";
    result.directions = {{"forward", measured(100), measured(30), true, "fusescope::rms_norm"},
                         {"backward", measured(300), {}, false, ""}};
    result.fp64_note = "too large for fp64";
    result.seconds = 3.5;
    const FuseResult back = resultAgain(result);
    EXPECT_EQ(back.region, result.region);
    EXPECT_EQ(back.pattern, result.pattern);
    EXPECT_EQ(back.device, result.device);
    EXPECT_TRUE(back.on_gpu && back.busy);
    EXPECT_EQ(back.copy_Bps, result.copy_Bps);
    EXPECT_EQ(back.busy_note, result.busy_note);
    EXPECT_EQ(back.fp64_note, result.fp64_note);
    EXPECT_EQ(back.seconds, result.seconds);
    ASSERT_EQ(back.directions.size(), 2u);
    expectSame(back.directions[0].baseline, measured(100));
    expectSame(back.directions[0].fused, measured(30));
    expectSame(back.directions[1].baseline, measured(300));
    EXPECT_EQ(back.directions[0].direction, "forward");
    EXPECT_EQ(back.directions[0].fused_name, "fusescope::rms_norm");
    EXPECT_TRUE(back.directions[0].has_fused);
    EXPECT_FALSE(back.directions[1].has_fused);
}

TEST(RunnerProtocol, AnswerLines) {
    EXPECT_EQ(*encodeAnswer({7, RunnerProgress{"fused forward", 0.4}}),
              R"({"id":7,"ev":"progress","stage":"fused forward","fraction":0.4})"
              "\n");
    EXPECT_EQ(*encodeAnswer({7, RunnerError{"out_of_memory", "12 GB asked for", false}}),
              R"({"id":7,"ev":"error","code":"out_of_memory","message":"12 GB asked for","fatal":false})"
              "\n");
    EXPECT_EQ(*encodeAnswer({7, RunnerResult(TorchscriptResult{"g"})}),
              R"({"id":7,"ev":"result","kind":"torchscript","result":{"graph_json":"g"}})"
              "\n");
}

TEST(RunnerProtocol, RefusesBadAnswers) {
    const auto problem = [](std::string_view line) { return problemOf(decodeAnswer(line)); };
    EXPECT_EQ(problem(R"({"id":7})"), "runner protocol: expected the member 'ev', found none");
    EXPECT_EQ(problem(R"({"id":7,"ev":"party"})"),
              "runner protocol: expected an answer that is progress, log, result or error, found 'party'");
    EXPECT_EQ(problem(R"({"id":7,"ev":"result","kind":"fuse","result":7})"),
              "runner protocol: result: expected a result, found 7");
    EXPECT_EQ(problem(R"({"id":7,"ev":"result","kind":"poem","result":{}})"),
              "runner protocol: result: expected a result of the kind device, calibrate, fuse or torchscript, found "
              "'poem'");
    EXPECT_EQ(problem(R"({"id":7,"ev":"result","kind":"fuse","result":{"directions":[{"direction":"forward",)"
                      R"("baseline":{"us":{"median":"fast"}}}]}})"),
              "runner protocol: result.directions[0].baseline.us.median: expected a number, found the text 'fast'");
    EXPECT_NE(problem(R"({"id":7,"ev":"result","kind":"fuse","result":{"copy_Bps":-1}})"), "");
    EXPECT_NE(problem(R"({"id":7,"ev":"result","kind":"device","result":{"protocol":3}})"), "");
    EXPECT_NE(problem(R"({"id":7,"ev":"error"})"), "");
    EXPECT_EQ(problem(R"({"id":7,"ev":"error","code":"new_code","since":"1.2"})"), "") << "codes of later versions";
    EXPECT_EQ(problem(R"({"ev":"log","text":"x"})"), "") << "belongs to no request";
}

// Nanoseconds of a timeline are 64 bits: a time of years is none.
TEST(RunnerProtocol, ATimeThatNoRunTakesIsNone) {
    FuseResult result;
    Comparison forward;
    forward.direction = "forward";
    forward.has_fused = true;
    forward.baseline.us = {1, 1, 1};
    forward.fused.us = {3.6e9, 3.6e9, 3.6e9}; // an hour
    result.directions.push_back(forward);
    auto line = encodeAnswer({1, RunnerResult(result)});
    ASSERT_TRUE(line);
    EXPECT_TRUE(decodeAnswer(*line)) << problemOf(decodeAnswer(*line));
    for (const double none : {1e290, 0.0}) {
        result.directions.front().fused.us.median = none;
        line = encodeAnswer({1, RunnerResult(result)});
        ASSERT_TRUE(line);
        EXPECT_FALSE(decodeAnswer(*line)) << none;
    }
    result.directions.front().has_fused = false; // the rest of it then is of nothing
    line = encodeAnswer({1, RunnerResult(result)});
    ASSERT_TRUE(line);
    EXPECT_TRUE(decodeAnswer(*line)) << problemOf(decodeAnswer(*line));
}

} // namespace
} // namespace fusescope
