// SPDX-License-Identifier: Apache-2.0
#include "core/io/chrome/batch_source.h"

#include "core/io/chrome/event_start.h"

#include <algorithm>
#include <cstring>
#include <new>

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

std::unique_ptr<std::vector<char>> BatchBuffers::take() {
    {
        const std::lock_guard lock(mutex_);
        if (!spare_.empty()) {
            auto buffer = std::move(spare_.back());
            spare_.pop_back();
            return buffer;
        }
    }
    return std::make_unique<std::vector<char>>(bytes_);
}

void BatchBuffers::giveBack(std::unique_ptr<std::vector<char>> buffer) {
    if (!buffer || buffer->size() != bytes_) return;
    const std::lock_guard lock(mutex_);
    if (spare_.size() < kReadyBatches) spare_.push_back(std::move(buffer));
}

bool FileSource::next(Batch& batch) {
    if (ended_) return false;
    const std::uint64_t at = at_.load(std::memory_order_relaxed), offset = at - kept_.size();
    auto buffer = buffers_.take();
    const std::size_t kept = kept_.size();
    std::copy(kept_.begin(), kept_.end(), buffer->begin());
    const std::size_t got = file_.readAt(at, {buffer->data() + kept, buffer->size() - kept});
    std::size_t size = kept + got;
    ended_ = size < buffer->size() || at + got >= file_.size();
    kept_.clear();
    if (!ended_) {
        const std::size_t border = findLastEventStart({buffer->data(), size});
        if (border != kNowhere) {
            kept_.assign(buffer->begin() + static_cast<std::ptrdiff_t>(border),
                         buffer->begin() + static_cast<std::ptrdiff_t>(size));
            size = border;
        }
    }
    at_.store(at + got, std::memory_order_relaxed);
    const std::string_view text(buffer->data(), size);
    batch = Batch{text, offset, ended_, std::move(buffer)};
    return true;
}

GzipSource::GzipSource(const InputFile& file, std::uint64_t text_limit)
    : thread_([this, &file, text_limit] {
          try {
              inflateAll(file, text_limit);
          } catch (const std::bad_alloc&) {
              out_of_memory_ = true;
              finish({});
          }
      }) {}

GzipSource::~GzipSource() { stop(); }

// Also waits: what end() says is final then.
void GzipSource::stop() {
    {
        const std::lock_guard lock(mutex_);
        stopped_ = true;
        changed_.notify_all();
    }
    if (thread_.joinable()) thread_.join();
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

void GzipSource::inflateAll(const InputFile& file, std::uint64_t text_limit) {
    GzipStream stream(file, text_limit);
    auto buffer = buffers_.take();
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
        auto following = buffers_.take();
        kept = size - cut;
        std::memcpy(following->data(), buffer->data() + cut, kept);
        more = hand(std::move(buffer), cut, false);
        buffer = std::move(following);
    }
    finish(stream.end());
}

void GzipSource::finish(InflateEnd end) {
    const std::lock_guard lock(mutex_);
    end_ = std::move(end);
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
