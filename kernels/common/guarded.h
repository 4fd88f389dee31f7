// SPDX-License-Identifier: Apache-2.0
// Around interface functions that allocate on the host: callers may be C, which no exception may reach.
#pragma once

#include "kernels/common/error.h"

#include <exception>

namespace fusescope::kernels {

/// What f() returns, or FS_LIBRARY_ERROR with what the exception says (out of memory, for all that is known).
template <class F> FsStatus guarded(const char* what, F&& f) {
    try {
        return f();
    } catch (const std::exception& e) {
        return fail(FS_LIBRARY_ERROR, "%s: %s", what, e.what());
    } catch (...) {
        return fail(FS_LIBRARY_ERROR, "%s: an exception", what);
    }
}

} // namespace fusescope::kernels
