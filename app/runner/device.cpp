// SPDX-License-Identifier: GPL-3.0-or-later
#include "device.h"

#include "cpu_memory.h"
#include "nvml.h"

#include "core/base/memory_available.h"

#include <ATen/Context.h>
#include <ATen/Version.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <array>
#include <cstdio>

namespace fusescope::runner {
namespace {

constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;

namespace allocator = c10::cuda::CUDACachingAllocator;

std::string uuidText(const cudaUUID_t& uuid) {
    std::string text = "GPU-";
    for (std::size_t i = 0; i < sizeof uuid.bytes; ++i) {
        if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
        std::array<char, 3> hex{};
        std::snprintf(hex.data(), hex.size(), "%02x", static_cast<unsigned>(static_cast<unsigned char>(uuid.bytes[i])));
        text += hex.data();
    }
    return text;
}

RunnerGpu describe(int index) {
    cudaDeviceProp properties{};
    RunnerGpu gpu;
    if (cudaGetDeviceProperties(&properties, index) != cudaSuccess) return gpu;
    gpu.name = properties.name;
    gpu.compute_capability = 10 * properties.major + properties.minor;
    gpu.multiprocessors = properties.multiProcessorCount;
    gpu.memory_bytes = static_cast<double>(properties.totalGlobalMem);
    gpu.l2_bytes = static_cast<double>(properties.l2CacheSize);
    gpu.uuid = uuidText(properties.uuid);
    if (const auto told = nvmlGpu(gpu.uuid)) gpu.free_bytes = told->free_bytes;
    return gpu;
}

// 0 where there is no GPU, or no driver for it.
int countGpus() {
    int count = 0;
    return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

std::string after(const std::string& text, const std::string& mark) {
    const std::size_t begin = text.find(mark);
    if (begin == std::string::npos) return {};
    const std::size_t from = begin + mark.size();
    return text.substr(from, text.find_first_of(", \n", from) - from);
}

double sumOf(const c10::CachingAllocator::StatArray& stat, bool peak) {
    const auto& all = stat[static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE)];
    return static_cast<double>(peak ? all.peak : all.current);
}

} // namespace

const Device& Device::get() {
    static const Device device;
    return device;
}

Device::Device() {
    if (countGpus() == 0) return;
    const RunnerGpu gpu = describe(0);
    int kilohertz = 0;
    if (gpu.compute_capability == 0 || c10::cuda::device_count() == 0 || cudaSetDevice(0) != cudaSuccess) return;
    try {
        at::globalContext().lazyInitDevice(c10::DeviceType::CUDA);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "fusescope-runner: the GPU cannot be used, so the CPU is: %s\n", e.what());
        return;
    }
    if (cudaDeviceGetAttribute(&kilohertz, cudaDevAttrClockRate, 0) != cudaSuccess || kilohertz <= 0)
        kilohertz = 1'500'000;
    cycles_per_ms_ = kilohertz;
    gpu_ = gpu;
}

double Device::freeBytes() const {
    if (!onGpu()) return availableMemory();
    std::size_t free = 0, total = 0;
    if (cudaMemGetInfo(&free, &total) != cudaSuccess) return 0;
    const auto stats = allocator::getDeviceStats(0);
    return static_cast<double>(free) + sumOf(stats.reserved_bytes, false) - sumOf(stats.allocated_bytes, false);
}

void Device::limitMemory(double bytes) const {
    if (!onGpu()) return cpu_memory::limit(bytes);
    const double share = bytes > 0 ? bytes / gpu_.memory_bytes : 1;
    allocator::setMemoryFraction(share < 1 ? share : 1, 0);
}

double Device::allocated() const {
    return onGpu() ? sumOf(allocator::getDeviceStats(0).allocated_bytes, false) : cpu_memory::allocated();
}

double Device::peak() const {
    return onGpu() ? sumOf(allocator::getDeviceStats(0).allocated_bytes, true) : cpu_memory::peak();
}

void Device::resetPeak() const {
    if (onGpu())
        allocator::resetPeakStats(0);
    else
        cpu_memory::resetPeak();
}

void Device::emptyCache() const {
    if (onGpu()) allocator::emptyCache();
}

void Device::synchronize() const {
    if (onGpu()) c10::cuda::device_synchronize();
}

bool Device::lost() const {
    if (!onGpu() || cudaDeviceSynchronize() == cudaSuccess) return false;
    clearCudaError(); // an error that goes away is gone now
    return cudaDeviceSynchronize() != cudaSuccess;
}

void clearCudaError() {
    (void)cudaGetLastError();
    // Torch brings a CUDA runtime of its own, which remembers its own last error.
    static const auto torchs = reinterpret_cast<cudaError_t (*)()>(dlsym(RTLD_DEFAULT, "cudaGetLastError"));
    if (torchs != nullptr) (void)torchs();
}

RunnerHello hello(const std::string& kernels_problem) {
    RunnerHello hello;
    hello.protocol = kRunnerProtocol;
    hello.build = FUSESCOPE_VERSION;
    const std::string built = at::show_config();
    const std::string cuda = after(built, "CUDA_VERSION=");
    hello.torch = after(built, "TORCH_VERSION=");
    hello.cuda = cuda;
    if (!cuda.empty()) {
        hello.torch += "+cu";
        for (const char c : cuda)
            if (c != '.') hello.torch += c;
    }
    hello.driver = driverVersion();
    hello.kernels = kernels_problem.empty();
    hello.kernels_problem = kernels_problem;
    if (!Device::get().onGpu()) return hello;
    for (int i = 0; i < countGpus(); ++i) hello.gpus.push_back(describe(i));
    if (hello.gpus.front().free_bytes <= 0) hello.gpus.front().free_bytes = Device::get().freeBytes();
    return hello;
}

std::string otherJob(const Device& device, double idle_s) {
    if (!device.onGpu()) return {};
    const auto told = nvmlGpu(device.gpu().uuid);
    if (!told) return {};
    std::array<char, 160> text{};
    // Our own context, cuBLAS and the kernels' code take about a gigabyte beside what Torch has reserved.
    const double others = told->used_bytes - sumOf(allocator::getDeviceStats(0).reserved_bytes, false) - 1.5 * kGiB;
    if (others > kGiB) {
        std::snprintf(text.data(), text.size(), "another process holds about %.0f GB of this GPU's memory",
                      others / 1e9);
        return text.data();
    }
    if (idle_s > 1.5 && told->utilization >= 10) {
        std::snprintf(text.data(), text.size(), "another process keeps the GPU busy for %d%% of the time",
                      told->utilization);
        return text.data();
    }
    return {};
}

} // namespace fusescope::runner
