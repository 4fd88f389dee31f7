// SPDX-License-Identifier: Apache-2.0
// Kineto JSON, plain or gzip. One thread inflates, this one frames and merges in file order, two decode.
#include "core/base/format.h"
#include "core/base/inflate.h"
#include "core/base/mapped_file.h"
#include "core/io/chrome/import.h"
#include "core/io/chrome/reader.h"
#include "core/io/open.h"

#include <condition_variable>
#include <deque>
#include <future>
#include <mutex>
#include <thread>

namespace fusescope {
namespace {

constexpr const char *kExpected = "a Kineto trace with a traceEvents array";
constexpr std::uint64_t kMaxText = std::uint64_t{1} << 40;
constexpr std::size_t kPiece = std::size_t{4} << 20;

// Text between the inflating thread and the framing one; a few pieces deep.
class Pieces {
public:
    bool push(std::string_view piece) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return queue_.size() < 4 || stopped_; });
        if (stopped_) return false;
        queue_.emplace_back(piece);
        changed_.notify_all();
        return true;
    }
    void close() {
        const std::lock_guard lock(mutex_);
        closed_ = true;
        changed_.notify_all();
    }
    void stop() {
        const std::lock_guard lock(mutex_);
        stopped_ = true;
        changed_.notify_all();
    }
    bool pop(std::string &piece) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return !queue_.empty() || closed_; });
        if (queue_.empty()) return false;
        piece = std::move(queue_.front());
        queue_.pop_front();
        changed_.notify_all();
        return true;
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::string> queue_;
    bool closed_ = false, stopped_ = false;
};

// Frames, decodes two batches ahead, merges in order.
class Pipeline {
public:
    explicit Pipeline(TraceBuilder &builder)
        : builder_(builder), importer_(builder),
          framer_([this](chrome::Batch &&batch) { decodeLater(std::move(batch)); },
                  [this](std::string_view key, std::string_view value, std::uint64_t) { importer_.header(key, value); },
                  [this](std::string_view kind, std::uint64_t at, std::string_view text) { builder_.problem(kind, at, text); }) {}

    void push(std::string_view text) { framer_.push(text); }
    void finish() {
        framer_.finish();
        while (!pending_.empty()) merge();
        importer_.finish();
    }
    [[nodiscard]] const chrome::Framer &framer() const { return framer_; }

private:
    void decodeLater(chrome::Batch &&batch) {
        if (pending_.size() >= 2) merge();
        pending_.push_back(std::async(std::launch::async, [b = std::move(batch)]() mutable { return chrome::decode(std::move(b)); }));
    }
    void merge() {
        importer_.add(pending_.front().get());
        pending_.pop_front();
    }

    TraceBuilder &builder_;
    chrome::Importer importer_;
    std::deque<std::future<chrome::Decoded>> pending_;
    chrome::Framer framer_;
};

Error cancelled(const std::string &path) { return {ErrorCode::Cancelled, "to read the whole trace", "that it was cancelled", path}; }

// What stands where a trace was expected.
std::string describe(const chrome::Framer &framer) {
    if (!framer.sawRoot()) return "no text at all";
    if (framer.firstByte() == '{') return "JSON without a traceEvents array";
    return "text that is not JSON";
}

Result<TracePtr> finished(Pipeline &pipeline, TraceBuilder &&builder, const std::string &path, const std::string &cut) {
    pipeline.finish();
    if (!cut.empty()) builder.problem("truncated", builder.meta().json_bytes, "the file is " + cut + "; everything before that was read");
    if (!pipeline.framer().sawEvents())
        return Error{cut.empty() ? ErrorCode::WrongFormat : ErrorCode::Damaged, kExpected, cut.empty() ? describe(pipeline.framer()) : cut, path};
    if (builder.meta().counts.total == builder.meta().counts.dropped)
        return Error{cut.empty() ? ErrorCode::Empty : ErrorCode::Damaged, kExpected,
                     cut.empty() ? "a traceEvents array without a single event" : cut + ", before the first event", path};
    return std::move(builder).finish();
}

} // namespace

Result<TracePtr> readKinetoText(std::string_view text, const std::string &path) {
    TraceBuilder builder;
    builder.meta().path = path;
    builder.meta().json_bytes = builder.meta().file_bytes = text.size();
    Pipeline pipeline(builder);
    pipeline.push(text);
    return finished(pipeline, std::move(builder), path, "");
}

Result<TracePtr> readKinetoTrace(const std::string &path, bool gzip, Progress &progress) {
    auto file = MappedFile::open(path, kExpected);
    if (!file) return std::move(file).error();
    const std::string_view bytes = file->bytes();
    TraceBuilder builder;
    TraceStore &meta = builder.meta();
    meta.path = path;
    meta.file_bytes = bytes.size();
    meta.compressed = gzip;
    Pipeline pipeline(builder);
    progress.begin("reading events", bytes.size());
    if (!gzip) {
        meta.json_bytes = bytes.size();
        for (std::size_t at = 0; at < bytes.size(); at += kPiece) {
            if (progress.cancelled()) return cancelled(path);
            pipeline.push(bytes.substr(at, kPiece));
            progress.advance(at);
        }
        return finished(pipeline, std::move(builder), path, "");
    }
    Pieces pieces;
    InflateEnd end;
    std::thread inflating([&] {
        end = inflateGzip(bytes, kMaxText, [&](std::string_view piece) { return pieces.push(piece); });
        pieces.close();
    });
    std::string piece;
    // How much text there will be is known only at the end: the ratio of what has passed is close enough.
    while (pieces.pop(piece)) {
        if (progress.cancelled()) pieces.stop();
        else pipeline.push(piece);
        meta.json_bytes += piece.size();
        progress.advance(std::min<std::uint64_t>(bytes.size(), meta.json_bytes / 12));
    }
    inflating.join();
    if (progress.cancelled()) return cancelled(path);
    return finished(pipeline, std::move(builder), path, end.problem);
}

Result<std::string> readArgsText(const TraceStore &store, SliceId slice) {
    if (slice.index() >= store.slices.size() || store.slices.args_length[slice.index()] == 0) return std::string();
    const std::uint64_t offset = store.slices.args_offset[slice.index()], length = store.slices.args_length[slice.index()];
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
