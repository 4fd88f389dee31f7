// SPDX-License-Identifier: Apache-2.0
// The graph of the synthetic analysis, laid out, and what tests look for in its picture.
#pragma once

#include "core/draw/graph_draw.h"
#include "tests/support/synthetic_analysis.h"

#include <algorithm>
#include <string>
#include <string_view>

namespace fusescope {

struct Scene {
    Analysis analysis;
    VisibleGraph visible;
    LayoutResult layout;
};

inline Scene scene(const testing::SyntheticOptions& options = {}) {
    Scene s;
    s.analysis = testing::syntheticAnalysisValue(options);
    s.visible = visibleGraph(*s.analysis.graph, defaultView(*s.analysis.graph));
    s.layout = layeredLayout(drawnLayoutRequest(s.visible));
    return s;
}

inline const DrawRect* boxOf(const DrawList& list, const Scene& s, std::string_view title) {
    for (std::size_t i = 0; i < s.visible.nodes.size(); ++i) {
        if (s.visible.nodes[i].title != title) continue;
        for (const DrawRect& r : list.rects)
            if (r.layer == 1 && r.x == s.layout.boxes[i].x && r.y == s.layout.boxes[i].y &&
                r.width == s.layout.boxes[i].width)
                return &r;
    }
    return nullptr;
}

inline bool says(const DrawList& list, std::string_view text) {
    return std::any_of(list.texts.begin(), list.texts.end(),
                       [&](const DrawText& t) { return t.text.find(text) != std::string::npos; });
}

inline bool overlap(const LayoutRect& a, const LayoutRect& b) {
    return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
}

} // namespace fusescope
