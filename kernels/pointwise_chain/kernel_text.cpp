// SPDX-License-Identifier: Apache-2.0
#include "kernels/pointwise_chain/kernel_text.h"

namespace fusescope::kernels::chain {

std::string KernelText::packType(size_t input, const char* size) const {
    const TensorPlan& t = plan.inputs[input];
    return std::string("Pack<") + elementType(t.dtype) + ", " + (t.access == Access::same ? "1" : size) + ">";
}

void KernelText::outerIndices() {
    if (plan.outerDims == 0) return;
    if (plan.outerDims > 1) line("Index rest = row, next;");
    for (int d = plan.outerDims - 1; d > 0; --d) {
        const std::string size = "a.size" + str(d);
        line("next = quotient(rest, " + size + ");");
        line("const Index d" + str(d) + " = rest - next * Index(" + size + ".divisor);");
        line("rest = next;");
    }
    line(std::string("const Index d0 = ") + (plan.outerDims > 1 ? "rest;" : "row;"));
}

std::string KernelText::rowStart(const char* name, size_t tensor) const {
    std::string text = "a." + std::string(name) + str(int64_t(tensor));
    for (int d = 0; d < plan.outerDims; ++d)
        text += " + d" + str(d) + " * Index(a." + name + str(int64_t(tensor)) + "_" + str(d) + ")";
    return text;
}

std::string KernelText::column(const char* name, size_t tensor, const TensorPlan& t) const {
    if (t.access == Access::same) return "";
    if (t.access == Access::vector) return " + column";
    return " + column * Index(a." + std::string(name) + str(int64_t(tensor)) + "_inner)";
}

std::string KernelText::load(size_t input, const char* size) const {
    const TensorPlan& t = plan.inputs[input];
    return std::string(t.shared ? "loadShared<" : "loadOnce<") + (t.access == Access::same ? "1" : size) + ">";
}

void KernelText::widenInput(int input, const std::string& pack) {
    const std::string name = "v" + str(input);
    line(std::string(valueType(program.nodes[size_t(input)].dtype)) + " " + name + "[" +
         (nodes.perRow(input) ? "1" : "N") + "];");
    line("widen(" + pack + ", " + name + ");");
}

void KernelText::narrowed(int node, const std::string& to) {
    const Dtype dtype = program.nodes[size_t(node)].dtype;
    std::string from = "v" + str(node);
    if (nodes.perRow(node)) {
        line(std::string(valueType(dtype)) + " w" + str(node) + "[N];");
        unroll();
        line("for (int i = 0; i < N; ++i) w" + str(node) + "[i] = " + from + "[0];");
        from = "w" + str(node);
    }
    line(to + "narrow<" + elementType(dtype) + ">(" + from + ");");
}

} // namespace fusescope::kernels::chain
