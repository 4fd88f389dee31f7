// SPDX-License-Identifier: GPL-3.0-or-later
// Torch's memory on the CPU, counted and limited: the default allocator tells neither what is used nor stops before the
// machine is full.
#pragma once

namespace fusescope::runner::cpu_memory {

void install(); // once, before Torch makes a tensor

[[nodiscard]] double allocated() noexcept;
[[nodiscard]] double peak() noexcept;
void resetPeak() noexcept;
void limit(double bytes) noexcept; // beyond it c10::OutOfMemoryError is thrown; 0: no limit

} // namespace fusescope::runner::cpu_memory
