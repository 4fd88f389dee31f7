// SPDX-License-Identifier: GPL-3.0-or-later
#include "nvml.h"

#include <dlfcn.h>

#include <array>

namespace fusescope::runner {
namespace {

// As nvml.h declares them; its header is not asked for.
using NvmlDevice = void*;
struct NvmlMemory {
    unsigned long long total = 0, free = 0, used = 0;
};
struct NvmlUtilization {
    unsigned gpu = 0, memory = 0;
};

class Nvml {
public:
    Nvml() {
        void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
        if (library == nullptr) return;
        int (*init)() = nullptr;
        const bool found = load(library, "nvmlInit_v2", init) &&
                           load(library, "nvmlSystemGetDriverVersion", driver_version) &&
                           load(library, "nvmlDeviceGetHandleByUUID", device_by_uuid) &&
                           load(library, "nvmlDeviceGetMemoryInfo", memory_info) &&
                           load(library, "nvmlDeviceGetUtilizationRates", utilization);
        usable = found && init() == 0;
    }

    bool usable = false;
    int (*driver_version)(char*, unsigned) = nullptr;
    int (*device_by_uuid)(const char*, NvmlDevice*) = nullptr;
    int (*memory_info)(NvmlDevice, NvmlMemory*) = nullptr;
    int (*utilization)(NvmlDevice, NvmlUtilization*) = nullptr;

private:
    template <class Function> static bool load(void* library, const char* name, Function& function) {
        function = reinterpret_cast<Function>(dlsym(library, name));
        return function != nullptr;
    }
};

const Nvml& nvml() {
    static const Nvml library;
    return library;
}

} // namespace

std::string driverVersion() {
    std::array<char, 81> text{};
    if (!nvml().usable || nvml().driver_version(text.data(), text.size() - 1) != 0) return {};
    return text.data();
}

std::optional<NvmlGpu> nvmlGpu(const std::string& uuid) {
    NvmlDevice device = nullptr;
    NvmlMemory memory;
    if (!nvml().usable || nvml().device_by_uuid(uuid.c_str(), &device) != 0 || nvml().memory_info(device, &memory) != 0)
        return std::nullopt;
    NvmlGpu gpu{static_cast<double>(memory.total), static_cast<double>(memory.free), static_cast<double>(memory.used),
                0};
    NvmlUtilization utilization;
    if (nvml().utilization(device, &utilization) == 0) gpu.utilization = static_cast<int>(utilization.gpu);
    return gpu;
}

} // namespace fusescope::runner
