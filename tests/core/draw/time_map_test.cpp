// SPDX-License-Identifier: Apache-2.0
// Every number is worked out by hand.
#include "core/draw/time_map.h"

#include <gtest/gtest.h>

#include <limits>

namespace fusescope {
namespace {

TEST(TimeMap, WithoutKnotsNothingMoves) {
    EXPECT_EQ(TimeMap().at(7), 7);
    EXPECT_EQ(TimeMap().endAt(7), 7);
    EXPECT_EQ(TimeMap().back(7), 7);
}

// 100..140 shrinks to 100..110, what follows moves up by 30 until 200, where it jumps back.
TimeMap shrunk() {
    TimeMap map;
    map.add(100, 100);
    map.add(140, 110);
    map.add(200, 170);
    map.add(200, 200);
    return map;
}

TEST(TimeMap, ShrinksMovesAndComesBack) {
    const TimeMap map = shrunk();
    EXPECT_EQ(map.at(50), 50);
    EXPECT_EQ(map.at(100), 100);
    EXPECT_EQ(map.at(120), 105); // half of 40 is half of 10
    EXPECT_EQ(map.at(140), 110);
    EXPECT_EQ(map.at(170), 140);
    EXPECT_EQ(map.endAt(200), 170); // what ends there
    EXPECT_EQ(map.at(200), 200);    // what begins there
    EXPECT_EQ(map.at(1000), 1000);
}

TEST(TimeMap, BackFindsTheRecordedTime) {
    const TimeMap map = shrunk();
    for (const std::int64_t t : {0, 100, 120, 140, 199, 200, 500}) EXPECT_EQ(map.back(map.at(t)), t);
    EXPECT_EQ(map.back(185), 200); // within the jump: nothing was recorded there
    TimeMap gone;                  // 10..20 has no length left
    gone.add(10, 10);
    gone.add(20, 10);
    EXPECT_EQ(gone.at(15), 10);
    EXPECT_EQ(gone.back(10), 20);
    EXPECT_EQ(gone.back(30), 40);
}

TEST(TimeMap, StaysMonotoneWhateverIsAdded) {
    TimeMap map;
    map.add(10, 20);
    map.add(5, 15);
    map.add(30, 10);
    std::int64_t last = std::numeric_limits<std::int64_t>::min();
    for (std::int64_t t = 0; t < 50; ++t) {
        EXPECT_GE(map.at(t), last);
        last = map.at(t);
    }
    const std::int64_t far = std::numeric_limits<std::int64_t>::max();
    map.add(far, far);
    EXPECT_EQ(map.endAt(far), far);
}

} // namespace
} // namespace fusescope
