// SPDX-License-Identifier: GPL-3.0-or-later
#include "failure.h"

#include <c10/util/Exception.h>

#include <array>
#include <new>

namespace fusescope::runner {
namespace {

bool saysOutOfMemory(const std::string& message) {
    constexpr std::array<const char*, 4> signs{"out of memory", "not enough memory", "can't allocate memory",
                                               "ALLOC_FAILED"};
    for (const char* sign : signs)
        if (message.find(sign) != std::string::npos) return true;
    return false;
}

bool saysCuda(const std::string& message) {
    return message.find("CUDA error") != std::string::npos || message.find("CUDA driver error") != std::string::npos ||
           message.find("CUBLAS_STATUS") != std::string::npos || message.find("CUDNN_STATUS") != std::string::npos;
}

} // namespace

Failed failureOf(const std::exception& error, const std::string& where) {
    if (const auto* failed = dynamic_cast<const Failed*>(&error)) return *failed;
    const auto* torch = dynamic_cast<const c10::Error*>(&error);
    std::string message = torch != nullptr ? torch->what_without_backtrace() : error.what();
    const char* code = torch != nullptr ? "unsupported" : "internal";
    if (dynamic_cast<const c10::OutOfMemoryError*>(&error) != nullptr ||
        dynamic_cast<const std::bad_alloc*>(&error) != nullptr || saysOutOfMemory(message))
        code = "out_of_memory";
    else if (saysCuda(message))
        code = "cuda";
    if (message.size() > 2000) message.resize(2000);
    return {code, where.empty() ? message : where + ": " + message};
}

} // namespace fusescope::runner
