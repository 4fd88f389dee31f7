// SPDX-License-Identifier: Apache-2.0
// Kineto JSON, plain or gzip: the pieces put together, and what is said when there is nothing to read.
#include "core/io/chrome/reader.h"

#include "core/base/inflate.h"
#include "core/base/mapped_file.h"
#include "core/io/chrome/pipeline.h"
#include "core/io/open.h"

#include <algorithm>
#include <thread>

namespace fusescope {
namespace {

constexpr const char* kExpected = "a Kineto trace with a traceEvents array";
constexpr std::uint64_t kMaxText = std::uint64_t{1} << 40;
constexpr std::size_t kSmallText = std::size_t{4} << 20; // not worth a thread

unsigned workersFor(std::size_t bytes) {
    if (bytes < kSmallText) return 0;
    // Merging is one thread's work: beyond a few workers it is what is waited for.
    return std::clamp(std::thread::hardware_concurrency(), 1U, 6U);
}

// What stands where a trace was expected.
std::string describe(const chrome::RootScanner& root) {
    if (root.firstByte() == 0) return "no text at all";
    if (root.firstByte() == '[') return "a JSON array without a single event";
    if (root.firstByte() != '{') return "text that is not JSON";
    return "JSON without a traceEvents array";
}

// cut: why the archive's text ended before its end, empty if it did not.
Result<TracePtr> finished(const chrome::Pipeline& pipeline, TraceBuilder&& builder, const std::string& cut) {
    const std::string path = builder.meta().path;
    const EventCounts& counts = builder.meta().counts;
    // Said once: where the archive is cut, the event that it was cut in is no damage of its own.
    if (!cut.empty())
        builder.problem("truncated", pipeline.cut().empty() ? pipeline.textBytes() : pipeline.cutAt(),
                        "the compressed file is incomplete (" + cut + "); the events before that were read");
    else if (!pipeline.cut().empty())
        builder.problem("truncated", pipeline.cutAt(), std::string(pipeline.cut()));
    if (!pipeline.root().sawEvents())
        return Error{cut.empty() ? ErrorCode::WrongFormat : ErrorCode::Damaged, kExpected,
                     cut.empty() ? describe(pipeline.root()) : cut, path};
    if (counts.total == counts.dropped) {
        if (!cut.empty()) return Error{ErrorCode::Damaged, kExpected, cut + ", before the first event", path};
        const bool array = pipeline.root().firstByte() == '[';
        if (counts.dropped > 0) return Error{ErrorCode::Damaged, kExpected, "no event that is valid JSON", path};
        return Error{array ? ErrorCode::WrongFormat : ErrorCode::Empty, kExpected,
                     array ? describe(pipeline.root()) : "a traceEvents array without a single event", path};
    }
    builder.meta().json_bytes = pipeline.textBytes();
    return std::move(builder).finish();
}

Error cancelled(const std::string& path) {
    return {ErrorCode::Cancelled, "to read the whole trace", "that it was cancelled", path};
}

} // namespace

Result<TracePtr> readKinetoText(std::string_view text, const KinetoTextOptions& options) {
    TraceBuilder builder;
    builder.meta().path = options.path;
    builder.meta().file_bytes = text.size();
    Progress progress;
    chrome::TextSource source(text, options.batch_bytes == 0 ? chrome::kBatchBytes : options.batch_bytes);
    chrome::Pipeline pipeline(builder, source, progress);
    (void)pipeline.run(options.workers);
    return finished(pipeline, std::move(builder), "");
}

Result<TracePtr> readKinetoTrace(const std::string& path, bool gzip, Progress& progress) {
    auto file = MappedFile::open(path, kExpected);
    if (!file) return std::move(file).error();
    const std::string_view bytes = file->bytes();
    TraceBuilder builder;
    builder.meta().path = path;
    builder.meta().file_bytes = bytes.size();
    builder.meta().compressed = gzip;
    progress.begin("reading events", bytes.size());
    if (!gzip) {
        chrome::TextSource source(bytes);
        chrome::Pipeline pipeline(builder, source, progress);
        if (!pipeline.run(workersFor(bytes.size()))) return cancelled(path);
        progress.begin("sorting events");
        return finished(pipeline, std::move(builder), "");
    }
    chrome::GzipSource source(bytes, kMaxText);
    chrome::Pipeline pipeline(builder, source, progress);
    // Inflating takes a thread and is what is waited for: one worker keeps up with it.
    if (!pipeline.run(1)) return cancelled(path);
    progress.begin("sorting events");
    return finished(pipeline, std::move(builder), source.end().problem);
}

Result<std::string> readArgsText(const TraceStore& store, SliceId slice) {
    if (slice.index() >= store.slices.size() || store.slices.args_length[slice.index()] == 0) return std::string();
    const std::uint64_t offset = store.slices.args_offset[slice.index()];
    const std::uint64_t length = store.slices.args_length[slice.index()];
    auto file = MappedFile::open(store.path, "the trace that was opened");
    if (!file) return std::move(file).error();
    const Error changed{ErrorCode::Damaged, "the trace as it was when it was opened", "a shorter file", store.path};
    if (!store.compressed) {
        if (offset + length > file->bytes().size()) return changed;
        return std::string(file->bytes().substr(offset, length));
    }
    std::string text;
    std::uint64_t at = 0;
    (void)inflateGzip(file->bytes(), kMaxText, [&](std::string_view piece) {
        const std::uint64_t from = std::max(at, offset), to = std::min(at + piece.size(), offset + length);
        if (from < to) text.append(piece.substr(from - at, to - from));
        at += piece.size();
        return at < offset + length;
    });
    if (text.size() != length) return changed;
    return text;
}

} // namespace fusescope
