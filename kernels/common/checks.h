// SPDX-License-Identifier: Apache-2.0
// Checks of rows and element types that every operator makes before it launches.
#pragma once

#include "kernels/common/abi.h"

namespace fusescope::kernels {

constexpr int64_t maxElements = int64_t{1} << 46; ///< of a tensor: far beyond any device, far from overflow

/// For printf's %lld.
inline long long asLong(int64_t v) { return v; }

inline int64_t rowCount(const FsRows& rows) { return rows.outer * rows.inner; }

inline size_t sizeOf(FsDtype dtype) { return dtype == FS_F32 ? 4 : 2; }

inline bool aligned16(const void* p) { return (reinterpret_cast<uintptr_t>(p) & 15u) == 0; }

/// Whether every row starts at a multiple of 16 bytes.
inline bool aligned16(const FsRows& rows, size_t elementSize) {
    return aligned16(rows.data) && (rows.outer <= 1 || size_t(rows.outer_stride) * elementSize % 16 == 0) &&
           (rows.inner <= 1 || size_t(rows.inner_stride) * elementSize % 16 == 0);
}

/// FS_OK, or a sentence that names the tensor. Rows that are written to may not overlap.
FsStatus checkRows(const FsRows& rows, const char* name, int64_t width, bool written);

/// FS_OK, or a sentence that names both tensors: operators work row by row, so the counts must agree.
FsStatus checkSameRows(const FsRows& a, const char* nameA, const FsRows& b, const char* nameB);

FsStatus checkDtype(FsDtype dtype, const char* name);

FsStatus checkPointer(const void* p, const char* name);

} // namespace fusescope::kernels
