// SPDX-License-Identifier: Apache-2.0
// Which additions of gradients belong to an instance. Kernel numbers are those of the step in launch order
// (shared/truth/ncu-*.json and the digest of the step): 306 and 332 add the residual's gradient to a norm's.
#include "tests/core/fusion/sample.h"

namespace fusescope::test {
namespace {

bool addsGradients(KernelId kernel) {
    const Sample& s = sample();
    const CpuOpId op = s.alone.kernels[kernel.index()].op;
    const std::string_view name = s.trace->nameOf(s.trace->cpu_ops.slice[op.index()]);
    return name == "aten::add" || name == "aten::add_";
}

std::size_t additions(const Instance& instance) {
    return static_cast<std::size_t>(std::count_if(instance.backward.begin(), instance.backward.end(), addsGradients));
}

TEST(Backward, TheResidualsGradientBelongsToAddNorm) {
    const auto findings = findFusions(sample().input(false, true));
    for (const Instance& norm : findById(findings, "rms_norm")->instances)
        EXPECT_EQ(additions(norm), 1U); // of the gradients of its own f32 copy
    std::vector<std::size_t> counts;
    for (const Instance& norm : findById(findings, "add_rms_norm")->instances) counts.push_back(additions(norm));
    EXPECT_EQ(counts, (std::vector<std::size_t>{2, 2, 2, 1})); // nothing comes along the residual behind the last norm
}

TEST(Backward, TheInputGradientsOfQkvAreItsOwn) {
    const auto findings = findFusions(sample().input(false, true));
    for (const Instance& qkv : findById(findings, "qkv_projection")->instances) EXPECT_EQ(additions(qkv), 2U);
}

TEST(Backward, InstancesOfOnePatternShareNoKernel) {
    for (const Finding& finding : findFusions(sample().input(true, true))) {
        std::vector<KernelId> all;
        for (const Instance& instance : finding.instances) {
            all.insert(all.end(), instance.forward.begin(), instance.forward.end());
            all.insert(all.end(), instance.backward.begin(), instance.backward.end());
        }
        std::sort(all.begin(), all.end());
        EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end()) << finding.id;
    }
}

TEST(Backward, KernelsAreOfTheAnalysedStep) {
    const Sample& s = sample();
    const auto step = static_cast<std::int16_t>(s.trace->steps.size() - 1);
    for (const Finding& finding : findFusions(s.input(true, true)))
        for (const Instance& instance : finding.instances)
            for (const std::vector<KernelId>* side : {&instance.forward, &instance.backward})
                for (const KernelId k : *side)
                    EXPECT_EQ(s.trace->slices.step[s.trace->kernels.slice[k.index()].index()], step);
}

} // namespace
} // namespace fusescope::test
