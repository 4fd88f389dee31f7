// SPDX-License-Identifier: Apache-2.0
#include "core/draw/time_map.h"

#include <algorithm>
#include <iterator>

namespace fusescope {
namespace {

// Hostile traces hold times of which differences overflow: unsigned wraps, and comes back when added.
std::int64_t moved(std::int64_t t, std::int64_t from, std::int64_t to) noexcept {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(t) - static_cast<std::uint64_t>(from) +
                                     static_cast<std::uint64_t>(to));
}

double distance(std::int64_t from, std::int64_t to) noexcept {
    return static_cast<double>(static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(from));
}

// Between two pairs of times, a0 <= t <= a1.
std::int64_t between(std::int64_t t, std::int64_t a0, std::int64_t a1, std::int64_t b0, std::int64_t b1) noexcept {
    const double a = distance(a0, a1), b = distance(b0, b1);
    if (a == b) return moved(t, a0, b0); // most pieces only move
    if (!(a > 0)) return b1;
    return std::min(b1, moved(static_cast<std::int64_t>(distance(a0, t) / a * b), 0, b0));
}

} // namespace

void TimeMap::add(std::int64_t from, std::int64_t to) {
    if (!knots_.empty()) {
        from = std::max(from, knots_.back().from);
        to = std::max(to, knots_.back().to);
    }
    knots_.push_back({from, to});
}

std::int64_t TimeMap::at(std::int64_t t) const noexcept {
    if (knots_.empty()) return t;
    const auto after =
        std::upper_bound(knots_.begin(), knots_.end(), t, [](std::int64_t x, const Knot& k) { return x < k.from; });
    if (after == knots_.begin()) return moved(t, after->from, after->to);
    const Knot& before = *std::prev(after);
    if (after == knots_.end()) return moved(t, before.from, before.to);
    return between(t, before.from, after->from, before.to, after->to);
}

std::int64_t TimeMap::endAt(std::int64_t t) const noexcept {
    if (knots_.empty()) return t;
    const auto after =
        std::lower_bound(knots_.begin(), knots_.end(), t, [](const Knot& k, std::int64_t x) { return k.from < x; });
    if (after == knots_.end()) return moved(t, knots_.back().from, knots_.back().to);
    if (after == knots_.begin() || after->from == t) return moved(t, after->from, after->to);
    const Knot& before = *std::prev(after);
    return between(t, before.from, after->from, before.to, after->to);
}

std::int64_t TimeMap::back(std::int64_t t) const noexcept {
    if (knots_.empty()) return t;
    const auto after =
        std::upper_bound(knots_.begin(), knots_.end(), t, [](std::int64_t x, const Knot& k) { return x < k.to; });
    if (after == knots_.begin()) return moved(t, after->to, after->from);
    const Knot& before = *std::prev(after);
    if (after == knots_.end()) return moved(t, before.to, before.from);
    return between(t, before.to, after->to, before.from, after->from);
}

} // namespace fusescope
