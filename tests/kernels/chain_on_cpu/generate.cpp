// SPDX-License-Identifier: Apache-2.0
// Writes the kernels of all cases as C++: generate FOLDER makes FOLDER/case_<n>.cpp and FOLDER/cases.inc.
#include "cases.h"
#include "kernels/pointwise_chain/source.h"

#include <cstdio>
#include <fstream>

using namespace fusescope::kernels::chain;

int main(int count, char** arguments) {
    if (count != 2) {
        std::fprintf(stderr, "usage: %s FOLDER\n", arguments[0]);
        return 2;
    }
    const std::string folder = arguments[1];
    std::string list;
    for (size_t i = 0; i < cases().size(); ++i) {
        Prepared made;
        prepare(cases()[i], made);
        const std::string n = std::to_string(i);
        std::ofstream file(folder + "/case_" + n + ".cpp");
        file << "// " << cases()[i].name << "\n#include \"cuda_on_cpu.h\"\n"
             << "#define " << kernelName << " region_" << n << "\nnamespace case_" << n << " {\n"
             << sourceOf(made.program, made.plan) << "\nsize_t argumentBytes() { return sizeof(Arguments); }\n"
             << "void run(const void* words) {\n    Arguments a;\n    std::memcpy(&a, words, sizeof a);\n    region_"
             << n << "(a);\n}\n}\n";
        if (!file.flush()) {
            std::fprintf(stderr, "%s: cannot be written\n", folder.c_str());
            return 1;
        }
        list += "CASE(" + n + ")\n";
    }
    std::ofstream(folder + "/cases.inc") << list;
    return 0;
}
