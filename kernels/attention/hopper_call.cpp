// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention/hopper_call.h"

#include "kernels/common/checks.h"
#include "kernels/common/error.h"
#include "kernels/common/heads_checks.h"

#include <algorithm>
#include <cmath>
#include <cuda_runtime_api.h>

namespace fusescope::kernels {
namespace {

constexpr int64_t hopperHeadDim = 128;

using EncodeTiled = decltype(&cuTensorMapEncodeTiled);

/// The driver's function, without linking the driver.
FsStatus findEncoder(EncodeTiled& encode) {
    static const EncodeTiled found = [] {
        void* address = nullptr;
        cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
        constexpr unsigned since = 12000; // the driver's version that has it
        if (cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &address, since, cudaEnableDefault, &result) !=
                cudaSuccess ||
            result != cudaDriverEntryPointSuccess)
            address = nullptr;
        return reinterpret_cast<EncodeTiled>(address);
    }();
    encode = found;
    return found ? FS_OK : fail(FS_UNSUPPORTED, "attention: the driver has no cuTensorMapEncodeTiled");
}

HeadShape shapeOf(const HeadTensor& t, const HeadProblem& p) {
    return {p.batch, t.ofKeys ? p.keyTokens : p.queryTokens, p.headDim};
}

FsHeads headsOf(const HeadTensor& t, const HeadProblem& p) {
    return {const_cast<void*>(t.data), t.ofKeys ? p.keyHeads : p.queryHeads, t.stride[0], t.stride[1], t.stride[2]};
}

const char* nameOf(FsDtype dtype) { return dtype == FS_F32 ? "fp32" : dtype == FS_F16 ? "fp16" : "bf16"; }

} // namespace

FsStatus checkHopperCall(const HeadProblem& p, const HeadTensor* tensors, int count) {
    DeviceFacts device;
    if (FsStatus s = currentDevice(device); s != FS_OK) return s;
    if (device.computeCapability != 90)
        return fail(FS_UNSUPPORTED, "attention: the Hopper kernel needs compute capability 9.0, found %d.%d",
                    device.computeCapability / 10, device.computeCapability % 10);

    FsStatus s = checkDtype(p.dtype, "q");
    if (s == FS_OK) s = checkHeadShape({p.batch, p.queryTokens, p.headDim});
    if (s == FS_OK) s = checkHeadShape({p.batch, p.keyTokens, p.headDim});
    for (int i = 0; i < count && s == FS_OK; ++i)
        s = checkHeads(headsOf(tensors[i], p), tensors[i].name, shapeOf(tensors[i], p), tensors[i].written);
    if (s != FS_OK) return s;
    if (p.keyHeads == 0 ? p.queryHeads != 0 : p.queryHeads % p.keyHeads != 0)
        return fail(FS_INVALID_ARGUMENT, "attention: %lld heads of q do not divide among %lld of k",
                    static_cast<long long>(p.queryHeads), static_cast<long long>(p.keyHeads));
    if (p.causal != 0 && p.causal != 1)
        return fail(FS_INVALID_ARGUMENT, "attention: causal is 0 or 1, found %d", p.causal);

    if (p.dtype == FS_F32 || p.headDim != hopperHeadDim)
        return fail(FS_UNSUPPORTED,
                    "attention: the Hopper kernel is for bf16 and fp16 and head_dim 128, found %s and %lld",
                    nameOf(p.dtype), static_cast<long long>(p.headDim));
    if (!(p.scale > 0.f) || std::isinf(p.scale))
        return fail(FS_UNSUPPORTED, "attention: the Hopper kernel is for a positive scale, found %g", double(p.scale));
    const bool anyQueries = p.batch * p.queryTokens * p.queryHeads > 0, anyKeys = anyQueries && p.keyTokens > 0;
    for (int i = 0; i < count; ++i)
        if ((tensors[i].ofKeys ? anyKeys || tensors[i].written : anyQueries) &&
            !aligned16(headsOf(tensors[i], p), shapeOf(tensors[i], p), 2))
            return fail(FS_UNSUPPORTED, "attention: the Hopper kernel needs heads that start at multiples of 16 bytes");
    constexpr int64_t most = 1 << 30;
    if (p.queryTokens > most || p.keyTokens > most || p.queryHeads > most ||
        p.batch > most / std::max<int64_t>(p.queryHeads, 1) ||
        (std::max(p.queryTokens, p.keyTokens) + 63) / 64 * p.batch * p.queryHeads > most)
        return fail(FS_UNSUPPORTED, "attention: more tiles of queries than the Hopper kernel counts");
    return FS_OK;
}

FsStatus describeTensor(CUtensorMap& map, const HeadTensor& t, const HeadProblem& p, int rows) {
    EncodeTiled encode;
    if (FsStatus s = findEncoder(encode); s != FS_OK) return s;
    const int64_t tokens = t.ofKeys ? p.keyTokens : p.queryTokens, heads = t.ofKeys ? p.keyHeads : p.queryHeads;
    const cuuint64_t size[4] = {hopperHeadDim, cuuint64_t(tokens), cuuint64_t(heads), cuuint64_t(p.batch)};
    const int64_t steps[3] = {t.stride[1], t.stride[2], t.stride[0]};
    cuuint64_t bytes[3];
    for (int i = 0; i < 3; ++i) bytes[i] = size[i + 1] > 1 ? cuuint64_t(steps[i]) * 2 : hopperHeadDim * 2;
    const cuuint32_t box[4] = {hopperHeadDim / 2, cuuint32_t(rows), 1, 1}, every[4] = {1, 1, 1, 1};
    const CUresult result =
        encode(&map, p.dtype == FS_BF16 ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 : CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 4,
               const_cast<void*>(t.data), size, bytes, box, every, CU_TENSOR_MAP_INTERLEAVE_NONE,
               CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (result == CUDA_SUCCESS) return FS_OK;
    return fail(FS_UNSUPPORTED, "attention: %s of %lld x %lld x %lld has no tensor map (CUDA error %d)", t.name,
                static_cast<long long>(p.batch), static_cast<long long>(tokens), static_cast<long long>(heads),
                int(result));
}

} // namespace fusescope::kernels
