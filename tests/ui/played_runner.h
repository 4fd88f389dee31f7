// SPDX-License-Identifier: GPL-3.0-or-later
// A runner that the test plays itself.
#pragma once

#include "ui/fuse/fuse_runner.h"

#include <vector>

namespace fusescope {

// Collects what is asked; the test answers.
class PlayedRunner : public FuseRunner {
public:
    qint64 measure(const Region& region) override {
        asked.push_back(region);
        return ++last;
    }
    void cancel(qint64 id) override { cancelled.push_back(id); }
    bool available() const override { return there; }
    QString commandText() const override { return QStringLiteral("played"); }
    const RunnerHello* hello() const override { return nullptr; }

    void setThere(bool now) {
        there = now;
        Q_EMIT changed();
    }
    // fused: whether the region has a form to be compared.
    void answer(double before_us, double after_us, bool gpu = true, bool fused = true) {
        FuseResult r;
        r.region = asked.back().id;
        r.device = gpu ? "NVIDIA H200" : "CPU (reference kernels)";
        r.on_gpu = gpu;
        Comparison c;
        c.direction = "forward";
        c.has_fused = fused;
        c.baseline.us = {before_us, before_us, before_us, 20};
        c.fused.us = {after_us, after_us, after_us, 20};
        r.directions.push_back(c);
        Q_EMIT measured(last, r);
    }
    void fail(const char* code) {
        RunnerError error;
        error.code = code;
        error.message = "why it failed";
        Q_EMIT failed(last, error);
    }
    std::vector<Region> asked;
    std::vector<qint64> cancelled;
    qint64 last = 0;
    bool there = true;
};

} // namespace fusescope
