// SPDX-License-Identifier: Apache-2.0
// The standard library says by an exception that memory is out, or that the system gives no more threads. That ends
// here, as an error with a sentence: nothing leaves a thread or a library as an exception.
#pragma once

#include "core/base/progress.h"
#include "core/base/result.h"

#include <new>
#include <string>
#include <system_error>

namespace fusescope {

// work: returns a Result. The stage of the progress tells what memory was wanted for.
template <class Work>
[[nodiscard]] auto guardedByMemory(const std::string& where, const Progress& progress, Work work) -> decltype(work()) {
    const auto outOf = [&](const char* what) {
        const char* stage = progress.stage();
        return Error{ErrorCode::Limit, std::string("enough ") + what,
                     std::string("out of ") + what + " while " + (*stage != '\0' ? stage : "reading"), where};
    };
    try {
        return work();
    } catch (const std::bad_alloc&) {
        return outOf("memory");
    } catch (const std::system_error&) {
        return outOf("threads");
    }
}

} // namespace fusescope
