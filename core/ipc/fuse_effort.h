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
// Of fewer no speedup is told: of n runs of each of two equal forms, all of one are by chance below all of the other or
// above them in 2 of (2n over n) cases. That is 2.9% of four rounds and 0.8% of five.
inline constexpr int kFewestFuseRounds = 5;
inline constexpr double kMostFuseSeconds = 3600;

} // namespace fusescope
