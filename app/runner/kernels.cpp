// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels.h"

#include <dlfcn.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <exception>

namespace fusescope::runner {
namespace {

std::string besideTheProgram() {
    std::array<char, 4096> path{};
    const ssize_t length = readlink("/proc/self/exe", path.data(), path.size());
    if (length <= 0) return {};
    const std::string program(path.data(), static_cast<std::size_t>(length));
    return program.substr(0, program.rfind('/') + 1) + "libfusescope_kernels.so";
}

} // namespace

std::string loadKernels() {
    const char* named = std::getenv("FUSESCOPE_KERNELS_LIBRARY");
    const std::string path = named != nullptr && *named != '\0' ? named : besideTheProgram();
    if (access(path.c_str(), R_OK) != 0) return "expected libfusescope_kernels.so at " + path + ", found none";
    try { // the operators' registration may throw: another library has registered them
        if (dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL) != nullptr) return {};
    } catch (const std::exception& e) {
        return path + ": " + std::string(e.what()).substr(0, 1000);
    }
    const char* problem = dlerror();
    return problem != nullptr ? problem : path + " could not be loaded";
}

} // namespace fusescope::runner
