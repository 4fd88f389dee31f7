// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/roofline/roofline_scene.h"

#include "core/base/format.h"
#include "core/draw/names.h"
#include "ui/base/paint.h"

#include <QCoreApplication>
#include <QStringList>

#include <algorithm>
#include <array>
#include <cmath>

namespace fusescope {
namespace {

QString tr(const char* words) { return QCoreApplication::translate("fusescope::RooflinePanel", words); }

QString plain(double v) { return QString::number(v, 'g', 3); }

} // namespace

QString rateLabel(double v) {
    if (!(v > 0)) return {};
    constexpr std::array<const char*, 7> units = {"FLOP/s",  "KFLOP/s", "MFLOP/s", "GFLOP/s",
                                                  "TFLOP/s", "PFLOP/s", "EFLOP/s"};
    const auto step = static_cast<std::size_t>(std::clamp(std::floor(std::log10(v) / 3 + 1e-9), 0.0, 6.0));
    return plain(v / std::pow(10.0, 3.0 * static_cast<double>(step))) + QLatin1Char(' ') + QLatin1String(units[step]);
}

QString intensityLabel(double v) {
    if (v >= 999.5 && v < 1e6) return plain(v / 1e3) + QLatin1Char('k'); // "10,000" has no room on a narrow axis
    return plain(v);
}

QString markTip(const Analysis& analysis, std::uint32_t op_row) {
    if (op_row >= analysis.ops.size()) return {};
    const OpSummary& op = analysis.ops[op_row];
    double all = 0;
    for (const OpSummary& other : analysis.ops) all += other.time_ns;
    // Work on tensor cores is held against their roof, other work against that of the plain cores.
    const bool tensor = op.cost.tensor_flops > 0;
    const double peak = analysis.device.peak(op.cost.dtype, tensor);
    const double top = roof(analysis.device, op.intensity(), peak > 0 ? peak : analysis.device.bf16_tensor);

    QStringList head{text(displayOpName(op.op))};
    if (!op.module_type.empty()) head.append(text(op.module_type));
    head.append(text(nameOf(op.direction)));
    QStringList rows;
    const auto row = [&](const QString& what, const QString& figure) {
        const QString line = QLatin1String("<tr><td>") + what.toHtmlEscaped() +
                             QLatin1String("&nbsp;&nbsp;</td><td align='right'>") + figure.toHtmlEscaped() +
                             QLatin1String("</td></tr>");
        rows.append(line);
    };
    row(tr("Time"), QString(text(formatDuration(op.time_ns)) + QStringLiteral(" · ") +
                            text(shareText(all > 0 ? op.time_ns / all : 0))));
    row(tr("Calls"), text(formatCount(op.calls)));
    row(tr("Intensity"), QString(text(formatSignificant(op.intensity())) + QLatin1String(" FLOP/byte")));
    row(tr("Achieved"), text(formatFlopRate(op.achievedFlops())));
    row(tr("Bandwidth"), text(formatBandwidth(op.achievedBps())));
    if (top > 0) row(tr("Of its roof"), text(formatPercent(op.achievedFlops() / top)));
    row(tr("Bound by"), op.bound == Bound::Unknown ? tr("unknown") : text(nameOf(op.bound)));
    row(tr("Known"), text(shareText(op.coverage)));
    return QString(QLatin1String("<p style='white-space:pre'><b>") + head.join(QStringLiteral(" · ")).toHtmlEscaped() +
                   QLatin1String("</b></p><table>") + rows.join(QString()) + QLatin1String("</table>"));
}

} // namespace fusescope
