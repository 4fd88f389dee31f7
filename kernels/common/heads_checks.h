// SPDX-License-Identifier: Apache-2.0
// Checks of attention's tensors and rotary tables, as checks.h has them for rows.
#pragma once

#include "kernels/common/heads.h"

namespace fusescope::kernels {

/// What q, k and their tables have in common.
struct HeadShape {
    int64_t batch;
    int64_t tokens;
    int64_t headDim;
};

/// FS_OK, or a sentence: sizes that cannot be, an odd head_dim.
FsStatus checkHeadShape(const HeadShape& shape);

/// FS_OK, or a sentence that names the tensor. Heads that are written to may not overlap.
FsStatus checkHeads(const FsHeads& heads, const char* name, const HeadShape& shape, bool written);

FsStatus checkRotary(const FsRotary& rotary, const HeadShape& shape);

/// Whether every head, or every row of the tables, starts at a multiple of 16 bytes.
bool aligned16(const FsHeads& heads, const HeadShape& shape, size_t elementSize);
bool aligned16(const FsRotary& rotary, const HeadShape& shape, size_t elementSize);

} // namespace fusescope::kernels
