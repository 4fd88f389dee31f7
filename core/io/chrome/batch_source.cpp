// SPDX-License-Identifier: Apache-2.0
#include "core/io/chrome/batch_source.h"

#include "core/io/chrome/event_start.h"

#include <algorithm>
#include <cstring>

namespace fusescope::chrome {
namespace {

constexpr std::size_t kBorderSearch = 16; // batches: where no event starts that far on, any cut is as good
constexpr std::size_t kReadyBatches = 4;

} // namespace

bool TextSource::next(Batch& batch) {
    if (ended_) return false;
    const auto at = static_cast<std::size_t>(at_.load(std::memory_order_relaxed));
    std::size_t end = text_.size();
    if (end - at > batch_bytes_ + batch_bytes_ / 2) {
        const std::size_t from = at + batch_bytes_;
        const std::size_t limit = std::min(text_.size(), from + kBorderSearch * batch_bytes_);
        end = std::min(findEventStart(text_, from, limit), limit);
    }
    batch = Batch{text_.substr(at, end - at), at, end == text_.size(), nullptr};
    ended_ = batch.last;
    at_.store(end, std::memory_order_relaxed);
    return true;
}

GzipSource::GzipSource(std::string_view gzip, std::uint64_t text_limit)
    : thread_([this, gzip, text_limit] { inflateAll(gzip, text_limit); }) {}

GzipSource::~GzipSource() {
    stop();
    thread_.join();
}

void GzipSource::stop() {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
}

std::unique_ptr<std::vector<char>> GzipSource::fresh() {
    {
        const std::lock_guard lock(mutex_);
        if (!spare_.empty()) {
            auto buffer = std::move(spare_.back());
            spare_.pop_back();
            return buffer;
        }
    }
    return std::make_unique<std::vector<char>>(kBatchBytes);
}

void GzipSource::recycle(Batch&& batch) {
    if (!batch.buffer || batch.buffer->size() != kBatchBytes) return;
    const std::lock_guard lock(mutex_);
    if (spare_.size() < kReadyBatches) spare_.push_back(std::move(batch.buffer));
}

bool GzipSource::hand(std::unique_ptr<std::vector<char>> buffer, std::size_t size, bool last) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return ready_.size() < kReadyBatches || stopped_; });
    if (stopped_) return false;
    const std::string_view text(buffer->data(), size);
    ready_.push_back(Batch{text, offset_, last, std::move(buffer)});
    offset_ += size;
    changed_.notify_all();
    return true;
}

void GzipSource::inflateAll(std::string_view gzip, std::uint64_t text_limit) {
    GzipStream stream(gzip, text_limit);
    auto buffer = fresh();
    std::size_t kept = 0; // an event's beginning, carried over from the buffer before
    bool more = true;
    while (more) {
        const std::size_t size = kept + stream.read({buffer->data() + kept, buffer->size() - kept});
        consumed_.store(stream.end().consumed, std::memory_order_relaxed);
        more = !stream.ended();
        if (!more) {
            hand(std::move(buffer), size, true);
            break;
        }
        const std::size_t border = findLastEventStart({buffer->data(), size});
        const std::size_t cut = border == kNowhere ? size : border;
        auto following = fresh();
        kept = size - cut;
        std::memcpy(following->data(), buffer->data() + cut, kept);
        more = hand(std::move(buffer), cut, false);
        buffer = std::move(following);
    }
    const std::lock_guard lock(mutex_);
    end_ = stream.end();
    done_ = true;
    changed_.notify_all();
}

bool GzipSource::next(Batch& batch) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !ready_.empty() || done_ || stopped_; });
    if (ready_.empty() || stopped_) return false;
    batch = std::move(ready_.front());
    ready_.pop_front();
    changed_.notify_all();
    return true;
}

} // namespace fusescope::chrome
