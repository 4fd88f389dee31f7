// SPDX-License-Identifier: Apache-2.0
#include "core/measured/roof.h"

#include <algorithm>

namespace fusescope {

double matmulRate(const Analysis& analysis, const FuseResult& result) {
    if (!result.on_gpu) return 0;
    DeviceSpec ran;
    if (const DeviceSpec* known = presetByName(result.device)) ran = *known;
    ran.name = result.device;
    if (analysis.device.source != DeviceSource::Assumed && sameDevice(analysis.device, ran))
        return analysis.device.matmul_bf16;
    return ran.matmul_bf16;
}

RoofShare roofShare(const MeasuredResult& result, const Comparison& direction, double matmul_flops) {
    RoofShare roof;
    if (!direction.has_fused || !(direction.fused.us.median > 0)) return roof;
    const bool backward = direction.direction == "backward";
    const double bytes = backward ? result.fused_backward_bytes : result.fused_bytes;
    const double flops = backward ? result.fused_backward_flops : result.fused_flops;
    const double seconds = direction.fused.us.median / 1e6;
    roof.Bps = bytes / seconds;
    roof.flops = flops / seconds;
    const double copy = result.result.copy_Bps > 0 ? bytes / result.result.copy_Bps : 0;
    const double matmul = matmul_flops > 0 ? flops / matmul_flops : 0;
    roof.by_flops = matmul > copy;
    roof.share = std::max(copy, matmul) / seconds;
    if (flops > 0 && !(matmul_flops > 0)) roof.share = 0; // half a roof says nothing
    return roof;
}

} // namespace fusescope
