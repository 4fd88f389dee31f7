// SPDX-License-Identifier: GPL-3.0-or-later
// TorchScript files. Loading one can run code that it carries, so it happens in a process of its own, with limits, and
// only when the user agreed.
#pragma once

#include "job.h"

namespace fusescope::runner {

// Starts this program again with --load-torchscript.
[[nodiscard]] TorchscriptResult loadTorchscript(const LoadTorchscriptRequest& request, const Job& job);

// The other process: limits itself, loads `path`, writes its graph as JSON to `out`. Exit status; on failure stdout
// (`answer_fd`) has the reason.
[[nodiscard]] int loadTorchscriptHere(const char* path, const char* out, int answer_fd);

} // namespace fusescope::runner
