// SPDX-License-Identifier: Apache-2.0
// A region of the model as a small program of operators: what a runner can interpret through PyTorch's dispatcher on
// synthetic inputs. The unfused form, its fused form and a whole decoder layer with some regions fused are all such
// programs over the same inputs. Plain data: knows no Torch.
#pragma once

#include "core/base/result.h"
#include "core/base/tensor.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace fusescope {

// What synthetic values an input gets. Numbers are drawn from one seeded generator, so that all programs see the same.
enum class Fill : std::uint8_t {
    Normal,   // mean 0, standard deviation `scale`
    Uniform,  // in [0, scale)
    Index,    // whole numbers in [0, bound): labels, token ids
    Position, // 0, 1, 2 ... along the last dimension
    Constant, // `scale` everywhere; true for bool
    Causal,  // mask of the last two dimensions: bool true, or 0 of a float, on and below the diagonal; else false, -inf
    NearOne, // uniform in [1 - scale, 1 + scale): weights of norms, what is divided by or under a root
};
[[nodiscard]] std::string_view nameOf(Fill fill) noexcept; // "near_one"

struct RegionInput {
    std::string name; // of the graph's value: "p_model_norm_weight", or the catalogue's: "x"
    TensorMeta meta;  // sizes known, all >= 0; strides empty (contiguous) or one a dimension, all >= 0. requires_grad
                      // is `gradient`
    Fill fill = Fill::Normal;
    double scale = 1;
    std::int64_t bound = 0; // Index
    bool gradient = false;  // wanted in the backward
};

// Which value: an input, or an output of an earlier step.
struct RegionRef {
    std::int32_t step = -1;  // -1: an input
    std::uint32_t index = 0; // of the input, or of the step's output
    friend bool operator==(const RegionRef&, const RegionRef&) = default;
};

struct RegionNone {
    friend bool operator==(const RegionNone&, const RegionNone&) = default;
};
// Devices and layouts are never said: tensors are where the runner is, also those that operators make (arange, zeros).
// A memory format is a string without "torch.": "contiguous_format".
struct RegionDType {
    DType type = DType::Unknown;
    friend bool operator==(const RegionDType&, const RegionDType&) = default;
};
using RegionRefs = std::vector<std::variant<RegionNone, RegionRef>>; // a tensor list, perhaps with holes
using RegionArgValue = std::variant<RegionNone, RegionRef, RegionRefs, bool, std::int64_t, double, std::string,
                                    RegionDType, std::vector<std::int64_t>, std::vector<double>, std::vector<bool>>;

struct RegionArg {
    std::string name; // of the schema; "" where only the position is known
    bool keyword = false;
    RegionArgValue value;
};

struct RegionStep {
    std::string op;       // "aten::mul", "fusescope::rms_norm"
    std::string overload; // "Tensor"; "" is the default overload
    std::vector<RegionArg> args;
    std::uint32_t outputs = 1; // 0: called for nothing; a list that is returned counts its tensors
    std::string label;         // for people: "mul_4"
};

struct RegionProgram {
    std::vector<RegionStep> steps; // in order of execution
    std::vector<RegionRef> outputs;
};

// What one measurement is about: programs that compute the same from the same inputs.
struct Region {
    std::string id;      // "rms_norm", "rms_norm#3", "layer.0": unique within a session
    std::string pattern; // catalogue id, or "layer", "model", "selection"
    std::string title;   // "RMSNorm of model.layers.0.input_layernorm"
    std::vector<RegionInput> inputs;
    RegionProgram baseline;
    RegionProgram fused;    // no steps: there is no fused form
    std::string reason;     // why not, what the fused form leaves out (no backward, a fusion), or how to read it
    double fused_bytes = 0; // bytes one kernel must move, forward; 0 not known
    double fused_backward_bytes = 0; // and backward
    double fused_flops = 0, fused_backward_flops = 0;
    bool backward = false; // the step trains: measure the backward too
    std::string numerics;  // "bitwise", "framework order", "one rounding"
};

constexpr std::size_t kMaxRegionSteps = 20'000, kMaxRegionInputs = 5'000, kMaxRegionArgs = 64, kMaxRegionList = 4'096,
                      kMaxRegionDims = 32, kMaxRegionName = 512, kMaxRegionText = 16'384;

// Whether every reference points to an earlier value and every bound above and every size holds, numbers are finite
// (an argument may be infinite: masks are), and operators are the framework's or ours and touch no file. The sentence
// names the first thing that does not.
[[nodiscard]] Status checkRegion(const Region& region);

// Bytes of all inputs together.
[[nodiscard]] double inputBytes(const Region& region) noexcept;

} // namespace fusescope
