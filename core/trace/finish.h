// SPDX-License-Identifier: Apache-2.0
// The passes that turn appended rows into a finished store, in this order.
#pragma once

#include "core/trace/trace_builder.h"

namespace fusescope {

void clampDurations(TraceStore& store, TraceBuilder& problems); // negative -> 0, beyond any clock cut; sets begin, end
void sortSlices(TraceStore& store);                             // by (ts, -dur, file order); side tables follow
void nestSlices(TraceStore& store);                             // parent, depth; slices and depths of tracks
void findLaunches(TraceStore& store, TraceBuilder& problems);   // GPU work -> the host row that launched it
void listSteps(TraceStore& store, TraceBuilder& problems);      // ProfilerStep#n
void tellProcesses(TraceStore& store);                          // of tracks; their names; are there several?
void assignSteps(TraceStore& store, TraceBuilder& problems);    // to rows; GPU work by its launch
// Of kernels on GPUs of different names: one set of peaks serves them all, and the user is told whose.
void tellKindsOfGpu(const TraceStore& store, TraceBuilder& problems);

} // namespace fusescope
