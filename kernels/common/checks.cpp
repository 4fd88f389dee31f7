// SPDX-License-Identifier: Apache-2.0
#include "kernels/common/checks.h"

#include "kernels/common/error.h"

#include <cstdlib>

namespace fusescope::kernels {

FsStatus checkRows(const FsRows& rows, const char* name, int64_t width, bool written) {
    if (rows.outer < 0 || rows.inner < 0 || width < 0 || rows.outer > maxElements || rows.inner > maxElements ||
        width > maxElements)
        return fail(FS_INVALID_ARGUMENT, "%s: %lld x %lld rows of %lld elements cannot be", name, asLong(rows.outer),
                    asLong(rows.inner), asLong(width));
    if (rows.outer == 0 || rows.inner == 0 || width == 0) return FS_OK;
    if (rows.outer > maxElements / rows.inner / width)
        return fail(FS_INVALID_ARGUMENT, "%s: %lld x %lld rows of %lld elements are too many", name, asLong(rows.outer),
                    asLong(rows.inner), asLong(width));
    if (!rows.data) return fail(FS_INVALID_ARGUMENT, "%s: expected data, found a null pointer", name);
    if (rows.outer_stride < 0 || rows.inner_stride < 0 || rows.outer_stride > maxElements / rows.outer ||
        rows.inner_stride > maxElements / rows.inner)
        return fail(FS_INVALID_ARGUMENT, "%s: strides %lld and %lld cannot be", name, asLong(rows.outer_stride),
                    asLong(rows.inner_stride));
    if (!written) return FS_OK;
    const int64_t span = (rows.inner - 1) * rows.inner_stride + width;
    if ((rows.inner > 1 && rows.inner_stride < width) || (rows.outer > 1 && rows.outer_stride < span))
        return fail(FS_INVALID_ARGUMENT, "%s: rows that are written to overlap (width %lld, strides %lld and %lld)",
                    name, asLong(width), asLong(rows.outer_stride), asLong(rows.inner_stride));
    return FS_OK;
}

FsStatus checkSameRows(const FsRows& a, const char* nameA, const FsRows& b, const char* nameB) {
    if (rowCount(a) == rowCount(b)) return FS_OK;
    return fail(FS_INVALID_ARGUMENT, "%s has %lld rows, %s has %lld", nameA, asLong(rowCount(a)), nameB,
                asLong(rowCount(b)));
}

FsStatus checkPointer(const void* p, const char* name) {
    if (p) return FS_OK;
    return fail(FS_INVALID_ARGUMENT, "%s: expected data, found a null pointer", name);
}

FsStatus checkDtype(FsDtype dtype, const char* name) {
    if (dtype == FS_F32 || dtype == FS_F16 || dtype == FS_BF16) return FS_OK;
    return fail(FS_INVALID_ARGUMENT, "%s: %d is no element type", name, int(dtype));
}

} // namespace fusescope::kernels
