// SPDX-License-Identifier: Apache-2.0
// What holds for any layout, whoever made it.
#pragma once

#include "core/graph/layout.h"

#include <gtest/gtest.h>

#include <cmath>

namespace fusescope::test {

inline bool overlap(const LayoutRect& a, const LayoutRect& b) {
    constexpr double kTouch = 0.01;
    return a.x + a.width > b.x + kTouch && b.x + b.width > a.x + kTouch && a.y + a.height > b.y + kTouch &&
           b.y + b.height > a.y + kTouch;
}

inline bool holds(const LayoutRect& outer, const LayoutRect& inner) {
    constexpr double kTouch = 0.5;
    return inner.x >= outer.x - kTouch && inner.y >= outer.y - kTouch &&
           inner.x + inner.width <= outer.x + outer.width + kTouch &&
           inner.y + inner.height <= outer.y + outer.height + kTouch;
}

inline bool touches(const LayoutRect& r, const Point& p, double slack) {
    return p.x >= r.x - slack && p.x <= r.x + r.width + slack && p.y >= r.y - slack && p.y <= r.y + r.height + slack;
}

inline void checkLayout(const LayoutRequest& request, const LayoutResult& result) {
    ASSERT_EQ(result.boxes.size(), request.boxes.size());
    ASSERT_EQ(result.clusters.size(), request.cluster_parents.size());
    ASSERT_EQ(result.edges.size(), request.edges.size());
    const auto inCluster = [&](std::int32_t cluster, std::int32_t ancestor) {
        for (; cluster >= 0; cluster = request.cluster_parents[static_cast<std::size_t>(cluster)])
            if (cluster == ancestor) return true;
        return false;
    };
    for (std::size_t i = 0; i < result.boxes.size(); ++i) {
        const LayoutRect& box = result.boxes[i];
        EXPECT_NEAR(box.width, request.boxes[i].width, 0.01);
        EXPECT_NEAR(box.height, request.boxes[i].height, 0.01);
        EXPECT_GE(box.x, -0.5);
        EXPECT_GE(box.y, -0.5);
        EXPECT_LE(box.x + box.width, result.width + 0.5);
        EXPECT_LE(box.y + box.height, result.height + 0.5);
        for (std::size_t k = i + 1; k < result.boxes.size(); ++k)
            EXPECT_FALSE(overlap(box, result.boxes[k])) << "boxes " << i << " and " << k;
        for (std::size_t c = 0; c < result.clusters.size(); ++c) {
            if (inCluster(request.boxes[i].cluster, static_cast<std::int32_t>(c))) {
                EXPECT_TRUE(holds(result.clusters[c], box)) << "box " << i << " in cluster " << c;
                EXPECT_GE(box.y, result.clusters[c].y + request.cluster_header - 0.5)
                    << "box " << i << " under the title of " << c;
            } else {
                EXPECT_FALSE(overlap(result.clusters[c], box)) << "box " << i << " and cluster " << c;
            }
        }
    }
    for (std::size_t a = 0; a < result.clusters.size(); ++a)
        for (std::size_t b = a + 1; b < result.clusters.size(); ++b) {
            if (inCluster(static_cast<std::int32_t>(b), static_cast<std::int32_t>(a)))
                EXPECT_TRUE(holds(result.clusters[a], result.clusters[b])) << a << " holds " << b;
            else
                EXPECT_FALSE(overlap(result.clusters[a], result.clusters[b])) << "clusters " << a << " and " << b;
        }
    for (std::size_t e = 0; e < result.edges.size(); ++e) {
        const std::vector<Point>& path = result.edges[e].path;
        ASSERT_GE(path.size(), 2u) << "edge " << e;
        EXPECT_TRUE(touches(result.boxes[request.edges[e].from], path.front(), 2)) << "start of edge " << e;
        EXPECT_TRUE(touches(result.boxes[request.edges[e].to], path.back(), 2)) << "end of edge " << e;
        for (const Point& p : path) EXPECT_TRUE(std::isfinite(p.x) && std::isfinite(p.y));
    }
}

} // namespace fusescope::test
