// SPDX-License-Identifier: Apache-2.0
// Whether two tensors share memory, for kernels whose blocks read what others write.
#pragma once

#include "kernels/common/abi.h"

namespace fusescope::kernels {

/// Whether any byte from the first to the last element of a, of `elementA` bytes each, is one of b's. Neither is empty.
inline bool mayOverlap(const FsRows& a, size_t elementA, const FsRows& b, size_t elementB, int64_t width) {
    auto begin = [](const FsRows& rows) { return reinterpret_cast<uintptr_t>(rows.data); };
    auto end = [&](const FsRows& rows, size_t element) {
        const int64_t last = (rows.outer - 1) * rows.outer_stride + (rows.inner - 1) * rows.inner_stride + width;
        return begin(rows) + size_t(last) * element;
    };
    return begin(a) < end(b, elementB) && begin(b) < end(a, elementA);
}

} // namespace fusescope::kernels
