// SPDX-License-Identifier: GPL-3.0-or-later
// How far results are from each other.
#pragma once

#include "inputs.h"

namespace fusescope::runner {

struct Difference {
    double relative = 0; // ||value - reference|| / ||reference||, of the tensor where it is largest
    double max_abs = 0;
    bool bitwise = true;
};

// What is infinite or not a number in both is equal; in one of them alone it is a difference of 1e300, the largest that
// the protocol can say. Undefined tensors (a gradient that nothing depends on) are zeros. Throws Failed when the shapes
// differ; `what` says of what.
[[nodiscard]] Difference differenceOf(const Tensors& values, const Tensors& references, const char* what);

} // namespace fusescope::runner
