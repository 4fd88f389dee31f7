// SPDX-License-Identifier: Apache-2.0
// Files of compiled code, one a key. Whatever goes wrong with them, the code is compiled again: nothing here fails.
#pragma once

#include <cstdint>
#include <string>

namespace fusescope::kernels::chain {

/// $XDG_CACHE_HOME/fusescope/kernels, or that in ~/.cache; empty when neither is known.
std::string defaultCacheFolder();

class DiskCache {
public:
    /// An empty folder: nothing is kept. The folder is made when the first file is written.
    explicit DiskCache(std::string folder, uint64_t mostBytes = uint64_t{256} << 20);

    /// False when there is no file of this key, or one that is damaged or that another user could have written.
    bool read(const std::string& key, std::string& value) const;

    /// Readers see the whole file or none. Beyond the most bytes, files that were not used for longest go.
    void write(const std::string& key, const std::string& value) const;

    std::string pathOf(const std::string& key) const;

private:
    void shrink() const;

    std::string folder_;
    uint64_t mostBytes_;
};

} // namespace fusescope::kernels::chain
