// SPDX-License-Identifier: Apache-2.0
#include "core/io/chrome/pipeline.h"

namespace fusescope::chrome {
namespace {

constexpr std::size_t kMaxCarry = std::size_t{16} << 20; // an event longer than that is one that lost its end

} // namespace

Pipeline::Pipeline(TraceBuilder& builder, BatchSource& source, Progress& progress)
    : builder_(builder), source_(source), progress_(progress), merger_(builder),
      root_([this](std::string_view key, std::string_view value, std::uint64_t offset) {
          merger_.rootValue(key, value, offset);
      }) {}

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

void Pipeline::work() {
    BatchDecoder decoder;
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

bool Pipeline::run(unsigned workers) {
    if (!header()) return false;
    if (!root_.inEvents()) {
        endOfText();
        return true;
    }
    limit_ = 2 * workers + 2;
    for (unsigned w = 0; w < workers; ++w) threads_.emplace_back([this] { work(); });
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
                changed_.wait(lock, [&] { return jobs_.empty() ? exhausted_ : jobs_.front()->done; });
                if (jobs_.empty()) break;
                job = std::move(jobs_.front());
                jobs_.pop_front();
                changed_.notify_all();
            }
        }
        if (progress_.cancelled()) {
            stop();
            return false;
        }
        take(*job);
        progress_.advance(source_.read());
        source_.recycle(std::move(job->batch));
    }
    stop();
    endOfText();
    return true;
}

// What the worker made of the batch counts if the events had not ended and no event was open where it begins.
void Pipeline::take(Job& job) {
    std::string_view text = job.batch.text;
    const std::uint64_t end = job.batch.offset + text.size();
    text_bytes_ = end;
    if (!carry_.empty()) {
        carry_.append(text);
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
            builder_.problem(kindOf(Oddity::BadEvent), end - text.size() + decoded.end_at,
                             sentenceOf(Oddity::BadEvent));
            ++builder_.meta().counts.total;
            ++builder_.meta().counts.dropped;
            return;
        }
        text = takeEvents(text, end - text.size(), last, decoded);
    }
}

// Returns what stands behind the events.
std::string_view Pipeline::takeEvents(std::string_view text, std::uint64_t offset, bool last, const Decoded& decoded) {
    merger_.add(decoded);
    switch (decoded.end) {
    case Decoded::End::Open: return {};
    case Decoded::End::Closed: root_.leaveEvents(offset + decoded.end_at); return text.substr(decoded.end_at);
    case Decoded::End::Cut: break;
    }
    if (last) {
        cut_at_ = offset + decoded.end_at;
        cut_ = "the file ends in the middle of an event; everything before it was read";
    } else {
        carry_.assign(text.substr(decoded.end_at));
        carry_offset_ = offset + decoded.end_at;
    }
    return {};
}

void Pipeline::endOfText() {
    merger_.finish();
    if (!cut_.empty() || root_.closed() || root_.firstByte() == 0 || !root_.sawEvents()) return;
    cut_at_ = text_bytes_;
    cut_ = "the file ends early; everything before the end was read";
}

} // namespace fusescope::chrome
