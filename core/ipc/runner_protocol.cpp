// SPDX-License-Identifier: Apache-2.0
#include "core/ipc/runner_protocol.h"

#include "core/base/json_writer.h"
#include "core/region/region_json.h"
#include "core/region/region_json_read.h"

#include <array>
#include <limits>

namespace fusescope {
namespace {

using json::Element;
using json::Reader;

constexpr std::size_t kMaxGpus = 64, kMaxDirections = 8, kMaxText = 65'536, kMaxName = 512;
constexpr std::int64_t kMostId = std::numeric_limits<std::int64_t>::max(), kMostInt = 0x7FFFFFFF, kMostRounds = 100'000;

Result<std::string> lineOf(JsonWriter&& json) {
    std::string line = std::move(json).take() + "\n";
    if (line.size() <= kMaxRunnerLine) return line;
    return Error{ErrorCode::Limit, "a line of at most " + std::to_string(kMaxRunnerLine) + " bytes",
                 std::to_string(line.size()), "runner protocol"};
}

// --- requests -------------------------------------------------------------------------------------------------------

struct CallWriter {
    JsonWriter& json;
    void start(const char* op) const { json.member("op", op).key("params").beginObject(); }
    void operator()(const DeviceRequest&) const { start("device"); }
    void operator()(const CalibrateRequest&) const { start("calibrate"); }
    void operator()(const LoadTorchscriptRequest& call) const {
        start("load_torchscript");
        json.member("path", call.path).member("run_code", call.run_code);
    }
    void operator()(const FuseRequest& call) const {
        const bool whole = call.region.pattern == "layer" || call.region.pattern == "model";
        start(whole ? "layer" : "fuse");
        json.key("region");
        writeRegion(json, call.region);
        json.member("rounds", call.effort.rounds).member("memory_limit_bytes", call.memory_limit_bytes);
        json.member("time_limit_s", call.effort.time_limit_s);
    }
    void operator()(const CancelRequest& call) const {
        start("cancel");
        json.member("target", call.target);
    }
};

bool readCall(Reader& reader, const std::string& op, Element params, RunnerCall& out) {
    const Reader::At at(reader, "params");
    if (op == "device") return out = DeviceRequest{}, true;
    if (op == "calibrate") return out = CalibrateRequest{}, true;
    if (op == "load_torchscript") {
        LoadTorchscriptRequest call;
        if (!reader.need(params, "path") || !reader.text(params, "path", call.path, kMaxText) ||
            !reader.flag(params, "run_code", call.run_code))
            return false;
        return out = std::move(call), true;
    }
    if (op == "cancel") {
        CancelRequest call;
        if (!reader.need(params, "target") || !reader.whole(params, "target", call.target, 1, kMostId)) return false;
        return out = call, true;
    }
    FuseRequest call;
    const auto region = reader.need(params, "region");
    if (!region) return false;
    {
        const Reader::At inside(reader, "region");
        if (!readRegion(reader, *region, call.region)) return false;
    }
    if (!reader.whole(params, "rounds", call.effort.rounds, 1, kMostRounds) ||
        !reader.amount(params, "memory_limit_bytes", call.memory_limit_bytes) ||
        !reader.amount(params, "time_limit_s", call.effort.time_limit_s))
        return false;
    return out = std::move(call), true;
}

// --- hello ----------------------------------------------------------------------------------------------------------

void writeHello(JsonWriter& json, const RunnerHello& hello) {
    json.member("protocol", hello.protocol).member("build", hello.build).member("torch", hello.torch);
    json.member("cuda", hello.cuda).member("driver", hello.driver).member("kernels", hello.kernels);
    json.member("kernels_problem", hello.kernels_problem).key("gpus").beginArray();
    for (const RunnerGpu& gpu : hello.gpus) {
        json.beginObject().member("name", gpu.name).member("compute_capability", gpu.compute_capability);
        json.member("multiprocessors", gpu.multiprocessors).member("memory_bytes", gpu.memory_bytes);
        json.member("free_bytes", gpu.free_bytes).member("l2_bytes", gpu.l2_bytes).member("uuid", gpu.uuid).endObject();
    }
    json.endArray();
}

bool readHello(Reader& reader, Element object, RunnerHello& out) {
    if (!reader.need(object, "protocol") || !reader.whole(object, "protocol", out.protocol, 0, kMostInt)) return false;
    if (out.protocol != kRunnerProtocol)
        return reader.fail("a runner that speaks protocol " + std::to_string(kRunnerProtocol),
                           "one that speaks " + std::to_string(out.protocol), ErrorCode::Unsupported);
    return reader.text(object, "build", out.build, kMaxName) && reader.text(object, "torch", out.torch, kMaxName) &&
           reader.text(object, "cuda", out.cuda, kMaxName) && reader.text(object, "driver", out.driver, kMaxName) &&
           reader.flag(object, "kernels", out.kernels) &&
           reader.text(object, "kernels_problem", out.kernels_problem, kMaxText) &&
           reader.each(object, "gpus", kMaxGpus, [&](Element item) {
               RunnerGpu& gpu = out.gpus.emplace_back();
               if (!item.is_object()) return reader.fail("a GPU", json::describe(item));
               return reader.text(item, "name", gpu.name, kMaxName) && reader.text(item, "uuid", gpu.uuid, kMaxName) &&
                      reader.whole(item, "compute_capability", gpu.compute_capability, 0, 100'000) &&
                      reader.whole(item, "multiprocessors", gpu.multiprocessors, 0, kMostInt) &&
                      reader.amount(item, "memory_bytes", gpu.memory_bytes) &&
                      reader.amount(item, "free_bytes", gpu.free_bytes) &&
                      reader.amount(item, "l2_bytes", gpu.l2_bytes);
           });
}

// --- results --------------------------------------------------------------------------------------------------------

void writeSpread(JsonWriter& json, const char* key, const Spread& spread) {
    json.key(key).beginObject().member("median", spread.median).member("p10", spread.p10);
    json.member("p90", spread.p90);
    if (spread.rounds > 0) json.member("rounds", spread.rounds);
    json.endObject();
}

// A run may take an hour; what says much more is no time, and would not fit the nanoseconds of a timeline.
constexpr double kMostUs = 1e12;
// Less is no time of a computer, and ratios of it are no numbers.
constexpr double kLeastUs = 1e-6;

// Whatever is run takes time: without it there is nothing to compare.
bool takesTime(Reader& reader, const char* key, const Measured& one) {
    const Reader::At at(reader, key);
    return one.us.median > 0 || reader.fail("a time of more than zero", "none");
}

bool readSpread(Reader& reader, Element object, const char* key, Spread& out) {
    const Reader::At at(reader, key);
    const auto value = Reader::find(object, key);
    if (!value) return !reader.failed();
    if (!value->is_object()) return reader.fail("median, p10 and p90", json::describe(*value));
    if (!reader.amount(*value, "median", out.median, kMostUs)) return false;
    out.p10 = out.p90 = out.median;
    if (!reader.amount(*value, "p10", out.p10, kMostUs) || !reader.amount(*value, "p90", out.p90, kMostUs) ||
        !reader.whole(*value, "rounds", out.rounds, 0, kMostRounds))
        return false;
    if (out.median > 0 && out.median < kLeastUs) return reader.fail("a time, or 0", "less than 1e-6 us");
    return (out.p10 <= out.median && out.median <= out.p90) ||
           reader.fail("p10, median and p90 in ascending order", "another order");
}

void writeMeasured(JsonWriter& json, const char* key, const Measured& one) {
    json.key(key).beginObject();
    writeSpread(json, "us", one.us);
    writeSpread(json, "graph_us", one.graph_us);
    json.member("launches", one.launches).member("peak_bytes", one.peak_bytes);
    json.member("relative_error", one.relative_error).member("max_abs_error", one.max_abs_error);
    json.member("relative_to_baseline", one.relative_to_baseline);
    json.member("max_abs_to_baseline", one.max_abs_to_baseline).member("bitwise", one.bitwise).endObject();
}

bool readMeasured(Reader& reader, Element object, const char* key, Measured& out) {
    const Reader::At at(reader, key);
    const auto value = Reader::find(object, key);
    if (!value) return !reader.failed();
    if (!value->is_object()) return reader.fail("what was measured", json::describe(*value));
    return readSpread(reader, *value, "us", out.us) && readSpread(reader, *value, "graph_us", out.graph_us) &&
           reader.amount(*value, "launches", out.launches) && reader.amount(*value, "peak_bytes", out.peak_bytes) &&
           reader.amount(*value, "relative_error", out.relative_error) &&
           reader.amount(*value, "max_abs_error", out.max_abs_error) &&
           reader.amount(*value, "relative_to_baseline", out.relative_to_baseline) &&
           reader.amount(*value, "max_abs_to_baseline", out.max_abs_to_baseline) &&
           reader.flag(*value, "bitwise", out.bitwise);
}

struct ResultWriter {
    JsonWriter& json;
    void start(const char* kind) const { json.member("kind", kind).key("result").beginObject(); }
    void operator()(const RunnerHello& hello) const {
        start("device");
        writeHello(json, hello);
    }
    void operator()(const CalibrateResult& result) const {
        start("calibrate");
        json.member("device", result.device).member("on_gpu", result.on_gpu).member("copy_Bps", result.copy_Bps);
        json.member("bf16_matmul_flops", result.bf16_matmul_flops).member("launch_us", result.launch_us);
        json.member("copy_spread", result.copy_spread).member("matmul_spread", result.matmul_spread);
        json.member("launch_spread", result.launch_spread).member("seconds", result.seconds);
    }
    void operator()(const FuseResult& result) const {
        start("fuse");
        json.member("region", result.region).member("pattern", result.pattern).member("device", result.device);
        json.member("on_gpu", result.on_gpu).member("copy_Bps", result.copy_Bps).member("busy", result.busy);
        json.member("busy_note", result.busy_note).key("directions").beginArray();
        for (const Comparison& one : result.directions) {
            json.beginObject().member("direction", one.direction);
            writeMeasured(json, "baseline", one.baseline);
            if (one.has_fused) {
                writeMeasured(json, "fused", one.fused);
                json.member("fused_name", one.fused_name);
            }
            json.endObject();
        }
        json.endArray().member("fp64_note", result.fp64_note).member("seconds", result.seconds);
    }
    void operator()(const TorchscriptResult& result) const {
        start("torchscript");
        json.member("graph_json", result.graph_json);
    }
};

bool readFuseResult(Reader& reader, Element object, FuseResult& out) {
    return reader.text(object, "region", out.region, kMaxName) &&
           reader.text(object, "pattern", out.pattern, kMaxName) &&
           reader.text(object, "device", out.device, kMaxName) && reader.flag(object, "on_gpu", out.on_gpu) &&
           reader.amount(object, "copy_Bps", out.copy_Bps) && reader.flag(object, "busy", out.busy) &&
           reader.text(object, "busy_note", out.busy_note, kMaxText) &&
           reader.each(object, "directions", kMaxDirections,
                       [&](Element item) {
                           Comparison& one = out.directions.emplace_back();
                           if (!item.is_object()) return reader.fail("a direction", json::describe(item));
                           one.has_fused = Reader::find(item, "fused").has_value();
                           return reader.need(item, "direction") && reader.need(item, "baseline") &&
                                  reader.text(item, "direction", one.direction, kMaxName) &&
                                  reader.text(item, "fused_name", one.fused_name, kMaxName) &&
                                  readMeasured(reader, item, "baseline", one.baseline) &&
                                  readMeasured(reader, item, "fused", one.fused) &&
                                  takesTime(reader, "baseline", one.baseline) &&
                                  (!one.has_fused || takesTime(reader, "fused", one.fused));
                       }) &&
           reader.text(object, "fp64_note", out.fp64_note, kMaxText) && reader.amount(object, "seconds", out.seconds);
}

bool readResult(Reader& reader, const std::string& kind, Element object, RunnerResult& out) {
    const Reader::At at(reader, "result");
    if (!object.is_object()) return reader.fail("a result", json::describe(object));
    if (kind == "device") {
        RunnerHello hello;
        return readHello(reader, object, hello) && (out = std::move(hello), true);
    }
    if (kind == "calibrate") {
        CalibrateResult result;
        return reader.text(object, "device", result.device, kMaxName) && reader.flag(object, "on_gpu", result.on_gpu) &&
               reader.amount(object, "copy_Bps", result.copy_Bps) &&
               reader.amount(object, "bf16_matmul_flops", result.bf16_matmul_flops) &&
               reader.amount(object, "launch_us", result.launch_us) &&
               reader.amount(object, "copy_spread", result.copy_spread) &&
               reader.amount(object, "matmul_spread", result.matmul_spread) &&
               reader.amount(object, "launch_spread", result.launch_spread) &&
               reader.amount(object, "seconds", result.seconds) && (out = std::move(result), true);
    }
    if (kind == "fuse") {
        FuseResult result;
        return readFuseResult(reader, object, result) && (out = std::move(result), true);
    }
    if (kind == "torchscript") {
        TorchscriptResult result;
        return reader.need(object, "graph_json") && reader.text(object, "graph_json", result.graph_json, kMaxText) &&
               (out = std::move(result), true);
    }
    return reader.fail("a result of the kind device, calibrate, fuse or torchscript", "'" + kind.substr(0, 60) + "'");
}

// --- answers --------------------------------------------------------------------------------------------------------

struct EventWriter {
    JsonWriter& json;
    void operator()(const RunnerProgress& event) const {
        json.member("ev", "progress").member("stage", event.stage).member("fraction", event.fraction);
    }
    void operator()(const RunnerLog& event) const { json.member("ev", "log").member("text", event.text); }
    void operator()(const RunnerResult& event) const {
        json.member("ev", "result");
        std::visit(ResultWriter{json}, event);
        json.endObject();
    }
    void operator()(const RunnerError& event) const {
        json.member("ev", "error").member("code", event.code).member("message", event.message);
        json.member("fatal", event.fatal);
    }
};

bool readEvent(Reader& reader, Element root, RunnerEvent& out) {
    std::string ev, kind;
    if (!reader.need(root, "ev") || !reader.text(root, "ev", ev, kMaxName)) return false;
    if (ev == "progress") {
        RunnerProgress event;
        if (!reader.text(root, "stage", event.stage, kMaxText) || !reader.number(root, "fraction", event.fraction))
            return false;
        if (event.fraction > 1) event.fraction = 1;
        return out = std::move(event), true;
    }
    if (ev == "log") {
        RunnerLog event;
        return reader.text(root, "text", event.text, kMaxRunnerLine) && (out = std::move(event), true);
    }
    if (ev == "error") {
        RunnerError event;
        return reader.need(root, "code") && reader.text(root, "code", event.code, kMaxName) &&
               reader.text(root, "message", event.message, kMaxRunnerLine) && reader.flag(root, "fatal", event.fatal) &&
               (out = std::move(event), true);
    }
    if (ev == "result") {
        RunnerResult result;
        const auto value = reader.need(root, "result");
        if (!value || !reader.need(root, "kind") || !reader.text(root, "kind", kind, kMaxName) ||
            !readResult(reader, kind, *value, result))
            return false;
        return out = std::move(result), true;
    }
    return reader.fail("an answer that is progress, log, result or error", "'" + ev.substr(0, 60) + "'");
}

} // namespace

std::string versionsText(const RunnerHello& hello) {
    return "torch " + hello.torch + (hello.driver.empty() ? "" : ", driver " + hello.driver);
}

std::string encodeHello(const RunnerHello& hello) {
    JsonWriter json;
    json.beginObject().member("ev", "hello");
    writeHello(json, hello);
    json.endObject();
    return std::move(json).take() + "\n";
}

bool isGreeting(std::string_view line) {
    const auto first = line.find_first_not_of(" \t\r\n");
    return first == std::string_view::npos || line[first] != '{';
}

Result<RunnerHello> decodeHello(std::string_view line) {
    simdjson::dom::parser parser;
    Reader reader("runner protocol");
    RunnerHello hello;
    std::string ev;
    const auto root = reader.parse(parser, line, kMaxRunnerLine);
    if (!root || !reader.text(*root, "ev", ev, kMaxName)) return reader.error();
    if (ev != "hello") {
        reader.fail("the hello of a runner as its first line",
                    ev.empty() ? "another line" : "'" + ev.substr(0, 60) + "'");
        return reader.error();
    }
    if (!readHello(reader, *root, hello)) return reader.error();
    return hello;
}

Result<std::string> encodeRequest(const RunnerRequest& request) {
    JsonWriter json;
    json.beginObject().member("id", request.id);
    std::visit(CallWriter{json}, request.call);
    json.endObject().endObject();
    return lineOf(std::move(json));
}

Result<RunnerRequest> decodeRequest(std::string_view line) {
    simdjson::dom::parser parser;
    Reader reader("runner protocol");
    RunnerRequest request;
    std::string op;
    const auto root = reader.parse(parser, line, kMaxRunnerLine);
    if (!root || !reader.need(*root, "id") || !reader.whole(*root, "id", request.id, 1, kMostId) ||
        !reader.need(*root, "op") || !reader.text(*root, "op", op, kMaxName))
        return reader.error();
    constexpr std::array<std::string_view, 6> known{"device", "calibrate", "load_torchscript",
                                                    "fuse",   "layer",     "cancel"};
    bool is_known = false;
    for (const std::string_view one : known) is_known = is_known || one == op;
    if (!is_known) {
        reader.fail("an operation (device, calibrate, load_torchscript, fuse, layer or cancel)",
                    "'" + op.substr(0, 60) + "'", ErrorCode::Unsupported);
        return reader.error();
    }
    simdjson::dom::parser nothing; // holds the empty object that stands for params which are not there
    const auto params = Reader::find(*root, "params");
    if (params && !params->is_object()) {
        reader.fail("params that are an object", json::describe(*params));
        return reader.error();
    }
    if (!readCall(reader, op, params ? *params : nothing.parse(std::string_view("{}")).value_unsafe(), request.call))
        return reader.error();
    return request;
}

Result<std::string> encodeAnswer(const RunnerAnswer& answer) {
    JsonWriter json;
    json.beginObject().member("id", answer.id);
    std::visit(EventWriter{json}, answer.event);
    json.endObject();
    return lineOf(std::move(json));
}

Result<RunnerAnswer> decodeAnswer(std::string_view line) {
    simdjson::dom::parser parser;
    Reader reader("runner protocol");
    RunnerAnswer answer;
    const auto root = reader.parse(parser, line, kMaxRunnerLine);
    if (!root || !reader.whole(*root, "id", answer.id, 0, kMostId) || !readEvent(reader, *root, answer.event))
        return reader.error();
    return answer;
}

std::int64_t requestIdIn(std::string_view line) {
    simdjson::dom::parser parser;
    Reader reader("runner protocol");
    std::int64_t id = 0;
    const auto root = reader.parse(parser, line, kMaxRunnerLine);
    if (root) reader.whole(*root, "id", id, 1, kMostId);
    return id;
}

} // namespace fusescope
