// SPDX-License-Identifier: Apache-2.0
// Ruler and minimap.
#include "core/draw/timeline_parts.h"

#include "core/draw/text_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

namespace fusescope {
namespace {

using namespace timeline;

constexpr double kRulerText = 11;

// The smallest of 1, 2, 5 x 10^n ns that is at least the wanted number.
std::int64_t niceStep(double wanted) noexcept {
    std::int64_t decade = 1;
    while (decade < 1'000'000'000'000'000'000 && static_cast<double>(decade) * 10 <= wanted) decade *= 10;
    for (const std::int64_t factor : {1, 2, 5})
        if (static_cast<double>(decade * factor) >= wanted) return decade * factor;
    return decade <= 100'000'000'000'000'000 ? decade * 10 : decade;
}

// All labels of a ruler share a unit, and show as many decimals as tell neighbours apart.
struct TickFormat {
    double ns_per_unit = 1;
    std::string_view unit = "ns";
    int decimals = 0;
    TickFormat(std::int64_t step, double furthest) noexcept {
        constexpr std::array<std::pair<double, std::string_view>, 4> units = {
            {{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}, {1, "ns"}}};
        for (const auto& [ns, name] : units) {
            ns_per_unit = ns;
            unit = name;
            if (furthest >= ns) break;
        }
        for (double unit_step = static_cast<double>(step) / ns_per_unit; unit_step < 0.999 && decimals < 9; ++decimals)
            unit_step *= 10;
    }
    [[nodiscard]] std::string text(double ns) const {
        return ns == 0 ? std::string("0") : fmt::format("{:.{}f} {}", ns / ns_per_unit, decimals, unit);
    }
};

} // namespace

std::string rulerTime(std::int64_t origin, std::int64_t t, const TimelineView& view) {
    if (view.t1 <= view.t0 || !(view.width >= 1)) return {};
    const double at = t >= origin ? Scale::ns(origin, t) : -Scale::ns(t, origin);
    // A pixel further must read otherwise.
    const auto step = static_cast<std::int64_t>(std::max(1.0, Scale::ns(view.t0, view.t1) / view.width));
    return TickFormat(step, std::fabs(at)).text(at);
}

DrawList drawRuler(std::int64_t origin, const TimelineView& view, double height) {
    DrawList list;
    list.width = view.width;
    list.height = height;
    if (view.t1 <= view.t0 || !(view.width >= 1)) return list;
    const Scale scale(view);
    const double span = Scale::ns(view.t0, view.t1);
    const auto relative = [&](std::int64_t t) { return t >= origin ? Scale::ns(origin, t) : -Scale::ns(t, origin); };
    const double furthest = std::max(std::fabs(relative(view.t0)), std::fabs(relative(view.t1)));
    if (furthest > 4e18) return list; // beyond what int64 nanoseconds can name
    // Labels get longer the deeper one zooms in; so does the room for each.
    double room = 72;
    std::int64_t step = niceStep(span * room / view.width);
    for (int i = 0; i < 4; ++i) {
        const double needed = textWidth(TickFormat(step, furthest).text(furthest), {kRulerText}) + 24;
        if (needed <= room) break;
        room = needed;
        step = niceStep(span * room / view.width);
    }
    const TickFormat format(step, furthest);
    // 1, 2, 5: a step of 2 is halved into 4, the others into 5.
    const std::int64_t leading = [&] {
        std::int64_t s = step;
        while (s >= 10) s /= 10;
        return s;
    }();
    const std::int64_t minor = step / (leading == 2 ? 4 : 5);

    const auto tick = [&](std::int64_t t, bool major) {
        DrawLine line;
        const double x = scale.x(t);
        line.points = {{x, height}, {x, height - (major ? 8 : 4)}};
        line.stroke = major ? ColourRole::TextMuted : ColourRole::Border;
        list.lines.push_back(std::move(line));
        if (!major) return;
        DrawText text;
        text.x = x + 4;
        text.y = height - 9;
        text.text = format.text(relative(t));
        text.size = kRulerText;
        text.fill = ColourRole::TextMuted;
        if (text.x + textWidth(text.text, {kRulerText}) <= view.width) list.texts.push_back(std::move(text));
    };
    const std::int64_t every = minor > 0 ? minor : step;
    const auto first = static_cast<std::int64_t>(std::floor(relative(view.t0) / static_cast<double>(every)));
    const auto last = static_cast<std::int64_t>(std::ceil(relative(view.t1) / static_cast<double>(every)));
    if (last - first > 4096) return list;
    for (std::int64_t i = first; i <= last; ++i) {
        const std::int64_t t = origin + i * every;
        if (t < view.t0 || t > view.t1) continue;
        tick(t, (i * every) % step == 0);
    }
    DrawLine base;
    base.points = {{0, height - 0.5}, {view.width, height - 0.5}};
    list.lines.push_back(std::move(base));
    return list;
}

namespace {

// A fused kernel's time as shown. What was recorded there is stretched to it, and may be of another kind.
struct Fused {
    std::int64_t begin = 0, end = 0;
    ColourRole role = ColourRole::KindOther;
};

std::vector<Fused> fusedOn(const Analysis& analysis, TrackId track, const TimelineAfter* after) {
    std::vector<Fused> all;
    if (after == nullptr) return all;
    for (const FusedPlace& place : after->places)
        if (place.track == track)
            all.push_back({place.begin, place.end, roleOfKernels(analysis, kernelsOf(analysis, place))});
    return all; // by begin, as they were
}

ColourRole roleAt(const std::vector<Fused>& all, std::int64_t t, ColourRole otherwise) {
    const auto next =
        std::upper_bound(all.begin(), all.end(), t, [](std::int64_t at, const Fused& one) { return at < one.begin; });
    return next != all.begin() && t < std::prev(next)->end ? std::prev(next)->role : otherwise;
}

} // namespace

DrawList drawMinimap(const Analysis& analysis, double width, double height, const TimelineAfter* after) {
    DrawList list;
    list.width = width;
    list.height = height;
    if (!analysis.trace || !analysis.index || analysis.trace->end <= analysis.trace->begin || !(width >= 1))
        return list;
    const TraceStore& trace = *analysis.trace;
    TimelineView view;
    view.t0 = trace.begin;
    view.t1 = trace.end;
    view.width = width;
    const Scale scale(view);

    DrawRect back;
    back.width = width;
    back.height = height;
    back.layer = -1;
    list.rects.push_back(back);

    // Busy share of each column, and the kind that fills most of it.
    const auto columns = static_cast<std::size_t>(std::clamp(std::ceil(width), 1.0, 16384.0));
    constexpr std::size_t kinds =
        static_cast<std::size_t>(ColourRole::KindOther) - static_cast<std::size_t>(ColourRole::KindAttention) + 1;
    std::vector<std::array<float, kinds>> busy(columns);
    std::vector<LodSpan> spans;
    for (std::size_t i = 0; i < trace.tracks.size(); ++i) {
        if (trace.tracks[i].kind != TrackKind::GpuStream) continue;
        const Scale gpu(view, after == nullptr ? nullptr : after->timesOf(trace.tracks[i]));
        spans.clear();
        analysis.index->query(TrackId(i), 0, trace.begin, trace.end, static_cast<int>(columns) * 2, spans);
        const std::vector<Fused> fused = fusedOn(analysis, TrackId(i), after);
        for (const LodSpan& span : spans) {
            const ColourRole recorded = roleOfSpan(analysis, TrackId(i), span);
            const double x0 = std::max(gpu.x(span.begin), 0.0), x1 = std::min(gpu.xEnd(span.end), width);
            for (auto column = static_cast<std::size_t>(x0); column < columns && static_cast<double>(column) < x1;
                 ++column) {
                const auto left = static_cast<double>(column);
                const auto middle = view.t0 + static_cast<std::int64_t>((left + 0.5) / scale.pixels_per_ns);
                const auto role = static_cast<std::size_t>(roleAt(fused, middle, recorded)) -
                                  static_cast<std::size_t>(ColourRole::KindAttention);
                if (role >= kinds) continue;
                busy[column][role] += static_cast<float>((std::min(x1, left + 1) - std::max(x0, left)) * fillOf(span));
            }
        }
    }
    const double room = height - 4;
    for (std::size_t column = 0; column < columns;) {
        const auto level = [&](std::size_t c) {
            float sum = 0;
            std::size_t most = 0;
            for (std::size_t k = 0; k < kinds; ++k) {
                sum += busy[c][k];
                if (busy[c][k] > busy[c][most]) most = k;
            }
            return std::pair(std::round(std::min(1.0, static_cast<double>(sum)) * room), most);
        };
        const auto [bar, kind] = level(column);
        std::size_t end = column + 1;
        while (end < columns && level(end) == std::pair(bar, kind)) ++end; // equal neighbours: one rectangle
        if (bar > 0) {
            DrawRect rect;
            rect.x = static_cast<double>(column);
            rect.width = static_cast<double>(end - column);
            rect.height = bar;
            rect.y = height - 2 - bar;
            rect.fill = static_cast<ColourRole>(static_cast<std::size_t>(ColourRole::KindAttention) + kind);
            list.rects.push_back(rect);
        }
        column = end;
    }

    double label_end = -1e9;
    for (std::size_t i = 0; i < trace.steps.size(); ++i) {
        const Step& step = trace.steps[i];
        const double x = scale.x(step.begin);
        DrawLine line;
        line.points = {{x, 0}, {x, height}};
        line.stroke = static_cast<std::int64_t>(i) == analysis.step ? ColourRole::Accent : ColourRole::TextMuted;
        line.layer = 1;
        list.lines.push_back(std::move(line));
        DrawText text;
        text.text = fmt::format("step {}", step.number);
        text.size = 10;
        const double room_right = scale.x(step.end) - x - 8, needed = textWidth(text.text, {text.size});
        if (x + 4 < label_end || room_right < needed) continue;
        // A plate keeps the label readable over the bars.
        DrawRect plate;
        plate.x = x + 2;
        plate.y = 2;
        plate.width = needed + 6;
        plate.height = 14;
        plate.radius = 2;
        plate.layer = 1;
        list.rects.push_back(plate);
        text.x = x + 5;
        text.y = 12.5;
        text.layer = 2;
        label_end = text.x + needed;
        list.texts.push_back(std::move(text));
    }
    return list;
}

} // namespace fusescope
