// SPDX-License-Identifier: Apache-2.0
#include "kernels/pointwise_chain/source_sums.h"

#include <algorithm>

namespace fusescope::kernels::chain {
namespace {

const char* sumTypeOf(const KernelText& k, size_t output) { return valueType(sumType(k.plan.outputs[output].dtype)); }

/// Where a block leaves its part.
std::string partOf(size_t output) {
    return "a.out" + str(int64_t(output)) + " + (long long)(blockIdx.x) * (a.packs * width)";
}

/// The sums of a block whose rows lie beside each other: of the groups of a warp, then of the warps. One sum after
/// another, in the same memory.
void joinGroups(KernelText& k, size_t output, const std::string& name) {
    k.open("");
    k.line(std::string("const auto parts = reinterpret_cast<") + sumTypeOf(k, output) +
           "(*)[lanes * inFlight * width]>(partMemory);");
    k.unrolled("for (int k = 0; k < inFlight; ++k)");
    k.unrolled("for (int i = 0; i < N; ++i)");
    k.line("auto v = " + name + "[k][i];");
    k.unroll();
    k.line("for (int distance = lanes; distance < 32; distance *= 2) v = add(v, __shfl_xor_sync(0xffffffffu, v, "
           "distance));");
    k.line("if (int(threadIdx.x) % 32 < lanes) parts[threadIdx.x / 32][(lane + k * lanes) * width + i] = v;");
    k.close();
    k.close();
    k.line("__syncthreads();");
    k.open("for (int c = int(threadIdx.x); c < int(a.packs) * width; c += int(blockDim.x))");
    k.line("auto v = parts[0][c];");
    k.line("for (int w = 1; w < int(blockDim.x) / 32; ++w) v = add(v, parts[w][c]);");
    k.line("*(" + partOf(output) + " + c) = v;");
    k.close();
    k.line("__syncthreads();");
    k.close();
}

} // namespace

bool hasSums(const Plan& plan) {
    return std::any_of(plan.outputs.begin(), plan.outputs.end(), [](const TensorPlan& t) { return t.summed; });
}

void declareSums(KernelText& k) {
    if (k.plan.kind == Kind::looped) return;
    for (size_t i = 0; i < k.plan.outputs.size(); ++i)
        if (k.plan.outputs[i].summed)
            k.line(std::string(sumTypeOf(k, i)) + " sum" + str(int64_t(i)) + "[inFlight][N] = {};");
}

void addToSum(KernelText& k, size_t output) {
    const int node = k.program.outputs[output];
    const std::string name = "sum" + str(int64_t(output)), value = k.nodes.element(node);
    if (k.plan.kind == Kind::looped) {
        k.line(std::string(sumTypeOf(k, output)) + " term" + str(int64_t(output)) + "[N];");
        k.unroll();
        k.line("for (int i = 0; i < N; ++i) term" + str(int64_t(output)) + "[i] = " + value + ";");
        k.line("if (inside) addToMemory(" + partOf(output) + " + column, term" + str(int64_t(output)) +
               ", block == Index(blockIdx.x));");
        return;
    }
    k.unroll();
    k.line("for (int i = 0; i < N; ++i) " + name + "[k][i] = inside ? add(" + name + "[k][i], " + value +
           ") : " + name + "[k][i];");
}

void writeSums(KernelText& k) {
    if (k.plan.kind == Kind::looped) return;
    if (k.plan.partBytes > 0) k.line("__shared__ uint4 partMemory[" + str((k.plan.partBytes + 15) / 16) + "];");
    for (size_t i = 0; i < k.plan.outputs.size(); ++i) {
        if (!k.plan.outputs[i].summed) continue;
        const std::string name = "sum" + str(int64_t(i));
        if (k.plan.lanes > 0)
            joinGroups(k, i, name);
        else {
            k.unrolled("for (int k = 0; k < inFlight; ++k)");
            k.line("const Index pack = lane + k * lanes;");
            k.line("if (pack < Index(a.packs)) storeSums(" + partOf(i) + " + pack * width, " + name + "[k]);");
            k.close();
        }
    }
}

} // namespace fusescope::kernels::chain
