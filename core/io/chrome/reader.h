// SPDX-License-Identifier: Apache-2.0
// Reading a trace that is in memory already: tests and fuzzers.
#pragma once

#include "core/base/result.h"
#include "core/trace/trace_builder.h"
#include "core/trace/trace_store.h"

#include <cstddef>
#include <string>
#include <string_view>

namespace fusescope {

// workers: decoding threads, 0 = all on this one. batch_bytes: 0 = as for files.
struct KinetoTextOptions {
    std::string path = "memory";
    unsigned workers = 0;
    std::size_t batch_bytes = 0;
    TraceLimits limits = {};
};
[[nodiscard]] Result<TracePtr> readKinetoText(std::string_view text, const KinetoTextOptions& options = {});

} // namespace fusescope
