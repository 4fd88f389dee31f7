// SPDX-License-Identifier: Apache-2.0
// How much of a region is measured, and how long that may take: the same in the runner's protocol, on the command line
// and in the window's settings.
#pragma once

namespace fusescope {

struct FuseEffort {
    int rounds = 20;          // runs of each form that are timed; 1 to kMostFuseRounds
    double time_limit_s = 60; // of one region; 1 to kMostFuseSeconds
};
inline constexpr int kMostFuseRounds = 1000;
inline constexpr double kMostFuseSeconds = 3600;

} // namespace fusescope
