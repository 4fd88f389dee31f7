// SPDX-License-Identifier: Apache-2.0
#include "kernels/common/gemm.h"

#include "kernels/common/checks.h"
#include "kernels/common/error.h"

#include <algorithm>
#include <array>
#include <cublasLt.h>
#include <map>
#include <mutex>

namespace fusescope::kernels {
namespace {

constexpr size_t mostWorkspace = size_t{32} << 20; // what NVIDIA advises for Hopper
constexpr int mostSuggestions = 16;
constexpr size_t mostPlans = 4096; // then the cache starts anew: shapes may vary without end

FsStatus checkBlas(cublasStatus_t status, const char* what) {
    if (status == CUBLAS_STATUS_SUCCESS) return FS_OK;
    return fail(FS_LIBRARY_ERROR, "%s: %s", what, cublasLtGetStatusName(status));
}

/// The algorithm for a product, and the workspace it needs.
struct Choice {
    cublasLtMatmulAlgo_t algorithm;
    size_t workspace = 0;
};

/// What the choice depends on, the device apart: element type and flags, sizes, strides, alignments.
using Key = std::array<int64_t, 8>;

/// cuBLASLt's state of a device. Handles stay until the process ends: its libraries may be gone before our statics.
struct Device {
    cublasLtHandle_t handle = nullptr;
    std::map<Key, Choice> choices;
};

constexpr int maxDevices = 64;
std::mutex mutex; // guards devices
std::array<Device, maxDevices>& devices() {
    static auto* all = new std::array<Device, maxDevices>;
    return *all;
}

/// The largest power of two, 256 at most, that divides the address.
uint32_t alignmentOf(const void* p) {
    const auto address = reinterpret_cast<uintptr_t>(p) | 256;
    return uint32_t(address & (~address + 1));
}

/// cuBLASLt counts by columns: it is told the transposed product, b before a.
struct Description {
    cublasLtMatmulDescOpaque_t product;
    cublasLtMatrixLayoutOpaque_t first, second, out;
    const Gemm& gemm;

    explicit Description(const Gemm& g) : gemm(g) {}

    FsStatus fill() {
        const cublasComputeType_t compute =
            gemm.dtype == FS_F32 && gemm.tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
        const cudaDataType_t type = gemm.dtype == FS_F32 ? CUDA_R_32F : gemm.dtype == FS_F16 ? CUDA_R_16F : CUDA_R_16BF;
        cublasStatus_t s = cublasLtMatmulDescInit(&product, compute, CUDA_R_32F);
        const cublasOperation_t operations[] = {gemm.b.transposed ? CUBLAS_OP_T : CUBLAS_OP_N,
                                                gemm.a.transposed ? CUBLAS_OP_T : CUBLAS_OP_N};
        if (s == CUBLAS_STATUS_SUCCESS)
            s = cublasLtMatmulDescSetAttribute(&product, CUBLASLT_MATMUL_DESC_TRANSA, &operations[0],
                                               sizeof operations[0]);
        if (s == CUBLAS_STATUS_SUCCESS)
            s = cublasLtMatmulDescSetAttribute(&product, CUBLASLT_MATMUL_DESC_TRANSB, &operations[1],
                                               sizeof operations[1]);
        auto layout = [&](cublasLtMatrixLayoutOpaque_t& of, int64_t storedRows, int64_t storedColumns, int64_t stride) {
            // The stride of a single row has no meaning and may be anything.
            if (storedRows == 1) stride = std::max(stride, storedColumns);
            if (s == CUBLAS_STATUS_SUCCESS)
                s = cublasLtMatrixLayoutInit(&of, type, uint64_t(storedColumns), uint64_t(storedRows), stride);
        };
        const int64_t k = gemm.depth;
        layout(first, gemm.b.transposed ? gemm.columns : k, gemm.b.transposed ? k : gemm.columns, gemm.b.stride);
        layout(second, gemm.a.transposed ? k : gemm.rows, gemm.a.transposed ? gemm.rows : k, gemm.a.stride);
        layout(out, gemm.rows, gemm.columns, gemm.dStride);
        return checkBlas(s, "describing a matrix product");
    }

    Key key() const {
        const auto& g = gemm;
        const int64_t flags = int64_t(g.dtype) | int64_t(g.tf32) << 4 | int64_t(g.add) << 5 |
                              int64_t(g.a.transposed) << 6 | int64_t(g.b.transposed) << 7 | int64_t(g.choice) << 8;
        const int64_t alignments =
            int64_t(alignmentOf(g.a.data)) | int64_t(alignmentOf(g.b.data)) << 16 | int64_t(alignmentOf(g.d)) << 32;
        return {flags, alignments, g.rows, g.columns, g.depth, g.a.stride, g.b.stride, g.dStride};
    }
};

FsStatus ask(cublasLtHandle_t handle, Description& d, Choice& choice) {
    cublasLtMatmulPreferenceOpaque_t preference;
    cublasStatus_t s = cublasLtMatmulPreferenceInit(&preference);
    auto prefer = [&](cublasLtMatmulPreferenceAttributes_t what, const auto& value) {
        if (s == CUBLAS_STATUS_SUCCESS)
            s = cublasLtMatmulPreferenceSetAttribute(&preference, what, &value, sizeof value);
    };
    const uint32_t a = alignmentOf(d.gemm.a.data), b = alignmentOf(d.gemm.b.data), out = alignmentOf(d.gemm.d);
    prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, mostWorkspace);
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, b);
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, a);
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, out);
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, out);
    // A product split along its depth may add the parts up in fp32 only.
    prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, uint32_t(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));

    std::array<cublasLtMatmulHeuristicResult_t, mostSuggestions> found;
    int count = 0;
    if (s == CUBLAS_STATUS_SUCCESS)
        s = cublasLtMatmulAlgoGetHeuristic(handle, &d.product, &d.first, &d.second, &d.out, &d.out, &preference,
                                           d.gemm.choice + 1, found.data(), &count);
    if (FsStatus status = checkBlas(s, "cublasLtMatmulAlgoGetHeuristic"); status != FS_OK) return status;
    if (d.gemm.choice >= count)
        return fail(FS_UNSUPPORTED, "cuBLASLt has %d ways for this matrix product, number %d was asked for", count,
                    d.gemm.choice);
    choice.algorithm = found[size_t(d.gemm.choice)].algo;
    choice.workspace = found[size_t(d.gemm.choice)].workspaceSize;
    return FS_OK;
}

FsStatus find(Description& d, cublasLtHandle_t& handle, Choice& choice) {
    if (d.gemm.choice < 0 || d.gemm.choice >= mostSuggestions)
        return fail(FS_INVALID_ARGUMENT, "variant %d: expected 0 to %d", d.gemm.choice, mostSuggestions - 1);
    int number = 0;
    if (FsStatus s = check(cudaGetDevice(&number), "cudaGetDevice"); s != FS_OK) return s;
    if (number < 0 || number >= maxDevices) return fail(FS_UNSUPPORTED, "device %d: more than 64 devices", number);
    if (FsStatus s = d.fill(); s != FS_OK) return s;

    const std::lock_guard lock(mutex);
    Device& device = devices()[size_t(number)];
    if (!device.handle)
        if (FsStatus s = checkBlas(cublasLtCreate(&device.handle), "cublasLtCreate"); s != FS_OK) return s;
    handle = device.handle;
    const Key key = d.key();
    if (const auto known = device.choices.find(key); known != device.choices.end()) {
        choice = known->second;
        return FS_OK;
    }
    if (FsStatus s = ask(handle, d, choice); s != FS_OK) return s;
    if (device.choices.size() >= mostPlans) device.choices.clear();
    device.choices.emplace(key, choice);
    return FS_OK;
}

bool isEmpty(const Gemm& g) { return g.rows == 0 || g.columns == 0 || g.depth == 0; }

} // namespace

FsStatus gemmWorkspace(const Gemm& gemm, size_t& bytes) {
    bytes = 0;
    if (isEmpty(gemm)) return FS_OK;
    Description d(gemm);
    cublasLtHandle_t handle = nullptr;
    Choice choice;
    const FsStatus s = find(d, handle, choice);
    bytes = choice.workspace;
    return s;
}

FsStatus runGemm(const Gemm& gemm, void* workspace, size_t workspaceBytes, cudaStream_t stream) {
    if (isEmpty(gemm)) {
        if (gemm.rows == 0 || gemm.columns == 0 || gemm.add) return FS_OK;
        const size_t size = sizeOf(gemm.dtype); // a sum of nothing
        return check(cudaMemset2DAsync(gemm.d, size_t(std::max(gemm.dStride, gemm.columns)) * size, 0,
                                       size_t(gemm.columns) * size, size_t(gemm.rows), stream),
                     "cudaMemset2DAsync");
    }
    Description d(gemm);
    cublasLtHandle_t handle = nullptr;
    Choice choice;
    if (FsStatus s = find(d, handle, choice); s != FS_OK) return s;
    if (choice.workspace > workspaceBytes || (choice.workspace > 0 && !workspace))
        return fail(FS_WORKSPACE_TOO_SMALL, "workspace: %zu bytes are needed, found %zu", choice.workspace,
                    workspace ? workspaceBytes : size_t{0});
    const float one = 1.f, beta = gemm.add ? 1.f : 0.f;
    return checkBlas(cublasLtMatmul(handle, &d.product, &one, gemm.b.data, &d.first, gemm.a.data, &d.second, &beta,
                                    gemm.d, &d.out, gemm.d, &d.out, &choice.algorithm, workspace, workspaceBytes,
                                    stream),
                     "cublasLtMatmul");
}

} // namespace fusescope::kernels
