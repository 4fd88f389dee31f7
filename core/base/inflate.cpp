// SPDX-License-Identifier: Apache-2.0
#include "core/base/inflate.h"

#include "core/base/format.h"

#include <zlib.h>

#include <algorithm>
#include <vector>

namespace fusescope {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 20;
constexpr std::size_t kFeed = std::size_t{1} << 30; // zlib counts input and output in 32 bits
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

GzipStream::GzipStream(std::string_view gzip, std::uint64_t limit)
    : state_(std::make_unique<State>()), gzip_(gzip),
      limit_(std::min(limit, std::max<std::uint64_t>(kFreeText, kMaxRatio * gzip.size()))) {
    state_->open = inflateInit2(&state_->z, kGzipOnly) == Z_OK;
    if (state_->open) return;
    end_.problem = "more than there is memory to inflate";
    ended_ = true;
}
GzipStream::~GzipStream() = default;

std::size_t GzipStream::read(std::span<char> buffer) {
    std::size_t filled = 0;
    z_stream& z = state_->z;
    while (!ended_ && filled < buffer.size()) {
        std::size_t at = end_.consumed;
        const std::size_t feed = std::min(kFeed, gzip_.size() - at);
        const std::size_t room = std::min(kFeed, buffer.size() - filled);
        // zlib's interface is not const-correct; it does not write here.
        z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(gzip_.data() + at)); // NOLINT
        z.avail_in = static_cast<uInt>(feed);
        z.next_out = reinterpret_cast<Bytef*>(buffer.data() + filled); // NOLINT
        z.avail_out = static_cast<uInt>(room);
        const int code = inflate(&z, Z_NO_FLUSH);
        at += feed - z.avail_in;
        end_.consumed = at;
        filled += room - z.avail_out;
        end_.produced += room - z.avail_out;
        if (end_.produced > limit_) {
            end_.problem = "gzip data that inflates to more than " + formatBytes(static_cast<double>(limit_));
            ended_ = true;
        } else if (code == Z_STREAM_END) {
            // Another member, or padding that is not gzip: the text is whole either way.
            const bool more = at < gzip_.size() && static_cast<unsigned char>(gzip_[at]) == 0x1F;
            if (more && inflateReset(&z) == Z_OK) continue;
            end_.complete = true;
            ended_ = true;
        } else if (code == Z_BUF_ERROR || (code == Z_OK && at >= gzip_.size() && z.avail_out > 0)) {
            end_.problem = "gzip data that ends after " + formatCount(static_cast<std::int64_t>(at)) + " bytes";
            ended_ = true;
        } else if (code != Z_OK) {
            end_.problem = "gzip data that is damaged at byte " + formatCount(static_cast<std::int64_t>(at));
            ended_ = true;
        }
    }
    return filled;
}

InflateEnd inflateGzip(std::string_view gzip, std::uint64_t limit, const std::function<bool(std::string_view)>& piece) {
    GzipStream stream(gzip, limit);
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

} // namespace fusescope
