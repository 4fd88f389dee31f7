// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/fuse/fuse_prepare.h"

#include "core/region/build.h"
#include "ui/base/paint.h"

#include <QCoreApplication>

#include <algorithm>
#include <new>
#include <utility>

namespace fusescope {
namespace {

QString tr(const char* words) { return QCoreApplication::translate("fusescope::FuseQueue", words); }

double timeOf(const Finding& finding, const InstanceClass& one) {
    double time = 0;
    for (const std::uint32_t i : one.instances) {
        const Instance& instance = finding.instances[i];
        time += instance.forward_ns + instance.backward_ns + instance.idle_ns;
    }
    return time;
}

// All of a result but what the runner says.
MeasuredResult headOf(const std::string& id, const std::string& instance_class, const std::string& shape,
                      const Region& region) {
    MeasuredResult head;
    head.finding = id;
    head.instance_class = instance_class;
    head.shape = shape;
    head.note = region.reason;
    head.fused_bytes = region.fused_bytes;
    head.fused_backward_bytes = region.fused_backward_bytes;
    head.fused_flops = region.fused_flops;
    head.fused_backward_flops = region.fused_backward_flops;
    return head;
}

} // namespace

std::vector<PreparedWork> prepareFindings(const Analysis& analysis) {
    std::vector<PreparedWork> all;
    try {
        for (const Finding& finding : analysis.findings) {
            PreparedWork& one = all.emplace_back();
            if (finding.verdict == Verdict::AlreadyFused) {
                one.reason = tr("It is fused already.");
                continue;
            }
            std::vector<InstanceClass> classes = instanceClasses(analysis, finding);
            std::stable_sort(classes.begin(), classes.end(),
                             [&](const auto& a, const auto& b) { return timeOf(finding, a) > timeOf(finding, b); });
            for (const InstanceClass& c : classes) {
                const std::uint32_t first = c.instances.front();
                Result<Region> region = regionOfInstance(analysis, finding, first);
                QString reason =
                    !region ? text(region.error().message())
                    : region->fused.steps.empty()
                        ? (region->reason.empty() ? tr("There is no fused form of it.") : text(region->reason))
                        : QString();
                if (!reason.isEmpty()) {
                    if (one.reason.isEmpty()) one.reason = std::move(reason);
                    continue;
                }
                PreparedShape shape;
                shape.head = headOf(finding.id, c.name, finding.instances[first].shape, *region);
                shape.region = std::move(*region);
                one.shapes.push_back(std::move(shape));
            }
            if (!one.shapes.empty()) one.reason.clear();
            if (one.shapes.empty() && one.reason.isEmpty()) one.reason = tr("It has no occurrence to measure.");
        }
    } catch (const std::bad_alloc&) {
        all.resize(analysis.findings.size());
        for (PreparedWork& one : all)
            if (one.shapes.empty()) one.reason = tr("There is too little memory to make its region.");
    }
    return all;
}

PreparedWork prepareRegion(const Analysis& analysis, const ChosenRegion& chosen, Region region) {
    PreparedWork made;
    const std::vector<InstanceClass> classes = instanceClasses(analysis, chosen.work);
    if (classes.empty()) {
        made.reason = tr("It has no occurrence to measure.");
        return made;
    }
    MeasuredResult head = headOf(chosen.id, classes.front().name, {}, region);
    made.shapes.push_back({std::move(region), std::move(head)});
    return made;
}

} // namespace fusescope
