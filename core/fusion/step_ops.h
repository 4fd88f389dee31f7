// SPDX-License-Identifier: Apache-2.0
// The forward operators of the analysed step in time order: the line of text that the trace matchers read.
// Without recorded operators (CPU activity off) the kernels stand for the operators that launched them, by name.
// Private to core/fusion.
#pragma once

#include "core/fusion/match.h"
#include "core/fusion/op_code.h"
#include "core/link/link.h"
#include "core/trace/trace_store.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace fusescope::fusion {

struct StepOp { // outermost operator of a module call, with everything below it
    CpuOpId id; // invalid: stands for a kernel without operator
    SliceId slice;
    OpCode code = OpCode::Other;
    bool recomputed = false;       // run again inside the backward pass (checkpointing)
    ModuleId module;               // of its first kernel, into Link::modules
    std::vector<KernelId> kernels; // launched below it, in launch order
    std::vector<OpArg> args;       // empty: shapes not recorded
};

class StepOps {
public:
    // step -1: the whole trace.
    StepOps(const TraceStore& trace, const Link& link, std::int16_t step);

    static constexpr std::uint32_t kNone = 0xFFFFFFFFu;
    std::vector<StepOp> ops;
    std::vector<std::uint32_t> work; // rows of ops that ran kernels, in time order: what matchers step through
    bool by_kernel_name = false;     // no operators: ops stand for kernels

    [[nodiscard]] const TraceStore& trace() const { return trace_; }
    [[nodiscard]] const Link& link() const { return link_; }
    [[nodiscard]] std::int16_t step() const { return step_; }
    [[nodiscard]] bool inStep(SliceId slice) const;
    // Row of ops that holds a slice of the CPU timeline, kNone if none.
    [[nodiscard]] std::uint32_t rowOf(SliceId slice) const;

    // i-th operator with kernels; nullptr past either end (i may be "negative" by wrapping).
    [[nodiscard]] const StepOp* at(std::size_t i) const { return i < work.size() ? &ops[work[i]] : nullptr; }
    [[nodiscard]] bool is(std::size_t i, OpCode code) const { return i < work.size() && ops[work[i]].code == code; }
    [[nodiscard]] std::string_view nameOf(const StepOp& op) const { return trace_.nameOf(op.slice); }
    [[nodiscard]] std::string describe(const StepOp& op) const; // "aten::mul in model.layers.0.input_layernorm"

private:
    void addOps();
    void addKernels();

    const TraceStore& trace_;
    const Link& link_;
    std::int16_t step_;
    std::vector<std::uint32_t> row_of_op_; // per cpu op: row of ops
};

// i-th argument as a tensor; nullptr when shapes were not recorded or it is none.
[[nodiscard]] const TensorMeta* tensorArg(const StepOp& op, std::size_t i) noexcept;
// Whether the operator reads one tensor and a number ("x * 0.088"). True too when shapes are not known.
[[nodiscard]] bool mayBeScalarOp(const StepOp& op) noexcept;
// Whether it reads two tensors. True too when shapes are not known.
[[nodiscard]] bool mayBeTensorOp(const StepOp& op) noexcept;

// Appends the rows from work position `first` to `last` (inclusive) and the view operators between them to a match,
// with their kernels.
void take(const StepOps& trace, std::size_t first, std::size_t last, Match& match);
// One operator alone.
void takeOne(const StepOps& trace, std::size_t position, Match& match);

} // namespace fusescope::fusion
