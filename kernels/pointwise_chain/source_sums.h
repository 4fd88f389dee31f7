// SPDX-License-Identifier: Apache-2.0
// Sums over rows as a kernel makes them: in registers, the columns of a thread; where a row does not fit there, in the
// workspace.
#pragma once

#include "kernels/pointwise_chain/kernel_text.h"

namespace fusescope::kernels::chain {

bool hasSums(const Plan& plan);

/// Before the first row.
void declareSums(KernelText& text);
/// A pack's values of an output, where `inside` says whether they are the row's.
void addToSum(KernelText& text, size_t output);
/// After the last row.
void writeSums(KernelText& text);

} // namespace fusescope::kernels::chain
