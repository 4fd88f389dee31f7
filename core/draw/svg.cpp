// SPDX-License-Identifier: Apache-2.0
// A DrawList as SVG. Numbers are written with at most two decimals: a hundredth of a pixel is enough, and the report of
// a large trace stays small.
#include "core/draw/svg.h"

#include "core/draw/text_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace fusescope {
namespace {

constexpr std::size_t kMaxTextBytes = 1024; // of one text item; longer ones cannot be read in a picture anyway

class Writer {
public:
    Writer(const DrawList& list, bool classes, Theme theme) : list_(list), classes_(classes), theme_(theme) {}

    std::string write(std::string_view label) {
        out_.reserve(256 + list_.rects.size() * 90 + list_.lines.size() * 120 + list_.texts.size() * 110);
        const double width = std::max(1.0, finite(list_.width)), height = std::max(1.0, finite(list_.height));
        out_ += R"(<svg xmlns="http://www.w3.org/2000/svg" width=")";
        number(width);
        out_ += R"(" height=")";
        number(height);
        out_ += R"(" viewBox="0 0 )";
        number(width);
        out_ += ' ';
        number(height);
        out_ +=
            R"(" font-family="Inter, 'Segoe UI', system-ui, -apple-system, 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif")";
        if (!label.empty()) out_ += R"( role="img" aria-label=")" + escapeXml(label) + '"';
        out_ += '>';
        definitions();
        if (!classes_) {
            out_ += R"(<rect width="100%" height="100%")";
            fill(ColourRole::Background);
            out_ += "/>";
        }
        items();
        out_ += "</svg>\n";
        return std::move(out_);
    }

private:
    static double finite(double v) noexcept { return std::isfinite(v) ? std::clamp(v, -1e7, 1e7) : 0; }
    void number(double v) {
        const double rounded = std::round(finite(v) * 100) / 100;
        fmt::format_to(std::back_inserter(out_), "{}", rounded == 0 ? 0.0 : rounded);
    }
    void attribute(std::string_view name, double v) {
        out_ += ' ';
        out_ += name;
        out_ += "=\"";
        number(v);
        out_ += '"';
    }
    std::string colourText(ColourRole role) const { return hex(colour(role, theme_)); }
    void fill(ColourRole role) { out_ += " fill=\"" + colourText(role) + '"'; }

    // Fill and stroke, as class list or as attributes. A negative role number means none.
    void paint(bool filled, ColourRole fill_role, bool stroked, ColourRole stroke_role) {
        if (classes_) {
            out_ += " class=\"";
            out_ += filled ? fmt::format("f{}", static_cast<int>(fill_role)) : std::string("n");
            if (stroked) out_ += fmt::format(" s{}", static_cast<int>(stroke_role));
            out_ += '"';
            return;
        }
        out_ += filled ? " fill=\"" + colourText(fill_role) + '"' : std::string(" fill=\"none\"");
        if (stroked) out_ += " stroke=\"" + colourText(stroke_role) + '"';
    }
    void emphasis(Emphasis value, double opacity = 1) {
        const double shown = opacity * (value == Emphasis::Dimmed ? 0.32 : 1.0);
        if (shown < 1) attribute("opacity", shown);
    }

    void definitions() {
        const bool hatched =
            std::any_of(list_.rects.begin(), list_.rects.end(), [](const DrawRect& r) { return r.hatched; });
        if (!hatched) return;
        // The hatch is drawn over the fill in the page's colour, so one pattern serves every role.
        out_ +=
            R"x(<defs><pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">)x"
            R"(<rect width="2" height="6" fill-opacity="0.35")";
        if (classes_)
            out_ += fmt::format(" class=\"f{}\"", static_cast<int>(ColourRole::Background));
        else
            fill(ColourRole::Background);
        out_ += "/></pattern></defs>";
    }

    void rectShape(const DrawRect& r) {
        out_ += "<rect";
        attribute("x", r.x);
        attribute("y", r.y);
        attribute("width", std::max(0.0, finite(r.width)));
        attribute("height", std::max(0.0, finite(r.height)));
        if (r.radius > 0) attribute("rx", r.radius);
    }
    void item(const DrawRect& r) {
        const bool selected = r.emphasis == Emphasis::Selected;
        const bool stroked = r.stroke_width > 0 || selected;
        if (!r.filled && !stroked) return;
        rectShape(r);
        paint(r.filled, r.fill, stroked, selected ? ColourRole::Accent : r.stroke);
        if (stroked) attribute("stroke-width", selected ? std::max(2.0, r.stroke_width) : r.stroke_width);
        if (r.dashed) out_ += R"( stroke-dasharray="4 3")";
        emphasis(r.emphasis);
        out_ += "/>";
        if (r.hatched && r.filled) {
            rectShape(r);
            out_ += R"x( fill="url(#hatch)"/>)x";
        }
    }

    void point(const std::pair<double, double>& p) {
        number(p.first);
        out_ += ' ';
        number(p.second);
    }
    void item(const DrawLine& line) {
        if (line.points.size() < 2) return;
        const bool selected = line.emphasis == Emphasis::Selected;
        const ColourRole role = selected ? ColourRole::Accent : line.stroke;
        const double width = selected ? line.width + 0.5 : line.width;
        auto points = line.points;
        if (line.arrow) shorten(points);
        out_ += "<path d=\"M";
        point(points[0]);
        for (std::size_t i = 1; i < points.size(); ++i) {
            if (line.smooth && points.size() > 2) {
                // Catmull-Rom through the points, as cubic Bezier pieces.
                const auto& a = points[i >= 2 ? i - 2 : 0];
                const auto &b = points[i - 1], &c = points[i];
                const auto& d = points[i + 1 < points.size() ? i + 1 : i];
                out_ += 'C';
                point({b.first + (c.first - a.first) / 6, b.second + (c.second - a.second) / 6});
                out_ += ' ';
                point({c.first - (d.first - b.first) / 6, c.second - (d.second - b.second) / 6});
                out_ += ' ';
            } else
                out_ += 'L';
            point(points[i]);
        }
        out_ += '"';
        paint(false, role, true, role);
        attribute("stroke-width", width);
        if (line.dashed) out_ += R"( stroke-dasharray="4 3")";
        emphasis(line.emphasis);
        out_ += "/>";
        if (line.arrow) arrowHead(line, role);
    }
    static constexpr double kArrow = 7;
    // The line ends inside the head, else a thick line shows beyond its tip.
    static void shorten(std::vector<std::pair<double, double>>& points) {
        auto& last = points.back();
        const auto& before = points[points.size() - 2];
        const double dx = last.first - before.first, dy = last.second - before.second, length = std::hypot(dx, dy);
        if (length <= kArrow) return;
        last = {last.first - dx / length * (kArrow - 1), last.second - dy / length * (kArrow - 1)};
    }
    void arrowHead(const DrawLine& line, ColourRole role) {
        const auto& tip = line.points.back();
        const auto& from = line.points[line.points.size() - 2];
        double dx = tip.first - from.first, dy = tip.second - from.second;
        const double length = std::hypot(dx, dy);
        if (!(length > 0)) return;
        dx /= length;
        dy /= length;
        const double back_x = tip.first - dx * kArrow, back_y = tip.second - dy * kArrow, half = kArrow * 0.42;
        out_ += "<path d=\"M";
        point(tip);
        out_ += 'L';
        point({back_x - dy * half, back_y + dx * half});
        out_ += 'L';
        point({back_x + dy * half, back_y - dx * half});
        out_ += "Z\"";
        paint(true, role, false, role);
        emphasis(line.emphasis);
        out_ += "/>";
    }

    void item(const DrawText& text) {
        if (text.text.empty()) return;
        std::string shown = visibleText(text.text, kMaxTextBytes);
        if (text.max_width > 0) shown = elided(shown, {text.size, text.bold, text.mono}, text.max_width);
        if (shown.empty()) return;
        out_ += "<text";
        attribute("x", text.x);
        attribute("y", text.y);
        attribute("font-size", text.size);
        if (text.align != TextAlign::Left)
            out_ += text.align == TextAlign::Centre ? R"( text-anchor="middle")" : R"( text-anchor="end")";
        if (text.bold) out_ += R"( font-weight="600")";
        if (text.mono)
            out_ += R"( font-family="ui-monospace, 'JetBrains Mono', Consolas, 'DejaVu Sans Mono', monospace")";
        paint(true,
              text.emphasis == Emphasis::Selected && text.fill == ColourRole::Text ? ColourRole::Accent : text.fill,
              false, text.fill);
        emphasis(text.emphasis);
        out_ += '>';
        out_ += escapeXml(shown, shown.size());
        out_ += "</text>";
    }

    void item(const DrawMarker& marker) {
        const bool selected = marker.emphasis == Emphasis::Selected;
        out_ += "<circle";
        attribute("cx", marker.x);
        attribute("cy", marker.y);
        attribute("r", std::max(0.0, finite(marker.radius)));
        const bool stroked = marker.stroke_width > 0 || selected;
        paint(true, marker.fill, stroked, selected ? ColourRole::Accent : marker.stroke);
        if (stroked) attribute("stroke-width", selected ? std::max(2.5, marker.stroke_width) : marker.stroke_width);
        if (marker.opacity < 1) attribute("fill-opacity", marker.opacity);
        emphasis(marker.emphasis);
        if (marker.tooltip.empty())
            out_ += "/>";
        else
            out_ += "><title>" + escapeXml(marker.tooltip, kMaxTextBytes) + "</title></circle>";
    }

    // Layer by layer; within a layer in the order rectangles, lines, markers, texts, as the window paints.
    template <class Item> void pass(const std::vector<Item>& items, int layer) {
        for (const Item& i : items)
            if (i.layer == layer) item(i);
    }
    void items() {
        std::vector<int> layers;
        const auto collect = [&](const auto& all) {
            for (const auto& i : all)
                if (layers.empty() || layers.back() != i.layer) layers.push_back(i.layer);
        };
        collect(list_.rects);
        collect(list_.lines);
        collect(list_.markers);
        collect(list_.texts);
        std::sort(layers.begin(), layers.end());
        layers.erase(std::unique(layers.begin(), layers.end()), layers.end());
        for (const int layer : layers) {
            pass(list_.rects, layer);
            pass(list_.lines, layer);
            pass(list_.markers, layer);
            pass(list_.texts, layer);
        }
    }

    const DrawList& list_;
    bool classes_;
    Theme theme_;
    std::string out_;
};

} // namespace

std::string escapeXml(std::string_view text, std::size_t max_bytes) {
    const std::string shown = visibleText(text, max_bytes);
    std::string out;
    out.reserve(shown.size() + 16);
    for (const char c : shown) {
        switch (c) {
        case '&': out += "&amp;"; break;
        case '<': out += "&lt;"; break;
        case '>': out += "&gt;"; break;
        case '"': out += "&quot;"; break;
        case '\'': out += "&#39;"; break;
        default: out += c;
        }
    }
    return out;
}

std::string svgText(const DrawList& list, Theme theme) { return Writer(list, false, theme).write({}); }

std::string svgWithClasses(const DrawList& list, std::string_view label) {
    return Writer(list, true, Theme::Light).write(label);
}

std::string themeVariablesCss(Theme theme) {
    std::string css;
    for (int i = 0; i < static_cast<int>(ColourRole::Count_); ++i)
        css += fmt::format("--c{}:{};", i, hex(colour(static_cast<ColourRole>(i), theme)));
    return css;
}

std::string svgClassesCss() {
    std::string css = ".n{fill:none}";
    for (int i = 0; i < static_cast<int>(ColourRole::Count_); ++i)
        css += fmt::format(".f{0}{{fill:var(--c{0})}}.s{0}{{stroke:var(--c{0})}}", i);
    return css;
}

} // namespace fusescope
