// SPDX-License-Identifier: Apache-2.0
// Loading a Kineto trace, against what bounds it: simdjson walking the same bytes on one thread, and inflating alone.
// The text is the bundled sample's events, repeated to the size that is asked for. Design: >= 450 MB/s plain on two
// cores, not slower than either bound, at most half a byte of memory per byte of JSON.
#include "core/base/inflate.h"
#include "core/base/input_file.h"
#include "core/io/open.h"
#include "core/trace/slice_index.h"

#include <benchmark/benchmark.h>
#include <simdjson.h>
#include <zlib.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>

namespace {

using namespace fusescope;

std::string sampleText() {
    auto file = InputFile::open(FUSESCOPE_SAMPLES_DIR "/qwen3-8b-2layer-train-eager.pt.trace.json.gz", "the sample");
    std::string text;
    if (file)
        (void)inflateGzip(*file, std::uint64_t{1} << 32U, [&](std::string_view piece) {
            text.append(piece);
            return true;
        });
    return text;
}

struct Files {
    std::string plain, gzip;
    std::uint64_t bytes = 0;
};

// A pair of files for each size, made once, removed at the end.
const Files& files(std::int64_t megabytes) {
    struct Made : Files {
        ~Made() {
            if (!plain.empty()) std::remove(plain.c_str());
            if (!gzip.empty()) std::remove(gzip.c_str());
        }
    };
    static std::map<std::int64_t, Made> all;
    Made& made = all[megabytes];
    if (made.bytes > 0) return made;
    const std::string text = sampleText();
    const std::size_t first = text.find('[', text.find("\"traceEvents\"")) + 1, end = text.rfind("],");
    const char* folder = std::getenv("TMPDIR");
    const std::string path =
        std::string(folder != nullptr ? folder : "/tmp") + "/fusescope-bench-" + std::to_string(megabytes);
    made.plain = path + ".json";
    made.gzip = path + ".json.gz";
    std::ofstream plain(made.plain, std::ios::binary);
    gzFile gzip = gzopen(made.gzip.c_str(), "wb6");
    const auto write = [&](std::string_view piece) {
        plain.write(piece.data(), static_cast<std::streamsize>(piece.size()));
        gzwrite(gzip, piece.data(), static_cast<unsigned>(piece.size()));
        made.bytes += piece.size();
    };
    write(std::string_view(text).substr(0, first));
    while (made.bytes < static_cast<std::uint64_t>(megabytes) * 1'000'000) {
        write(std::string_view(text).substr(first, end - first));
        write(",");
    }
    write(std::string_view(text).substr(first));
    gzclose(gzip);
    return made;
}

void rate(benchmark::State& state, std::uint64_t bytes) {
    state.SetBytesProcessed(static_cast<std::int64_t>(bytes) * static_cast<std::int64_t>(state.iterations()));
}

void load(benchmark::State& state, bool gzip) {
    const Files& f = files(state.range(0));
    double share = 0;
    for (auto _ : state) {
        Progress progress;
        const auto trace = readKinetoTrace(gzip ? f.gzip : f.plain, gzip, progress);
        if (!trace.ok()) {
            state.SkipWithError(trace.error().message().c_str());
            return;
        }
        share = static_cast<double>((*trace)->bytes()) / static_cast<double>(f.bytes);
    }
    rate(state, f.bytes);
    state.counters["bytes_per_json_byte"] = share;
}
void LoadPlain(benchmark::State& state) { load(state, false); }
void LoadGzip(benchmark::State& state) { load(state, true); }

void SimdjsonWalk(benchmark::State& state) {
    const Files& f = files(state.range(0));
    simdjson::ondemand::parser parser;
    for (auto _ : state) {
        simdjson::padded_string text;
        std::size_t seen = 0;
        if (simdjson::padded_string::load(f.plain).get(text) != simdjson::SUCCESS) break;
        simdjson::ondemand::document doc;
        simdjson::ondemand::array events;
        if (parser.iterate(text).get(doc) != simdjson::SUCCESS || doc["traceEvents"].get(events) != simdjson::SUCCESS)
            break;
        for (auto event : events) {
            simdjson::ondemand::object object;
            if (event.get(object) != simdjson::SUCCESS) break;
            for (auto field : object) {
                std::string_view key;
                simdjson::ondemand::value value;
                if (field.unescaped_key().get(key) != simdjson::SUCCESS ||
                    field.value().get(value) != simdjson::SUCCESS)
                    break;
                seen += key.size() + value.raw_json_token().size();
            }
        }
        benchmark::DoNotOptimize(seen);
    }
    rate(state, f.bytes);
}

void InflateAlone(benchmark::State& state) {
    const Files& f = files(state.range(0));
    for (auto _ : state) {
        auto file = InputFile::open(f.gzip, "gzip");
        std::uint64_t sum = 0;
        if (file)
            (void)inflateGzip(*file, std::uint64_t{1} << 40U, [&](std::string_view piece) {
                sum += piece.size();
                return true;
            });
        benchmark::DoNotOptimize(sum);
    }
    rate(state, f.bytes);
}

void IndexBuild(benchmark::State& state) {
    Progress progress;
    const auto trace = readKinetoTrace(files(state.range(0)).plain, false, progress);
    if (!trace.ok()) return;
    for (auto _ : state) benchmark::DoNotOptimize(SliceIndex(**trace));
    state.SetItemsProcessed(static_cast<std::int64_t>((*trace)->slices.size() * state.iterations()));
}

} // namespace

BENCHMARK(LoadPlain)->Arg(64)->Arg(640)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(LoadGzip)->Arg(64)->Arg(640)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(SimdjsonWalk)->Arg(64)->Arg(640)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(InflateAlone)->Arg(64)->Arg(640)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(IndexBuild)->Arg(64)->UseRealTime()->Unit(benchmark::kMillisecond);
