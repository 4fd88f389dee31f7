// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/finding_text.h"

#include "core/base/format.h"
#include "core/draw/names.h"
#include "ui/base/paint.h"
#include "ui/fuse/fuse_words.h"
#include "ui/models/finding_model.h"
#include "ui/panels/finding_card.h"

#include <QCoreApplication>
#include <QStringList>

#include <algorithm>
#include <array>
#include <cmath>

namespace fusescope {
namespace {

constexpr std::size_t kMostLines = 12;

QString tr(const char* words, int n = -1) {
    return QCoreApplication::translate("fusescope::FindingsPanel", words, nullptr, n);
}
QString esc(std::string_view words) { return text(words).toHtmlEscaped(); }

QString numericsText(std::string_view numerics) {
    if (numerics == "bitwise") return tr("bitwise: the same bits as now");
    if (numerics == "framework order") return tr("framework order: rounds where the framework rounds now");
    if (numerics == "one rounding") return tr("one rounding: computes wide, rounds once, closer to the exact result");
    return text(numerics);
}

const Finding* findingById(const Analysis& analysis, const std::string& id) {
    for (const Finding& f : analysis.findings)
        if (f.id == id) return &f;
    return nullptr;
}

class Html {
public:
    explicit Html(Theme theme) : theme_(theme) {}
    void title(const QString& words, const QString& verdict) {
        out_ += QStringLiteral("<p style='margin-top:0;margin-bottom:4px'><span style='font-size:14px'><b>%1</b></span>"
                               "&nbsp;&nbsp;<span style='color:%2'>%3</span></p>")
                    .arg(words.toHtmlEscaped(), colour(ColourRole::TextMuted), verdict.toHtmlEscaped());
    }
    void head(const QString& words) {
        out_ += QStringLiteral("<p style='margin-top:12px;margin-bottom:2px;color:%1'><b>%2</b></p>")
                    .arg(colour(ColourRole::TextMuted), words.toHtmlEscaped());
    }
    void para(const QString& html) {
        out_ += QStringLiteral("<p style='margin-top:2px;margin-bottom:2px'>%1</p>").arg(html);
    }
    void raw(const QString& html) { out_ += html; }
    void mono(std::string_view words) {
        out_ += QStringLiteral(
                    "<table width='100%' cellpadding='8' style='margin-top:4px;background-color:%1'><tr><td><span "
                    "style='font-family:monospace'>%2</span></td></tr></table>")
                    .arg(colour(ColourRole::SurfaceRaised), esc(words));
    }
    void items(const QStringList& html) {
        if (html.isEmpty()) return;
        out_ += QStringLiteral("<ul style='margin-top:2px;margin-bottom:2px;margin-left:16px;-qt-list-indent:0'>");
        for (const QString& item : html) out_ += QStringLiteral("<li style='margin-bottom:2px'>%1</li>").arg(item);
        out_ += QStringLiteral("</ul>");
    }
    void rows(const QList<std::array<QString, 3>>& table) {
        out_ += QStringLiteral("<table style='margin-top:4px' cellpadding='0' cellspacing='0'>");
        for (const auto& [what, now, fused] : table)
            out_ += QStringLiteral("<tr><td style='color:%1;padding-right:16px'>%2</td><td align='right' "
                                   "style='padding-right:16px'>%3</td><td align='right'>%4</td></tr>")
                        .arg(colour(ColourRole::TextMuted), what, now, fused);
        out_ += QStringLiteral("</table>");
    }
    [[nodiscard]] QString colour(ColourRole role) const { return qColor(role, theme_).name(); }
    [[nodiscard]] QString finish() const {
        return QStringLiteral("<body style='color:%1'>%2</body>").arg(colour(ColourRole::Text), out_);
    }

private:
    Theme theme_;
    QString out_;
};

QStringList listed(const std::vector<std::string>& words, bool html) {
    QStringList out;
    for (std::size_t i = 0; i < std::min(words.size(), kMostLines); ++i)
        out.append(html ? esc(words[i]) : text(words[i]));
    if (words.size() > kMostLines) out.append(tr("and %1 more").arg(words.size() - kMostLines));
    return out;
}

QList<std::array<QString, 3>> figures(const Finding& f, bool measured) {
    const auto number = [](double n) {
        return n == std::floor(n) ? QString::number(static_cast<int>(n)) : text(formatSignificant(n));
    };
    QList<std::array<QString, 3>> rows;
    rows.append({QString(), tr("now"), measured ? tr("fused, predicted") : tr("fused")});
    rows.append({tr("Kernels each"), number(f.kernels_now), number(f.kernels_fused)});
    if (f.bytes_now > 0)
        rows.append({tr("Bytes per step"), text(formatBytes(f.bytes_now)), text(formatBytes(f.bytes_fused))});
    if (f.time_ns > 0)
        rows.append({f.time_estimated ? tr("Time per step (estimated)") : tr("Time per step"),
                     text(formatDuration(f.time_ns)), text(formatDuration(f.predicted_ns.expected))});
    if (f.predicted_ns.high > f.predicted_ns.low)
        rows.append({tr("Range"), QString(), durationRange(f.predicted_ns.low, f.predicted_ns.high)});
    return rows;
}

QString shapesText(const Finding& f) {
    QStringList shapes;
    for (const Instance& instance : f.instances) {
        const QString shape = text(instance.shape);
        if (!shape.isEmpty() && !shapes.contains(shape)) shapes.append(shape);
        if (shapes.size() >= 4) break;
    }
    return shapes.join(QLatin1String(", "));
}

QString verdictTold(const Finding& f, const MeasuredFinding* measured) {
    return measured != nullptr && measured->any() ? tr("%1, measured").arg(verdictText(measured->verdict))
                                                  : verdictText(f.verdict);
}

} // namespace

QString findingHtml(const Analysis& analysis, std::size_t row, Theme theme, const MeasuredFinding* measured) {
    if (row >= analysis.findings.size()) return {};
    const Finding& f = analysis.findings[row];
    const CatalogEntry& entry = catalogEntry(f.pattern);
    const bool run = measured != nullptr && measured->any(); // then the rest is what was predicted
    Html html(theme);
    html.title(titleOf(f), verdictTold(f, measured));
    if (!f.headroom.empty()) html.para(esc(f.headroom)); // what one looks here for
    if (measured != nullptr) html.raw(measuredHtml(*measured, theme));
    // Evidence and figures first: they are what decides; the rest is read afterwards.
    QStringList evidence;
    for (std::size_t i = 0; i < f.signals.size(); ++i) {
        const QString sentence = i < f.signal_evidence.size() ? esc(f.signal_evidence[i]) : QString();
        evidence.append(QStringLiteral("<b>%1 %2.</b> %3")
                            .arg(f.signals[i])
                            .arg(signalTitle(f.signals[i]).toHtmlEscaped(), sentence));
    }
    html.items(evidence);
    if (f.verdict != Verdict::AlreadyFused) html.rows(figures(f, run));
    if (!entry.formula.empty()) html.mono(entry.formula);
    // What the catalogue calls before and after; which of them is now, the state says.
    const bool fused = f.state == FusionState::Fused;
    if (!entry.before.empty() && !fused)
        html.para((f.state == FusionState::Partial ? tr("<b>Now, in part:</b> %1") : tr("<b>Now:</b> %1"))
                      .arg(esc(entry.before)));
    if (!entry.after.empty()) html.para((fused ? tr("<b>Now:</b> %1") : tr("<b>Fused:</b> %1")).arg(esc(entry.after)));
    if (!entry.before.empty() && fused) html.para(tr("<b>Instead of:</b> %1").arg(esc(entry.before)));

    if (!f.reasons.empty())
        html.head(f.verdict == Verdict::AlreadyFused ? tr("What was found")
                  : run                              ? tr("Why this prediction")
                                                     : tr("Why this saving and this verdict"));
    std::vector<std::string> reasons = f.reasons;
    reasons.erase(std::remove(reasons.begin(), reasons.end(), f.headroom), reasons.end()); // said above
    html.items(listed(reasons, true));
    QStringList notes;
    for (const Instance& instance : f.instances) {
        const QString note = esc(instance.note);
        if (!note.isEmpty() && !notes.contains(note)) notes.append(note);
        if (notes.size() >= 4) break;
    }
    if (!notes.isEmpty()) html.head(tr("Notes"));
    html.items(notes);
    if (const std::string& change = changeText(f); !change.empty()) {
        html.head(tr("What to change"));
        html.para(esc(change));
    }
    if (!entry.existing.empty() && !fused) html.head(tr("Ready-made"));
    QStringList existing;
    for (const ExistingSolution& solution : entry.existing)
        if (!fused) existing.append(QStringLiteral("<b>%1</b> %2").arg(esc(solution.name), esc(solution.note)));
    html.items(existing);
    if (!entry.numerics.empty()) {
        html.head(tr("Numerics"));
        html.para(numericsText(entry.numerics).toHtmlEscaped());
    }
    if (!entry.article_gain.empty()) html.para(tr("Usual gain: %1 of the step").arg(esc(entry.article_gain)));
    if (!f.conflicts.empty()) {
        html.head(tr("Shares work with"));
        QStringList links;
        for (const std::string& id : f.conflicts) {
            const Finding* other = findingById(analysis, id);
            const QString name = other != nullptr ? titleOf(*other).toHtmlEscaped() : esc(id);
            links.append(other == nullptr ? name
                                          : QStringLiteral("<a href='finding:%1' style='color:%2'>%3</a>")
                                                .arg(esc(id), html.colour(ColourRole::Accent), name));
        }
        html.para(links.join(QLatin1String(", ")));
    }
    html.head(tr("Where"));
    html.items(listed(f.modules, true));
    if (!f.source.empty())
        html.para(QLatin1String("<span style='font-family:monospace'>") +
                  listed(f.source, true).join(QLatin1String("<br>")) + QLatin1String("</span>"));
    const QString shapes = shapesText(f);
    if (!shapes.isEmpty()) html.para(tr("Shapes: %1").arg(shapes.toHtmlEscaped()));
    if (f.instances.size() > 1) {
        QStringList links;
        const std::size_t shown = std::min<std::size_t>(f.instances.size(), 24);
        for (std::size_t i = 0; i < shown; ++i)
            links.append(QStringLiteral("<a href='instance:%1' style='color:%2'>%3</a>")
                             .arg(i)
                             .arg(html.colour(ColourRole::Accent))
                             .arg(i + 1));
        if (shown < f.instances.size()) links.append(tr("… of %1").arg(f.instances.size()));
        html.para(tr("Occurrences: %1").arg(links.join(QLatin1String(" "))));
    }
    return html.finish();
}

QString findingMarkdown(const Analysis& analysis, std::size_t row, const MeasuredFinding* measured) {
    if (row >= analysis.findings.size()) return {};
    const Finding& f = analysis.findings[row];
    const CatalogEntry& entry = catalogEntry(f.pattern);
    QStringList lines;
    const auto section = [&](const QString& title, const QStringList& items) {
        if (items.isEmpty()) return;
        lines << QString() << QString(QLatin1String("**") + title + QLatin1String("**")) << QString();
        for (const QString& item : items) lines << QString(QLatin1String("- ") + item.simplified());
    };
    lines << QString(QLatin1String("### ") + titleOf(f) + QLatin1String(": ") + verdictTold(f, measured));
    const bool run = measured != nullptr && measured->any();
    QStringList facts{run ? tr("predicted %1").arg(savingText(f)) : savingText(f)};
    const QString range = savingRangeText(f);
    if (!range.isEmpty()) facts.last() += QLatin1Char(' ') + range;
    if (f.step_share > 0 && f.verdict != Verdict::AlreadyFused)
        facts << tr("%1 of the step").arg(text(shareText(f.step_share)));
    facts << kernelsText(f);
    lines << QString() << facts.join(QStringLiteral(" · "));
    if (measured != nullptr) section(tr("Measured"), measuredMarkdown(*measured));
    if (!entry.formula.empty())
        lines << QString() << QStringLiteral("```") << text(entry.formula) << QStringLiteral("```");
    if (f.verdict != Verdict::AlreadyFused) {
        lines << QString();
        const auto table = figures(f, run);
        for (qsizetype i = 0; i < table.size(); ++i) {
            const auto& [what, now, fused] = table[i];
            lines << QStringLiteral("| %1 | %2 | %3 |").arg(what, now, fused);
            if (i == 0) lines << QStringLiteral("|---|--:|--:|");
        }
    }
    QStringList evidence;
    for (std::size_t i = 0; i < f.signals.size(); ++i) {
        QString line = QStringLiteral("%1 %2").arg(f.signals[i]).arg(signalTitle(f.signals[i]));
        if (i < f.signal_evidence.size()) line += QLatin1String(": ") + text(f.signal_evidence[i]);
        evidence.append(line);
    }
    section(tr("Evidence"), evidence);
    section(run ? tr("Why this prediction") : tr("Why"), listed(f.reasons, false));
    if (const std::string& change = changeText(f); !change.empty()) section(tr("What to change"), {text(change)});
    QStringList existing;
    for (const ExistingSolution& solution : entry.existing)
        if (f.verdict != Verdict::AlreadyFused)
            existing << QString(text(solution.name) + QLatin1String(": ") + text(solution.note));
    section(tr("Ready-made"), existing);
    if (!entry.numerics.empty()) section(tr("Numerics"), {numericsText(entry.numerics)});
    section(tr("Shares work with"), listed(f.conflicts, false));
    section(tr("Where"), listed(f.modules, false) + listed(f.source, false));
    return lines.join(QLatin1Char('\n')) + QLatin1Char('\n');
}

QString planText(const Analysis& analysis) {
    const Plan& plan = analysis.plan;
    if (plan.findings.empty() || !(plan.step_ns > 0) || nothingSeen(plan)) return {};
    QString line = tr("%1 %2 → %3")
                       .arg(spanName(analysis), text(formatDuration(plan.step_ns)),
                            text(formatDuration(plan.predicted_step_ns.expected)));
    if (plan.predicted_step_ns.high > plan.predicted_step_ns.low)
        line += QLatin1String(" (") + durationRange(plan.predicted_step_ns.low, plan.predicted_step_ns.high) +
                QLatin1Char(')');
    const QString with =
        plan.findings.size() == 1 ? tr("with one finding") : tr("with %1 findings").arg(plan.findings.size());
    return QString(line + QLatin1Char(' ') + with);
}

} // namespace fusescope
