// SPDX-License-Identifier: Apache-2.0
#include "core/cost/fused_curve.h"

#include "core/cost/device.h"

#include <algorithm>
#include <cmath>

namespace fusescope {
namespace {

const FusedCurve* curveOf(const DeviceSpec& device, std::string_view pattern, bool backward) {
    for (const FusedCurve& curve : device.fused)
        if (curve.pattern == pattern && curve.backward == backward && !curve.points.empty()) return &curve;
    return nullptr;
}

double nearestWidth(const FusedCurve& curve, double width) {
    double nearest = curve.points.front().width, least = -1;
    for (const FusedPoint& point : curve.points) {
        const double distance = std::abs(std::log(point.width / width));
        if (least >= 0 && distance >= least) continue;
        least = distance;
        nearest = point.width;
    }
    return nearest;
}

double between(double x, double x0, double y0, double x1, double y1) {
    const double share = std::log(x / x0) / std::log(x1 / x0);
    return std::exp(std::log(y0) + share * std::log(y1 / y0));
}

// Of one column of the points that share a width; 0 where a point has no figure.
double at(const FusedCurve& curve, double width, double bytes, double FusedPoint::*figure) {
    const FusedPoint* below = nullptr;
    for (const FusedPoint& point : curve.points) {
        if (point.width != width) continue;
        if (point.*figure <= 0) return 0;
        if (point.bytes >= bytes) {
            if (below == nullptr || point.bytes == bytes) return point.*figure;
            return between(bytes, below->bytes, below->*figure, point.bytes, point.*figure);
        }
        below = &point;
    }
    return below == nullptr ? 0 : below->*figure * (bytes / below->bytes);
}

double floorOf(const FusedCurve& curve, double FusedPoint::*figure) {
    double least = 0;
    for (const FusedPoint& point : curve.points)
        if (point.*figure > 0 && (least == 0 || point.*figure < least)) least = point.*figure;
    return least;
}

} // namespace

FusedTime fusedTime(const DeviceSpec& device, std::string_view pattern, bool backward, double bytes, double width) {
    if (!(bytes > 0) || !(width > 0)) return {};
    const DeviceSpec* measured = &device;
    const FusedCurve* curve = curveOf(device, pattern, backward);
    if (curve == nullptr) {
        for (const DeviceSpec& preset : devicePresets()) {
            measured = &preset;
            curve = curveOf(preset, pattern, backward);
            if (curve != nullptr) break;
        }
        if (curve == nullptr || !(device.practicalBandwidth() > 0)) return {};
    }
    FusedTime time;
    time.borrowed = measured != &device;
    time.measured_on = measured->name;
    const double ratio = time.borrowed ? measured->practicalBandwidth() / device.practicalBandwidth() : 1;
    const double nearest = nearestWidth(*curve, width);
    const auto ns = [&](double FusedPoint::*figure) {
        const double us = at(*curve, nearest, bytes, figure), floor = std::min(us, floorOf(*curve, figure));
        return 1e3 * (floor + (us - floor) * ratio);
    };
    time.ns = ns(&FusedPoint::us);
    time.framework_ns = ns(&FusedPoint::framework_us);
    return time;
}

} // namespace fusescope
