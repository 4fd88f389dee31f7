// SPDX-License-Identifier: Apache-2.0
#include "core/ipc/layout_protocol.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace fusescope {
namespace {

LayoutRequest request() {
    LayoutRequest r;
    r.boxes = {{80, 32, -1}, {120.5, 40, 1}};
    r.cluster_parents = {-1, 0};
    r.cluster_widths = {200, 0};
    r.edges = {{0, 1, 66, 16}, {1, 1, 0, 0}};
    r.rank_gap = 31;
    return r;
}

TEST(LayoutProtocol, RequestsComeBack) {
    const std::string line = encodeLayoutRequest(request());
    EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1);
    EXPECT_EQ(line.back(), '\n');
    const Result<LayoutRequest> back = decodeLayoutRequest(line);
    ASSERT_TRUE(back.ok()) << back.error().message();
    EXPECT_EQ(hashOf(*back), hashOf(request()));
}

TEST(LayoutProtocol, ResultsComeBack) {
    const LayoutResult result = layeredLayout(request());
    const Result<LayoutResult> back = decodeLayoutResult(encodeLayoutResult(result), request());
    ASSERT_TRUE(back.ok()) << back.error().message();
    EXPECT_EQ(back->engine, "layered");
    EXPECT_EQ(back->width, result.width);
    ASSERT_EQ(back->edges.size(), 2u);
    ASSERT_EQ(back->edges[0].path.size(), result.edges[0].path.size());
    EXPECT_EQ(back->edges[0].path[1].y, result.edges[0].path[1].y);
    EXPECT_EQ(back->boxes[1].x, result.boxes[1].x);
    EXPECT_EQ(back->clusters[1].height, result.clusters[1].height);
}

TEST(LayoutProtocol, RefusesBadRequests) {
    for (const char* line : {
             "",
             "nonsense",
             "[]",
             "{}",
             R"({"boxes":[],"cluster_parents":[]})",
             R"({"boxes":[[1,2]],"cluster_parents":[],"edges":[]})",
             R"({"boxes":[[1,2,0]],"cluster_parents":[],"edges":[]})",
             R"({"boxes":[[1,-2,-1]],"cluster_parents":[],"edges":[]})",
             R"({"boxes":[["1",2,-1]],"cluster_parents":[],"edges":[]})",
             R"({"boxes":[[1e99,2,-1]],"cluster_parents":[],"edges":[]})",
             R"({"boxes":[[1,2,-1.5]],"cluster_parents":[],"edges":[]})",
             R"({"boxes":[[1,2,-1]],"cluster_parents":[0],"edges":[]})",
             R"({"boxes":[[1,2,-1]],"cluster_parents":[-1],"edges":[[0,1,0,0]]})",
             R"({"boxes":[[1,2,-1]],"cluster_parents":[-1],"edges":[[0,-1,0,0]]})",
             R"({"boxes":[[1,2,-1]],"cluster_parents":[-1],"edges":[[0,0,0]]})",
         })
        EXPECT_FALSE(decodeLayoutRequest(line).ok()) << line;
}

TEST(LayoutProtocol, RefusesTooManyBoxes) {
    LayoutRequest large;
    large.boxes.assign(2001, {1, 1, -1});
    const Result<LayoutRequest> back = decodeLayoutRequest(encodeLayoutRequest(large));
    ASSERT_FALSE(back.ok());
    EXPECT_EQ(back.error().code, ErrorCode::Limit);
}

TEST(LayoutProtocol, RefusesResultsThatDoNotFit) {
    LayoutResult result = layeredLayout(request());
    result.boxes.pop_back();
    EXPECT_FALSE(decodeLayoutResult(encodeLayoutResult(result), request()).ok());
    for (
        const char* line : {
            R"({"boxes":[[0,0,1,1],[0,0,1,1]],"clusters":[[0,0,1,1],[0,0,1,1]],"edges":[]})",
            R"({"boxes":[[0,0,1,1],[0,0,1,1]],"clusters":[[0,0,1,1],[0,0,1,1]],"edges":[{"path":[0,0]},{"path":[0,0,1,1]}]})",
            R"({"boxes":[[0,0,1,1],[0,0,1,1]],"clusters":[[0,0,1,1],[0,0,1,1]],"edges":[{"path":[0,0,1]},{"path":[0,0,1,1]}]})",
            R"({"boxes":[[0,0,1,1],[0,0,1,-1]],"clusters":[[0,0,1,1],[0,0,1,1]],"edges":[{"path":[0,0,1,1]},{"path":[0,0,1,1]}]})",
        })
        EXPECT_FALSE(decodeLayoutResult(line, request()).ok()) << line;
}

TEST(LayoutProtocol, PassesErrorsOn) {
    const Result<LayoutResult> result = decodeLayoutResult("{\"error\":\"no memory\"}", request());
    ASSERT_FALSE(result.ok());
    EXPECT_NE(result.error().message().find("no memory"), std::string::npos);
}

} // namespace
} // namespace fusescope
