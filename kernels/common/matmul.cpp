// SPDX-License-Identifier: Apache-2.0
#include "kernels/common/matmul.h"

#include "kernels/common/checks.h"
#include "kernels/common/error.h"
#include "kernels/common/matmul_plain.h"

#include <algorithm>
#include <array>
#include <cublasLt.h>
#include <map>
#include <mutex>
#include <optional>

namespace fusescope::kernels {
namespace {

constexpr int mostSuggestions = 16;
constexpr size_t mostPlans = 4096; // then the cache starts anew: shapes may vary without end

FsStatus checkBlas(cublasStatus_t status, const char* what) {
    if (status == CUBLAS_STATUS_SUCCESS) return FS_OK;
    return fail(FS_LIBRARY_ERROR, "%s: %s", what, cublasLtGetStatusName(status));
}

cudaDataType_t typeOf(FsDtype dtype) {
    return dtype == FS_F32 ? CUDA_R_32F : dtype == FS_F16 ? CUDA_R_16F : CUDA_R_16BF;
}

/// The largest power of two, 256 at most, that divides the address.
uint32_t alignmentOf(const void* p) {
    const auto address = reinterpret_cast<uintptr_t>(p) | 256;
    return uint32_t(address & (~address + 1));
}

struct Algorithm {
    cublasLtMatmulAlgo_t algorithm;
    size_t workspace;
};

/// The algorithm for a product; nothing where cuBLASLt has none (rows at odd addresses, say).
using Choice = std::optional<Algorithm>;

/// What the choice depends on, the device apart: element types and flags, sizes, strides, alignments.
using Key = std::array<int64_t, 8>;

/// cuBLASLt's state of a device. Handles stay until the process ends: its libraries may be gone before our statics.
struct Device {
    cublasLtHandle_t handle = nullptr;
    std::map<Key, Choice> choices;
};

std::mutex mutex; // guards devices
std::map<int, Device>& devices() {
    static auto* all = new std::map<int, Device>;
    return *all;
}

/// cuBLASLt counts by columns: it is told the transposed product, b before a.
struct Description {
    cublasLtMatmulDescOpaque_t product;
    cublasLtMatrixLayoutOpaque_t first, second, out;
    const Matmul& p;

    explicit Description(const Matmul& told) : p(told) {}

    FsStatus fill() {
        const cublasComputeType_t compute =
            p.input == FS_F32 && p.tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
        cublasStatus_t s = cublasLtMatmulDescInit(&product, compute, CUDA_R_32F);
        auto operation = [&](cublasLtMatmulDescAttributes_t of, const Matrix& m) {
            const cublasOperation_t is = m.transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
            if (s == CUBLAS_STATUS_SUCCESS) s = cublasLtMatmulDescSetAttribute(&product, of, &is, sizeof is);
        };
        operation(CUBLASLT_MATMUL_DESC_TRANSA, p.b);
        operation(CUBLASLT_MATMUL_DESC_TRANSB, p.a);
        auto layout = [&](cublasLtMatrixLayoutOpaque_t& of, FsDtype dtype, int64_t storedRows, int64_t storedColumns,
                          int64_t stride) {
            // The stride of a single row has no meaning and may be anything.
            if (storedRows == 1) stride = std::max(stride, storedColumns);
            if (s == CUBLAS_STATUS_SUCCESS)
                s = cublasLtMatrixLayoutInit(&of, typeOf(dtype), uint64_t(storedColumns), uint64_t(storedRows), stride);
        };
        auto operand = [&](cublasLtMatrixLayoutOpaque_t& of, const Matrix& m, int64_t rows, int64_t columns) {
            layout(of, p.input, m.transposed ? columns : rows, m.transposed ? rows : columns, m.stride);
        };
        operand(first, p.b, p.depth, p.columns);
        operand(second, p.a, p.rows, p.depth);
        layout(out, p.output, p.rows, p.columns, p.dStride);
        return checkBlas(s, "describing a matrix product");
    }

    Key key() const {
        const int64_t flags = int64_t(p.input) | int64_t(p.output) << 4 | int64_t(p.tf32) << 8 | int64_t(p.add) << 9 |
                              int64_t(p.a.transposed) << 10 | int64_t(p.b.transposed) << 11 | int64_t(p.choice) << 12;
        const int64_t alignments =
            int64_t(alignmentOf(p.a.data)) | int64_t(alignmentOf(p.b.data)) << 16 | int64_t(alignmentOf(p.d)) << 32;
        return {flags, alignments, p.rows, p.columns, p.depth, p.a.stride, p.b.stride, p.dStride};
    }
};

FsStatus ask(cublasLtHandle_t handle, Description& d, Choice& choice) {
    cublasLtMatmulPreferenceOpaque_t preference;
    cublasStatus_t s = cublasLtMatmulPreferenceInit(&preference);
    auto prefer = [&](cublasLtMatmulPreferenceAttributes_t what, const auto& value) {
        if (s == CUBLAS_STATUS_SUCCESS)
            s = cublasLtMatmulPreferenceSetAttribute(&preference, what, &value, sizeof value);
    };
    prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, mostMatmulWorkspace);
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignmentOf(d.p.b.data));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignmentOf(d.p.a.data));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignmentOf(d.p.d));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignmentOf(d.p.d));
    // A product split along its depth adds the parts up in fp32 and in order: no other scheme rounds once and repeats
    // bit for bit.
    prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, uint32_t(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));

    std::array<cublasLtMatmulHeuristicResult_t, mostSuggestions> found;
    int count = 0;
    if (s == CUBLAS_STATUS_SUCCESS)
        s = cublasLtMatmulAlgoGetHeuristic(handle, &d.product, &d.first, &d.second, &d.out, &d.out, &preference,
                                           d.p.choice + 1, found.data(), &count);
    if (s == CUBLAS_STATUS_NOT_SUPPORTED)
        count = 0;
    else if (FsStatus status = checkBlas(s, "cublasLtMatmulAlgoGetHeuristic"); status != FS_OK)
        return status;
    if (d.p.choice < count) {
        const auto& chosen = found[size_t(d.p.choice)];
        choice = Algorithm{chosen.algo, chosen.workspaceSize};
    } else if (d.p.choice > 0) {
        return fail(FS_UNSUPPORTED, "cuBLASLt has %d ways for this matrix product, number %d was asked for", count,
                    d.p.choice);
    }
    return FS_OK;
}

FsStatus find(Description& d, cublasLtHandle_t& handle, Choice& choice) {
    if (d.p.choice < 0 || d.p.choice >= mostSuggestions)
        return fail(FS_INVALID_ARGUMENT, "variant %d: expected 0 to %d", d.p.choice, mostSuggestions - 1);
    int number = 0;
    if (FsStatus s = check(cudaGetDevice(&number), "cudaGetDevice"); s != FS_OK) return s;
    if (FsStatus s = d.fill(); s != FS_OK) return s;

    const std::lock_guard lock(mutex);
    Device& device = devices()[number];
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

bool isEmpty(const Matmul& p) { return p.rows == 0 || p.columns == 0 || p.depth == 0; }

} // namespace

FsStatus matmulWorkspace(const Matmul& product, size_t& bytes) {
    bytes = 0;
    if (isEmpty(product)) return FS_OK;
    Description d(product);
    cublasLtHandle_t handle = nullptr;
    Choice choice;
    const FsStatus s = find(d, handle, choice);
    if (choice) bytes = choice->workspace;
    return s;
}

FsStatus matmul(const Matmul& product, void* workspace, size_t workspaceBytes, cudaStream_t stream) {
    const Matmul& p = product;
    if (isEmpty(p)) {
        if (p.rows == 0 || p.columns == 0 || p.add) return FS_OK;
        const size_t size = sizeOf(p.output); // a sum of nothing
        return check(cudaMemset2DAsync(p.d, size_t(std::max(p.dStride, p.columns)) * size, 0, size_t(p.columns) * size,
                                       size_t(p.rows), stream),
                     "cudaMemset2DAsync");
    }
    Description d(p);
    cublasLtHandle_t handle = nullptr;
    Choice choice;
    if (FsStatus s = find(d, handle, choice); s != FS_OK) return s;
    if (!choice) return matmulPlain(p, stream);
    if (choice->workspace > workspaceBytes || (choice->workspace > 0 && !workspace))
        return fail(FS_WORKSPACE_TOO_SMALL, "workspace: %zu bytes are needed, found %zu", choice->workspace,
                    workspace ? workspaceBytes : size_t{0});
    const float beta = p.add ? 1.f : 0.f;
    return checkBlas(cublasLtMatmul(handle, &d.product, &p.alpha, p.b.data, &d.first, p.a.data, &d.second, &beta, p.d,
                                    &d.out, p.d, &d.out, &choice->algorithm, workspace, workspaceBytes, stream),
                     "cublasLtMatmul");
}

} // namespace fusescope::kernels
