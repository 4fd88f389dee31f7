// SPDX-License-Identifier: GPL-3.0-or-later
// One of a region's programs, forward and backward.
#pragma once

#include "interpreter.h"

namespace fusescope::runner {

// Results of one run; gradients of the inputs that want one, in their order (undefined: nothing depends on it).
struct Values {
    Tensors outputs, gradients;
};

class RegionRun {
public:
    RegionRun(Interpreter interpreter, const Region& region, const Job& job)
        : interpreter_(std::move(interpreter)), region_(region), job_(job) {}

    [[nodiscard]] bool mutates() const { return interpreter_.mutates(); }

    // With autograd when the region has a backward.
    [[nodiscard]] Tensors forward(const Tensors& inputs) const {
        return forward(inputs, [this] { job_.check(); });
    }
    [[nodiscard]] Tensors forward(const Tensors& inputs, const std::function<void()>& check) const;
    // Gradients through outputs that forward() made; they stay usable for another call.
    [[nodiscard]] Tensors backward(const Tensors& outputs, const Tensors& inputs, const Tensors& out_gradients) const;

private:
    Interpreter interpreter_;
    const Region& region_;
    const Job& job_;
};

} // namespace fusescope::runner
