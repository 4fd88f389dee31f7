// SPDX-License-Identifier: Apache-2.0
#include "tests/core/fusion/sample.h"

#include <map>
#include <set>

namespace fusescope::test {
namespace {

Finding made(const char* id, Verdict verdict, std::vector<std::pair<std::vector<std::size_t>, double>> instances) {
    Finding finding;
    finding.id = id;
    finding.verdict = verdict;
    for (const auto& [kernels, saving] : instances) {
        Instance instance;
        for (const std::size_t k : kernels) instance.forward.emplace_back(k);
        instance.saving_ns = {saving / 2, saving, saving * 2};
        finding.saving_ns.expected += saving;
        finding.instances.push_back(std::move(instance));
    }
    return finding;
}

TEST(Plan, TakesTheBetterOfTwo) {
    const Plan plan =
        makePlan({made("a", Verdict::WorthIt, {{{1, 2}, 10}}), made("b", Verdict::WorthIt, {{{2, 3}, 12}})}, 100);
    EXPECT_EQ(plan.findings, std::vector<std::string>{"b"});
    EXPECT_EQ(plan.predicted_step_ns.expected, 88);
    EXPECT_EQ(plan.predicted_step_ns.low, 76);
    EXPECT_EQ(plan.predicted_step_ns.high, 94);
}

TEST(Plan, TwoSmallOnesBeatOneLarge) { // greedy would take b
    const Plan plan =
        makePlan({made("a", Verdict::WorthIt, {{{1}, 7}, {{2}, 7}}), made("b", Verdict::WorthIt, {{{1, 2}, 10}})}, 100);
    EXPECT_EQ(plan.findings, std::vector<std::string>{"a"});
    EXPECT_EQ(plan.parts.front().instances.size(), 2U);
}

TEST(Plan, OverlapIsAMatterOfInstances) {
    const Plan plan = makePlan({made("norm", Verdict::WorthIt, {{{1}, 5}, {{2}, 5}, {{3}, 5}}),
                                made("add_norm", Verdict::WorthIt, {{{2, 20}, 6}})},
                               100);
    ASSERT_EQ(plan.findings, (std::vector<std::string>{"norm", "add_norm"}));
    EXPECT_EQ(plan.parts[0].instances, (std::vector<std::uint32_t>{0, 2}));
    EXPECT_EQ(plan.predicted_step_ns.expected, 84);
}

TEST(Plan, WhatAFindingLeavesIsNamed) {
    const std::vector<Finding> findings{made("norm", Verdict::WorthIt, {{{1}, 5}, {{2}, 5}, {{3}, 5}}),
                                        made("add_norm", Verdict::WorthIt, {{{2, 20}, 6}}),
                                        made("rope", Verdict::WorthIt, {{{9}, 1}})};
    const Plan plan = makePlan(findings, 100);
    EXPECT_EQ(planPartOf(plan, "norm")->saving_ns.expected, 10); // of 15
    EXPECT_EQ(planPartOf(plan, "nothing"), nullptr);
    EXPECT_EQ(plan.saving_ns.expected, 17);
    EXPECT_EQ(takenOverBy(findings, plan, findings[0]), std::vector<std::string>{"add_norm"});
    EXPECT_TRUE(takenOverBy(findings, plan, findings[1]).empty());
}

// b is in the graph, and no kernel of the trace is of it: 200 of a roofline cannot be taken from 100 that were
// measured.
TEST(Plan, WhatWasNotSeenInTheStepDoesNotShortenIt) {
    const Finding a = made("a", Verdict::WorthIt, {{{1}, 10}}), b = made("b", Verdict::WorthIt, {{{}, 200}});
    const Plan plan = makePlan({a, b}, 100);
    EXPECT_EQ(plan.findings, (std::vector<std::string>{"b", "a"}));
    EXPECT_EQ(plan.saving_ns.expected, 210);
    EXPECT_EQ(plan.unseen_ns.expected, 200);
    EXPECT_EQ(plan.predicted_step_ns.expected, 90);
    EXPECT_FALSE(nothingSeen(plan));
    const Plan only = makePlan({b}, 100, {{150.0}}); // nor when it was measured: how often it runs there is not known
    EXPECT_TRUE(nothingSeen(only));
    EXPECT_EQ(only.predicted_step_ns.low, 100);
    EXPECT_FALSE(nothingSeen(makePlan({b}, 0))); // without a trace there is no step
    EXPECT_FALSE(nothingSeen(makePlan({}, 100)));
}

TEST(Plan, LeavesOutWhatDoesNotPay) {
    const Plan plan =
        makePlan({made("a", Verdict::NotBeneficial, {{{1}, 1}}), made("b", Verdict::AlreadyFused, {{{2}, 0}})}, 100);
    EXPECT_TRUE(plan.findings.empty());
    EXPECT_EQ(plan.predicted_step_ns.expected, 100);
    EXPECT_TRUE(makePlan({}, 0).findings.empty());
}

TEST(Plan, WhatWasMeasuredCountsForMoreThanThePrediction) {
    const std::vector<Finding> findings{made("a", Verdict::WorthIt, {{{1, 2}, 10}, {{5}, 4}}),
                                        made("b", Verdict::WorthIt, {{{2, 3}, 8}}),
                                        made("c", Verdict::NotBeneficial, {{{7}, 1}, {{8}, 1}})};
    EXPECT_EQ(makePlan(findings, 100).findings, std::vector<std::string>{"a"}); // 10 + 4
    // The first of a saves 3 instead of 10: b (8, predicted) comes in. One of c, measured, does pay; the other is not.
    const Plan plan = makePlan(findings, 100, {{3.0, std::nullopt}, {}, {2.5}});
    ASSERT_EQ(plan.findings, (std::vector<std::string>{"b", "a", "c"})); // 8, 4, 2.5
    EXPECT_EQ(plan.parts[1].instances, std::vector<std::uint32_t>{1});
    EXPECT_EQ(plan.parts[2].instances, std::vector<std::uint32_t>{0});
    EXPECT_EQ(plan.saving_ns.expected, 14.5);
    EXPECT_EQ(plan.saving_ns.low, 8.5);   // 4 + 2 + 2.5: a measured saving is no range
    EXPECT_EQ(plan.saving_ns.high, 26.5); // 16 + 8 + 2.5
    EXPECT_EQ(plan.predicted_step_ns.expected, 85.5);
    // Slower when fused: it stays as it is, whatever was predicted.
    EXPECT_EQ(makePlan(findings, 100, {{-1.0, 0.0}}).findings, std::vector<std::string>{"b"});
}

TEST(Plan, LargeGroupsDoNotOverlap) {
    std::vector<std::pair<std::vector<std::size_t>, double>> chain;
    for (std::size_t i = 0; i < 60; ++i) chain.push_back({{i, i + 1}, static_cast<double>(1 + i % 7)});
    const std::vector<Finding> findings{made("chain", Verdict::WorthIt, chain)};
    const Plan plan = makePlan(findings, 1000);
    std::set<KernelId> used;
    for (const std::uint32_t i : plan.parts.front().instances)
        for (const KernelId k : findings[0].instances[i].forward) EXPECT_TRUE(used.insert(k).second);
}

// 4 of the 9 norms follow a residual add: those go with it, the other 5 stand alone.
TEST(Plan, OfTheSample) {
    const auto findings = findFusions(sample().input(true, true));
    const Plan plan = makePlan(findings, sample().input(true, true).step_ns);
    std::map<std::string, std::size_t> taken;
    std::set<KernelId> used;
    double saving = 0;
    for (const PlanPart& part : plan.parts) {
        taken[part.finding] = part.instances.size();
        saving += part.saving_ns.expected;
        for (const std::uint32_t i : part.instances) {
            const Instance& instance = findById(findings, part.finding)->instances[i];
            for (const KernelId k : instance.forward) EXPECT_TRUE(used.insert(k).second);
            for (const KernelId k : instance.backward) EXPECT_TRUE(used.insert(k).second);
        }
    }
    EXPECT_EQ(taken["add_rms_norm"], 4U);
    EXPECT_EQ(taken["rms_norm"], 5U);
    EXPECT_EQ(taken["attention"], 2U);
    EXPECT_EQ(taken.count("qkv_projection"), 0U);
    EXPECT_NEAR(plan.step_ns - saving, plan.predicted_step_ns.expected, 1);
    EXPECT_LE(plan.predicted_step_ns.low, plan.predicted_step_ns.expected);
    EXPECT_LE(plan.predicted_step_ns.expected, plan.predicted_step_ns.high);
    EXPECT_LE(plan.predicted_step_ns.high, plan.step_ns);
}

} // namespace
} // namespace fusescope::test
