// SPDX-License-Identifier: Apache-2.0
// Linear cross entropy in fp64 on the CPU: what the kernels are compared with. Matrices are contiguous.
#pragma once

#include <cstdint>

namespace fusescope::kernels::reference {

struct LinearCrossEntropy {
    const double* x;      // [tokens][hidden]
    const double* weight; // [vocab][hidden]
    const int64_t* labels;
    int64_t tokens, hidden, vocab;
    int64_t ignored;
    double divisor; // of the sum over tokens; negative: the labels that are not ignored
};

/// The loss; a label outside the vocabulary makes it NaN, with the gradients of its token. `dx` [tokens][hidden] and
/// `dweight` [vocab][hidden] may be null.
double linearCrossEntropy(const LinearCrossEntropy& c, double* dx, double* dweight);

} // namespace fusescope::kernels::reference
