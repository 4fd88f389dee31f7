// SPDX-License-Identifier: Apache-2.0
#include "core/link/align.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fusescope {
namespace {

using testing::ElementsAre;

struct Rows {
    OpAlphabet alphabet;
    Aligner aligner;
    std::vector<std::int32_t> align(const std::vector<std::pair<const char*, bool>>& ops,
                                    const std::vector<const char*>& nodes) {
        std::vector<TraceOp> left;
        for (const auto& [name, top] : ops) left.push_back({alphabet.of(name), top});
        std::vector<std::uint32_t> right;
        for (const char* name : nodes) right.push_back(alphabet.of(name));
        return aligner.align(left, aligner.sequence(right), alphabet);
    }
};

TEST(Align, SameSequence) {
    Rows rows;
    EXPECT_THAT(rows.align({{"aten::pow", true}, {"aten::mean", true}}, {"aten::pow", "aten::mean"}),
                ElementsAre(0, 1));
}

TEST(Align, SpellingsOfOneOperator) {
    Rows rows;
    EXPECT_THAT(
        rows.align({{"aten::to", true}, {"aten::__and__", true}, {"aten::add_", true}, {"aten::contiguous", true}},
                   {"aten::_to_copy", "aten::bitwise_and", "aten::add", "aten::clone"}),
        ElementsAre(0, 1, 2, 3));
}

TEST(Align, ExtraRowsOnBothSides) {
    Rows rows;
    EXPECT_THAT(rows.align({{"aten::add", true}, {"aten::eq", true}, {"aten::mul", true}},
                           {"aten::add", "aten::_assert_tensor_metadata", "aten::index", "aten::mul"}),
                ElementsAre(0, -1, 3));
}

TEST(Align, OuterOperatorWinsOverItsInside) { // aten::reshape > aten::view inside aten::linear; one view in the graph
    Rows rows;
    EXPECT_THAT(rows.align({{"aten::linear", true}, {"aten::view", false}, {"aten::mm", false}, {"aten::view", true}},
                           {"aten::linear", "aten::view"}),
                ElementsAre(0, -1, -1, 1));
}

TEST(Align, DecomposedGraphMatchesTheInside) { // core ATen: linear is t, view, mm, view
    Rows rows;
    EXPECT_THAT(rows.align({{"aten::linear", true}, {"aten::t", false}, {"aten::mm", false}},
                           {"aten::t", "aten::view", "aten::mm", "aten::view"}),
                ElementsAre(-1, 0, 2));
}

TEST(Align, LongSequencesFallBackToAScan) { // 10,000 x 10,000 is beyond the table
    Rows rows;
    std::vector<std::pair<const char*, bool>> ops;
    std::vector<const char*> nodes;
    for (int i = 0; i < 10000; ++i) {
        ops.emplace_back(i % 3 == 0 ? "aten::mul" : "aten::add", true);
        nodes.push_back(i % 3 == 0 ? "aten::mul" : "aten::add");
    }
    const std::vector<std::int32_t> match = rows.align(ops, nodes);
    EXPECT_EQ(match.front(), 0);
    EXPECT_EQ(match.back(), 9999);
}

} // namespace
} // namespace fusescope
