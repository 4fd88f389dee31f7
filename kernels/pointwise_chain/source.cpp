// SPDX-License-Identifier: Apache-2.0
#include "kernels/pointwise_chain/source.h"

#include "kernels/pointwise_chain/kernel_text.h"

namespace fusescope::kernels::chain {
namespace {

/// Declares the arguments in the order in which the launch fills them in.
struct Declarations {
    std::string text;
    bool wide;

    static std::string named(const char* name, int index, int part) {
        return name + (index >= 0 ? str(index) : "") + (part >= 0 ? "_" + str(part) : "");
    }
    void pointer(const char* name, int index, Dtype dtype, bool written, void*) {
        text += std::string("    ") + (written ? "" : "const ") + elementType(dtype) + "* " + named(name, index, -1) +
                ";\n";
    }
    void number64(const std::string& name) { text += "    long long " + name + ";\n"; }
    void number(const char* name, int index, int part, int64_t) {
        number64(index < 0 ? name : part < 0 ? named(name, index, -1) + "_inner" : named(name, index, part));
    }
    void divider(const char* name, int index, int64_t) {
        text += std::string("    ") + (wide ? "Divider64 " : "Divider32 ") + named(name, index, -1) + ";\n";
    }
    void factor(int node, Dtype dtype, double) {
        const std::string name = "factor" + str(node);
        text += dtype == FS_CHAIN_F64 ? "    double " + name + ";\n" : "    float " + name + ", " + name + "_unused;\n";
    }
};

} // namespace

std::string sourceOf(const Program& program, const Plan& plan) {
    KernelText text(program, plan);
    text.line(preludeText);
    text.line("// The region.");
    Declarations declarations{{}, plan.wide};
    visitArguments(program, plan, declarations);
    text.line("struct Arguments {\n" + declarations.text + "};");
    text.line(std::string("using Index = ") + (plan.wide ? "long long;" : "int;"));
    text.line("constexpr int width = " + str(plan.n) + ", inFlight = " + str(plan.inFlight) + ";");
    if (plan.kind == Kind::pointwise)
        writePointwise(text);
    else
        writeRows(text);
    return text.take();
}

} // namespace fusescope::kernels::chain
