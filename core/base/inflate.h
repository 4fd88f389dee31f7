// SPDX-License-Identifier: Apache-2.0
// Streaming gzip: compressed bytes in, pieces of text out, several members in a row, cut-off input gives what there is.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace fusescope {

class GzipEngine;
class InputFile;

struct InflateEnd {
    bool complete = false;      // every member ended as it should
    std::uint64_t consumed = 0; // compressed bytes
    std::uint64_t produced = 0; // text bytes
    std::string problem;        // "gzip data that ends after 1,234 bytes"; empty if complete
};

// Inflates into buffers of the caller's choice.
class GzipStream {
public:
    // limit: the most text that may come out.
    GzipStream(std::string_view gzip, std::uint64_t limit);
    GzipStream(const InputFile& file, std::uint64_t limit); // file must outlive it
    ~GzipStream();
    GzipStream(const GzipStream&) = delete;
    GzipStream& operator=(const GzipStream&) = delete;

    // Fills the buffer as far as it can; fewer bytes than it holds mean that this was all.
    std::size_t read(std::span<char> buffer);
    [[nodiscard]] bool ended() const noexcept { return ended_; }
    [[nodiscard]] const InflateEnd& end() const noexcept { return end_; }

private:
    // Compressed bytes from an offset on; empty at their end. Valid until the next call.
    using Feed = std::function<std::string_view(std::uint64_t offset)>;
    GzipStream(Feed feed, std::uint64_t size, std::uint64_t limit);
    bool refill();

    std::unique_ptr<GzipEngine> engine_;
    Feed feed_;
    std::uint64_t limit_;
    bool ended_ = false;
    InflateEnd end_;
};

// piece returns false to stop (then complete is false and problem empty). limit: the most text that may come out.
[[nodiscard]] InflateEnd inflateGzip(std::string_view gzip, std::uint64_t limit,
                                     const std::function<bool(std::string_view piece)>& piece);
[[nodiscard]] InflateEnd inflateGzip(const InputFile& file, std::uint64_t limit,
                                     const std::function<bool(std::string_view piece)>& piece);

} // namespace fusescope
