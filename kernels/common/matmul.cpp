// SPDX-License-Identifier: Apache-2.0
#include "kernels/common/matmul.h"

#include "kernels/common/error.h"
#include "kernels/common/matmul_plain.h"

#include <array>
#include <cublasLt.h>
#include <map>
#include <mutex>
#include <optional>

namespace fusescope::kernels {
namespace {

FsStatus check(cublasStatus_t status, const char* what) {
    if (status == CUBLAS_STATUS_SUCCESS) return FS_OK;
    return fail(FS_LIBRARY_ERROR, "%s: %s", what, cublasLtGetStatusName(status));
}

cudaDataType typeOf(FsDtype dtype) {
    switch (dtype) {
    case FS_F32: return CUDA_R_32F;
    case FS_F16: return CUDA_R_16F;
    case FS_BF16: return CUDA_R_16BF;
    }
    return CUDA_R_32F;
}

/// The largest power of two up to 256 that the address is a multiple of: algorithms ask for some.
uint32_t alignmentOf(const void* p) {
    const uintptr_t address = reinterpret_cast<uintptr_t>(p) | 256u;
    return uint32_t(address & (~address + 1));
}

struct Layouts {
    cublasLtMatmulDescOpaque_t product;
    cublasLtMatrixLayoutOpaque_t a, b, c;
};

FsStatus describe(const Matmul& p, Layouts& l) {
    const cublasOperation_t opA = p.transposeA ? CUBLAS_OP_T : CUBLAS_OP_N,
                            opB = p.transposeB ? CUBLAS_OP_T : CUBLAS_OP_N;
    FsStatus s = check(cublasLtMatmulDescInit(&l.product, CUBLAS_COMPUTE_32F, CUDA_R_32F), "cublasLtMatmulDescInit");
    if (s == FS_OK)
        s = check(cublasLtMatmulDescSetAttribute(&l.product, CUBLASLT_MATMUL_DESC_TRANSA, &opA, sizeof opA),
                  "cublasLtMatmulDescSetAttribute");
    if (s == FS_OK)
        s = check(cublasLtMatmulDescSetAttribute(&l.product, CUBLASLT_MATMUL_DESC_TRANSB, &opB, sizeof opB),
                  "cublasLtMatmulDescSetAttribute");
    auto matrix = [&](cublasLtMatrixLayoutOpaque_t& layout, FsDtype dtype, int64_t rows, int64_t columns, int64_t ld) {
        if (s == FS_OK)
            s = check(cublasLtMatrixLayoutInit(&layout, typeOf(dtype), uint64_t(rows), uint64_t(columns), ld),
                      "cublasLtMatrixLayoutInit");
    };
    matrix(l.a, p.input, p.transposeA ? p.k : p.m, p.transposeA ? p.m : p.k, p.lda);
    matrix(l.b, p.input, p.transposeB ? p.n : p.k, p.transposeB ? p.k : p.n, p.ldb);
    matrix(l.c, p.output, p.m, p.n, p.ldc);
    return s;
}

/// What the heuristic says of a shape: nothing where it has no algorithm (rows at odd addresses, say).
using Choice = std::optional<cublasLtMatmulAlgo_t>;

FsStatus choose(cublasLtHandle_t handle, const Matmul& p, Layouts& l, size_t workspaceBytes, Choice& choice) {
    cublasLtMatmulPreferenceOpaque_t wishes;
    FsStatus s = check(cublasLtMatmulPreferenceInit(&wishes), "cublasLtMatmulPreferenceInit");
    auto wish = [&](cublasLtMatmulPreferenceAttributes_t what, const auto& value) {
        if (s == FS_OK)
            s = check(cublasLtMatmulPreferenceSetAttribute(&wishes, what, &value, sizeof value),
                      "cublasLtMatmulPreferenceSetAttribute");
    };
    const uint64_t bytes = workspaceBytes;
    // Parts of a sum over k are added in fp32 and in order: no other scheme rounds once and repeats bit for bit.
    const uint32_t schemes = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
    wish(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, bytes);
    wish(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, schemes);
    wish(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignmentOf(p.a));
    wish(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignmentOf(p.b));
    wish(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignmentOf(p.c));
    wish(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignmentOf(p.c));
    if (s != FS_OK) return s;

    cublasLtMatmulHeuristicResult_t result;
    int found = 0;
    const cublasStatus_t status =
        cublasLtMatmulAlgoGetHeuristic(handle, &l.product, &l.a, &l.b, &l.c, &l.c, &wishes, 1, &result, &found);
    if (status == CUBLAS_STATUS_NOT_SUPPORTED)
        found = 0;
    else if (s = check(status, "cublasLtMatmulAlgoGetHeuristic"); s != FS_OK)
        return s;
    if (found > 0) choice = result.algo;
    return FS_OK;
}

using Key = std::array<int64_t, 13>;

struct Device {
    cublasLtHandle_t handle = nullptr;
    std::map<Key, Choice> choices;
};

} // namespace

FsStatus matmul(const Matmul& p, void* workspace, size_t workspaceBytes, cudaStream_t stream) {
    constexpr size_t maxRemembered = 4096; // shapes vary with the tokens of a step; a bound, not a working set
    static std::mutex mutex;
    static std::map<int, Device>& devices = *new std::map<int, Device>; // outlives the driver's own teardown

    int index = 0;
    if (FsStatus s = check(cudaGetDevice(&index), "cudaGetDevice"); s != FS_OK) return s;
    Layouts layouts;
    if (FsStatus s = describe(p, layouts); s != FS_OK) return s;

    cublasLtHandle_t handle = nullptr;
    Choice choice;
    {
        const Key key{p.m,
                      p.n,
                      p.k,
                      p.lda,
                      p.ldb,
                      p.ldc,
                      p.transposeA | (p.transposeB << 1) | ((p.beta != 0.f) << 2),
                      p.input * 16 + p.output,
                      alignmentOf(p.a),
                      alignmentOf(p.b),
                      alignmentOf(p.c),
                      alignmentOf(workspace),
                      int64_t(workspaceBytes)};
        std::lock_guard lock(mutex);
        Device& device = devices[index];
        if (!device.handle)
            if (FsStatus s = check(cublasLtCreate(&device.handle), "cublasLtCreate"); s != FS_OK) return s;
        handle = device.handle;
        auto known = device.choices.find(key);
        if (known == device.choices.end()) {
            if (FsStatus s = choose(handle, p, layouts, workspaceBytes, choice); s != FS_OK) return s;
            if (device.choices.size() >= maxRemembered) device.choices.clear();
            known = device.choices.emplace(key, choice).first;
        }
        choice = known->second;
    }
    if (!choice) return matmulPlain(p, stream);
    return check(cublasLtMatmul(handle, &layouts.product, &p.alpha, p.a, &layouts.a, p.b, &layouts.b, &p.beta, p.c,
                                &layouts.c, p.c, &layouts.c, &*choice, workspace, workspaceBytes, stream),
                 "cublasLtMatmul");
}

} // namespace fusescope::kernels
