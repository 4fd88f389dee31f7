// SPDX-License-Identifier: Apache-2.0
#include "core/cost/multi_tensor.h"

#include "core/cost/fusescope_kernels.h"

#include <charconv>
#include <vector>

namespace fusescope {
namespace {

constexpr double kChunk = 65536;

bool has(std::string_view text, std::string_view part) noexcept { return text.find(part) != std::string_view::npos; }

// The first template arguments of the functor: "c10::BFloat16", 4 ...
struct Functor {
    DType type = DType::Unknown;
    std::vector<int> numbers;
};

Functor functorOf(std::string_view kernel) {
    Functor functor;
    std::size_t at = kernel.find("Functor<");
    if (at == std::string_view::npos) return functor;
    at += 8;
    for (int i = 0; i < 4 && at < kernel.size(); ++i) {
        while (at < kernel.size() && kernel[at] == ' ') ++at;
        const std::size_t end = kernel.find_first_of(",>(<", at);
        if (end == std::string_view::npos) break;
        const std::string_view word = kernel.substr(at, end - at);
        int number = 0;
        if (i == 0)
            functor.type = dtypeFromTraceName(word);
        else if (std::from_chars(word.data(), word.data() + word.size(), number).ec == std::errc{})
            functor.numbers.push_back(number);
        if (kernel[end] != ',') break;
        at = end + 1;
    }
    return functor;
}

} // namespace

DType listTypeOf(std::string_view kernel) noexcept {
    constexpr std::string_view opaque = "OpaqueType<";
    if (const std::size_t at = kernel.find(opaque);
        at != std::string_view::npos && at + opaque.size() < kernel.size()) {
        // Only the size is known; any type of that size moves the same bytes.
        switch (kernel[at + opaque.size()]) {
        case '1': return kernel[at + opaque.size() + 1] == '6' ? DType::Complex128 : DType::UInt8;
        case '2': return DType::BFloat16;
        case '4': return DType::Float32;
        case '8': return DType::Int64;
        default: return DType::Unknown;
        }
    }
    return functorOf(kernel).type;
}

bool isMultiTensor(std::string_view kernel) noexcept {
    return has(kernel, "multi_tensor_apply_kernel") || isOwnOptimizer(kernel);
}

bool multiTensorCost(std::string_view kernel, std::uint32_t blocks, OpCost& cost) {
    if (!isMultiTensor(kernel) || blocks == 0) return false;
    if (isOwnOptimizer(kernel)) return ownOptimizerCost(kernel, blocks, cost);
    const Functor functor = functorOf(kernel);
    const double size = sizeOf(functor.type), elements = kChunk * blocks;
    if (size <= 0 || functor.numbers.empty()) return false;
    double read = 0, written = 0, per_element = 1;
    const int depth = functor.numbers[0]; // tensor lists
    if (has(kernel, "FusedAdam")) {
        read = depth;
        written = depth - 1; // all but the gradients
        per_element = 14;
        cost.formula = "14n: AdamW; n = 65,536 per block of the grid (the lists are not recorded)";
    } else if (has(kernel, "FusedSgd")) {
        read = depth;
        written = depth - 1;
        per_element = depth > 2 ? 4 : 2;
        cost.formula = "4n: SGD with momentum; n = 65,536 per block of the grid (the lists are not recorded)";
    } else if (functor.numbers.size() >= 3) { // <type, depth, lists read, list written>
        read = functor.numbers[1];
        written = 1;
        cost.formula = "n = 65,536 per block of the grid (the lists are not recorded)";
    }
    if (read <= 0 || written <= 0 || depth > 16) return false;
    cost.flops = per_element * elements;
    cost.tensor_flops = 0;
    cost.bytes_read = read * size * elements;
    cost.bytes_written = written * size * elements;
    cost.dtype = functor.type;
    cost.flops_known = cost.bytes_known = true;
    return true;
}

} // namespace fusescope
