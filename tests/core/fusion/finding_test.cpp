// SPDX-License-Identifier: Apache-2.0
#include "core/fusion/reasons.h"
#include "tests/core/fusion/sample.h"
#include "tests/core/fusion/toy_step.h"

namespace fusescope::test {
namespace {

TEST(Finding, RankedByExpectedSaving) {
    const auto findings = findFusions(sample().input(true, true));
    ASSERT_EQ(findings.size(), 8U);
    EXPECT_EQ(findings.front().id, "attention"); // by far the largest on eager attention at 4096 tokens
    for (std::size_t i = 1; i < findings.size(); ++i)
        if (findings[i].verdict != Verdict::AlreadyFused) {
            EXPECT_GE(findings[i - 1].saving_ns.expected, findings[i].saving_ns.expected);
        }
    EXPECT_EQ(findings.back().verdict, Verdict::AlreadyFused);
}

TEST(Finding, ConflictsAreThoseThatShareWork) {
    const auto findings = findFusions(sample().input(true, true));
    EXPECT_EQ(findById(findings, "rms_norm")->conflicts, std::vector<std::string>{"add_rms_norm"});
    EXPECT_EQ(findById(findings, "add_rms_norm")->conflicts, std::vector<std::string>{"rms_norm"});
    EXPECT_TRUE(findById(findings, "rope")->conflicts.empty());
}

TEST(Finding, TimesAreSumsOfKernelDurations) {
    const Sample& s = sample();
    for (const Finding& finding : findFusions(s.input(true, true))) {
        double ns = 0;
        for (const Instance& instance : finding.instances)
            for (const std::vector<KernelId>* side : {&instance.forward, &instance.backward})
                for (const KernelId k : *side)
                    ns += static_cast<double>(s.trace->slices.dur[s.trace->kernels.slice[k.index()].index()]);
        EXPECT_NEAR(finding.time_ns, ns, 1) << finding.id;
    }
}

// Fused bytes of the sample by hand: a norm of 4096x4096 moves 64 MiB forward and 96 MiB back (and little else), q_norm
// as much, k_norm a quarter: 2 layers x 3.25 and the final norm.
TEST(Finding, BytesNowAndFused) {
    const auto findings = findFusions(sample().input(true, true));
    const Finding& norm = *findById(findings, "rms_norm");
    EXPECT_NEAR(norm.bytes_fused, 7.5 * 160 * (1 << 20), 0.01 * norm.bytes_fused);
    // As run: forward 33.6+67.1+67.1 (cast up r/w), 134 (pow), 67 (mean), 134 (mul), 101 (cast down), 67 MB (weight)
    // and so on.
    EXPECT_GT(norm.bytes_now, 10 * norm.bytes_fused);
    for (const Finding& finding : findings)
        if (finding.state == FusionState::Unfused) {
            EXPECT_LT(finding.bytes_fused, finding.bytes_now) << finding.id;
        }
}

TEST(Finding, EveryOneGivesReasons) {
    for (const auto& input : {sample().input(true, true), sample().input(false, true), sample().input(true, false)}) {
        for (const Finding& finding : findFusions(input)) {
            EXPECT_FALSE(finding.reasons.empty()) << finding.id;
            for (const std::string& reason : finding.reasons) {
                EXPECT_FALSE(reason.empty());
                EXPECT_EQ(reason.back(), '.') << reason;
            }
            EXPECT_EQ(finding.signals.size(), finding.signal_evidence.size());
            if (finding.state != FusionState::Fused) {
                EXPECT_FALSE(finding.signals.empty()) << finding.id;
            }
        }
    }
}

TEST(Finding, VerdictThresholds) {
    Finding finding;
    finding.time_ns = 100;
    finding.saving_ns.expected = 50;
    finding.step_share = 0.02;
    EXPECT_EQ(fusion::verdictOf(finding), Verdict::WorthIt);
    finding.step_share = 0.005;
    EXPECT_EQ(fusion::verdictOf(finding), Verdict::Marginal);
    finding.step_share = 0.001;
    EXPECT_EQ(fusion::verdictOf(finding), Verdict::NotBeneficial);
    finding.step_share = 0.02;
    finding.saving_ns.expected = 2; // of 100: within the noise of any measurement
    EXPECT_EQ(fusion::verdictOf(finding), Verdict::NotBeneficial);
    finding.state = FusionState::Fused;
    EXPECT_EQ(fusion::verdictOf(finding), Verdict::AlreadyFused);
}

TEST(Finding, VerdictOfWhatWasMeasured) { // by the same thresholds, on another saving
    Finding finding;
    finding.time_ns = 100;
    finding.saving_ns.expected = 50;
    finding.step_share = 0.02; // of a step of 2500
    EXPECT_EQ(verdictOfSaving(finding, 50, 100, 2500), Verdict::WorthIt);
    EXPECT_EQ(verdictOfSaving(finding, 12, 100, 2500), Verdict::Marginal);     // 0.48%
    EXPECT_EQ(verdictOfSaving(finding, 4, 100, 2500), Verdict::NotBeneficial); // 0.16%
    EXPECT_EQ(verdictOfSaving(finding, 0, 100, 2500), Verdict::NotBeneficial); // no share of a step is no estimate
    EXPECT_EQ(verdictOfSaving(finding, -50, 100, 2500), Verdict::NotBeneficial);
    EXPECT_DOUBLE_EQ(shareOfSaving(finding, 25, 2500), 0.01);
    EXPECT_DOUBLE_EQ(shareOfSaving(finding, -25, 2500), 0);
    finding.step_share = 0.01; // half of it runs beside other work
    EXPECT_DOUBLE_EQ(shareOfSaving(finding, 25, 2500), 0.005);
    EXPECT_EQ(verdictOfSaving(finding, 40, 100, 2500), Verdict::Marginal);
    finding.saving_ns = {}; // nothing was predicted: the step's time says
    finding.step_share = 0;
    EXPECT_EQ(verdictOfSaving(finding, 30, 100, 2500), Verdict::WorthIt);
    finding.time_estimated = true; // by what the runner took unfused
    EXPECT_EQ(verdictOfSaving(finding, 30, 90, 0), Verdict::WorthIt);
    EXPECT_EQ(verdictOfSaving(finding, 10, 90, 0), Verdict::Marginal);
    EXPECT_EQ(verdictOfSaving(finding, 5, 90, 0), Verdict::NotBeneficial);
}

// Eight kernels of 5 us, each begun 1 us after the one before: 40 us of kernels in a step of 12. Whatever is saved of
// the 40, the step gets no more than its 12.
TEST(Finding, TheShareOfTheStepIsNeverMoreThanAllOfIt) {
    ToyStep step;
    step.side_by_side = true;
    addNorm(step);
    step.finish();
    const auto findings = findFusions(step.input(sample().device));
    ASSERT_EQ(findings.size(), 1U);
    const Finding& norm = findings[0];
    EXPECT_DOUBLE_EQ(norm.time_ns - norm.idle_ns, 40'000);
    EXPECT_GT(norm.saving_ns.expected, 13'000);
    EXPECT_GT(norm.step_share, 0);
    EXPECT_LE(norm.step_share, 1);
}

TEST(Finding, NearMissesAloneAreSaid) {
    ToyStep step;
    NormStep norm;
    norm.weight = "float";
    addNorm(step, norm);
    step.finish();
    const auto findings = findFusions(step.input(sample().device));
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_EQ(findings[0].id, "rms_norm");
    EXPECT_TRUE(findings[0].instances.empty());
    EXPECT_EQ(findings[0].verdict, Verdict::NotBeneficial);
    EXPECT_EQ(findings[0].saving_ns.high, 0);
    ASSERT_EQ(findings[0].near_misses.size(), 1U);
    EXPECT_NE(findings[0].near_misses[0].find("f32"), std::string::npos);
    EXPECT_TRUE(makePlan(findings, 1000).findings.empty());
    EXPECT_FALSE(findings[0].time_estimated); // there is a trace
}

TEST(Finding, NothingInNothingOut) {
    FusionInput empty;
    EXPECT_TRUE(findFusions(empty).empty());
    FusionInput unlinked = sample().input(false, true);
    unlinked.link = nullptr;
    EXPECT_TRUE(findFusions(unlinked).empty());
}

} // namespace
} // namespace fusescope::test
