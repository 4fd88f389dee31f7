// SPDX-License-Identifier: Apache-2.0
// A region written by hand with every kind of argument.
#pragma once

#include "core/region/program.h"

#include <limits>

namespace fusescope::test {

inline RegionInput inputOf(const char* name, DType dtype, std::vector<std::int64_t> sizes, Fill fill = Fill::Normal) {
    RegionInput input;
    input.name = name;
    input.meta.dtype = dtype;
    input.meta.sizes = std::move(sizes);
    input.fill = fill;
    return input;
}

// y = x * w, with a second step that has an argument of each kind.
inline Region exampleRegion() {
    Region region;
    region.id = "selection#2";
    region.pattern = "selection";
    region.title = "two nodes of model.layers.0";
    region.inputs = {inputOf("x", DType::BFloat16, {2, 3}), inputOf("w", DType::BFloat16, {3}, Fill::NearOne),
                     inputOf("ids", DType::Int64, {2}, Fill::Index)};
    region.inputs[0].meta.strides = {1, 2};
    region.inputs[0].gradient = region.inputs[0].meta.requires_grad = true;
    region.inputs[1].scale = 0.1;
    region.inputs[2].bound = 7;
    RegionStep mul{
        "aten::mul", "Tensor", {{"self", false, RegionRef{-1, 0}}, {"other", false, RegionRef{-1, 1}}}, 1, "mul_4"};
    RegionStep odd{"aten::odd_one", "", {}, 2, "odd"};
    odd.args = {{"", false, RegionNone{}},
                {"a", false, RegionRefs{RegionRef{0, 0}, RegionNone{}, RegionRef{-1, 2}}},
                {"b", false, true},
                {"c", false, std::int64_t{-9223372036854775807}},
                {"d", true, 1.0},
                {"e", true, -std::numeric_limits<double>::infinity()},
                {"f", true, std::string("contiguous_format")},
                {"g", true, RegionDType{DType::Float32}},
                {"h", true, std::vector<std::int64_t>{-1, 128}},
                {"i", true, std::vector<double>{0.5, 1e20}},
                {"j", true, std::vector<bool>{true, false}}};
    region.baseline.steps = {mul, odd};
    region.baseline.outputs = {{1, 1}, {0, 0}};
    region.fused.steps = {{"fusescope::rms_norm", "", {{"x", false, RegionRef{-1, 0}}}, 2, "fused"}};
    region.fused.outputs = {{0, 1}, {0, 0}};
    region.reason = "made up";
    region.fused_bytes = 12;
    region.fused_backward_bytes = 24;
    region.fused_flops = 1e19;
    region.fused_backward_flops = 3;
    region.backward = true;
    region.numerics = "framework order";
    return region;
}

} // namespace fusescope::test
