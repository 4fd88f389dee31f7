// SPDX-License-Identifier: Apache-2.0
// Kineto JSON, plain or gzip: the pieces put together, and what is said when there is nothing to read.
#include "core/io/chrome/reader.h"

#include "core/base/inflate.h"
#include "core/base/input_file.h"
#include "core/base/memory_guard.h"
#include "core/io/chrome/pipeline.h"
#include "core/io/open.h"

#include <algorithm>
#include <new>
#include <optional>
#include <thread>

namespace fusescope {
namespace {

constexpr const char* kExpected = "a Kineto trace with a traceEvents array";
constexpr std::uint64_t kMaxText = std::uint64_t{1} << 40;
constexpr std::size_t kSmallText = std::size_t{4} << 20; // not worth a thread

constexpr std::uint64_t kLeastShrinking = 7; // of traces as gzip

unsigned workersFor(std::uint64_t bytes) {
    if (bytes < kSmallText) return 0;
    // Merging is one thread's work: beyond a few workers it is what is waited for.
    return std::clamp(std::thread::hardware_concurrency(), 1U, 6U);
}

// What is known of the file beside its text.
struct Source {
    std::string gzip_problem; // "gzip data that ends after 1,234 bytes"; empty: none
    bool changed = false;     // while it was read
};

// What stands where a trace was expected.
std::string describe(const chrome::Pipeline& pipeline) {
    const chrome::RootScanner& root = pipeline.root();
    const bool cut = pipeline.cut() != chrome::Pipeline::Cut::None;
    if (root.firstByte() == 0) return "no text at all";
    if (root.firstByte() == '[') return "a JSON array without a single event";
    if (root.firstByte() != '{') return "text that is not JSON";
    if (cut) return "JSON that is cut off before its traceEvents array";
    return "JSON without a traceEvents array";
}

// Why there is no trace, when there is none.
std::optional<Error> unusable(const chrome::Pipeline& pipeline, const TraceStore& meta, const Source& source) {
    using Cut = chrome::Pipeline::Cut;
    const EventCounts& counts = meta.counts;
    const std::string& path = meta.path;
    const bool events = pipeline.root().sawEvents();
    if (events && counts.total > counts.dropped) return std::nullopt;
    const bool cut = pipeline.cut() != Cut::None && pipeline.root().firstByte() == '{';
    Error error{ErrorCode::Damaged, kExpected, "", path};
    if (!source.gzip_problem.empty())
        error.found = source.gzip_problem + (events ? ", before the first event" : "");
    else if (!events)
        error = {cut ? ErrorCode::Damaged : ErrorCode::WrongFormat, kExpected, describe(pipeline), path};
    else if (pipeline.cut() == Cut::InEvent && counts.total == 0)
        error.found = "JSON that is cut off in its first event";
    else if (counts.dropped > 0)
        error.found = "no event that is valid JSON";
    else if (cut)
        error.found = "JSON that is cut off before its first event";
    else if (pipeline.root().firstByte() == '[')
        error = {ErrorCode::WrongFormat, kExpected, describe(pipeline), path};
    else
        error = {ErrorCode::Empty, kExpected, "a traceEvents array without a single event", path};
    if (source.changed) error.found += " (the file changed while it was read)";
    return error;
}

Result<TracePtr> finished(const chrome::Pipeline& pipeline, TraceBuilder&& builder, const Source& source) {
    using Cut = chrome::Pipeline::Cut;
    if (auto error = unusable(pipeline, builder.meta(), source)) return std::move(*error);
    if (source.changed)
        builder.problem("file_changed", pipeline.textBytes(), "the file changed while it was read; read it again");
    const bool in_event = pipeline.cut() == Cut::InEvent;
    if (!source.gzip_problem.empty())
        builder.problem("truncated", in_event ? pipeline.cutAt() : pipeline.textBytes(),
                        "the file is " + source.gzip_problem + (in_event ? ", in the middle of an event" : "") +
                            "; everything before that was read");
    else if (in_event)
        builder.problem("truncated", pipeline.cutAt(), "the file ends in the middle of an event");
    else if (pipeline.cut() == Cut::BetweenEvents)
        builder.problem("truncated", pipeline.cutAt(), "the file ends early; everything before the end was read");
    builder.meta().json_bytes = pipeline.textBytes();
    return std::move(builder).finish();
}

Result<TracePtr> ended(chrome::Pipeline::Ended how, const std::string& path) {
    if (how == chrome::Pipeline::Ended::OutOfMemory) throw std::bad_alloc(); // to the guard around the reader
    return Error{ErrorCode::Cancelled, "to read the whole trace", "that it was cancelled", path};
}

Result<TracePtr> readFile(const std::string& path, bool gzip, Progress& progress) {
    auto file = InputFile::open(path, kExpected);
    if (!file) return std::move(file).error();
    TraceBuilder builder;
    builder.meta().path = path;
    builder.meta().file_bytes = file->size();
    builder.meta().file_written_at = file->writtenAt();
    builder.meta().compressed = gzip;
    progress.begin("reading events", file->size());
    using Ended = chrome::Pipeline::Ended;
    if (!gzip) {
        chrome::FileSource source(*file);
        chrome::Pipeline pipeline(builder, source, progress);
        if (const Ended how = pipeline.run(workersFor(file->size())); how != Ended::Done) return ended(how, path);
        progress.begin("sorting events");
        return finished(pipeline, std::move(builder), {"", file->changed()});
    }
    chrome::GzipSource source(*file, kMaxText);
    chrome::Pipeline pipeline(builder, source, progress);
    // Inflating takes a thread, which keeps some three workers busy.
    const unsigned workers = std::max(1U, workersFor(kLeastShrinking * file->size()));
    if (const Ended how = pipeline.run(workers); how != Ended::Done) return ended(how, path);
    progress.begin("sorting events");
    return finished(pipeline, std::move(builder), {source.end().problem, file->changed()});
}

} // namespace

Result<TracePtr> readKinetoText(std::string_view text, const KinetoTextOptions& options) {
    TraceBuilder builder(options.limits);
    builder.meta().path = options.path;
    builder.meta().file_bytes = text.size();
    Progress progress;
    chrome::TextSource source(text, options.batch_bytes == 0 ? chrome::kBatchBytes : options.batch_bytes);
    chrome::Pipeline pipeline(builder, source, progress);
    (void)pipeline.run(options.workers);
    return finished(pipeline, std::move(builder), {});
}

Result<TracePtr> readKinetoTrace(const std::string& path, bool gzip, Progress& progress) {
    return guardedByMemory(path, progress, [&] { return readFile(path, gzip, progress); });
}

Result<std::string> readArgsText(const TraceStore& store, SliceId slice) {
    if (slice.index() >= store.slices.size() || store.slices.args_length[slice.index()] == 0) return std::string();
    const std::uint64_t offset = store.slices.args_offset[slice.index()];
    const std::uint64_t length = store.slices.args_length[slice.index()];
    auto file = InputFile::open(store.path, "the trace that was opened");
    if (!file) return std::move(file).error();
    const Error changed{ErrorCode::Damaged, "the trace as it was when it was opened", "a file changed since then",
                        store.path};
    if (file->size() != store.file_bytes || file->writtenAt() != store.file_written_at) return changed;
    std::string text;
    if (!store.compressed) {
        text.resize(length);
        if (file->readAt(offset, text) != length) return changed;
        return text;
    }
    std::uint64_t at = 0;
    (void)inflateGzip(*file, kMaxText, [&](std::string_view piece) {
        const std::uint64_t from = std::max(at, offset), to = std::min(at + piece.size(), offset + length);
        if (from < to) text.append(piece.substr(from - at, to - from));
        at += piece.size();
        return at < offset + length;
    });
    if (text.size() != length) return changed;
    return text;
}

} // namespace fusescope
