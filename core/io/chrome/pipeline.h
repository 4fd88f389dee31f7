// SPDX-License-Identifier: Apache-2.0
// From a source to the builder: workers decode batches ahead, the calling thread takes them in the file's order.
#pragma once

#include "core/base/progress.h"
#include "core/io/chrome/batch_decoder.h"
#include "core/io/chrome/batch_source.h"
#include "core/io/chrome/merger.h"
#include "core/io/chrome/root_scanner.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace fusescope::chrome {

class Pipeline {
public:
    Pipeline(TraceBuilder& builder, BatchSource& source, Progress& progress);
    ~Pipeline();
    Pipeline(const Pipeline&) = delete;
    Pipeline& operator=(const Pipeline&) = delete;

    enum class Ended : std::uint8_t { Done, Cancelled, OutOfMemory };
    // workers 0: everything on this thread.
    [[nodiscard]] Ended run(unsigned workers);
    [[nodiscard]] const RootScanner& root() const noexcept { return root_; }
    // Where the text ended, if it was not where it should have.
    enum class Cut : std::uint8_t { None, InEvent, BetweenEvents, Full, GivenUp };
    [[nodiscard]] Cut cut() const noexcept { return cut_; }
    [[nodiscard]] std::uint64_t cutAt() const noexcept { return cut_at_; }
    [[nodiscard]] std::uint64_t textBytes() const noexcept { return text_bytes_; }

private:
    struct Job {
        Batch batch;
        std::size_t begin = 0; // where the events begin in it
        Decoded decoded;
        bool done = false;
    };

    void startWorkers(unsigned count);
    void work();
    void decodeJobs();
    bool header();
    void take(Job& job);
    void takeText(std::string_view text, std::uint64_t offset, bool last);
    std::string_view takeEvents(std::string_view text, std::uint64_t offset, bool last, const Decoded& decoded);
    void endOfText();
    bool full(); // and says so
    void stop();

    TraceBuilder& builder_;
    BatchSource& source_;
    Progress& progress_;
    Merger merger_;
    RootScanner root_;
    BatchDecoder decoder_; // this thread's own
    std::string carry_;    // an event that goes on in the next batch
    std::uint64_t carry_offset_ = 0;
    bool skipping_ = false;       // in an event that was given up
    std::size_t carry_until_ = 0; // long enough to be read again
    std::uint64_t text_bytes_ = 0;
    Cut cut_ = Cut::None;
    std::uint64_t cut_at_ = 0;

    std::mutex source_mutex_; // held while a batch is taken, so that jobs are queued in order
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::unique_ptr<Job>> jobs_;
    std::size_t limit_ = 0;
    bool exhausted_ = false, stopped_ = false, out_of_memory_ = false;
    std::vector<std::thread> threads_;
};

} // namespace fusescope::chrome
