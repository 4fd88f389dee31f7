// SPDX-License-Identifier: Apache-2.0
#include "core/cost/fusescope_kernels.h"

#include "core/cost/op_call.h"

namespace fusescope {
namespace {

bool has(std::string_view text, std::string_view part) noexcept { return text.find(part) != std::string_view::npos; }

constexpr std::string_view kAdamWKernel = "::adamwStep<";

// "adamwStep<__nv_bfloat16, float, 1>": of parameters and gradients, of the moments.
ListTypes typesOfAdamW(std::string_view kernel) {
    const std::size_t at = kernel.find(kAdamWKernel);
    if (at == std::string_view::npos) return {};
    std::string_view rest = kernel.substr(at + kAdamWKernel.size());
    const auto next = [&rest] {
        const std::size_t comma = rest.find(", ");
        const std::string_view word = rest.substr(0, comma);
        rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 2);
        if (word == "__nv_bfloat16") return DType::BFloat16;
        if (word == "__half") return DType::Float16;
        return word == "float" ? DType::Float32 : DType::Unknown;
    };
    ListTypes types;
    types.type = next();
    types.state = next();
    return types;
}

DType firstType(const TraceStore& trace, CpuOpId op) {
    for (const OpArg& arg : parseOpArgs(trace, op))
        if (arg.kind == ArgKind::Tensor && isFloating(arg.tensor.dtype)) return arg.tensor.dtype;
    return DType::Unknown;
}

} // namespace

bool isOwnOp(std::string_view op) noexcept { return op.substr(0, 11) == "fusescope::"; }

ListTypes ownListTypes(const TraceStore& trace, CpuOpId op, std::string_view kernel) {
    if (isOwnOptimizer(kernel)) return typesOfAdamW(kernel);
    ListTypes types;
    types.type = firstType(trace, op);
    SliceId slice = trace.cpu_ops.slice[op.index()];
    for (int guard = 0; types.type == DType::Unknown && guard < 8; ++guard) {
        slice = trace.slices.parent[slice.index()];
        if (!slice.valid()) break;
        if (trace.slices.category[slice.index()] != Category::CpuOp) continue;
        const std::uint32_t row = trace.slices.detail[slice.index()];
        if (row < trace.cpu_ops.size()) types.type = firstType(trace, CpuOpId(row));
    }
    return types;
}

void setOwnListTypes(std::string_view op, const ListTypes& types, std::vector<OpArg>& args) {
    const bool optimizer = op == "fusescope::adamw_";
    for (std::size_t i = 0; i < args.size(); ++i)
        for (TensorMeta& tensor : args[i].list) {
            tensor.dtype = types.type;
            if (optimizer && i >= 2) tensor.dtype = i < 4 ? types.state : DType::Float32; // then the steps
        }
}

bool isOwnOptimizer(std::string_view kernel) noexcept {
    return has(kernel, "fusescope::kernels::") && has(kernel, kAdamWKernel);
}

bool ownOptimizerCost(std::string_view kernel, std::uint32_t blocks, OpCost& cost) {
    const ListTypes types = typesOfAdamW(kernel);
    if (!isOwnOptimizer(kernel) || blocks == 0 || sizeOf(types.type) <= 0 || sizeOf(types.state) <= 0) return false;
    // Two rounds of 256 threads with one load of 16 bytes each (variant 2: two loads).
    const double chunk = 2 * 256 * (16.0 / sizeOf(types.type)) * (has(kernel, ", 2>(") ? 2 : 1);
    const double n = chunk * blocks, param = n * sizeOf(types.type), moments = 2 * n * sizeOf(types.state);
    fill(cost, 14 * n, 2 * param + moments, param + moments, types.type,
         "14n: AdamW; n = all that the blocks of the grid have room for (the lists are not recorded)");
    return true;
}

bool isOwnProduct(std::string_view kernel) noexcept {
    for (const std::string_view part : {"nvjet", "gemm", "cutlass", "::attentionHopper<", "::attentionBackwardHopper<"})
        if (has(kernel, part)) return true;
    return has(kernel, "fusescope::kernels::") && has(kernel, "::product<");
}

} // namespace fusescope
