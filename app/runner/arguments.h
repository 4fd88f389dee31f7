// SPDX-License-Identifier: GPL-3.0-or-later
// An argument of a step as the operator's schema wants it.
#pragma once

#include "core/region/program.h"

#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>
#include <c10/core/Device.h>

#include <string>
#include <variant>

namespace fusescope::runner {

// Where a program runs, and whether in fp64 whatever it says.
struct Target {
    c10::Device device;
    bool float64 = false;
};

// A constant; or the values of earlier steps that stand there, filled in when the program runs. `holes`: the list may
// have undefined entries.
struct Binding {
    std::variant<RegionRef, RegionRefs> values;
    bool holes = false;
};
using Argument = std::variant<c10::IValue, Binding>;

// The error's `where` is left to the caller, who knows the step.
[[nodiscard]] Result<Argument> convert(const RegionArgValue& value, const c10::Argument& wanted, const Target& target);
// What stands for an argument that a step does not give: its default; an error where there is none.
[[nodiscard]] Result<c10::IValue> absent(const c10::Argument& wanted, const Target& target);

} // namespace fusescope::runner
