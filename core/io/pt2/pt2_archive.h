// SPDX-License-Identifier: Apache-2.0
// The ZIP around a torch.export program. Reads the central directory, and those entries it is asked for; never weights.
#pragma once

#include "core/base/result.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace fusescope::pt2 {

struct Entry {
    std::string name;        // without the archive's root folder
    std::uint64_t index = 0; // in the central directory
    std::uint64_t size = 0, compressed_size = 0;
};

constexpr std::size_t kPadding = 64; // simdjson reads this far behind the text

// Text of an entry with the spare zero bytes behind it that simdjson reads over.
struct PaddedText {
    std::string bytes;
    std::size_t size = 0;
    [[nodiscard]] std::string_view view() const { return {bytes.data(), size}; }
};

class Archive {
public:
    [[nodiscard]] static Result<Archive> open(const std::string& path);
    [[nodiscard]] static Result<Archive> openMemory(std::string_view bytes, std::string where); // bytes must outlive it

    [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }
    [[nodiscard]] const std::string& where() const { return where_; }
    [[nodiscard]] const Entry* find(std::string_view name) const;
    // Inflates one entry. Limit: larger than the bound, or packed more tightly than any real graph.
    [[nodiscard]] Result<PaddedText> read(const Entry& entry) const;
    // What kind of ZIP this is, for the message that it holds no graph: "a TorchScript module (constants.pkl)".
    [[nodiscard]] std::string describe() const;

private:
    struct Handle;
    struct Close {
        void operator()(Handle* handle) const noexcept;
    };
    Archive() = default;
    [[nodiscard]] static Result<Archive> list(std::unique_ptr<Handle, Close> handle, std::string where);

    std::unique_ptr<Handle, Close> handle_;
    std::string where_;
    std::vector<Entry> entries_;
};

} // namespace fusescope::pt2
