// SPDX-License-Identifier: GPL-3.0-or-later
// Where requests run: the first GPU, or the CPU where there is none.
#pragma once

#include "core/ipc/runner_protocol.h"

#include <c10/core/Device.h>

#include <string>

namespace fusescope::runner {

class Device {
public:
    static const Device& get(); // looked for once

    [[nodiscard]] bool onGpu() const { return gpu_.compute_capability != 0; }
    [[nodiscard]] c10::Device torch() const {
        return onGpu() ? c10::Device(c10::DeviceType::CUDA, 0) : c10::Device(c10::DeviceType::CPU);
    }
    [[nodiscard]] std::string name() const { return onGpu() ? gpu_.name : "CPU"; }
    [[nodiscard]] const RunnerGpu& gpu() const { return gpu_; }
    [[nodiscard]] double cyclesPerMs() const { return cycles_per_ms_; } // of the GPU's clock

    // Bytes that a request may allocate: what the device has free, and what Torch keeps for later.
    [[nodiscard]] double freeBytes() const;
    void limitMemory(double bytes) const; // of Torch's allocations together; 0: no limit
    [[nodiscard]] double allocated() const;
    [[nodiscard]] double peak() const;
    void resetPeak() const;
    void emptyCache() const;
    void synchronize() const;

    // Whether the CUDA context is lost: every call fails from now on.
    [[nodiscard]] bool lost() const;

private:
    Device();
    RunnerGpu gpu_;
    double cycles_per_ms_ = 0;
};

// Forgets a CUDA error that was answered, so that the next call does not report it again.
void clearCudaError();

// Versions, GPUs and free memory as they are now.
[[nodiscard]] RunnerHello hello(const std::string& kernels_problem);

// Another job on the GPU, in words; "" when none is seen. `idle_s`: how long this process has left the GPU alone.
[[nodiscard]] std::string otherJob(const Device& device, double idle_s);

} // namespace fusescope::runner
