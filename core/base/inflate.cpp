// SPDX-License-Identifier: Apache-2.0
#include "core/base/inflate.h"

#include "core/base/format.h"
#include "core/base/gzip_engine.h"
#include "core/base/input_file.h"

#include <algorithm>
#include <vector>

namespace fusescope {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 20;
// Engines count input and output in 32 bits.
constexpr std::size_t kRoom = std::size_t{1} << 30, kMemoryFeed = std::size_t{1} << 30;
constexpr std::size_t kFileFeed = std::size_t{256} << 10; // a copy that the processor's cache holds
// Traces shrink 7 to 22 times. Past a gigabyte, hundreds of times is a bomb.
constexpr std::uint64_t kFreeText = std::uint64_t{1} << 30;
constexpr std::uint64_t kMaxRatio = 400;

} // namespace

GzipStream::GzipStream(Feed feed, std::uint64_t size, std::uint64_t limit)
    : engine_(std::make_unique<GzipEngine>()), feed_(std::move(feed)),
      limit_(std::min(limit, std::max<std::uint64_t>(kFreeText, kMaxRatio * size))) {
    if (engine_->open()) return;
    end_.problem = "more than there is memory to inflate";
    ended_ = true;
}
GzipStream::GzipStream(std::string_view gzip, std::uint64_t limit)
    : GzipStream(
          [gzip](std::uint64_t offset) {
              return gzip.substr(std::min<std::uint64_t>(offset, gzip.size()), kMemoryFeed);
          },
          gzip.size(), limit) {}
GzipStream::GzipStream(const InputFile& file, std::uint64_t limit)
    : GzipStream(
          [&file, buffer = std::vector<char>(kFileFeed)](std::uint64_t offset) mutable {
              return std::string_view(buffer.data(), file.readAt(offset, buffer));
          },
          file.size(), limit) {}
GzipStream::~GzipStream() = default;

// False: there is no more.
bool GzipStream::refill() {
    if (engine_->left().empty()) engine_->feed(feed_(end_.consumed));
    return !engine_->left().empty();
}

std::size_t GzipStream::read(std::span<char> buffer) {
    std::size_t filled = 0;
    while (!ended_ && filled < buffer.size()) {
        const bool dry = !refill();
        const std::size_t fed = engine_->left().size(), before = filled;
        const std::span<char> room = buffer.subspan(filled, std::min(kRoom, buffer.size() - filled));
        const GzipEngine::Step step = engine_->step(room, filled);
        end_.consumed += fed - engine_->left().size();
        end_.produced += filled - before;
        const auto at = [&] { return formatCount(static_cast<std::int64_t>(end_.consumed)); };
        if (end_.produced > limit_) {
            end_.problem = "gzip data that inflates to more than " + formatBytes(static_cast<double>(limit_));
            ended_ = true;
        } else if (step == GzipEngine::Step::MemberEnd) {
            // Another member, or padding that is not gzip: the text is whole either way.
            if (refill() && engine_->left().front() == 0x1F && engine_->restart()) continue;
            end_.complete = true;
            ended_ = true;
        } else if (step == GzipEngine::Step::Damaged) {
            end_.problem = "gzip data that is damaged at byte " + at();
            ended_ = true;
        } else if (dry && filled - before < room.size()) {
            end_.problem = "gzip data that ends after " + at() + " bytes";
            ended_ = true;
        }
    }
    return filled;
}

namespace {

InflateEnd inflateAll(GzipStream& stream, const std::function<bool(std::string_view)>& piece) {
    std::vector<char> buffer(kPiece);
    while (!stream.ended()) {
        const std::size_t got = stream.read(buffer);
        if (got == 0 || piece({buffer.data(), got})) continue;
        InflateEnd end = stream.end();
        if (!stream.ended()) return end;
        end.complete = false;
        end.problem.clear();
        return end;
    }
    return stream.end();
}

} // namespace

InflateEnd inflateGzip(std::string_view gzip, std::uint64_t limit, const std::function<bool(std::string_view)>& piece) {
    GzipStream stream(gzip, limit);
    return inflateAll(stream, piece);
}

InflateEnd inflateGzip(const InputFile& file, std::uint64_t limit, const std::function<bool(std::string_view)>& piece) {
    GzipStream stream(file, limit);
    return inflateAll(stream, piece);
}

} // namespace fusescope
