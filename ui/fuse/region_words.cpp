// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/fuse/region_words.h"

#include "core/base/format.h"
#include "ui/base/paint.h"
#include "ui/fuse/fuse_words.h"
#include "ui/models/finding_model.h"

#include <QCoreApplication>
#include <QStringList>

#include <algorithm>
#include <cmath>

namespace fusescope {
namespace {

constexpr double kNsPerUs = 1000;

QString tr(const char* words, int n = -1) { return QCoreApplication::translate("fusescope::Fuse", words, nullptr, n); }

QString kernelCount(std::size_t n) { return n == 1 ? tr("1 kernel") : tr("%1 kernels").arg(n); }

const FuseResult* resultOf(const MeasuredFinding& measured) {
    for (const MeasuredClass& one : measured.classes)
        if (one.result != nullptr) return &one.result->result;
    return nullptr;
}

SelectedWork kernelsIn(const Analysis& analysis, std::int64_t begin, std::int64_t end) {
    SelectedWork out;
    const TraceStore& trace = *analysis.trace;
    for (std::size_t k = 0; k < trace.kernels.size(); ++k) {
        const SliceId slice = trace.kernels.slice[k];
        if (trace.slices.ts[slice.index()] >= begin && trace.endOf(slice) <= end) out.wish.kernels.emplace_back(k);
    }
    out.name = tr("%1 in the marked range").arg(kernelCount(out.wish.kernels.size()));
    return out;
}

// "Layer 0" says too little in the list of a model with two stacks.
QString placeOf(const ChosenRegion& region) {
    return region.module.empty() ? tr("the whole model") : text(region.module);
}

} // namespace

SelectedWork workOfPick(const Analysis& analysis, const SelectionSets& sets) {
    SelectedWork out;
    switch (sets.pick.kind) {
    case PickKind::None:
    case PickKind::Finding:
    case PickKind::Instance:
    case PickKind::Region: return out;
    case PickKind::Node:
    case PickKind::Nodes:
        out.wish.nodes = sets.nodes;
        if (sets.nodes.size() == 1 && analysis.graph)
            out.name = text(analysis.graph->ops.name(sets.nodes.front()));
        else
            out.name = tr("%1 nodes").arg(sets.nodes.size());
        return out;
    case PickKind::Module:
        out.wish.module = ModuleId(sets.pick.id);
        out.name = text(analysis.link.modules.at(out.wish.module).path);
        if (out.name.isEmpty()) out.name = tr("the whole model");
        return out;
    case PickKind::Kernel:
    case PickKind::Op:
    case PickKind::Slice:
        out.wish.kernels = sets.kernels;
        if (sets.slice.valid() && analysis.trace) {
            out.name = text(analysis.trace->nameOf(sets.slice));
            constexpr int kShort = 40;
            if (out.name.size() > kShort) out.name = out.name.left(kShort) + QStringLiteral("…");
        } else {
            out.name = kernelCount(sets.kernels.size());
        }
        return out;
    }
    return out;
}

SelectedWork selectedWork(const Session& session) {
    const AnalysisPtr& analysis = session.analysis();
    if (!analysis) return {};
    const auto [begin, end] = session.markedRange();
    if (end > begin && analysis->trace) return kernelsIn(*analysis, begin, end);
    return workOfPick(*analysis, session.selection());
}

namespace {

// Whether fusions of the plan are within the module: it is measured with them.
bool holdsThePlan(const Analysis& analysis, ModuleId module) {
    // A finding that is all of a module (a norm) is itself what is fused.
    const bool more = !analysis.link.modules.at(module).children.empty();
    return std::any_of(analysis.plan.parts.begin(), analysis.plan.parts.end(), [&](const PlanPart& part) {
        const auto at = std::find_if(analysis.findings.begin(), analysis.findings.end(),
                                     [&](const Finding& finding) { return finding.id == part.finding; });
        return at != analysis.findings.end() &&
               std::any_of(part.instances.begin(), part.instances.end(), [&](std::uint32_t i) {
                   const ModuleId own = at->instances[i].module;
                   return own.valid() && (more || own != module) && analysis.link.modules.contains(module, own);
               });
    });
}

} // namespace

QString fuseThisText(const Analysis& analysis, const SelectedWork& work) {
    const ModuleId module = work.wish.module;
    return module.valid() && holdsThePlan(analysis, module) ? tr("Measure with the plan's fusions: %1").arg(work.name)
                                                            : tr("Fuse this: %1").arg(work.name);
}

QString fuseThisShort(const Analysis& analysis, const SelectedWork& work) {
    const ModuleId module = work.wish.module;
    if (!module.valid()) return tr("Fuse %1").arg(work.name);
    QString name = work.name.section(QLatin1Char('.'), -1);
    if (!name.isEmpty() && name[0].isDigit()) name = work.name.section(QLatin1Char('.'), -2); // "layers.0"
    return holdsThePlan(analysis, module) ? tr("Measure %1").arg(name) : tr("Fuse %1").arg(name);
}

QString regionBadge(const ChosenRegion& region) {
    if (region.swapsIn()) return region.has_form ? tr("with the plan") : tr("as it is");
    return region.has_form ? tr("one kernel") : tr("no fused kernel");
}

QString regionSavingText(const ChosenRegion& region) {
    const double saved = region.work.saving_ns.expected;
    if (!region.other_sizes.empty()) return tr("the step runs it at other sizes");
    if (region.lacksTimes()) return tr("not seen in the step");
    if (region.swapsIn()) return savingText(region.work);
    if (!(region.limit_ns > 0)) return tr("limit not known");
    if (!(saved > 0)) return tr("at its limit already");
    return tr("at most −%1/step").arg(text(formatDuration(saved)));
}

QString regionCountText(const ChosenRegion& region) {
    const Finding& work = region.work;
    const auto kernels = static_cast<std::size_t>(std::lround(work.kernels_now));
    QString times = tr("%1×").arg(work.instances.size());
    if (work.time_estimated || region.lacksTimes()) return times;
    if (region.swapsIn() || !region.has_form) return tr("%1 · %2 each").arg(times, kernelCount(kernels));
    // Of the backward a measurement tells: gradients of what was broadcast take sums of their own.
    std::size_t forward = 0;
    for (const Instance& instance : work.instances) forward += instance.forward.size();
    return tr("%1 · forward %2→1 kernels")
        .arg(times)
        .arg((forward + work.instances.size() / 2) / std::max<std::size_t>(work.instances.size(), 1));
}

QString regionLine(const ChosenRegion& region, const MeasuredFinding& measured) {
    const FuseResult* result = resultOf(measured);
    if (result == nullptr) return {};
    QStringList parts;
    bool backward = false, fused = false;
    for (const Comparison& c : result->directions) {
        const QString now = text(formatDuration(c.baseline.us.median * kNsPerUs)),
                      then = text(formatDuration(c.fused.us.median * kNsPerUs));
        const bool back = c.direction == "backward";
        backward = backward || back;
        fused = fused || c.has_fused;
        if (c.has_fused)
            parts << (back ? tr("backward %1 → %2") : tr("forward %1 → %2")).arg(now, then) +
                         doubtWords(speedupOf(c.baseline.us, c.fused.us));
        else
            parts << (back ? tr("backward %1") : tr("forward %1")).arg(now);
    }
    QString line = parts.join(QLatin1String(", "));
    if (!result->on_gpu) line = tr("CPU: %1").arg(line);
    if (!fused && region.limit_ns > 0)
        line += tr(", limit %1").arg(text(formatDuration(region.limit_ns)));
    else if (fused && !backward && !region.work.instances.empty() && region.work.instances.front().backward_ns > 0)
        line += tr(" · forward only");
    return line;
}

QString regionHtml(const Analysis& analysis, const ChosenRegion& region, const MeasuredFinding* measured,
                   const RegionGain& gain, Theme theme) {
    const QString muted = qColor(ColourRole::TextMuted, theme).name();
    const Finding& work = region.work;
    QString out;
    const auto para = [&](const QString& words) {
        out += QStringLiteral("<p style='margin-top:2px;margin-bottom:2px'>%1</p>").arg(words.toHtmlEscaped());
    };
    const auto head = [&](const QString& words) {
        out += QStringLiteral("<p style='margin-top:12px;margin-bottom:2px;color:%1'><b>%2</b></p>")
                   .arg(muted, words.toHtmlEscaped());
    };
    out += QStringLiteral("<p style='margin-top:0;margin-bottom:4px'><span style='font-size:14px'><b>%1</b></span>"
                          "&nbsp;&nbsp;<span style='color:%2'>%3</span></p>")
               .arg(text(region.title).toHtmlEscaped(), muted, regionBadge(region).toHtmlEscaped());
    if (measured != nullptr) {
        out += measuredHtml(*measured, theme);
        if (measured->any() && !gain.with.empty()) {
            QStringList with;
            for (const std::string& one : gain.with) with << text(one);
            para(tr("Not counted once more in the step: it shares work with %1.").arg(with.join(QLatin1String(", "))));
        } else if (measured->any()) {
            para(gain.counts ? tr("Counted in the step, beside the plan.")
                             : tr("Nothing of it counts in the step: as measured it saves nothing there."));
        }
    }
    head(tr("Now"));
    const QString estimated = work.time_estimated ? tr(" (estimated)") : QString();
    if (work.time_ns > 0 && !work.instances.empty()) {
        const Instance& one = work.instances.front();
        para(tr("%1 per step%2: %3× %4 forward%5")
                 .arg(text(formatDuration(work.time_ns)), estimated, QString::number(work.instances.size()),
                      text(formatDuration(one.forward_ns)),
                      one.backward_ns > 0 ? tr(" and %1 backward").arg(text(formatDuration(one.backward_ns)))
                                          : QString()));
    }
    if (!region.other_sizes.empty()) para(text(region.other_sizes) + QLatin1Char('.'));
    if (region.swapsIn()) {
        QStringList ids;
        for (const std::string& id : region.fusions) ids << text(id);
        head(tr("With the plan's fusions"));
        para(region.has_form ? tr("Swapped in where they lie inside: %1.").arg(ids.join(QLatin1String(", ")))
                             : tr("Nothing is swapped in."));
        if (work.saving_ns.expected > 0)
            para(tr("Predicted: −%1 per step, the sum of what the plan promises inside.")
                     .arg(text(formatDuration(work.saving_ns.expected))));
        if (!region.reason.empty()) para(tr("Left as it is: %1.").arg(text(region.reason)));
    } else {
        head(tr("The limit"));
        if (region.limit_ns > 0)
            para((region.limit_backward_ns > 0
                      ? tr("%1 forward and %2 backward: what enters and leaves (%3) at the speed of a copy on %4.")
                            .arg(text(formatDuration(region.limit_ns)), text(formatDuration(region.limit_backward_ns)))
                      : tr("%1 forward: what enters and leaves (%2) at the speed of a copy on %3, or its matrix "
                           "products at their peak where that is longer.")
                            .arg(text(formatDuration(region.limit_ns))))
                     .arg(text(formatBytes(work.instances.empty() ? 0 : work.instances.front().fused.bytes())),
                          text(analysis.device.name)) +
                 QLatin1Char(' ') + tr("A limit for any fused kernel, not a prediction."));
        else
            para(tr("Not known for these sizes."));
        head(tr("Fused form"));
        if (!region.has_form)
            para(tr("There is no fused kernel for it, so it is measured as it is: %1.").arg(text(region.reason)));
        else if (region.backward)
            para(tr("pointwise_chain: elementwise operators and row reductions as one kernel, made for just these "
                    "nodes. Its backward is made from it as another."));
        else
            para(tr("pointwise_chain: elementwise operators and row reductions as one kernel, made for just these "
                    "nodes. The forward alone is measured%1.")
                     .arg(region.reason.empty() ? QString() : QStringLiteral(" (%1)").arg(text(region.reason))));
    }
    if (!region.note.empty()) {
        head(tr("What was taken"));
        para(text(region.note) + QLatin1Char('.'));
    }
    head(tr("Where"));
    para(placeOf(region) +
         (work.instances.size() > 1 ? tr(", the same in %1 layers").arg(work.instances.size()) : QString()));
    if (!region.nodes.empty()) {
        QStringList names;
        constexpr std::size_t kMost = 24;
        for (std::size_t i = 0; i < std::min(region.nodes.size(), kMost); ++i) names << text(region.nodes[i]);
        if (region.nodes.size() > kMost) names << tr("and %1 more").arg(region.nodes.size() - kMost);
        para(names.join(QLatin1String(", ")));
    }
    for (const std::string& line : work.source) para(text(line));
    return QStringLiteral("<body style='color:%1'>%2</body>").arg(qColor(ColourRole::Text, theme).name(), out);
}

QString regionMarkdown(const ChosenRegion& region, const MeasuredFinding* measured) {
    QStringList lines{QLatin1String("### ") + text(region.title) + QLatin1String(": ") + regionBadge(region), QString(),
                      regionSavingText(region) + QStringLiteral(" · ") + regionCountText(region)};
    if (!region.note.empty()) lines << QString() << text(region.note);
    if (!region.reason.empty()) lines << QString() << text(region.reason);
    if (measured != nullptr) {
        lines << QString() << QLatin1String("**") + tr("Measured") + QLatin1String("**") << QString();
        for (const QString& line : measuredMarkdown(*measured)) lines << QLatin1String("- ") + line.simplified();
    }
    return lines.join(QLatin1Char('\n')) + QLatin1Char('\n');
}

} // namespace fusescope
