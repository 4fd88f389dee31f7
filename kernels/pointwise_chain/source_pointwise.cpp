// SPDX-License-Identifier: Apache-2.0
// The kernel of a region without row reductions: a thread takes packs of elements.
#include "kernels/pointwise_chain/kernel_text.h"

namespace fusescope::kernels::chain {
namespace {

class PointwiseWriter {
public:
    explicit PointwiseWriter(KernelText& text) : k_(text) {}

    void write() {
        // One pack, whatever its size: the last elements of a run take it one by one.
        std::string parameters;
        for (size_t i = 0; i < k_.plan.inputs.size(); ++i)
            parameters += "const " + k_.packType(i, "N") + "& q" + str(int64_t(i)) + ", ";
        for (size_t i = 0; i < k_.plan.outputs.size(); ++i)
            parameters += std::string(i ? ", " : "") + "Pack<" + elementType(k_.plan.outputs[i].dtype) + ", N>& out" +
                          str(int64_t(i));
        k_.open("template <int N> __device__ __forceinline__ void compute(" + parameters + ")");
        for (int i = 0; i < k_.program.inputs; ++i) k_.widenInput(i, "q" + str(i));
        for (size_t i = size_t(k_.program.inputs); i < k_.program.nodes.size(); ++i)
            k_.append(k_.nodes.statements(int(i), k_.indent()));
        for (size_t i = 0; i < k_.plan.outputs.size(); ++i)
            k_.narrowed(k_.program.outputs[i], "out" + str(int64_t(i)) + " = ");
        k_.close();

        k_.open("extern \"C\" __global__ void __launch_bounds__(" + str(k_.plan.bound) + ") " + kernelName +
                "(const __grid_constant__ Arguments a)");
        k_.line("const Index first = Index(blockIdx.x) * (Index(blockDim.x) * inFlight) + Index(threadIdx.x);");
        for (size_t i = 0; i < k_.plan.inputs.size(); ++i)
            k_.line(k_.packType(i, "width") + " q" + str(int64_t(i)) + "[inFlight];");
        k_.unrolled("for (int u = 0; u < inFlight; ++u)");
        place();
        for (size_t i = 0; i < k_.plan.inputs.size(); ++i)
            k_.line("q" + str(int64_t(i)) + "[u] = " + k_.load(i, "width") + "(" + k_.rowStart("in", i) +
                    k_.column("in", i, k_.plan.inputs[i]) + ");");
        k_.close();
        k_.unrolled("for (int u = 0; u < inFlight; ++u)");
        place();
        callCompute("width", "[u]");
        for (size_t i = 0; i < k_.plan.outputs.size(); ++i)
            k_.line("store(" + k_.rowStart("out", i) + k_.column("out", i, k_.plan.outputs[i]) + ", out" +
                    str(int64_t(i)) + ");");
        k_.close();
        if (k_.plan.tail > 0) tail();
        k_.close();
    }

private:
    void place() {
        k_.line("const Index pack = first + Index(u) * Index(blockDim.x);");
        k_.line("if (pack >= Index(a.packs)) continue;");
        if (k_.plan.outerDims == 0) {
            k_.line("const Index column = pack * width;");
            return;
        }
        k_.line("const Index row = quotient(pack, a.packsOfRow);");
        k_.line("const Index column = (pack - row * Index(a.packsOfRow.divisor)) * width;");
        k_.outerIndices();
    }

    void callCompute(const char* size, const char* index) {
        std::string arguments;
        for (size_t i = 0; i < k_.plan.outputs.size(); ++i)
            k_.line(std::string("Pack<") + elementType(k_.plan.outputs[i].dtype) + ", " + size + "> out" +
                    str(int64_t(i)) + ";");
        for (size_t i = 0; i < k_.plan.inputs.size(); ++i) arguments += "q" + str(int64_t(i)) + index + ", ";
        for (size_t i = 0; i < k_.plan.outputs.size(); ++i) arguments += (i ? ", out" : "out") + str(int64_t(i));
        k_.line(std::string("compute<") + size + ">(" + arguments + ");");
    }

    void tail() {
        k_.open("if (blockIdx.x == 0 && Index(threadIdx.x) < Index(a.tail))");
        k_.line("const Index column = Index(a.packs) * width + Index(threadIdx.x);");
        for (size_t i = 0; i < k_.plan.inputs.size(); ++i)
            k_.line("const " + k_.packType(i, "1") + " q" + str(int64_t(i)) + " = " + k_.load(i, "1") + "(a.in" +
                    str(int64_t(i)) + k_.column("in", i, k_.plan.inputs[i]) + ");");
        callCompute("1", "");
        for (size_t i = 0; i < k_.plan.outputs.size(); ++i)
            k_.line("store(a.out" + str(int64_t(i)) + " + column, out" + str(int64_t(i)) + ");");
        k_.close();
    }

    KernelText& k_;
};

} // namespace

void writePointwise(KernelText& text) { PointwiseWriter(text).write(); }

} // namespace fusescope::kernels::chain
