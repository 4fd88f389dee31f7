// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/fuse/fuse_words.h"

#include "core/analysis/step_text.h"
#include "core/base/format.h"
#include "core/ipc/fuse_verdict.h"
#include "ui/base/paint.h"
#include "ui/models/finding_model.h"

#include <QCoreApplication>
#include <QDateTime>

#include <algorithm>
#include <cmath>
#include <vector>

namespace fusescope {
namespace {

constexpr double kNsPerUs = 1000;

QString tr(const char* words) { return QCoreApplication::translate("fusescope::Fuse", words); }
QString time(double us) { return text(formatDuration(us * kNsPerUs)); }
QString times(double factor) { return text(formatSignificant(factor)) + QStringLiteral("×"); }

QString directionName(const Comparison& c) {
    if (c.direction == "forward") return tr("Forward");
    if (c.direction == "backward") return tr("Backward");
    return text(c.direction);
}

QString speedWords(const FuseVerdict& v) {
    switch (v.speed) {
    case SpeedVerdict::Faster: return tr("%1 faster").arg(times(v.speedup.factor));
    case SpeedVerdict::Slower: return tr("%1 slower").arg(times(1 / v.speedup.factor));
    case SpeedVerdict::NotFaster: return tr("no clear difference");
    case SpeedVerdict::Unsteady: return tr("not certain") + doubtWords(v.speedup);
    case SpeedVerdict::Unknown: break;
    }
    return tr("not told");
}

QString memoryWords(const Comparison& c, const FuseVerdict& v) {
    const QString before = text(formatBytes(c.baseline.peak_bytes)), after = text(formatBytes(c.fused.peak_bytes));
    switch (v.memory) {
    case MemoryVerdict::Less: return tr("less: %1 → %2").arg(before, after);
    case MemoryVerdict::More: return tr("more: %1 → %2").arg(before, after);
    case MemoryVerdict::Same: return tr("as much as now: %1").arg(after);
    case MemoryVerdict::Unknown: break;
    }
    return tr("not told");
}

QString numbersWords(const Comparison& c, const FuseVerdict& v, const FuseResult& result) {
    const auto error = [](double e) { return QString::number(e, 'e', 1); };
    const QString before = error(c.baseline.relative_error), after = error(c.fused.relative_error);
    switch (v.numerics) {
    case NumericsVerdict::Bitwise: return tr("the same bits as now");
    case NumericsVerdict::AsExact: return tr("as exact as now: error against fp64 %1 → %2").arg(before, after);
    case NumericsVerdict::LessExact: return tr("less exact: error against fp64 %1 → %2").arg(before, after);
    case NumericsVerdict::Unknown: break;
    }
    return result.fp64_note.empty()
               ? tr("not told")
               : tr("differs from now by %1 (%2)").arg(error(c.fused.relative_to_baseline), text(result.fp64_note));
}

struct Row {
    QString what, now, fused;
};

std::vector<Row> figures(const MeasuredResult& m, const Comparison& c) {
    std::vector<Row> rows;
    const auto spread = [](const Spread& s) {
        return s.known() ? durationRange(s.p10 * kNsPerUs, s.p90 * kNsPerUs) : tr("not known");
    };
    rows.push_back({directionName(c), time(c.baseline.us.median), c.has_fused ? time(c.fused.us.median) : tr("none")});
    if (c.baseline.us.known() || c.fused.us.known())
        rows.push_back({tr("8 of 10 runs"), spread(c.baseline.us), c.has_fused ? spread(c.fused.us) : QString()});
    else if (c.baseline.us.rounds > 0) // too few for a spread
        rows.push_back({tr("timed runs"), QString::number(c.baseline.us.rounds),
                        c.has_fused ? QString::number(c.fused.us.rounds) : QString()});
    if (!c.has_fused) return rows;
    if (c.baseline.graph_us.median > 0 || c.fused.graph_us.median > 0) {
        const auto graph = [](const Spread& s) { return s.median > 0 ? time(s.median) : tr("not captured"); };
        rows.push_back({tr("CUDA graph"), graph(c.baseline.graph_us), graph(c.fused.graph_us)});
    }
    if (c.baseline.launches > 0 || c.fused.launches > 0)
        rows.push_back({tr("kernels"), text(formatMean(c.baseline.launches)), text(formatMean(c.fused.launches))});
    const double bytes = c.direction == "backward" ? m.fused_backward_bytes : m.fused_bytes;
    if (bytes > 0 && c.fused.us.median > 0) {
        const double reached = bytes / (c.fused.us.median * 1e-6);
        QString rate = text(formatBandwidth(reached));
        if (m.result.copy_Bps > 0)
            rate += QLatin1Char(' ') + tr("(%1 of a copy's)").arg(text(formatPercent(reached / m.result.copy_Bps)));
        rows.push_back({tr("moves"), QString(), rate});
    }
    return rows;
}

// Results in the order of the time that they speak for: the finding's own order of shapes is by instance.
std::vector<const MeasuredClass*> measuredClasses(const MeasuredFinding& finding) {
    std::vector<const MeasuredClass*> out;
    for (const MeasuredClass& c : finding.classes)
        if (c.result != nullptr) out.push_back(&c);
    std::stable_sort(out.begin(), out.end(), [](const MeasuredClass* a, const MeasuredClass* b) {
        return a->of.instances.size() > b->of.instances.size();
    });
    return out;
}

QString whenText(const MeasuredResult& m) {
    QStringList parts{text(m.result.device)};
    if (!m.versions.empty()) parts << text(m.versions);
    if (m.when_s > 0) parts << QDateTime::fromSecsSinceEpoch(m.when_s).toString(QStringLiteral("yyyy-MM-dd HH:mm"));
    return parts.join(QStringLiteral(" · "));
}

QString caveat(const MeasuredClass& c) {
    const FuseResult& r = c.result->result;
    switch (c.use) {
    case MeasuredUse::Saving: return {};
    case MeasuredUse::NoFusedForm: return tr("Nothing was compared: there is no fused form of it.");
    case MeasuredUse::Cpu:
        return tr("Ran on the CPU: it shows that the fused form computes the same, not what the GPU saves. The "
                  "prediction stays.");
    case MeasuredUse::OtherDevice:
        return tr("Ran on %1, which is not the GPU that the findings speak of. The prediction stays.")
            .arg(text(r.device));
    case MeasuredUse::NotInStep: return tr("Not seen in the step at these sizes: nothing of it counts there.");
    case MeasuredUse::Unsteady:
        return tr("The runs are too few or differ too much to tell a speedup. The prediction stays; measure again, in "
                  "at least %1 rounds.")
            .arg(kFewestFuseRounds);
    case MeasuredUse::Busy:
        return tr("The GPU was busy (%1): these times cannot be trusted, and the prediction stays. Measure again when "
                  "it "
                  "is free.")
            .arg(text(r.busy_note.empty() ? std::string("another job") : r.busy_note));
    }
    return {};
}

} // namespace

QString doubtWords(const Speedup& s) {
    if (!(s.factor > 0) || s.steady()) return {};
    const QString words = s.low > 0       ? tr("%1 to %2").arg(times(s.low), times(s.high))
                          : s.rounds == 1 ? tr("1 round")
                          : s.rounds > 0  ? tr("%1 rounds").arg(s.rounds)
                                          : tr("rounds not told");
    return QStringLiteral(" (%1)").arg(words);
}

QString jobText(const FuseJob& job) {
    switch (job.state) {
    case FuseJob::State::Idle: return {};
    case FuseJob::State::Waiting: return tr("waiting for its turn");
    case FuseJob::State::Cancelling: return tr("cancelling");
    case FuseJob::State::Failed: return errorWords(job.error).short_text;
    case FuseJob::State::Running: break;
    }
    const QString stage = job.stage.isEmpty() ? tr("measuring") : job.stage;
    return job.of > 1 ? tr("%1, shape %2 of %3").arg(stage).arg(job.done + 1).arg(job.of) : stage;
}

FuseWords errorWords(const RunnerError& error) {
    const QString message = text(error.message);
    const auto words = [&](const QString& brief, const QString& help) {
        QString all = brief + QLatin1Char('.');
        if (!message.isEmpty()) all += QLatin1Char(' ') + message;
        if (!help.isEmpty()) all += QLatin1Char(' ') + help;
        return FuseWords{brief, all};
    };
    const std::string& code = error.code;
    if (code == runner_error::kNone)
        return words(
            tr("No runner could be started"),
            tr("fusescope-runner measures regions with PyTorch; it is built where CUDA is (./dev kernels). Name "
               "one in Fuse > Runner: a path, or a command such as ssh gpu-box fusescope-runner."));
    if (code == runner_error::kVersion)
        return words(tr("The runner is of another version"),
                     tr("Install the runner that belongs to this program, or name another one in Fuse > Runner."));
    if (code == runner_error::kCrashed) return words(tr("The runner ended"), tr("The next region starts another one."));
    if (code == runner_error::kHung)
        return words(tr("The runner did not answer in time"), tr("It was ended; the next region starts another one."));
    if (code == runner_error::kFlood || code == runner_error::kGarbled)
        return words(tr("The runner's answer could not be understood"),
                     tr("It was ended; the next region starts another one."));
    if (code == "out_of_memory")
        return words(tr("The GPU ran out of memory"),
                     tr("End other jobs on it, or measure on a GPU with more memory."));
    if (code == "time_limit")
        return words(tr("It took too long"),
                     tr("A longer time limit or fewer rounds, in Fuse > Runner, may be enough for it."));
    if (code == "unsupported") return words(tr("The runner cannot do this region"), QString());
    if (code == "cuda") return words(tr("A kernel failed on the GPU"), tr("The next region starts a new runner."));
    return words(tr("The runner could not measure it"), QString());
}

QString measuredSavingText(const MeasuredFinding& f) {
    if (!f.any()) return {};
    const double saved = f.saving_ns.expected;
    if (saved < 0) return tr("slower: +%1/step").arg(text(formatDuration(-saved)));
    const QString now = saved > 0 ? tr("−%1/step").arg(text(formatDuration(saved))) : tr("no saving");
    if (!(f.predicted_ns > 0)) return now;
    return tr("−%1 → %2").arg(text(formatDuration(f.predicted_ns)), now);
}

QString measuredLine(const MeasuredFinding& f) {
    const std::vector<const MeasuredClass*> classes = measuredClasses(f);
    if (classes.empty()) return {};
    const FuseResult& r = classes.front()->result->result;
    QStringList parts;
    for (const Comparison& c : r.directions) {
        if (!c.has_fused) continue;
        const Speedup speedup = speedupOf(c.baseline.us, c.fused.us);
        parts << (c.direction == "backward" ? tr("backward %1") : tr("forward %1"))
                     .arg(times(speedup.factor) + doubtWords(speedup));
    }
    // A form without a backward says so in its note (core/region/build.cpp).
    if (parts.size() == 1 && classes.front()->result->note.find("the forward alone") != std::string::npos)
        parts.back() += tr(" alone");
    const QString device = r.on_gpu ? text(r.device) : tr("CPU");
    QString line = parts.isEmpty() ? device : tr("%1: %2").arg(device, parts.join(QStringLiteral(", ")));
    if (classes.size() < f.classes.size()) line += tr(" · %1 of %2 shapes").arg(classes.size()).arg(f.classes.size());
    return line;
}

QString measuredShortCaveat(const MeasuredFinding& f) {
    for (const MeasuredClass* c : measuredClasses(f)) switch (c->use) {
        case MeasuredUse::Saving: break;
        case MeasuredUse::NoFusedForm: return tr("nothing was compared");
        case MeasuredUse::Cpu: return tr("CPU run: the prediction stays");
        case MeasuredUse::OtherDevice: return tr("another GPU: the prediction stays");
        case MeasuredUse::Busy: return tr("the GPU was busy: measure again");
        case MeasuredUse::Unsteady: return tr("unsteady runs: measure again");
        case MeasuredUse::NotInStep: return tr("not seen in the step");
        }
    return {};
}

QString measuredCaveat(const MeasuredFinding& f) {
    for (const MeasuredClass* c : measuredClasses(f))
        if (const QString words = caveat(*c); !words.isEmpty()) return words;
    return {};
}

QString measuredHtml(const MeasuredFinding& f, Theme theme) {
    const std::vector<const MeasuredClass*> classes = measuredClasses(f);
    if (classes.empty()) return {};
    const QString muted = qColor(ColourRole::TextMuted, theme).name(),
                  warning = qColor(ColourRole::Warning, theme).name();
    const auto para = [](const QString& html) {
        return QStringLiteral("<p style='margin-top:2px;margin-bottom:2px'>%1</p>").arg(html);
    };
    QString out = QStringLiteral("<p style='margin-top:12px;margin-bottom:2px;color:%1'><b>%2</b></p>")
                      .arg(muted, tr("Measured").toHtmlEscaped());
    if (f.any()) {
        QString sum =
            tr("Saves %1 per step; predicted: %2.")
                .arg(text(formatDuration(std::max(0.0, f.saving_ns.expected))), text(formatDuration(f.predicted_ns)));
        if (!(f.predicted_ns > 0))
            sum = tr("Saves %1 per step.").arg(text(formatDuration(std::max(0.0, f.saving_ns.expected))));
        if (f.saving_ns.expected < 0)
            sum = tr("Fused it is slower, by %1 per step.").arg(text(formatDuration(-f.saving_ns.expected)));
        if (f.speed == SpeedVerdict::NotFaster)
            sum += QLatin1Char(' ') + tr("That is within the spread of the runs: no clear gain.");
        if (!f.whole())
            sum +=
                QLatin1Char(' ') + tr("Of %1 occurrences %2 are measured, in %3 of %4 shapes; the rest is predicted.")
                                       .arg(f.instances)
                                       .arg(f.measured)
                                       .arg(classes.size())
                                       .arg(f.classes.size());
        out += para(QStringLiteral("<b>%1</b>").arg(sum.toHtmlEscaped()));
    }
    for (const MeasuredClass* c : classes) {
        const MeasuredResult& m = *c->result;
        QString head = whenText(m).toHtmlEscaped();
        if (classes.size() > 1 || f.classes.size() > 1)
            head = tr("%1 (%2×)").arg(text(m.shape).toHtmlEscaped()).arg(c->of.instances.size()) +
                   QStringLiteral(" · ") + head;
        out += para(QStringLiteral("<span style='color:%1'>%2</span>").arg(muted, head));
        if (const QString words = caveat(*c); !words.isEmpty())
            out += para(QStringLiteral("<span style='color:%1'>%2</span>").arg(warning, words.toHtmlEscaped()));
        out += QStringLiteral("<table style='margin-top:4px' cellpadding='0' cellspacing='0'><tr><td></td><td "
                              "align='right' style='padding-right:16px;color:%1'>%2</td><td align='right' "
                              "style='color:%1'>%3</td></tr>")
                   .arg(muted, tr("now"), tr("fused"));
        for (const Comparison& direction : m.result.directions)
            for (const Row& row : figures(m, direction))
                out += QStringLiteral("<tr><td style='color:%1;padding-right:16px'>%2</td><td align='right' "
                                      "style='padding-right:16px'>%3</td><td align='right'>%4</td></tr>")
                           .arg(muted, row.what.toHtmlEscaped(), row.now.toHtmlEscaped(), row.fused.toHtmlEscaped());
        out += QStringLiteral("</table>");
        for (const Comparison& direction : m.result.directions) {
            if (!direction.has_fused) continue;
            const FuseVerdict v = judge(direction, m.result.fp64_note.empty());
            out += para(tr("<b>%1.</b> Speed: %2. Memory: %3. Numbers: %4.")
                            .arg(directionName(direction).toHtmlEscaped(), speedWords(v).toHtmlEscaped(),
                                 memoryWords(direction, v).toHtmlEscaped(),
                                 numbersWords(direction, v, m.result).toHtmlEscaped()));
        }
        if (!m.note.empty()) out += para(text(m.note).toHtmlEscaped());
    }
    return out;
}

QStringList measuredMarkdown(const MeasuredFinding& f) {
    QStringList lines;
    const QString sum = measuredSavingText(f);
    if (!sum.isEmpty()) lines << sum + (f.speed == SpeedVerdict::NotFaster ? tr(", no clear gain") : QString());
    for (const MeasuredClass* c : measuredClasses(f)) {
        const MeasuredResult& m = *c->result;
        lines << whenText(m) + (m.shape.empty() ? QString() : QStringLiteral(" · ") + text(m.shape));
        for (const Comparison& direction : m.result.directions) {
            if (!direction.has_fused) continue;
            const FuseVerdict v = judge(direction, m.result.fp64_note.empty());
            lines << tr("%1: %2 → %3; speed %4; memory %5; numbers %6")
                         .arg(directionName(direction), time(direction.baseline.us.median),
                              time(direction.fused.us.median), speedWords(v), memoryWords(direction, v),
                              numbersWords(direction, v, m.result));
        }
        if (const QString words = caveat(*c); !words.isEmpty()) lines << words;
    }
    return lines;
}

QString spanName(const Analysis& analysis) { return spanWord(analysis) == "trace" ? tr("trace") : tr("step"); }

QString measuredPlanText(const Analysis& analysis, const MeasuredPlan& plan) {
    if (!plan.any() || !(analysis.plan.step_ns > 0)) return {};
    const QString beside = plan.regions == 0   ? QString()
                           : plan.regions == 1 ? tr(" and 1 region of yours")
                                               : tr(" and %1 regions of yours").arg(plan.regions);
    if (nothingSeen(plan.plan) && plan.regions == 0)
        return tr("measured in %1 of %2 findings, none of them seen in the step").arg(plan.measured).arg(plan.parts);
    const QString now = spanName(analysis) + QLatin1Char(' ') + text(formatDuration(analysis.plan.step_ns)),
                  then = text(formatDuration(plan.predicted_step_ns.expected));
    if (plan.measured == plan.parts && plan.predicted_instances == 0)
        return tr("%1 → %2, measured").arg(now, then) + beside;
    if (plan.measured == plan.parts) // but not all of their instances
        return tr("%1 → %2, measured in part").arg(now, then) + beside;
    return tr("%1 → %2, measured in %3 of %4 findings")
               .arg(now, then, QString::number(plan.measured), QString::number(plan.parts)) +
           beside;
}

QString stillPredictedText(const MeasuredPlan& plan) {
    if (!plan.any() || plan.predicted_instances == 0) return {};
    std::size_t all = 0;
    for (const PlanPart& part : plan.plan.parts) all += part.instances.size();
    return tr("In it, %1 of the plan's %2 instances are predicted still. The timeline moves only by what is measured "
              "so "
              "far.")
        .arg(plan.predicted_instances)
        .arg(all);
}

QString planChangeText(const Analysis& analysis, const MeasuredPlan& plan) {
    const auto names = [&](const std::vector<std::string>& ids) { return text(titlesOf(analysis, ids)); };
    QStringList parts;
    if (!plan.left_out.empty())
        parts << tr("Left out of the plan, as measured it saves nothing there: %1.").arg(names(plan.left_out));
    if (!plan.come_in.empty())
        parts << tr("Newly in the plan, chosen from what was measured: %1.").arg(names(plan.come_in));
    return parts.join(QLatin1Char(' '));
}

} // namespace fusescope
