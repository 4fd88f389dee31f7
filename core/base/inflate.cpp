// SPDX-License-Identifier: Apache-2.0
#include "core/base/inflate.h"

#include "core/base/format.h"

#include <zlib.h>

#include <algorithm>
#include <memory>

namespace fusescope {
namespace {
constexpr std::size_t kPiece = std::size_t{1} << 20;
constexpr std::size_t kFeed = std::size_t{1} << 30; // zlib counts input in 32 bits
}

InflateEnd inflateGzip(std::string_view gzip, std::uint64_t limit, const std::function<bool(std::string_view)> &piece) {
    InflateEnd end;
    z_stream stream{};
    constexpr int kGzipOnly = 15 + 16;
    if (inflateInit2(&stream, kGzipOnly) != Z_OK) {
        end.problem = "no memory to inflate";
        return end;
    }
    const auto buffer = std::make_unique<unsigned char[]>(kPiece);
    std::size_t at = 0;
    bool member_open = true;
    while (true) {
        const std::size_t feed = std::min(kFeed, gzip.size() - at);
        // zlib's interface is not const-correct; it does not write here.
        stream.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(gzip.data() + at)); // NOLINT
        stream.avail_in = static_cast<uInt>(feed);
        stream.next_out = buffer.get();
        stream.avail_out = static_cast<uInt>(kPiece);
        const int code = inflate(&stream, Z_NO_FLUSH);
        at += feed - stream.avail_in;
        const std::size_t got = kPiece - stream.avail_out;
        end.consumed = at;
        end.produced += got;
        if (got > 0 && !piece({reinterpret_cast<const char *>(buffer.get()), got})) break; // NOLINT
        if (end.produced > limit) {
            end.problem = "gzip data that inflates to more than " + formatBytes(static_cast<double>(limit));
            break;
        }
        if (code == Z_STREAM_END) {
            member_open = false;
            if (at >= gzip.size()) break;
            // Another member, or padding that is not gzip: the text is whole either way.
            if (static_cast<unsigned char>(gzip[at]) != 0x1F || inflateReset(&stream) != Z_OK) break;
            member_open = true;
        } else if (code == Z_BUF_ERROR || (code == Z_OK && at >= gzip.size() && stream.avail_out > 0)) {
            end.problem = "gzip data that ends after " + formatCount(static_cast<std::int64_t>(at)) + " bytes";
            break;
        } else if (code != Z_OK) {
            end.problem = "gzip data that is damaged at byte " + formatCount(static_cast<std::int64_t>(at));
            break;
        }
    }
    inflateEnd(&stream);
    end.complete = !member_open && end.problem.empty();
    return end;
}

} // namespace fusescope
