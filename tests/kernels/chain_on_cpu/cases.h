// SPDX-License-Identifier: Apache-2.0
// The regions whose kernels run on the CPU here: one of every kind of plan, a few rows for each block.
#pragma once

#include "kernels/pointwise_chain/plan.h"

#include <string>
#include <vector>

namespace fusescope::kernels::chain {

struct CaseInput {
    std::vector<int64_t> size;
    int64_t wider = 0; ///< elements between the end of a row and the next one's beginning
};

struct Case {
    const char* name;
    std::string text;
    std::vector<CaseInput> inputs;
    FsLaunchHint hint{};
    int multiprocessors = 1; ///< so few that blocks take several rows
    bool backward = false;   ///< the text's gradient of all inputs
};

const std::vector<Case>& cases();

/// A case with memory for its tensors; the call points into it.
struct Prepared {
    Program program;
    Shapes shapes;
    std::vector<std::vector<char>> memory; ///< inputs, then outputs
    std::vector<FsChainTensor> inputs, outputs;
    FsPointwiseChain call{};
    Plan plan;
};

/// Inputs hold numbers from -2 to 2, each case its own; outputs nothing. Aborts with a message where a case is none.
void prepare(const Case& of, Prepared& made);

} // namespace fusescope::kernels::chain
