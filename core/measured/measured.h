// SPDX-License-Identifier: Apache-2.0
// What a runner measured of findings, and what the step gains by it: a measured saving takes the prediction's place.
#pragma once

#include "core/analysis/analysis.h"
#include "core/ipc/fuse_verdict.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace fusescope {

// The instances of a finding that are measured once: of one shape. The name stays the same between runs and between
// analyses of the same files, so that a result finds its instances again.
struct InstanceClass {
    std::string name;
    std::vector<std::uint32_t> instances; // ascending; the first one is measured
};
[[nodiscard]] std::vector<InstanceClass> instanceClasses(const Analysis& analysis, const Finding& finding);

struct MeasuredResult {
    std::string finding;        // id
    std::string instance_class; // InstanceClass::name
    std::string shape;          // of the instance, for people
    FuseResult result;
    double fused_bytes = 0, fused_backward_bytes = 0; // what one kernel must move; 0 not known
    double fused_flops = 0, fused_backward_flops = 0;
    std::string runner;      // its command
    std::string versions;    // "torch 2.11.0+cu130, driver 580.159.04"
    std::string note;        // what the fused form leaves out; "" when it is whole
    std::int64_t when_s = 0; // since 1970, UTC
};

class MeasuredSet {
public:
    using Key = std::pair<std::string, std::string>; // finding, instance class

    void set(MeasuredResult result); // in the place of an earlier one
    void remove(const Key& key) { results_.erase(key); }
    void clear() { results_.clear(); }
    [[nodiscard]] const MeasuredResult* find(const std::string& finding, const std::string& instance_class) const;
    [[nodiscard]] bool any(const std::string& finding) const;
    [[nodiscard]] const std::map<Key, MeasuredResult>& results() const noexcept { return results_; }
    [[nodiscard]] bool empty() const noexcept { return results_.empty(); }

private:
    std::map<Key, MeasuredResult> results_;
};

// What a result is good for.
enum class MeasuredUse : std::uint8_t {
    Saving,      // it takes the prediction's place
    NoFusedForm, // nothing was compared
    Cpu,         // no GPU: it tells that the fused form works and how exact it is, not what the GPU saves
    OtherDevice, // another GPU than the one that findings are predicted for
    Busy,        // another job used the GPU
    Unsteady,    // too few runs, or too far apart, to tell a speedup (core/ipc/fuse_verdict.h)
    NotInStep,   // of a region that the step does not have at these sizes (chosen_gain.h): it has no time to save
};
[[nodiscard]] MeasuredUse useOf(const Analysis& analysis, const FuseResult& result);

// Whether a later result of the same instances takes an earlier one's place: unless that one is good for more (in the
// order Saving; Busy and Unsteady, which are alike; OtherDevice, Cpu, NoFusedForm).
[[nodiscard]] bool takesThePlaceOf(const Analysis& analysis, const FuseResult& earlier, const FuseResult& later);

// What an instance takes of the step's critical path, ns.
struct StepTime {
    double forward_ns = 0, backward_ns = 0;
    double wait_ns = 0; // the GPU waits for launches between its kernels; told of an instance as a whole
    [[nodiscard]] double total() const noexcept { return forward_ns + backward_ns + wait_ns; }
};
// None without a trace: estimated times bound nothing.
[[nodiscard]] std::optional<StepTime> stepTimeOf(const Finding& finding, const Instance& instance);

// What one instance saves (ns, negative when the fused form is slower): what it takes in the step, at most what the
// runner measured of the unfused form, less the fused form; never more than its own time in the step. Where the GPU
// does not wait for launches in the step, times under a CUDA graph are taken, where there are any: the runner launches
// one by one, and that shows in its times. Without a step of the GPU that ran (`in_step` is none): as the runner
// launched both forms, one by one.
[[nodiscard]] double measuredSaving(const FuseResult& result, const std::optional<StepTime>& in_step);
// The same as a verdict: no direction's fused runs are clear of the unfused ones, or directions cancel out: not faster.
// Of a result that is good for a saving.
[[nodiscard]] SpeedVerdict measuredSpeed(const FuseResult& result, const std::optional<StepTime>& in_step);
[[nodiscard]] bool hasFusedForm(const FuseResult& result); // in any direction: something was compared

struct MeasuredClass {
    InstanceClass of;
    const MeasuredResult* result = nullptr; // null: not measured
    MeasuredUse use = MeasuredUse::NoFusedForm;
    double saving_ns = 0; // per step, of all its instances; only with MeasuredUse::Saving
};
struct MeasuredFinding {
    std::vector<MeasuredClass> classes;
    std::size_t measured = 0; // instances whose saving is measured
    std::size_t instances = 0;
    Range saving_ns;         // per step: measured where it is, else predicted
    double measured_ns = 0;  // of it, measured
    double predicted_ns = 0; // what was predicted for all of them
    // Per step, of all of them: what they take, and what they take then (low: the shortest). Where the finding's times
    // are estimates, those that a runner measured: a measured saving and an estimate have no difference.
    double now_ns = 0;
    Range fused_ns;
    // Of all that is measured, together: the sum's, if measuredSpeed() of an instance is of that kind, else not faster.
    SpeedVerdict speed = SpeedVerdict::Unknown;
    // On what instances save that save anything; the prediction's where nothing is measured.
    Verdict verdict = Verdict::Marginal;
    [[nodiscard]] bool any() const noexcept { return measured > 0; }
    [[nodiscard]] bool whole() const noexcept { return measured > 0 && measured == instances; }
};
[[nodiscard]] MeasuredFinding applyMeasured(const Analysis& analysis, const Finding& finding, const MeasuredSet& set);

// The plan, chosen again from measured savings where there are any: a finding that was measured slower leaves it, one
// that had lost to it may come in.
struct MeasuredPlan {
    std::size_t measured = 0, parts = 0; // findings of the plan, and left out of it, with a measured saving, and all
    std::size_t regions = 0; // of the user's own choice, whose savings are in it too (core/measured/chosen_gain.h)
    Range saving_ns, predicted_step_ns;
    Plan plan;                                  // that of the analysis where nothing is measured
    std::size_t predicted_instances = 0;        // in the plan and not measured
    std::vector<std::uint32_t> marked;          // rows of the findings that are worth marking (core/draw/flagged.h)
    std::vector<std::string> left_out, come_in; // ids: measured, and no part of it any more; part of it only now
    [[nodiscard]] bool any() const noexcept { return measured + regions > 0; }
    [[nodiscard]] bool whole() const noexcept { return measured > 0 && predicted_instances == 0; }
};
[[nodiscard]] MeasuredPlan applyMeasured(const Analysis& analysis, const MeasuredSet& set);
// As people know findings: "RMSNorm, QKV projection".
[[nodiscard]] std::string titlesOf(const Analysis& analysis, const std::vector<std::string>& ids);

} // namespace fusescope
