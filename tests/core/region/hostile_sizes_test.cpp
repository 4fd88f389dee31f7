// SPDX-License-Identifier: Apache-2.0
// Sizes as no model has them: an answer, and no overflow on the way to it.
#include "core/region/catalogue_form.h"
#include "tests/core/region/sizes.h"

#include <gtest/gtest.h>

#include <array>

namespace fusescope {
namespace {

constexpr std::array kPatterns{
    Pattern::RmsNorm, Pattern::AddRmsNorm, Pattern::SwiGlu,        Pattern::Attention,
    Pattern::Rope,    Pattern::QkNormRope, Pattern::QkvProjection, Pattern::LinearCrossEntropy};

TEST(HostileSizes, AreRefusedOneByOne) {
    constexpr std::array fields{&Geometry::rows,   &Geometry::width,   &Geometry::kv_width, &Geometry::hidden,
                                &Geometry::batch,  &Geometry::heads,   &Geometry::kv_heads, &Geometry::q_len,
                                &Geometry::kv_len, &Geometry::head_dim};
    for (const Pattern pattern : kPatterns) {
        ASSERT_TRUE(region::catalogueForm(pattern, test::smallSizes(pattern), false).ok()) << idOf(pattern);
        for (const auto field : fields)
            for (const double size : {9e15, 9.3e18, 1e300}) {
                Geometry sizes = test::smallSizes(pattern);
                sizes.*field = size;
                const auto form = region::catalogueForm(pattern, sizes, false);
                ASSERT_FALSE(form.ok()) << idOf(pattern);
                EXPECT_EQ(form.error().code, ErrorCode::Limit);
            }
    }
}

TEST(HostileSizes, AreRefusedTogether) {
    Geometry heads = test::smallSizes(Pattern::Attention); // each fits, their product does not
    heads.heads = heads.kv_heads = 4e9;
    heads.q_len = heads.kv_len = 4e9;
    EXPECT_FALSE(region::catalogueForm(Pattern::Attention, heads, false).ok());
    Geometry rows = test::smallSizes(Pattern::LinearCrossEntropy);
    rows.rows = rows.width = 4e9;
    EXPECT_FALSE(region::catalogueForm(Pattern::LinearCrossEntropy, rows, false).ok());
    Geometry long_text = test::smallSizes(Pattern::Attention); // 131,072 tokens are none too many
    long_text.q_len = long_text.kv_len = 131'072;
    EXPECT_TRUE(region::catalogueForm(Pattern::Attention, long_text, false).ok());
}

} // namespace
} // namespace fusescope
