// SPDX-License-Identifier: Apache-2.0
#include "core/base/inflate.h"

#include "core/base/format.h"
#include "core/base/input_file.h"

#include <zlib.h>

#include <algorithm>
#include <vector>

namespace fusescope {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 20;
// zlib counts input and output in 32 bits.
constexpr std::size_t kRoom = std::size_t{1} << 30, kMemoryFeed = std::size_t{1} << 30;
constexpr std::size_t kFileFeed = std::size_t{256} << 10; // a copy that the processor's cache holds
constexpr int kGzipOnly = 15 + 16;
// Traces shrink 7 to 22 times. Past a gigabyte, hundreds of times is a bomb.
constexpr std::uint64_t kFreeText = std::uint64_t{1} << 30;
constexpr std::uint64_t kMaxRatio = 400;

} // namespace

struct GzipStream::State {
    z_stream z{};
    bool open = false; // inflateInit2 succeeded
    ~State() {
        if (open) inflateEnd(&z);
    }
};

GzipStream::GzipStream(Feed feed, std::uint64_t size, std::uint64_t limit)
    : state_(std::make_unique<State>()), feed_(std::move(feed)),
      limit_(std::min(limit, std::max<std::uint64_t>(kFreeText, kMaxRatio * size))) {
    state_->open = inflateInit2(&state_->z, kGzipOnly) == Z_OK;
    if (state_->open) return;
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

void GzipStream::refill() {
    const std::string_view more = feed_(end_.consumed);
    // zlib's interface is not const-correct; it does not write here.
    state_->z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(more.data())); // NOLINT
    state_->z.avail_in = static_cast<uInt>(more.size());
}

std::size_t GzipStream::read(std::span<char> buffer) {
    std::size_t filled = 0;
    z_stream& z = state_->z;
    while (!ended_ && filled < buffer.size()) {
        if (z.avail_in == 0) refill();
        const bool dry = z.avail_in == 0;
        const std::size_t room = std::min(kRoom, buffer.size() - filled), fed = z.avail_in;
        z.next_out = reinterpret_cast<Bytef*>(buffer.data() + filled); // NOLINT
        z.avail_out = static_cast<uInt>(room);
        const int code = inflate(&z, Z_NO_FLUSH);
        end_.consumed += fed - z.avail_in;
        filled += room - z.avail_out;
        end_.produced += room - z.avail_out;
        const auto at = [&] { return formatCount(static_cast<std::int64_t>(end_.consumed)); };
        if (end_.produced > limit_) {
            end_.problem = "gzip data that inflates to more than " + formatBytes(static_cast<double>(limit_));
            ended_ = true;
        } else if (code == Z_STREAM_END) {
            // Another member, or padding that is not gzip: the text is whole either way.
            if (z.avail_in == 0) refill();
            if (z.avail_in > 0 && *z.next_in == 0x1F && inflateReset(&z) == Z_OK) continue;
            end_.complete = true;
            ended_ = true;
        } else if (dry && (code == Z_BUF_ERROR || (code == Z_OK && z.avail_out > 0))) {
            end_.problem = "gzip data that ends after " + at() + " bytes";
            ended_ = true;
        } else if (code != Z_OK && code != Z_BUF_ERROR) {
            end_.problem = "gzip data that is damaged at byte " + at();
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
