// SPDX-License-Identifier: Apache-2.0
#include "core/measured/measured.h"

#include "core/analysis/step_savings.h"
#include "core/measured/savings.h"

#include "core/base/format.h"
#include "core/draw/flagged.h"
#include "core/region/build.h"

#include <algorithm>

namespace fusescope {
namespace {

constexpr double kNsPerUs = 1000;

// All sizes that tell instances apart, as text.
std::string className(const Finding& finding, const Instance& instance) {
    const Geometry& g = instance.geometry;
    std::string name(idOf(finding.pattern));
    const auto add = [&name](double value) { name += '/' + formatSignificant(value, 12); };
    name += '/';
    name += shortName(g.dtype);
    name += '/';
    name += nameOf(instance.state);
    for (const double value : {g.rows, g.width, g.kv_width, g.hidden, g.batch, g.heads, g.kv_heads, g.q_len, g.kv_len,
                               g.head_dim, g.eps, g.residual_gradient ? 1.0 : 0.0})
        add(value);
    for (const std::int64_t size : g.sizes) name += 'x' + std::to_string(size);
    name += '/' + std::to_string(instance.nodes.size()) + (instance.from_graph ? "g" : "t");
    return name;
}

} // namespace

void MeasuredSet::set(MeasuredResult result) {
    Key key{result.finding, result.instance_class};
    results_.insert_or_assign(std::move(key), std::move(result));
}

const MeasuredResult* MeasuredSet::find(const std::string& finding, const std::string& instance_class) const {
    const auto at = results_.find({finding, instance_class});
    return at == results_.end() ? nullptr : &at->second;
}

bool MeasuredSet::any(const std::string& finding) const {
    const auto at = results_.lower_bound({finding, std::string()});
    return at != results_.end() && at->first.first == finding;
}

std::vector<InstanceClass> instanceClasses(const Analysis& analysis, const Finding& finding) {
    std::vector<InstanceClass> classes;
    for (const RegionClass& one : distinctInstances(analysis, finding)) {
        InstanceClass made;
        made.name = className(finding, finding.instances[one.instance]);
        // A name says less than a graph: classes that it cannot tell apart carry a number.
        const auto alike = std::count_if(classes.begin(), classes.end(), [&](const InstanceClass& known) {
            return known.name == made.name || known.name.compare(0, made.name.size() + 1, made.name + '#') == 0;
        });
        if (alike > 0) made.name += '#' + std::to_string(alike);
        made.instances = one.members;
        classes.push_back(std::move(made));
    }
    return classes;
}

bool hasFusedForm(const FuseResult& result) {
    return std::any_of(result.directions.begin(), result.directions.end(),
                       [](const Comparison& c) { return c.has_fused; });
}

MeasuredUse useOf(const Analysis& analysis, const FuseResult& result) {
    if (!hasFusedForm(result)) return MeasuredUse::NoFusedForm;
    if (!result.on_gpu) return MeasuredUse::Cpu;
    DeviceSpec ran;
    ran.name = result.device;
    // Of an assumed GPU nothing is known; the one that ran is the better guess.
    if (analysis.device.source != DeviceSource::Assumed && !sameDevice(ran, analysis.device))
        return MeasuredUse::OtherDevice;
    if (result.busy) return MeasuredUse::Busy;
    return doubtText(result).empty() ? MeasuredUse::Saving : MeasuredUse::Unsteady;
}

bool takesThePlaceOf(const Analysis& analysis, const FuseResult& earlier, const FuseResult& later) {
    const auto rank = [&](const FuseResult& result) {
        switch (useOf(analysis, result)) {
        case MeasuredUse::Saving: return 4;
        case MeasuredUse::Busy:
        case MeasuredUse::Unsteady: return 3;
        case MeasuredUse::OtherDevice: return 2;
        case MeasuredUse::Cpu: return 1;
        case MeasuredUse::NotInStep: // useOf() does not know
        case MeasuredUse::NoFusedForm: break;
        }
        return 0;
    };
    return rank(later) >= rank(earlier);
}

namespace {

// Of one instance as a runner launched it, unfused and fused, ns.
std::pair<double, double> launchedNs(const FuseResult& result) {
    std::pair<double, double> ns{0, 0};
    for (const Comparison& c : result.directions) {
        if (!c.has_fused) continue;
        ns.first += c.baseline.us.median * kNsPerUs;
        ns.second += c.fused.us.median * kNsPerUs;
    }
    return ns;
}

} // namespace

std::optional<StepTime> stepTimeOf(const Finding& finding, const Instance& instance) {
    if (finding.time_estimated) return std::nullopt;
    return StepTime{instance.forward_ns, instance.backward_ns, instance.idle_ns};
}

namespace {

// Of a direction, unfused and fused: those that the step knows.
std::pair<const Spread&, const Spread&> timesOf(const Comparison& c, const std::optional<StepTime>& in_step) {
    if (in_step && !(in_step->wait_ns > 0) && c.baseline.graph_us.median > 0 && c.fused.graph_us.median > 0)
        return {c.baseline.graph_us, c.fused.graph_us};
    return {c.baseline.us, c.fused.us};
}

} // namespace

SpeedVerdict measuredSpeed(const FuseResult& result, const std::optional<StepTime>& in_step) {
    if (!hasFusedForm(result)) return SpeedVerdict::Unknown;
    const bool clear = std::any_of(result.directions.begin(), result.directions.end(), [&](const Comparison& c) {
        const auto [before, after] = timesOf(c, in_step);
        return c.has_fused && speedOf(before, after) != SpeedVerdict::NotFaster;
    });
    const double saving = measuredSaving(result, in_step);
    if (!clear || saving == 0) return SpeedVerdict::NotFaster;
    return saving > 0 ? SpeedVerdict::Faster : SpeedVerdict::Slower;
}

double measuredSaving(const FuseResult& result, const std::optional<StepTime>& in_step) {
    double saving = 0;
    for (const Comparison& c : result.directions) {
        if (!c.has_fused) continue;
        const auto [unfused, fused] = timesOf(c, in_step);
        const double before = unfused.median * kNsPerUs, after = fused.median * kNsPerUs;
        if (!in_step || before <= after) {
            saving += before - after;
            continue;
        }
        const bool forward = c.direction != "backward";
        const double own = (forward ? in_step->forward_ns : in_step->backward_ns) +
                           (result.directions.size() == 1 || forward ? in_step->wait_ns : 0);
        saving += std::max(0.0, std::min(before, own) - after);
    }
    return in_step ? std::min(saving, in_step->total()) : saving;
}

MeasuredFinding applyMeasured(const Analysis& analysis, const Finding& finding, const MeasuredSet& set) {
    MeasuredFinding out;
    out.predicted_ns = finding.saving_ns.expected;
    out.instances = finding.instances.size();
    bool faster = false, slower = false;
    double gained_ns = 0, gaining_ns = 0; // by instances that save something, and their time: others stay as they are
    for (InstanceClass& of : instanceClasses(analysis, finding)) {
        MeasuredClass one;
        one.result = set.find(finding.id, of.name);
        if (one.result != nullptr) one.use = useOf(analysis, one.result->result);
        const bool counts = one.result != nullptr && one.use == MeasuredUse::Saving;
        for (const std::uint32_t i : of.instances) {
            const Instance& instance = finding.instances[i];
            if (!counts) {
                out.saving_ns += instance.saving_ns;
                const double own = instance.forward_ns + instance.backward_ns + instance.idle_ns;
                gained_ns += instance.saving_ns.expected;
                gaining_ns += own;
                out.now_ns += own;
                out.fused_ns += instance.predicted_ns;
                continue;
            }
            const std::optional<StepTime> in_step = stepTimeOf(finding, instance);
            const double saved = measuredSaving(one.result->result, in_step);
            const SpeedVerdict speed = measuredSpeed(one.result->result, in_step);
            faster = faster || speed == SpeedVerdict::Faster;
            slower = slower || speed == SpeedVerdict::Slower;
            ++out.measured;
            one.saving_ns += saved;
            out.saving_ns += {saved, saved, saved};
            const auto [now, fused] = launchedNs(one.result->result);
            if (saved > 0) {
                gained_ns += saved;
                gaining_ns += in_step ? in_step->total() : now;
            }
            out.now_ns += now;
            out.fused_ns += {fused, fused, fused};
        }
        out.measured_ns += one.saving_ns;
        one.of = std::move(of);
        out.classes.push_back(std::move(one));
    }
    if (!finding.time_estimated) { // the step knows what they take
        out.now_ns = finding.time_ns;
        out.fused_ns = {out.now_ns - out.saving_ns.high, out.now_ns - out.saving_ns.expected,
                        out.now_ns - out.saving_ns.low};
    }
    if (!out.any()) {
        out.saving_ns = finding.saving_ns;
        out.now_ns = finding.time_ns;
        out.fused_ns = finding.predicted_ns;
        out.verdict = finding.verdict;
        return out;
    }
    out.verdict = verdictOfSaving(finding, gained_ns, gaining_ns, analysis.plan.step_ns);
    out.speed = faster && out.measured_ns > 0   ? SpeedVerdict::Faster
                : slower && out.measured_ns < 0 ? SpeedVerdict::Slower
                                                : SpeedVerdict::NotFaster;
    return out;
}

MeasuredSavings savingsOf(const Analysis& analysis, const MeasuredSet& set, std::vector<Verdict>* verdicts) {
    MeasuredSavings savings(analysis.findings.size());
    for (std::size_t f = 0; f < analysis.findings.size(); ++f) {
        const Finding& finding = analysis.findings[f];
        if (verdicts != nullptr) verdicts->push_back(finding.verdict);
        if (!set.any(finding.id)) continue;
        const MeasuredFinding measured = applyMeasured(analysis, finding, set);
        if (verdicts != nullptr) verdicts->back() = measured.verdict;
        for (const MeasuredClass& one : measured.classes) {
            if (one.result == nullptr || one.use != MeasuredUse::Saving) continue;
            savings[f].resize(finding.instances.size());
            for (const std::uint32_t i : one.of.instances)
                savings[f][i] = measuredSaving(one.result->result, stepTimeOf(finding, finding.instances[i]));
        }
    }
    return savings;
}

MeasuredPlan applyMeasured(const Analysis& analysis, const MeasuredSet& set) {
    MeasuredPlan out;
    std::vector<Verdict> verdicts;
    const MeasuredSavings savings = savingsOf(analysis, set, &verdicts);
    const bool any = std::any_of(savings.begin(), savings.end(), [](const auto& list) { return !list.empty(); });
    out.plan = analysis.plan;
    if (any) {
        out.plan = makePlan(analysis.findings, analysis.plan.step_ns, savings, verdicts);
        predictStep(analysis, savings, out.plan);
    }
    out.marked = worthMarking(analysis.findings, verdicts, out.plan);
    out.parts = out.plan.parts.size();
    out.saving_ns = out.plan.saving_ns;
    out.predicted_step_ns = out.plan.predicted_step_ns;
    for (std::size_t f = 0; f < analysis.findings.size(); ++f) {
        const std::string& id = analysis.findings[f].id;
        const PlanPart *now = planPartOf(out.plan, id), *before = planPartOf(analysis.plan, id);
        const bool measured = !savings[f].empty();
        if (now != nullptr) {
            out.predicted_instances += static_cast<std::size_t>(
                std::count_if(now->instances.begin(), now->instances.end(),
                              [&](std::uint32_t i) { return !measured || !savings[f][i].has_value(); }));
            if (before == nullptr) out.come_in.push_back(id);
        } else if (before != nullptr && measured) {
            ++out.parts;
            out.left_out.push_back(id);
        }
        if (measured && (now != nullptr || before != nullptr)) ++out.measured;
    }
    return out;
}

std::string titlesOf(const Analysis& analysis, const std::vector<std::string>& ids) {
    std::string text;
    for (const std::string& id : ids) {
        const auto at = std::find_if(analysis.findings.begin(), analysis.findings.end(),
                                     [&](const Finding& finding) { return finding.id == id; });
        text += text.empty() ? "" : ", ";
        text += at == analysis.findings.end() ? id : catalogEntry(at->pattern).title;
    }
    return text;
}

} // namespace fusescope
