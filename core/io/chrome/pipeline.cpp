// SPDX-License-Identifier: Apache-2.0
#include "core/io/chrome/pipeline.h"

#include "core/io/chrome/event_start.h"

#include <algorithm>
#include <new>
#include <system_error>

namespace fusescope::chrome {
namespace {

constexpr std::size_t kMaxCarry = std::size_t{16} << 20; // an event longer than that is one that lost its end

} // namespace

Pipeline::Pipeline(TraceBuilder& builder, BatchSource& source, Progress& progress)
    : builder_(builder), source_(source), progress_(progress), merger_(builder),
      root_([this](std::string_view key, std::string_view value, std::uint64_t offset) {
          merger_.rootValue(key, value, offset);
      }),
      decoder_(progress) {}

Pipeline::~Pipeline() { stop(); }

void Pipeline::stop() {
    {
        const std::lock_guard lock(mutex_);
        stopped_ = true;
        changed_.notify_all();
    }
    source_.stop();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
}

// Fewer than asked for where the system gives no more: the work is done all the same.
void Pipeline::startWorkers(unsigned count) {
    threads_.reserve(count);
    try {
        while (threads_.size() < count) threads_.emplace_back([this] { work(); });
    } catch (const std::system_error&) {
    }
}

// An exception that leaves a thread ends the program.
void Pipeline::work() {
    try {
        decodeJobs();
    } catch (const std::bad_alloc&) {
        const std::lock_guard lock(mutex_);
        out_of_memory_ = true;
        changed_.notify_all();
    }
}

void Pipeline::decodeJobs() {
    BatchDecoder decoder(progress_);
    while (true) {
        Job* job = nullptr;
        {
            const std::lock_guard source_lock(source_mutex_);
            {
                std::unique_lock lock(mutex_);
                changed_.wait(lock, [&] { return jobs_.size() < limit_ || stopped_ || exhausted_; });
                if (stopped_ || exhausted_) return;
            }
            auto fresh = std::make_unique<Job>();
            const bool got = source_.next(fresh->batch);
            const std::lock_guard lock(mutex_);
            if (!got) {
                exhausted_ = true;
                changed_.notify_all();
                return;
            }
            job = fresh.get();
            jobs_.push_back(std::move(fresh));
        }
        Decoded decoded = decoder.decode(job->batch.text, job->batch.offset, job->batch.last);
        const std::lock_guard lock(mutex_);
        job->decoded = std::move(decoded);
        job->done = true;
        changed_.notify_all();
    }
}

// The batches before the events; the one in which they begin becomes the first job.
bool Pipeline::header() {
    while (!root_.inEvents()) {
        if (progress_.cancelled()) return false;
        auto job = std::make_unique<Job>();
        if (!source_.next(job->batch)) return true;
        text_bytes_ = job->batch.offset + job->batch.text.size();
        const std::size_t begin = root_.feed(job->batch.text);
        if (root_.inEvents()) {
            job->begin = begin;
            jobs_.push_back(std::move(job));
        } else {
            source_.recycle(std::move(job->batch));
        }
    }
    return true;
}

Pipeline::Ended Pipeline::run(unsigned workers) {
    if (!header()) return Ended::Cancelled;
    if (!root_.inEvents()) {
        if (source_.outOfMemory()) return Ended::OutOfMemory;
        endOfText();
        return Ended::Done;
    }
    limit_ = 2 * workers + 2;
    startWorkers(workers);
    workers = static_cast<unsigned>(threads_.size());
    // The first job is nobody's but ours.
    jobs_.front()->decoded =
        decoder_.decode(jobs_.front()->batch.text.substr(jobs_.front()->begin),
                        jobs_.front()->batch.offset + jobs_.front()->begin, jobs_.front()->batch.last);
    {
        const std::lock_guard lock(mutex_);
        jobs_.front()->done = true;
    }
    while (true) {
        std::unique_ptr<Job> job;
        {
            std::unique_lock lock(mutex_);
            if (workers == 0 && jobs_.empty()) {
                lock.unlock();
                job = std::make_unique<Job>();
                if (!source_.next(job->batch)) break;
                job->decoded = decoder_.decode(job->batch.text, job->batch.offset, job->batch.last);
            } else {
                changed_.wait(lock,
                              [&] { return out_of_memory_ || (jobs_.empty() ? exhausted_ : jobs_.front()->done); });
                if (out_of_memory_ || jobs_.empty()) break;
                job = std::move(jobs_.front());
                jobs_.pop_front();
                changed_.notify_all();
            }
        }
        if (progress_.cancelled()) {
            stop();
            return Ended::Cancelled;
        }
        take(*job);
        progress_.advance(source_.read());
        source_.recycle(std::move(job->batch));
        if (full()) break;
    }
    stop();
    if (out_of_memory_ || source_.outOfMemory()) return Ended::OutOfMemory;
    endOfText();
    return Ended::Done;
}

bool Pipeline::full() {
    if (!builder_.full()) return false;
    builder_.problem("too_many_events", text_bytes_, builder_.fullSentence());
    cut_ = Cut::Full;
    return true;
}

// What the worker made of the batch counts if the events had not ended and no event was open where it begins.
void Pipeline::take(Job& job) {
    std::string_view text = job.batch.text;
    const std::uint64_t end = job.batch.offset + text.size();
    text_bytes_ = end;
    if (skipping_) { // what is left of an event that was given up
        const std::size_t next = findEventStart(text, 0);
        if (next == kNowhere) {
            if (job.batch.last) cut_ = Cut::GivenUp;
            return;
        }
        skipping_ = false;
        takeText(text.substr(next), end - text.size() + next, job.batch.last);
        return;
    }
    if (!carry_.empty()) {
        carry_.append(text);
        // Each reading begins at the event's own beginning: only worth it when there is as much again.
        if (!job.batch.last && carry_.size() < carry_until_) return;
        std::string joined;
        joined.swap(carry_);
        takeText(joined, carry_offset_, job.batch.last);
        return;
    }
    if (root_.inEvents()) {
        text.remove_prefix(job.begin);
        text = takeEvents(text, end - text.size(), job.batch.last, job.decoded);
    }
    takeText(text, end - text.size(), job.batch.last);
}

// Text of any kind, from where the last one ended.
void Pipeline::takeText(std::string_view text, std::uint64_t offset, bool last) {
    const std::uint64_t end = offset + text.size();
    while (!text.empty()) {
        if (!root_.inEvents()) text.remove_prefix(root_.feed(text));
        if (text.empty()) return;
        // Pointless to keep: an event this long never ends.
        const bool give_up = !last && text.size() > kMaxCarry;
        const Decoded decoded = decoder_.decode(text, end - text.size(), last || give_up);
        if (give_up && decoded.end == Decoded::End::Cut) {
            merger_.add(decoded);
            builder_.problem("huge_event", end - text.size() + decoded.end_at,
                             "an event is longer than 16 MB, or does not end; it is left out up to the next one");
            ++builder_.meta().counts.total;
            ++builder_.meta().counts.dropped;
            skipping_ = true;
            return;
        }
        text = takeEvents(text, end - text.size(), last, decoded);
    }
}

// Returns what stands behind the events.
std::string_view Pipeline::takeEvents(std::string_view text, std::uint64_t offset, bool last, const Decoded& decoded) {
    merger_.add(decoded);
    if (last && decoded.odd[static_cast<std::size_t>(Oddity::GivenUp)].count > 0) cut_ = Cut::GivenUp;
    switch (decoded.end) {
    case Decoded::End::Open: return {};
    case Decoded::End::Closed: root_.leaveEvents(offset + decoded.end_at); return text.substr(decoded.end_at);
    case Decoded::End::Cut: break;
    }
    if (last) {
        cut_ = Cut::InEvent;
        cut_at_ = offset + decoded.end_at;
    } else {
        carry_.assign(text.substr(decoded.end_at));
        carry_until_ = std::min(kMaxCarry + 1, 2 * carry_.size());
        carry_offset_ = offset + decoded.end_at;
    }
    return {};
}

void Pipeline::endOfText() {
    merger_.finish();
    if (root_.trailingAt() > 0)
        builder_.problem("after_end", root_.trailingAt(),
                         "there is more text behind the end of the trace; it was not read");
    if (cut_ != Cut::None || root_.closed() || root_.firstByte() == 0) return;
    cut_ = Cut::BetweenEvents;
    cut_at_ = text_bytes_;
}

} // namespace fusescope::chrome
