// SPDX-License-Identifier: Apache-2.0
#include "kernels/common/torch_inductor.h"

#include <atomic>
#include <cstdio>
#include <dlfcn.h>

namespace fusescope::kernels {
namespace {

static_assert(sizeof(std::atomic<bool>) == sizeof(bool));

// The library is loaded into Python and into programs without it, so its functions are looked for at run time.
struct Python {
    int (*isInitialized)() = nullptr;
    int (*ensureLock)() = nullptr; // PyGILState_STATE is an enumeration
    void (*releaseLock)(int) = nullptr;
    int (*run)(const char*) = nullptr;
    bool whole() const { return isInitialized && ensureLock && releaseLock && run; }
};

template <class Function> void find(const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

Python findPython() {
    Python p;
    find("Py_IsInitialized", p.isInitialized);
    find("PyGILState_Ensure", p.ensureLock);
    find("PyGILState_Release", p.releaseLock);
    find("PyRun_SimpleString", p.run);
    return p;
}

std::atomic<bool> told{false};

// In a namespace of its own; the number is where `told` lies. As torch/_inductor/graph.py (2.8 to 2.11) does it for an
// operator that it meets for the first time; older ones have no such function, there the strides of the traced graph
// are asked for. The first line is all that runs until Inductor is loaded.
constexpr const char* code = R"python(
"torch._inductor.lowering" in __import__("sys").modules and __import__("builtins").exec('''
import ctypes, sys
lowering = sys.modules["torch._inductor.lowering"]
if not getattr(lowering.__spec__, "_initializing", False):  # else another thread imports it
    ctypes.c_bool.from_address(%zu).value = True
    try:
        import torch
        from torch._library import utils
        for name in torch._C._dispatch_get_all_op_names():
            if name.startswith("fusescope::"):
                name, _, overload = name.partition("::")[2].partition(".")
                op = getattr(getattr(torch.ops.fusescope, name), overload or "default")
                if op in lowering.lowerings or op in lowering.decompositions:  # those are made of others
                    continue
                if hasattr(utils, "get_layout_constraint_tag") and hasattr(lowering, "tag_to_layout_constraint"):
                    tag = utils.get_layout_constraint_tag(op, with_default=True)
                    constraint = lowering.tag_to_layout_constraint(tag)
                else:
                    constraint = lowering.constrain_to_fx_strides
                lowering.make_fallback(op, constraint, warn=False)
    except Exception as error:
        print(f"fusescope: Inductor could not be told of the operators ({error!r}): compiling many layers may not end",
              file=sys.stderr)
''', {}))python";

} // namespace

void tellInductor() {
    if (told.load(std::memory_order_relaxed)) return;
    static const Python python = findPython();
    if (!python.whole() || !python.isInitialized()) return;
    char text[2048];
    std::snprintf(text, sizeof text, code, reinterpret_cast<size_t>(&told));
    const int state = python.ensureLock(); // no lock of ours is held: another thread may hold Python's and wait
    python.run(text);
    python.releaseLock(state);
}

} // namespace fusescope::kernels
