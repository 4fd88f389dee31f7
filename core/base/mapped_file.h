// SPDX-License-Identifier: Apache-2.0
// A file mapped read-only. Never throws; directories, pipes and devices are errors with a sentence.
#pragma once

#include "core/base/result.h"

#include <cstddef>
#include <string>
#include <string_view>

namespace fusescope {

class MappedFile {
public:
    [[nodiscard]] static Result<MappedFile> open(const std::string& path, const char* expected);
    MappedFile(MappedFile&& other) noexcept;
    MappedFile& operator=(MappedFile&& other) noexcept;
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;
    ~MappedFile();

    [[nodiscard]] std::string_view bytes() const noexcept { return {static_cast<const char*>(data_), size_}; }

private:
    MappedFile(void* data, std::size_t size) noexcept : data_(data), size_(size) {}
    void* data_ = nullptr;
    std::size_t size_ = 0;
};

} // namespace fusescope
