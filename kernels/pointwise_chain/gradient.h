// SPDX-License-Identifier: Apache-2.0
// The backward of a region, which is a region itself. It computes what it needs of the forward anew. The gradient of a
// sum over rows is given for each of them.
#pragma once

#include "kernels/pointwise_chain/program.h"

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace fusescope::kernels::chain {

struct Gradient {
    std::string text;      // "" when nothing has to be computed
    std::vector<int> from; // its inputs: of the region's inputs and, after them, the gradients of its floating outputs
    /// The gradient of an input: an output of the text, or, where it passes through unchanged (a sum's), -1 - i: the
    /// gradient i itself, counted as in `from`. Of all inputs broadcast together or of its rows: the caller sums it up,
    /// or expands it, to the input's shape; or already `summed` over all rows. An input without one: it is zero.
    struct Of {
        int input = 0, value = 0;
        bool summed = false;
    };
    std::vector<Of> of;
};

/// The gradients of the inputs that are `wanted` (floating ones), for inputs whose last dimensions are `last` (1 for
/// 0-d tensors) and of which some are a `row` that all rows of the region read (a weight, a bias). Formulas are
/// PyTorch's (derivatives.yaml); half precision is computed in fp32 within an operator's formula and rounded to the
/// operand's type after it. Or a sentence: where there is none.
std::variant<Gradient, std::string> gradientOf(const Program& program, const std::vector<int64_t>& last,
                                               const std::vector<bool>& row, const std::vector<bool>& wanted);

} // namespace fusescope::kernels::chain
