// SPDX-License-Identifier: Apache-2.0
#include "core/graph/layout.h"

#include "layout_checks.h"

#include <chrono>
#include <limits>
#include <random>

namespace fusescope {
namespace {

LayoutRequest chain(std::size_t count) {
    LayoutRequest request;
    request.boxes.assign(count, {80, 32, -1});
    for (std::uint32_t i = 0; i + 1 < count; ++i) request.edges.push_back({i, i + 1, 0, 0});
    return request;
}

TEST(LayeredLayout, NothingAndOneBox) {
    const LayoutResult none = layeredLayout({});
    EXPECT_EQ(none.engine, "layered");
    EXPECT_EQ(none.width, 0);
    const LayoutResult one = layeredLayout(chain(1));
    test::checkLayout(chain(1), one);
    EXPECT_EQ(one.width, 80);
    EXPECT_EQ(one.height, 32);
}

TEST(LayeredLayout, AChainIsAColumn) {
    const LayoutRequest request = chain(5);
    const LayoutResult result = layeredLayout(request);
    test::checkLayout(request, result);
    for (std::size_t i = 1; i < 5; ++i) {
        EXPECT_NEAR(result.boxes[i].x, result.boxes[0].x, 0.01);
        EXPECT_GE(result.boxes[i].y, result.boxes[i - 1].y + 32 + request.rank_gap - 0.01);
    }
}

TEST(LayeredLayout, ResidualKeepsTheMainRoadStraight) {
    LayoutRequest request = chain(4);
    request.edges.push_back({0, 3, 60, 16});
    const LayoutResult result = layeredLayout(request);
    test::checkLayout(request, result);
    for (std::size_t i = 1; i < 4; ++i) EXPECT_NEAR(result.boxes[i].x, result.boxes[0].x, 30);
    // The residual passes beside the boxes, not through them.
    for (const Point& p : result.edges[3].path)
        for (const std::size_t box : {std::size_t{1}, std::size_t{2}})
            EXPECT_FALSE(test::touches(result.boxes[box], p, -1)) << box;
}

TEST(LayeredLayout, ClustersNest) {
    LayoutRequest request = chain(6);
    request.cluster_parents = {-1, 0};
    request.cluster_widths = {300, 50};
    request.boxes[1].cluster = 0;
    request.boxes[2].cluster = 1;
    request.boxes[3].cluster = 1;
    request.boxes[4].cluster = 0;
    request.edges.push_back({0, 3, 80, 16}); // into the inner one
    request.edges.push_back({2, 5, 80, 16}); // out of it
    const LayoutResult result = layeredLayout(request);
    test::checkLayout(request, result);
    EXPECT_GE(result.clusters[0].width, 300);
}

TEST(LayeredLayout, CirclesAndLoopsHavePaths) {
    LayoutRequest request = chain(3);
    request.edges.push_back({2, 0, 0, 0});
    request.edges.push_back({1, 1, 40, 16});
    request.edges.push_back({0, 1, 0, 0}); // twice the same
    test::checkLayout(request, layeredLayout(request));
}

TEST(LayeredLayout, EmptyClusters) {
    LayoutRequest request = chain(2);
    request.cluster_parents = {-1, 0, -1};
    test::checkLayout(request, layeredLayout(request));
}

TEST(LayeredLayout, ForgivesBadNumbers) {
    LayoutRequest request;
    const double nan = std::numeric_limits<double>::quiet_NaN();
    request.boxes = {{nan, -5, 99}, {1e300, 32, -7}};
    request.cluster_parents = {4, 1, -9};
    request.edges = {{0, 77, nan, 1}, {88, 1, 0, 0}, {0, 1, -1, -1}};
    request.node_gap = nan;
    request.rank_gap = -1;
    const LayoutResult result = layeredLayout(request);
    ASSERT_EQ(result.edges.size(), 3u);
    for (const LayoutResult::Edge& edge : result.edges) EXPECT_GE(edge.path.size(), 2u);
    for (const LayoutRect& box : result.boxes)
        EXPECT_TRUE(std::isfinite(box.x) && std::isfinite(box.y) && box.width <= 1e6);
}

LayoutRequest randomRequest(std::uint32_t seed) {
    std::mt19937 random(seed);
    const auto upTo = [&](std::size_t n) { return static_cast<std::uint32_t>(random() % (n + 1)); };
    LayoutRequest request;
    const std::size_t clusters = upTo(6), boxes = 1 + upTo(40);
    for (std::size_t c = 0; c < clusters; ++c) {
        request.cluster_parents.push_back(static_cast<std::int32_t>(upTo(c)) - 1);
        request.cluster_widths.push_back(upTo(300));
    }
    for (std::size_t b = 0; b < boxes; ++b)
        request.boxes.push_back({8.0 + upTo(200), 8.0 + upTo(60), static_cast<std::int32_t>(upTo(clusters)) - 1});
    for (std::size_t e = 0, count = upTo(80); e < count; ++e)
        request.edges.push_back({upTo(boxes - 1), upTo(boxes - 1), static_cast<double>(upTo(90)), upTo(1) * 16.0});
    return request;
}

TEST(LayeredLayout, HoldsForRandomGraphs) {
    for (std::uint32_t seed = 0; seed < 300; ++seed) {
        SCOPED_TRACE(seed);
        const LayoutRequest request = randomRequest(seed);
        const LayoutResult result = layeredLayout(request);
        test::checkLayout(request, result);
        if (testing::Test::HasFailure()) return;
    }
}

TEST(LayeredLayout, IsTheSameEveryTime) {
    const LayoutRequest request = randomRequest(7);
    const LayoutResult a = layeredLayout(request), b = layeredLayout(request);
    for (std::size_t i = 0; i < a.boxes.size(); ++i) {
        EXPECT_EQ(a.boxes[i].x, b.boxes[i].x);
        EXPECT_EQ(a.boxes[i].y, b.boxes[i].y);
    }
}

TEST(LayeredLayout, TwoThousandBoxesWithLongEdgesAreQuick) {
    LayoutRequest request = chain(2000);
    for (std::uint32_t i = 0; i + 500 < 2000; i += 3) request.edges.push_back({i, i + 500, 60, 16});
    const auto start = std::chrono::steady_clock::now();
    const LayoutResult result = layeredLayout(request);
    EXPECT_LT(std::chrono::steady_clock::now() - start,
              std::chrono::seconds(20)); // sanitizers and slow machines included
    EXPECT_EQ(result.boxes.size(), 2000u);
}

} // namespace
} // namespace fusescope
