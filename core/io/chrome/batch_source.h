// SPDX-License-Identifier: Apache-2.0
// The text of a trace in pieces of about a megabyte that end where an event begins, as far as can be told without
// parsing.
#pragma once

#include "core/base/inflate.h"
#include "core/base/input_file.h"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace fusescope::chrome {

constexpr std::size_t kBatchBytes = std::size_t{1} << 20;

struct Batch {
    std::string_view text;
    std::uint64_t offset = 0;
    bool last = false;                         // nothing follows
    std::unique_ptr<std::vector<char>> buffer; // owns text, if the source does not
};

class BatchSource {
public:
    BatchSource() = default;
    BatchSource(const BatchSource&) = delete;
    BatchSource& operator=(const BatchSource&) = delete;
    virtual ~BatchSource() = default;
    // One caller at a time. False: that was all.
    virtual bool next(Batch& batch) = 0;
    virtual void recycle(Batch&&) {}
    virtual void stop() {} // wakes a waiting next(); called by the thread that owns the source
    [[nodiscard]] virtual std::uint64_t read() const noexcept = 0; // bytes of the file so far
    // After next() gave false: memory ran out in a thread of the source's own.
    [[nodiscard]] virtual bool outOfMemory() const noexcept { return false; }
};

// Buffers of a batch's size, used again. For several threads.
class BatchBuffers {
public:
    explicit BatchBuffers(std::size_t bytes) : bytes_(bytes) {}
    [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
    [[nodiscard]] std::unique_ptr<std::vector<char>> take();
    void giveBack(std::unique_ptr<std::vector<char>> buffer);

private:
    std::size_t bytes_;
    std::mutex mutex_;
    std::vector<std::unique_ptr<std::vector<char>>> spare_;
};

// Text that lies in memory as a whole: batches are views of it.
class TextSource final : public BatchSource {
public:
    explicit TextSource(std::string_view text, std::size_t batch_bytes = kBatchBytes)
        : text_(text), batch_bytes_(batch_bytes) {}
    bool next(Batch& batch) override;
    [[nodiscard]] std::uint64_t read() const noexcept override { return at_.load(std::memory_order_relaxed); }

private:
    std::string_view text_;
    std::size_t batch_bytes_;
    std::atomic<std::uint64_t> at_{0};
    bool ended_ = false;
};

// The text of a file, read batch by batch.
class FileSource final : public BatchSource {
public:
    explicit FileSource(const InputFile& file, std::size_t batch_bytes = kBatchBytes)
        : file_(file), buffers_(batch_bytes) {}
    bool next(Batch& batch) override;
    void recycle(Batch&& batch) override { buffers_.giveBack(std::move(batch.buffer)); }
    [[nodiscard]] std::uint64_t read() const noexcept override { return at_.load(std::memory_order_relaxed); }

private:
    const InputFile& file_;
    BatchBuffers buffers_;
    std::vector<char> kept_; // an event's beginning, read with the batch before
    std::atomic<std::uint64_t> at_{0};
    bool ended_ = false;
};

// gzip, inflated by a thread of its own straight into the batches' buffers.
class GzipSource final : public BatchSource {
public:
    GzipSource(const InputFile& file, std::uint64_t text_limit);
    ~GzipSource() override;
    bool next(Batch& batch) override;
    void recycle(Batch&& batch) override { buffers_.giveBack(std::move(batch.buffer)); }
    void stop() override;
    [[nodiscard]] std::uint64_t read() const noexcept override { return consumed_.load(std::memory_order_relaxed); }
    [[nodiscard]] bool outOfMemory() const noexcept override { return out_of_memory_; }
    // After next() gave false, or stop().
    [[nodiscard]] const InflateEnd& end() const noexcept { return end_; }

private:
    void inflateAll(const InputFile& file, std::uint64_t text_limit);
    void finish(InflateEnd end);
    bool hand(std::unique_ptr<std::vector<char>> buffer, std::size_t size, bool last);

    BatchBuffers buffers_{kBatchBytes};
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Batch> ready_;
    bool done_ = false, stopped_ = false;
    std::uint64_t offset_ = 0; // of the next batch
    std::atomic<std::uint64_t> consumed_{0};
    InflateEnd end_;
    bool out_of_memory_ = false;
    std::thread thread_;
};

} // namespace fusescope::chrome
