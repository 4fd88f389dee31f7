// SPDX-License-Identifier: Apache-2.0
// Turns a call into as few matrix products as its tensors allow.
#include "kernels/common/checks.h"
#include "kernels/common/error.h"
#include "kernels/common/guarded.h"
#include "kernels/common/matmul.h"
#include "kernels/qkv_projection/qkv_projection.h"

using namespace fusescope::kernels;

namespace {

/// The products of a call, run in this order.
struct Plan {
    Matmul products[2 * FS_PROJECTION_MAX_PARTS];
    int count = 0;

    void add(const Matmul& p) { products[count++] = p; }
};

const char* at(const void* p, int64_t elements, FsDtype dtype) {
    return static_cast<const char*>(p) + elements * int64_t(sizeOf(dtype));
}

/// Checks the rows and finds their one stride.
FsStatus strideOf(const FsRows& rows, const char* name, int64_t width, bool written, int64_t& stride) {
    if (FsStatus s = checkRows(rows, name, width, written); s != FS_OK) return s;
    stride = rows.inner == 1 ? rows.outer_stride : rows.inner_stride;
    if (rowCount(rows) <= 1 || width == 0) {
        stride = width;
        return FS_OK;
    }
    if (rows.outer > 1 && rows.inner > 1 && rows.outer_stride != rows.inner * rows.inner_stride)
        return fail(FS_UNSUPPORTED, "%s: expected rows at one stride", name);
    if (stride < width) return fail(FS_UNSUPPORTED, "%s: rows of %lld elements overlap", name, asLong(width));
    return FS_OK;
}

FsStatus checkParts(int32_t parts, const int64_t* features, int64_t inFeatures, FsDtype dtype, int64_t& total) {
    if (FsStatus s = checkDtype(dtype, "x"); s != FS_OK) return s;
    if (parts < 1 || parts > FS_PROJECTION_MAX_PARTS)
        return fail(FS_INVALID_ARGUMENT, "expected 1 to %d parts, found %d", FS_PROJECTION_MAX_PARTS, parts);
    total = 0;
    constexpr int64_t most = int64_t{1} << 40;
    if (inFeatures < 0 || inFeatures > most) return fail(FS_INVALID_ARGUMENT, "in_features cannot be");
    for (int32_t p = 0; p < parts; ++p) {
        if (features[p] < 0 || features[p] > most) return fail(FS_INVALID_ARGUMENT, "features of part %d cannot be", p);
        total += features[p];
    }
    return FS_OK;
}

FsStatus planCall(const FsQkvProjectionForward& c, Plan& plan) {
    int64_t total = 0, xStride = 0, yStride = 0;
    FsStatus s = checkParts(c.parts, c.features, c.in_features, c.dtype, total);
    if (s == FS_OK) s = strideOf(c.x, "x", c.in_features, false, xStride);
    if (s == FS_OK) s = strideOf(c.y, "y", total, true, yStride);
    if (s == FS_OK) s = checkSameRows(c.x, "x", c.y, "y");
    for (int32_t p = 0; p < c.parts && s == FS_OK; ++p)
        if (c.features[p] > 0 && c.in_features > 0) s = checkPointer(c.weights[p], "weight");
    if (s != FS_OK) return s;

    int64_t column = 0;
    for (int32_t p = 0; p < c.parts; ++p) {
        if (c.features[p] == 0) continue;
        Matmul* last = plan.count > 0 ? &plan.products[plan.count - 1] : nullptr;
        if (last && c.weights[p] == at(last->b.data, last->columns * c.in_features, c.dtype)) {
            last->columns += c.features[p];
        } else {
            Matmul product{};
            product.rows = rowCount(c.x);
            product.columns = c.features[p];
            product.depth = c.in_features;
            product.a = {c.x.data, xStride, false};
            product.b = {c.weights[p], c.in_features, true};
            product.d = const_cast<char*>(at(c.y.data, column, c.dtype));
            product.dStride = yStride;
            product.input = product.output = c.dtype;
            product.tf32 = c.allow_tf32 != 0;
            product.choice = c.hint.variant;
            plan.add(product);
        }
        column += c.features[p];
    }
    return FS_OK;
}

FsStatus planCall(const FsQkvProjectionBackward& c, Plan& plan) {
    int64_t total = 0, xStride = 0, dxStride = 0, dyStride[FS_PROJECTION_MAX_PARTS] = {};
    FsStatus s = checkParts(c.parts, c.features, c.in_features, c.dtype, total);
    const bool wantsInput = c.dx.data != nullptr;
    bool wantsWeight = false;
    for (int32_t p = 0; p < c.parts && s == FS_OK; ++p) {
        s = strideOf(c.dy[p], "dy", c.features[p], false, dyStride[p]);
        if (s == FS_OK) s = checkSameRows(c.dy[0], "dy", c.dy[p], "dy of another part");
        if (s == FS_OK && wantsInput && c.features[p] > 0 && c.in_features > 0)
            s = checkPointer(c.weights[p], "weight");
        wantsWeight = wantsWeight || c.dweights[p];
    }
    if (s == FS_OK && wantsInput) {
        s = strideOf(c.dx, "dx", c.in_features, true, dxStride);
        if (s == FS_OK) s = checkSameRows(c.dy[0], "dy", c.dx, "dx");
    }
    if (s == FS_OK && wantsWeight) {
        s = strideOf(c.x, "x", c.in_features, false, xStride);
        if (s == FS_OK) s = checkSameRows(c.dy[0], "dy", c.x, "x");
    }
    if (s != FS_OK) return s;

    const int64_t rows = rowCount(c.dy[0]);
    Matmul common{};
    common.columns = c.in_features;
    common.input = common.output = c.dtype;
    common.tf32 = c.allow_tf32 != 0;
    common.choice = c.hint.variant;
    /// Whether the columns of part p follow the `features` columns that start at `dy`.
    auto follows = [&](int32_t p, const void* dy, int64_t stride, int64_t features) {
        return c.dy[p].data == at(dy, features, c.dtype) && (dyStride[p] == stride || rows <= 1);
    };

    if (wantsInput) {
        const int start = plan.count;
        for (int32_t p = 0; p < c.parts; ++p) {
            if (c.features[p] == 0) continue;
            Matmul* last = plan.count > start ? &plan.products[plan.count - 1] : nullptr;
            if (last && follows(p, last->a.data, last->a.stride, last->depth) &&
                c.weights[p] == at(last->b.data, last->depth * c.in_features, c.dtype)) {
                last->depth += c.features[p];
                continue;
            }
            Matmul product = common;
            product.rows = rows;
            product.depth = c.features[p];
            product.a = {c.dy[p].data, dyStride[p], false};
            product.b = {c.weights[p], c.in_features, false};
            product.d = c.dx.data;
            product.dStride = dxStride;
            product.add = last != nullptr;
            plan.add(product);
        }
        if (plan.count == start) { // no features at all: dx is 0
            Matmul product = common;
            product.rows = rows;
            product.d = c.dx.data;
            product.dStride = dxStride;
            plan.add(product);
        }
    }

    const int start = plan.count;
    for (int32_t p = 0; p < c.parts; ++p) {
        if (c.features[p] == 0 || !c.dweights[p]) continue;
        Matmul* last = plan.count > start ? &plan.products[plan.count - 1] : nullptr;
        if (last && follows(p, last->a.data, last->a.stride, last->rows) &&
            c.dweights[p] == at(last->d, last->rows * c.in_features, c.dtype)) {
            last->rows += c.features[p];
            continue;
        }
        Matmul product = common;
        product.rows = c.features[p];
        product.depth = rows;
        product.a = {c.dy[p].data, dyStride[p], true};
        product.b = {c.x.data, xStride, false};
        product.d = c.dweights[p];
        product.dStride = c.in_features;
        plan.add(product);
    }
    return FS_OK;
}

FsStatus workspaceFor(const Plan& plan, size_t& bytes) {
    bytes = 0;
    for (int i = 0; i < plan.count; ++i) {
        size_t one = 0;
        if (FsStatus s = matmulWorkspace(plan.products[i], one); s != FS_OK) return s;
        bytes = one > bytes ? one : bytes;
    }
    return FS_OK;
}

template <class Call> FsStatus tellWorkspace(const Call* call, size_t* bytes) {
    beginCall();
    if (FsStatus s = checkPointer(call, "call"); s != FS_OK) return s;
    if (FsStatus s = checkPointer(bytes, "bytes"); s != FS_OK) return s;
    Plan plan;
    if (FsStatus s = planCall(*call, plan); s != FS_OK) return s;
    return workspaceFor(plan, *bytes);
}

template <class Call> FsStatus run(const Call* call, void* workspace, size_t bytes, cudaStream_t stream) {
    beginCall();
    if (FsStatus s = checkPointer(call, "call"); s != FS_OK) return s;
    Plan plan;
    if (FsStatus s = planCall(*call, plan); s != FS_OK) return s;
    // Told before anything is launched.
    size_t needed = 0;
    if (FsStatus s = workspaceFor(plan, needed); s != FS_OK) return s;
    if (needed > bytes)
        return fail(FS_WORKSPACE_TOO_SMALL, "workspace: %zu bytes are needed, found %zu", needed, bytes);
    for (int i = 0; i < plan.count; ++i)
        if (FsStatus s = matmul(plan.products[i], workspace, bytes, stream); s != FS_OK) return s;
    return FS_OK;
}

} // namespace

FsStatus fusescope_qkv_projection_forward_workspace(const FsQkvProjectionForward* call, size_t* bytes) {
    return guarded("projection", [&] { return tellWorkspace(call, bytes); });
}

FsStatus fusescope_qkv_projection_forward(const FsQkvProjectionForward* call, void* workspace, size_t workspace_bytes,
                                          cudaStream_t stream) {
    return guarded("projection", [&] { return run(call, workspace, workspace_bytes, stream); });
}

FsStatus fusescope_qkv_projection_backward_workspace(const FsQkvProjectionBackward* call, size_t* bytes) {
    return guarded("projection", [&] { return tellWorkspace(call, bytes); });
}

FsStatus fusescope_qkv_projection_backward(const FsQkvProjectionBackward* call, void* workspace, size_t workspace_bytes,
                                           cudaStream_t stream) {
    return guarded("projection", [&] { return run(call, workspace, workspace_bytes, stream); });
}
