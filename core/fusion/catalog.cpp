// SPDX-License-Identifier: Apache-2.0
#include "core/fusion/catalog.h"

#include "core/fusion/catalog_json.h"
#include "embedded/catalog.h"

namespace fusescope {
namespace {

constexpr std::array<std::string_view, kPatternCount> kIds{
    "attention", "rms_norm",       "add_rms_norm",         "qk_norm_rope", "rope",
    "swiglu",    "qkv_projection", "linear_cross_entropy", "optimizer",    "pointwise_chain",
};

const std::array<CatalogEntry, kPatternCount>& entries() {
    static const std::array<CatalogEntry, kPatternCount> all = [] {
        std::array<CatalogEntry, kPatternCount> out;
        for (std::size_t p = 0; p < kPatternCount; ++p) { // what stands for a file that a test would have caught
            out[p].pattern = static_cast<Pattern>(p);
            out[p].title = std::string(kIds[p]);
        }
        for (const catalog::EmbeddedFile& file : catalog::embeddedFiles()) {
            Result<CatalogEntry> entry = parseCatalogEntry(file.bytes, file.path);
            if (entry) out[static_cast<std::size_t>(entry->pattern)] = std::move(*entry);
        }
        return out;
    }();
    return all;
}

} // namespace

std::string_view idOf(Pattern pattern) noexcept {
    const auto p = static_cast<std::size_t>(pattern);
    return p < kPatternCount ? kIds[p] : std::string_view("unknown");
}

const CatalogEntry& catalogEntry(Pattern pattern) {
    const auto p = static_cast<std::size_t>(pattern);
    return entries()[p < kPatternCount ? p : static_cast<std::size_t>(Pattern::PointwiseChain)];
}

} // namespace fusescope
