// SPDX-License-Identifier: Apache-2.0
// Whose fused form stands in a picture: a finding's instance, or one of a region that the user chose.
#pragma once

#include "core/analysis/selection.h"
#include "core/draw/draw_list.h"

#include <cstdint>
#include <memory>
#include <string>

namespace fusescope {

// What the fused form is beside the unfused one, in the step. In order: from the best to the worst.
enum class FusedSpeed : std::uint8_t { Faster, NoGain, Slower };
// A region of the user's own choice (core/region/chosen.h), which is described as a finding is.
struct DrawnRegion {
    std::string title, brief;            // "mul, silu of model.layers.0.mlp", without the module
    std::uint32_t number = 0;            // of its pick
    std::shared_ptr<const Finding> work; // not null
};
struct FusedOf {
    std::uint32_t finding = 0, instance = 0;   // rows
    std::shared_ptr<const DrawnRegion> region; // not null: the instance is of this one, `finding` says nothing
    FusedSpeed speed = FusedSpeed::Faster;     // as measured
};

[[nodiscard]] ColourRole roleOf(FusedSpeed speed) noexcept; // one colour in every picture
// Null: there is no such row.
[[nodiscard]] const Finding* workOf(const Analysis& analysis, const FusedOf& of) noexcept;
[[nodiscard]] const Instance* instanceOf(const Analysis& analysis, const FusedOf& of) noexcept;
[[nodiscard]] std::string titleOf(const Analysis& analysis, const FusedOf& of); // "RMSNorm", "mul, silu of layers.0"
[[nodiscard]] Pick pickOfWork(const FusedOf& of) noexcept;                      // all its instances
[[nodiscard]] Pick pickOf(const FusedOf& of) noexcept;                          // of regions the same
// Its finding is among the selected ones, or its region is what was picked.
[[nodiscard]] bool isPicked(const SelectionSets& selection, const FusedOf& of) noexcept;
// Findings or a region are selected: what is no part of them steps back.
[[nodiscard]] bool somePicked(const SelectionSets& selection) noexcept;

} // namespace fusescope
