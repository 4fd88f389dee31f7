// SPDX-License-Identifier: GPL-3.0-or-later
#include "cpu_memory.h"

#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/alloc_cpu.h>
#include <c10/util/Exception.h>

#include <atomic>
#include <cstring>

namespace fusescope::runner::cpu_memory {
namespace {

std::atomic<std::size_t> used{0}, most{0}, allowed{0};

// In front of each block, as wide as the alignment that c10::alloc_cpu() keeps.
constexpr std::size_t kHeader = 64;

char* blockOf(void* data) { return static_cast<char*>(data) - kHeader; }

void release(void* data) {
    if (data == nullptr) return;
    std::size_t bytes = 0;
    std::memcpy(&bytes, blockOf(data), sizeof bytes);
    used -= bytes;
    c10::free_cpu(blockOf(data));
}

struct CountingAllocator final : c10::Allocator {
    c10::DataPtr allocate(std::size_t bytes) override {
        const c10::Device cpu(c10::DeviceType::CPU);
        if (bytes == 0) return {nullptr, nullptr, &release, cpu};
        const std::size_t now = used += bytes;
        const std::size_t limit_now = allowed;
        if (limit_now != 0 && now > limit_now) {
            used -= bytes;
            TORCH_CHECK_WITH(OutOfMemoryError, false, "expected at most ", limit_now >> 20, " MiB of memory, but ",
                             now >> 20, " MiB are needed");
        }
        char* block = nullptr;
        try {
            block = static_cast<char*>(c10::alloc_cpu(bytes + kHeader));
        } catch (...) {
            used -= bytes;
            throw;
        }
        std::memcpy(block, &bytes, sizeof bytes);
        std::size_t before = most;
        while (before < now && !most.compare_exchange_weak(before, now)) {
        }
        void* data = block + kHeader;
        return {data, data, &release, cpu};
    }
    c10::DeleterFnPtr raw_deleter() const override { return &release; }
    void copy_data(void* to, const void* from, std::size_t count) const override { default_copy_data(to, from, count); }
};

} // namespace

void install() {
    static CountingAllocator allocator;
    c10::SetCPUAllocator(&allocator);
}

double allocated() noexcept { return static_cast<double>(used.load()); }
double peak() noexcept { return static_cast<double>(most.load()); }
void resetPeak() noexcept { most = used.load(); }
void limit(double bytes) noexcept { allowed = static_cast<std::size_t>(bytes); }

} // namespace fusescope::runner::cpu_memory
