// SPDX-License-Identifier: Apache-2.0
#include "core/measured/measured.h"

#include "core/base/format.h"
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

double ownTime(const Instance& instance) { return instance.forward_ns + instance.backward_ns + instance.idle_ns; }

} // namespace

void MeasuredSet::set(MeasuredResult result) {
    Key key{result.finding, result.instance_class};
    results_.insert_or_assign(std::move(key), std::move(result));
}

const MeasuredResult* MeasuredSet::find(const std::string& finding, const std::string& instance_class) const {
    const auto at = results_.find({finding, instance_class});
    return at == results_.end() ? nullptr : &at->second;
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

MeasuredUse useOf(const Analysis& analysis, const MeasuredResult& result) {
    const FuseResult& r = result.result;
    if (std::none_of(r.directions.begin(), r.directions.end(), [](const Comparison& c) { return c.has_fused; }))
        return MeasuredUse::NoFusedForm;
    if (!r.on_gpu) return MeasuredUse::Cpu;
    DeviceSpec ran;
    ran.name = r.device;
    if (const Result<DeviceSpec> known = deviceByName(r.device)) ran = *known;
    // Of an assumed GPU nothing is known; the one that ran is the better guess.
    if (analysis.device.source != DeviceSource::Assumed && !sameDevice(ran, analysis.device))
        return MeasuredUse::OtherDevice;
    return r.busy ? MeasuredUse::Busy : MeasuredUse::Saving;
}

double measuredSaving(const FuseResult& result, const Instance& instance) {
    double saving = 0;
    for (const Comparison& c : result.directions) {
        if (!c.has_fused) continue;
        const bool graphs = !(instance.idle_ns > 0) && c.baseline.graph_us.median > 0 && c.fused.graph_us.median > 0;
        const double before = (graphs ? c.baseline.graph_us : c.baseline.us).median * kNsPerUs;
        const double after = (graphs ? c.fused.graph_us : c.fused.us).median * kNsPerUs;
        const bool forward = c.direction != "backward";
        // Waits are told of an instance as a whole.
        const double own = (forward ? instance.forward_ns : instance.backward_ns) +
                           (result.directions.size() == 1 || forward ? instance.idle_ns : 0);
        if (before > after)
            saving += std::max(0.0, std::min(before, own) - after);
        else
            saving += before - after;
    }
    return std::min(saving, ownTime(instance));
}

namespace {

// Of the chosen instances (null: all), for which `predicted` was promised. slower: whether instances that lose count
// with what they lose.
MeasuredFinding apply(const Analysis& analysis, const Finding& finding, const MeasuredSet& set, const Range& predicted,
                      const std::vector<std::uint32_t>* chosen, bool slower) {
    MeasuredFinding out;
    out.predicted_ns = predicted.expected;
    for (InstanceClass& of : instanceClasses(analysis, finding)) {
        MeasuredClass one;
        one.result = set.find(finding.id, of.name);
        if (one.result != nullptr) one.use = useOf(analysis, *one.result);
        const bool counts = one.result != nullptr && one.use == MeasuredUse::Saving;
        for (const std::uint32_t i : of.instances) {
            if (chosen != nullptr && !std::binary_search(chosen->begin(), chosen->end(), i)) continue;
            const Instance& instance = finding.instances[i];
            ++out.instances;
            if (!counts) {
                out.saving_ns.low += instance.saving_ns.low;
                out.saving_ns.expected += instance.saving_ns.expected;
                out.saving_ns.high += instance.saving_ns.high;
                continue;
            }
            double saved = measuredSaving(one.result->result, instance);
            if (!slower) saved = std::max(0.0, saved);
            ++out.measured;
            one.saving_ns += saved;
            out.saving_ns.low += saved;
            out.saving_ns.expected += saved;
            out.saving_ns.high += saved;
        }
        out.measured_ns += one.saving_ns;
        one.of = std::move(of);
        out.classes.push_back(std::move(one));
    }
    if (!out.any()) out.saving_ns = predicted;
    return out;
}

} // namespace

MeasuredFinding applyMeasured(const Analysis& analysis, const Finding& finding, const MeasuredSet& set) {
    return apply(analysis, finding, set, finding.saving_ns, nullptr, true);
}

MeasuredPlan applyMeasured(const Analysis& analysis, const MeasuredSet& set) {
    MeasuredPlan out;
    const Plan& plan = analysis.plan;
    for (const PlanPart& part : plan.parts) {
        const auto at = std::find_if(analysis.findings.begin(), analysis.findings.end(),
                                     [&](const Finding& finding) { return finding.id == part.finding; });
        if (at == analysis.findings.end()) continue;
        ++out.parts;
        std::vector<std::uint32_t> chosen = part.instances;
        std::sort(chosen.begin(), chosen.end());
        const MeasuredFinding finding = apply(analysis, *at, set, part.saving_ns, &chosen, false);
        if (finding.any()) ++out.measured;
        out.saving_ns.low += finding.saving_ns.low;
        out.saving_ns.expected += finding.saving_ns.expected;
        out.saving_ns.high += finding.saving_ns.high;
    }
    out.predicted_step_ns = {std::max(0.0, plan.step_ns - out.saving_ns.high),
                             std::max(0.0, plan.step_ns - out.saving_ns.expected),
                             std::max(0.0, plan.step_ns - out.saving_ns.low)};
    return out;
}

} // namespace fusescope
