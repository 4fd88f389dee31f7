// SPDX-License-Identifier: Apache-2.0
#include "kernels/pointwise_chain/compiler.h"

#include "kernels/common/error.h"

#include <algorithm>
#include <array>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <link.h>
#include <memory>
#include <vector>

namespace fusescope::kernels::chain {
namespace {

using Handle = struct NvrtcProgram*; // nvrtcProgram
using Code = int;                    // nvrtcResult; 0 is success

/// The functions used of NVRTC, as its C interface has had them since CUDA 11.
struct Nvrtc {
    Code (*version)(int*, int*) = nullptr;
    Code (*archCount)(int*) = nullptr;
    Code (*archs)(int*) = nullptr;
    Code (*create)(Handle*, const char*, const char*, int, const char* const*, const char* const*) = nullptr;
    Code (*destroy)(Handle*) = nullptr;
    Code (*compile)(Handle, int, const char* const*) = nullptr;
    Code (*logSize)(Handle, size_t*) = nullptr;
    Code (*log)(Handle, char*) = nullptr;
    Code (*cubinSize)(Handle, size_t*) = nullptr;
    Code (*cubin)(Handle, char*) = nullptr;
    Code (*ptxSize)(Handle, size_t*) = nullptr;
    Code (*ptx)(Handle, char*) = nullptr;
    const char* (*errorText)(Code) = nullptr;

    int major = 0, minor = 0;
    std::vector<int> known; ///< compute capabilities, ascending
    std::string problem;    ///< why there is none
};

/// Folders of the CUDA libraries that the process has loaded: PyTorch's wheels keep NVRTC beside them, where the
/// dynamic linker does not look by itself.
int collectFolders(dl_phdr_info* info, size_t, void* data) {
    const std::string path = info->dlpi_name ? info->dlpi_name : "";
    const size_t slash = path.rfind('/');
    if (slash == std::string::npos) return 0;
    const std::string file = path.substr(slash + 1), folder = path.substr(0, slash);
    auto& folders = *static_cast<std::vector<std::string>*>(data);
    if (file.rfind("libcublas", 0) == 0 || file.rfind("libcudart", 0) == 0) folders.push_back(folder);
    if (file.rfind("libtorch_cuda.so", 0) == 0)
        for (const char* beside : {"/../../nvidia/cu13/lib", "/../../nvidia/cuda_nvrtc/lib"})
            folders.push_back(folder + beside);
    return 0;
}

/// `found`: its folder, empty where the linker knew it.
void* openLibrary(int driver, std::string& found) {
    std::vector<std::string> folders;
    dl_iterate_phdr(collectFolders, &folders);
    folders.emplace_back(); // the linker's own search, first of all
    std::rotate(folders.begin(), folders.end() - 1, folders.end());
    folders.emplace_back("/usr/local/cuda/lib64");
    for (const std::string& name : compilerLibraries(driver))
        for (const std::string& folder : folders)
            if (void* library = dlopen((folder.empty() ? name : folder + "/" + name).c_str(), RTLD_NOW | RTLD_LOCAL)) {
                found = folder;
                return library;
            }
    return nullptr;
}

Nvrtc load() {
    Nvrtc n;
    std::string folder;
    int driver = 0;
    if (cudaDriverGetVersion(&driver) != cudaSuccess) driver = 0;
    void* library = openLibrary(driver, folder);
    if (!library) {
        n.problem = "NVRTC (" + compilerLibraries(driver).front() +
                    ") was not found: it comes with the CUDA toolkit and with PyTorch";
        return n;
    }
    auto find = [&](auto& function, const char* name) {
        function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
        if (!function && n.problem.empty()) n.problem = std::string("NVRTC has no ") + name;
    };
    find(n.version, "nvrtcVersion");
    find(n.archCount, "nvrtcGetNumSupportedArchs");
    find(n.archs, "nvrtcGetSupportedArchs");
    find(n.create, "nvrtcCreateProgram");
    find(n.destroy, "nvrtcDestroyProgram");
    find(n.compile, "nvrtcCompileProgram");
    find(n.logSize, "nvrtcGetProgramLogSize");
    find(n.log, "nvrtcGetProgramLog");
    find(n.cubinSize, "nvrtcGetCUBINSize");
    find(n.cubin, "nvrtcGetCUBIN");
    find(n.ptxSize, "nvrtcGetPTXSize");
    find(n.ptx, "nvrtcGetPTX");
    find(n.errorText, "nvrtcGetErrorString");
    if (!n.problem.empty()) return n;

    int count = 0;
    n.version(&n.major, &n.minor);
    // NVRTC opens this by its name alone, which the linker knows once it is loaded.
    const std::string version = std::to_string(n.major) + "." + std::to_string(n.minor);
    if (!folder.empty()) dlopen(folder.append("/libnvrtc-builtins.so.").append(version).c_str(), RTLD_NOW | RTLD_LOCAL);
    n.archCount(&count);
    n.known.resize(size_t(count));
    if (count > 0) n.archs(n.known.data());
    std::sort(n.known.begin(), n.known.end());
    return n;
}

/// Loaded once; never unloaded, since threads may be inside it when the process ends.
const Nvrtc& nvrtc() {
    static const Nvrtc& loaded = *new Nvrtc(load());
    return loaded;
}

/// sm_90; where NVRTC is older than the device, the newest virtual architecture before it, which the driver translates.
FsStatus targetOf(const Nvrtc& n, int computeCapability, std::string& target) {
    if (!n.problem.empty()) return fail(FS_LIBRARY_ERROR, "%s", n.problem.c_str());
    int best = 0;
    for (int arch : n.known)
        if (arch <= computeCapability) best = arch;
    if (best == 0)
        return fail(FS_UNSUPPORTED, "NVRTC %d.%d does not compile for compute capability %d.%d", n.major, n.minor,
                    computeCapability / 10, computeCapability % 10);
    target = (best == computeCapability ? "sm_" : "compute_") + std::to_string(best);
    return FS_OK;
}

/// As PyTorch's kernels are compiled: precise division and roots, subnormals kept, and inside the mathematical
/// functions whatever multiply-adds the compiler makes there. The source forbids them between operators.
std::array<std::string, 2> optionsFor(const std::string& target) {
    return {"--gpu-architecture=" + target, "--std=c++17"};
}

} // namespace

FsStatus compilerFor(int computeCapability, std::string& identity) {
    const Nvrtc& n = nvrtc();
    std::string target;
    if (FsStatus s = targetOf(n, computeCapability, target); s != FS_OK) return s;
    identity = "NVRTC " + std::to_string(n.major) + "." + std::to_string(n.minor);
    for (const std::string& option : optionsFor(target)) identity += ' ' + option;
    return FS_OK;
}

FsStatus compileSource(const std::string& source, int computeCapability, std::string& code) {
    const Nvrtc& n = nvrtc();
    std::string target;
    if (FsStatus s = targetOf(n, computeCapability, target); s != FS_OK) return s;
    const bool binary = target[0] == 's';

    Handle program = nullptr;
    if (Code c = n.create(&program, source.c_str(), "region.cu", 0, nullptr, nullptr); c != 0)
        return fail(FS_LIBRARY_ERROR, "nvrtcCreateProgram: %s", n.errorText(c));
    const std::unique_ptr<Handle, void (*)(Handle*)> owner(&program, [](Handle* p) { nvrtc().destroy(p); });

    const auto options = optionsFor(target);
    const char* const told[] = {options[0].c_str(), options[1].c_str()};
    if (Code c = n.compile(program, 2, told); c != 0) {
        size_t size = 0;
        n.logSize(program, &size);
        std::string log(size, '\0');
        if (size > 0) n.log(program, log.data());
        return fail(FS_LIBRARY_ERROR, "NVRTC: %s: %s", n.errorText(c), log.c_str());
    }
    size_t size = 0;
    Code c = binary ? n.cubinSize(program, &size) : n.ptxSize(program, &size);
    if (c == 0) {
        code.resize(size);
        c = binary ? n.cubin(program, code.data()) : n.ptx(program, code.data());
    }
    if (c != 0 || size == 0) return fail(FS_LIBRARY_ERROR, "NVRTC gave no code: %s", n.errorText(c));
    return FS_OK;
}

} // namespace fusescope::kernels::chain
