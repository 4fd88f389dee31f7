// SPDX-License-Identifier: Apache-2.0
#include "sample.h"

#include "core/analysis/selection.h"

#include <algorithm>

namespace fusescope::testing {
namespace {

template <class T> bool has(const std::vector<T>& sorted, const T& x) {
    return std::binary_search(sorted.begin(), sorted.end(), x);
}

std::uint32_t rowOf(const Analysis& a, std::string_view id) {
    for (std::size_t f = 0; f < a.findings.size(); ++f)
        if (a.findings[f].id == id) return static_cast<std::uint32_t>(f);
    return Id<struct None>::kNone;
}

TEST(Selection, NothingPickedSelectsNothing) {
    const SelectionSets sets = select(both(), {});
    EXPECT_TRUE(sets.findings.empty() && sets.nodes.empty() && sets.kernels.empty() && sets.ops.empty() &&
                sets.modules.empty());
}

TEST(Selection, AFindingSelectsItsKernelsNodesAndPoints) {
    const Analysis& a = both();
    const std::uint32_t row = rowOf(a, "swiglu");
    ASSERT_LT(row, a.findings.size());
    const SelectionSets sets = select(a, {PickKind::Finding, row});
    EXPECT_EQ(sets.findings, std::vector<std::uint32_t>{row});
    for (const Instance& instance : a.findings[row].instances) {
        for (const KernelId k : instance.forward) EXPECT_TRUE(has(sets.kernels, k));
        for (const NodeId n : instance.nodes) EXPECT_TRUE(has(sets.nodes, n));
    }
    EXPECT_FALSE(sets.ops.empty());
    EXPECT_FALSE(sets.nodes.empty());
}

// Round trip: a kernel of a finding leads back to the finding, through its node and its roofline point too.
TEST(Selection, AKernelLeadsBackToItsFinding) {
    const Analysis& a = both();
    const std::uint32_t row = rowOf(a, "rms_norm");
    ASSERT_LT(row, a.findings.size());
    const KernelId kernel = a.findings[row].instances[0].forward.at(0);
    const SelectionSets by_kernel = select(a, {PickKind::Kernel, kernel.value});
    EXPECT_TRUE(has(by_kernel.findings, row));
    ASSERT_EQ(by_kernel.ops.size(), 1U);
    EXPECT_TRUE(has(select(a, {PickKind::Op, by_kernel.ops[0]}).findings, row));
    ASSERT_FALSE(by_kernel.nodes.empty());
    EXPECT_TRUE(has(select(a, {PickKind::Node, by_kernel.nodes[0].value}).kernels, kernel));
    const SliceId slice = a.trace->kernels.slice[kernel.index()];
    EXPECT_EQ(select(a, {PickKind::Slice, slice.value}).kernels, by_kernel.kernels);
}

TEST(Selection, AModuleSelectsWhatRanInIt) {
    const Analysis& a = both();
    const ModuleId mlp = a.link.modules.find("model.model.layers.1.mlp");
    ASSERT_TRUE(mlp.valid());
    const SelectionSets sets = select(a, {PickKind::Module, mlp.value});
    EXPECT_FALSE(sets.kernels.empty());
    for (const KernelId k : sets.kernels) EXPECT_TRUE(a.link.modules.contains(mlp, a.link.kernels[k.index()].module));
    EXPECT_TRUE(has(sets.findings, rowOf(a, "swiglu")));
    EXPECT_FALSE(has(sets.findings, rowOf(a, "attention")));
}

TEST(Selection, RowsOutOfRangeSelectNothing) {
    for (int kind = 0; kind <= static_cast<int>(PickKind::Slice); ++kind)
        for (const Analysis* a : {&both(), &traceOnly(), &graphOnly()})
            EXPECT_TRUE(select(*a, {static_cast<PickKind>(kind), 0xFFFFFFF0U}).kernels.empty()) << kind;
}

} // namespace
} // namespace fusescope::testing
