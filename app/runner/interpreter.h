// SPDX-License-Identifier: GPL-3.0-or-later
// Runs a region's program through PyTorch's dispatcher: any operator that is registered, called with boxed arguments.
#pragma once

#include "arguments.h"
#include "inputs.h"

#include <ATen/core/dispatch/Dispatcher.h>

#include <functional>
#include <string>
#include <vector>

namespace fusescope::runner {

class Interpreter {
public:
    // Finds the operators and converts constant arguments. Errors name the step: an unknown operator, an argument that
    // its schema does not have or of another type, one that is missing.
    static Result<Interpreter> prepare(const RegionProgram& program, const Target& target);

    // One run. Values are dropped after their last use. `check` is called before each step and may throw; an operator's
    // error becomes Failed with the step's name.
    [[nodiscard]] Tensors run(const Tensors& inputs, const std::function<void()>& check) const;

    // Whether a step writes into tensors that exist already, so that no two runs may share their inputs.
    [[nodiscard]] bool mutates() const { return mutates_; }

private:
    struct Step {
        c10::OperatorHandle op;
        std::vector<c10::IValue> stack; // constants; holes where bindings go
        std::vector<std::pair<std::size_t, Binding>> bindings;
        std::vector<RegionRef> last_uses; // values to drop after it
        std::size_t outputs = 0;
        std::string name; // "step 3, aten::mul.Tensor (mul_4)"
    };
    using Values = std::vector<Tensors>; // of each step

    static Result<Step> prepareStep(const RegionStep& step, std::size_t index, const Target& target);
    void findLastUses();
    static void keepOutputs(const Step& step, std::vector<c10::IValue>& returned, Tensors& outputs);

    std::vector<Step> steps_;
    std::vector<RegionRef> outputs_;
    bool mutates_ = false;
};

} // namespace fusescope::runner
