// SPDX-License-Identifier: Apache-2.0
// The text of a region for pointwise_chain: its shapes, the launch that is planned and the source that is written for
// them, and its backward, which has to be a region again.
#include "kernels/pointwise_chain/gradient.h"
#include "kernels/pointwise_chain/source.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace {

using namespace fusescope::kernels;
using namespace fusescope::kernels::chain;

constexpr uintptr_t somewhere = 4096; // an address that nothing looks at

/// Inputs of the types that the program has, of shapes that the seed chooses among some that broadcast together.
std::vector<FsChainTensor> inputsOf(const Program& program, unsigned seed) {
    constexpr int64_t whole[] = {3, 2, 72};
    std::vector<FsChainTensor> inputs;
    for (int i = 0; i < program.inputs; ++i, seed = seed * 1664525u + 1013904223u) {
        FsChainTensor t{};
        t.data = reinterpret_cast<void*>(somewhere + (seed >> 28 & 1) * 8);
        t.dtype = program.nodes[size_t(i)].dtype;
        t.dims = int(seed >> 24 & 3);
        int64_t stride = seed >> 27 & 1 ? 2 : 1;
        for (int d = t.dims - 1; d >= 0; --d) {
            const int64_t size = whole[3 - t.dims + d];
            t.size[d] = (seed >> (16 + d) & 3) == 0 ? 1 : size;
            t.stride[d] = stride;
            stride *= t.size[d];
        }
        inputs.push_back(t);
    }
    return inputs;
}

/// Outputs as PyTorch would make them; or their gradients, of a sum over rows for each of these.
std::vector<FsChainTensor> outputsOf(const Program& program, const Shapes& shapes, bool gradients = false) {
    std::vector<FsChainTensor> outputs;
    for (size_t i = 0; i < program.outputs.size(); ++i) {
        const Shape shape = gradients ? shapes.nodes[size_t(program.outputs[i])] : outputShape(program, shapes, i);
        FsChainTensor t = contiguous(shape, program.nodes[size_t(program.outputs[i])].dtype);
        t.data = reinterpret_cast<void*>(somewhere);
        outputs.push_back(t);
    }
    return outputs;
}

/// False where the inputs' shapes do not suit the region.
bool writeSource(const Program& program, const std::vector<FsChainTensor>& inputs) {
    const auto shapes = shapesOf(program, inputs.data());
    if (!std::holds_alternative<Shapes>(shapes)) return false;
    const std::vector<FsChainTensor> outputs = outputsOf(program, std::get<Shapes>(shapes));
    for (const FsRounding rounding : {FS_ROUND_AS_FRAMEWORK, FS_ROUND_ONCE}) {
        FsPointwiseChain call{};
        call.inputs = inputs.data();
        call.outputs = outputs.data();
        call.rounding = rounding;
        const auto planned = planOf(program, call, 132);
        if (!std::holds_alternative<Plan>(planned)) std::abort();
        const auto& plan = std::get<Plan>(planned);
        if (plan.grid > 0 && sourceOf(program, plan).empty()) std::abort();
        (void)argumentsOf(program, plan);
        if (plan.persistent == (workspaceOf(plan) == 0) && plan.grid > 0 && plan.width > 0) std::abort();
    }
    return true;
}

/// Inputs that are one row beside several, as the Torch binding finds them.
std::vector<bool> rowsOf(const std::vector<FsChainTensor>& inputs) {
    const auto isRow = [](const FsChainTensor& t) {
        return std::all_of(t.size, t.size + std::max(0, t.dims - 1), [](int64_t size) { return size == 1; });
    };
    const bool several = !std::all_of(inputs.begin(), inputs.end(), isRow);
    std::vector<bool> rows;
    for (const FsChainTensor& t : inputs) rows.push_back(several && t.dims > 0 && t.size[t.dims - 1] != 1 && isRow(t));
    return rows;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto parsed = parse({reinterpret_cast<const char*>(data), size});
    if (const auto* problem = std::get_if<std::string>(&parsed)) {
        if (problem->empty()) std::abort();
        return 0;
    }
    const auto& program = std::get<Program>(parsed);
    if (program.nodes.size() > 200) return 0; // the backward of more may be too long a region
    const std::vector<FsChainTensor> inputs = inputsOf(program, unsigned(size));
    const bool fits = writeSource(program, inputs);

    std::vector<int64_t> last;
    std::vector<bool> wanted;
    int count = 0;
    for (const FsChainTensor& t : inputs) {
        last.push_back(t.dims > 0 ? t.size[t.dims - 1] : 1);
        wanted.push_back(isFloating(t.dtype) && count++ < FS_CHAIN_MAX_OUTPUTS);
    }
    const auto made = gradientOf(program, last, rowsOf(inputs), wanted);
    if (!std::holds_alternative<Gradient>(made)) return 0;
    const auto& gradient = std::get<Gradient>(made);
    const int given = int(std::count_if(program.outputs.begin(), program.outputs.end(),
                                        [&](int output) { return isFloating(program.nodes[size_t(output)].dtype); }));
    for (const auto [input, value, summed] : gradient.of)
        if (!wanted[size_t(input)] ||
            (value < 0 && (-1 - value < program.inputs || -1 - value >= program.inputs + given)))
            std::abort(); // only the outputs' gradients pass through
    if (gradient.text.empty() || gradient.from.size() > FS_CHAIN_MAX_INPUTS) return 0;
    const auto backward = parse(gradient.text);
    if (const auto* problem = std::get_if<std::string>(&backward)) {
        if (problem->find("more than") == std::string::npos) std::abort(); // too long, and nothing else
        return 0;
    }
    const auto& region = std::get<Program>(backward);
    for (const auto [input, value, summed] : gradient.of)
        if (value >= int(region.outputs.size()) || (value >= 0 && region.summed[size_t(value)] != summed)) std::abort();
    if (!fits) return 0;
    std::vector<FsChainTensor> all = inputs, used;
    for (const FsChainTensor& t : outputsOf(program, std::get<Shapes>(shapesOf(program, inputs.data())), true))
        if (isFloating(t.dtype)) all.push_back(t);
    for (const int i : gradient.from) used.push_back(all[size_t(i)]);
    if (!writeSource(region, used)) std::abort();
    return 0;
}
