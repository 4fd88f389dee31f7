// SPDX-License-Identifier: Apache-2.0
// Results as a runner on the trace's GPU would give them, for pictures and views.
#pragma once

#include "core/measured/measured.h"

namespace fusescope::testing {

// Every instance of a finding: as long as in the step unfused, a share of that fused.
inline MeasuredSet measuredAs(const Analysis& analysis, std::size_t finding, double share) {
    MeasuredSet set;
    const Finding& f = analysis.findings[finding];
    for (const InstanceClass& one : instanceClasses(analysis, f)) {
        const Instance& instance = f.instances[one.instances.front()];
        MeasuredResult m;
        m.finding = f.id;
        m.instance_class = one.name;
        m.result.device = analysis.device.name;
        m.result.on_gpu = true;
        const auto direction = [&](const char* name, double ns) {
            if (!(ns > 0)) return;
            Comparison c;
            c.direction = name;
            c.has_fused = true;
            const double us = ns / 1000;
            c.baseline.us = {us, us * 0.99, us * 1.01};
            c.fused.us = {us * share, us * share * 0.99, us * share * 1.01};
            c.baseline.relative_error = 3e-3;
            c.fused.relative_error = 2e-3;
            m.result.directions.push_back(c);
        };
        direction("forward", instance.forward_ns);
        direction("backward", instance.backward_ns);
        set.set(std::move(m));
    }
    return set;
}

} // namespace fusescope::testing
