// SPDX-License-Identifier: Apache-2.0
// The CUDA source of a region's kernel.
#pragma once

#include "kernels/pointwise_chain/plan.h"
#include "kernels/pointwise_chain/program.h"

#include <string>

namespace fusescope::kernels::chain {

/// What every source begins with.
extern const char* const preludeText;

/// The name of the kernel in it.
inline constexpr const char* kernelName = "fusescope_region";

std::string sourceOf(const Program& program, const Plan& plan);

/// Of an element as it lies in memory, and of the value it is computed with.
const char* elementType(Dtype dtype);
const char* valueType(Dtype dtype);

/// Writes the operators of a region, one after another, on arrays: %7 is `v7`, of `N` elements, or of 1 where it has
/// the same value in a whole row.
class NodeWriter {
public:
    NodeWriter(const Program& program, const Plan& plan);

    bool perRow(int node) const { return perRow_[size_t(node)]; }
    /// The value at element `i` of the pack.
    std::string element(int node) const {
        return std::string("v") + std::to_string(node) + (perRow(node) ? "[0]" : "[i]");
    }
    /// An operand as the operator reads it, at element i.
    std::string operand(const Node& node, size_t at) const;
    /// The declaration of node k and the statements that compute it; not for reductions.
    std::string statements(int node, const std::string& indent) const;
    /// The rounding of node k, or nothing.
    std::string roundingOf(int node, const std::string& indent) const;
    bool isReduction(int node) const;

private:
    std::string expression(const Node& node) const;
    std::string power(const Node& node, const std::string& base) const;
    bool needsRounding(int node) const;

    const Program& program_;
    const Plan& plan_;
    std::vector<bool> perRow_;
    std::vector<bool> read_; ///< by another operator
};

} // namespace fusescope::kernels::chain
