// SPDX-License-Identifier: Apache-2.0
#include "core/fusion/catalog.h"
#include "core/fusion/catalog_json.h"
#include "embedded/catalog.h"

#include <gtest/gtest.h>

#include <set>

namespace fusescope {
namespace {

TEST(Catalog, EveryEmbeddedFileIsAnEntryOfItsOwn) {
    std::set<Pattern> seen;
    for (const catalog::EmbeddedFile& file : catalog::embeddedFiles()) {
        const Result<CatalogEntry> entry = parseCatalogEntry(file.bytes, file.path);
        ASSERT_TRUE(entry.ok()) << entry.error().message();
        EXPECT_TRUE(seen.insert(entry->pattern).second) << file.path << " repeats a pattern";
        EXPECT_EQ(file.path, "catalog/" + std::string(idOf(entry->pattern)) + ".json");
        EXPECT_FALSE(entry->existing.empty()) << file.path;
    }
    EXPECT_EQ(seen.size(), kPatternCount);
}

// The article's table (section 5).
TEST(Catalog, GainsAreThoseOfTheArticle) {
    EXPECT_EQ(catalogEntry(Pattern::Attention).article_gain, "2-4x of attention");
    EXPECT_EQ(catalogEntry(Pattern::SwiGlu).article_gain, "10-20%");
    EXPECT_EQ(catalogEntry(Pattern::RmsNorm).article_gain, "5-15%");
    EXPECT_EQ(catalogEntry(Pattern::Rope).article_gain, "5-10%");
    EXPECT_EQ(catalogEntry(Pattern::QkvProjection).article_gain, "5-8%");
    EXPECT_EQ(catalogEntry(Pattern::AddRmsNorm).article_gain, "2-5%");
    EXPECT_EQ(catalogEntry(Pattern::LinearCrossEntropy).article_gain, "5-10%");
    EXPECT_EQ(catalogEntry(Pattern::PointwiseChain).article_gain, "");
}

TEST(Catalog, IdsAreTheContract) {
    EXPECT_EQ(idOf(Pattern::QkNormRope), "qk_norm_rope");
    EXPECT_EQ(idOf(Pattern::LinearCrossEntropy), "linear_cross_entropy");
    for (std::size_t p = 0; p < kPatternCount; ++p)
        EXPECT_EQ(catalogEntry(static_cast<Pattern>(p)).pattern, static_cast<Pattern>(p));
}

TEST(Catalog, ABadFileIsAnErrorNotAnException) {
    EXPECT_FALSE(parseCatalogEntry("", "x").ok());
    EXPECT_FALSE(parseCatalogEntry("{", "x").ok());
    EXPECT_FALSE(parseCatalogEntry("[1]", "x").ok());
    EXPECT_FALSE(parseCatalogEntry(R"({"id": 7})", "x").ok());
    EXPECT_FALSE(parseCatalogEntry(R"({"id": "unheard_of"})", "x").ok());
    EXPECT_FALSE(parseCatalogEntry(R"({"id": "rope", "title": "RoPE"})", "x").ok());
    const auto numerics = parseCatalogEntry(
        R"({"id":"rope","title":"t","formula":"f","before":"b","after":"a","change":"c","numerics":"exact"})", "x");
    ASSERT_FALSE(numerics.ok());
    EXPECT_NE(numerics.error().message().find("exact"), std::string::npos);
}

} // namespace
} // namespace fusescope
