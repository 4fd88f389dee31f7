// SPDX-License-Identifier: Apache-2.0
#include "kernels/common/checks.h"
#include "kernels/common/error.h"
#include "kernels/common/guarded.h"
#include "kernels/common/matmul.h"
#include "kernels/linear_cross_entropy/logits.h"
#include "kernels/linear_cross_entropy/plan.h"

#include <algorithm>

using namespace fusescope::kernels;

namespace {

// In fp16 the product that makes dweight leaves it smaller by this much, which the backward takes out: the sum over
// many tokens of (softmax - onehot) * x, not yet divided by their number, could overflow.
constexpr float dweightShrink = 1.f / 64;

FsStatus checkMatrix(const void* data, int64_t rows, int64_t width, int64_t stride, const char* name) {
    const FsRows asRows{const_cast<void*>(data), rows, 1, stride, 0};
    return checkRows(asRows, name, width, true); // rows that overlap are no matrix to cuBLAS
}

FsStatus checkForward(const FsLinearCrossEntropyForward* call, bool pointers) {
    if (FsStatus s = checkPointer(call, "call"); s != FS_OK) return s;
    const FsLinearCrossEntropyForward& c = *call;
    constexpr int64_t maxSize = int64_t{1} << 30; // columns and tiles are counted in 32 bits
    FsStatus s = checkDtype(c.dtype, "x");
    if (s != FS_OK) return s;
    if (c.tokens < 0 || c.hidden < 1 || c.vocab < 1 || c.hidden > maxSize || c.vocab > maxSize ||
        c.tokens > maxElements / std::max(c.hidden, c.vocab))
        return fail(FS_INVALID_ARGUMENT, "linear_cross_entropy: %lld tokens of %lld elements, %lld words cannot be",
                    asLong(c.tokens), asLong(c.hidden), asLong(c.vocab));
    if (c.mode < FS_LINEAR_CROSS_ENTROPY_AUTO || c.mode > FS_LINEAR_CROSS_ENTROPY_LEAN)
        return fail(FS_INVALID_ARGUMENT, "mode: %d is none", int(c.mode));
    if (c.divisor < FS_DIVIDE_BY_VALID || c.divisor > FS_DIVIDE_BY_DEVICE)
        return fail(FS_INVALID_ARGUMENT, "divisor: %d is none", int(c.divisor));
    if (c.divisor == FS_DIVIDE_BY_NUMBER && !(c.num_items >= 0))
        return fail(FS_INVALID_ARGUMENT, "num_items: %g is no number of tokens", c.num_items);
    if (c.chunk < 0) return fail(FS_INVALID_ARGUMENT, "chunk: expected 0 or more columns");
    if (!pointers) return FS_OK;
    s = checkMatrix(c.x, c.tokens, c.hidden, c.x_stride, "x");
    if (s == FS_OK) s = checkMatrix(c.weight, c.vocab, c.hidden, c.weight_stride, "weight");
    if (s == FS_OK && c.tokens > 0) s = checkPointer(c.labels, "labels");
    if (s == FS_OK) s = checkPointer(c.loss, "loss");
    if (s == FS_OK) s = checkPointer(c.state, "state");
    if (s == FS_OK && c.divisor == FS_DIVIDE_BY_DEVICE) s = checkPointer(c.num_items_device, "num_items_device");
    return s;
}

/// One forward call on its stream.
class Forward {
public:
    Forward(const FsLinearCrossEntropyForward& call, const LogitsPlan& plan, char* workspace, cudaStream_t stream)
        : c_(call), plan_(plan), workspace_(workspace),
          stream_(stream), tokens_{call.labels, call.tokens, call.ignore_index, call.vocab},
          divisor_{call.divisor == FS_DIVIDE_BY_DEVICE ? call.num_items_device : nullptr,
                   call.divisor == FS_DIVIDE_BY_NUMBER ? call.num_items : -1.} {
        char* const statistics = workspace + plan.statistics;
        const size_t step = (plan.products - plan.statistics) / 3;
        softmax_ = {reinterpret_cast<float*>(statistics), reinterpret_cast<float*>(statistics + step),
                    reinterpret_cast<float*>(statistics + 2 * step)};
    }

    FsStatus run() {
        FsStatus s = launchCountLabels(tokens_, divisor_, c_.dtype == FS_F16, c_.state, stream_);
        if (s != FS_OK) return s;
        if (c_.tokens == 0) {
            if (s = launchLoss(tokens_, softmax_, divisor_, c_.loss, stream_); s != FS_OK || !c_.dweight) return s;
            return check(cudaMemsetAsync(c_.dweight, 0, size_t(c_.vocab * c_.hidden) * plan_.elementSize, stream_),
                         "cudaMemsetAsync");
        }
        if (s = currentDevice(device_); s != FS_OK) return s;
        if (s = statistics(); s == FS_OK) s = launchLoss(tokens_, softmax_, divisor_, c_.loss, stream_);
        return s == FS_OK && (c_.dx || c_.dweight) ? gradients() : s;
    }

private:
    void* place(int64_t chunk) const {
        if (!plan_.inDweight(chunk)) return workspace_;
        return static_cast<char*>(c_.dweight) + size_t(plan_.placeOf(chunk)) * plan_.elementSize;
    }

    Logits logitsOf(int64_t chunk) const {
        return {place(chunk), plan_.strideOf(chunk), plan_.firstColumn(chunk), plan_.columnsOf(chunk)};
    }

    const void* weightOf(int64_t chunk) const {
        return static_cast<const char*>(c_.weight) +
               size_t(plan_.firstColumn(chunk) * c_.weight_stride) * plan_.elementSize;
    }

    FsStatus multiply(Matmul& p) const {
        p.input = c_.dtype;
        return matmul(p, workspace_ + plan_.products, mostMatmulWorkspace, stream_);
    }

    /// z = x weight^T
    FsStatus computeLogits(const Logits& z, int64_t chunk) const {
        Matmul p{};
        p.rows = c_.tokens, p.columns = z.columns, p.depth = c_.hidden;
        p.a = {c_.x, c_.x_stride, false};
        p.b = {weightOf(chunk), c_.weight_stride, true};
        p.d = z.data, p.dStride = z.stride;
        p.output = c_.dtype;
        return multiply(p);
    }

    /// dx += dz weight, in fp32 where there is more than one chunk to add
    FsStatus computeDx(const Logits& dz, int64_t chunk) const {
        Matmul p{};
        p.rows = c_.tokens, p.columns = c_.hidden, p.depth = dz.columns;
        p.a = {dz.data, dz.stride, false};
        p.b = {weightOf(chunk), c_.weight_stride, false};
        p.d = sumsOfDx(), p.dStride = c_.hidden;
        p.add = chunk > 0;
        p.output = plan_.chunks > 1 ? FS_F32 : c_.dtype;
        return multiply(p);
    }

    void* sumsOfDx() const {
        return plan_.chunks > 1 && c_.dtype != FS_F32 ? static_cast<void*>(workspace_ + plan_.sums) : c_.dx;
    }

    /// dweight = dz^T x
    FsStatus computeDweight(const Logits& dz, int64_t chunk) const {
        Matmul p{};
        p.rows = dz.columns, p.columns = c_.hidden, p.depth = c_.tokens;
        p.a = {dz.data, dz.stride, true};
        p.b = {c_.x, c_.x_stride, false};
        p.d = static_cast<char*>(c_.dweight) + size_t(plan_.firstColumn(chunk) * c_.hidden) * plan_.elementSize;
        p.dStride = c_.hidden;
        p.output = c_.dtype;
        p.alpha = c_.dtype == FS_F16 ? dweightShrink : 1.f;
        return multiply(p);
    }

    FsStatus statistics() {
        // Chunk 0 last: it stays in the workspace.
        for (int64_t i = plan_.chunks - 1; i >= 0; --i) {
            const Logits z = logitsOf(i);
            if (FsStatus s = computeLogits(z, i); s != FS_OK) return s;
            if (plan_.chunks == 1 && (c_.dx || c_.dweight)) {
                const FsStatus s =
                    launchSoftmaxGradient(c_.dtype, z, tokens_, softmax_, c_.state, c_.hint, device_, turned_, stream_);
                if (s != FS_OK || turned_) return s;
            }
            const FsStatus s = launchStatistics(c_.dtype, z, tokens_, softmax_, i == plan_.chunks - 1, stream_);
            if (s != FS_OK) return s;
        }
        return FS_OK;
    }

    FsStatus gradients() const {
        for (int64_t i = 0; i < plan_.chunks; ++i) {
            const Logits z = logitsOf(i);
            FsStatus s = FS_OK;
            if (i > plan_.kept && i > 0) s = computeLogits(z, i);
            Logits dz = z;
            dz.data = workspace_;
            if (s == FS_OK && !turned_) s = launchGradient(c_.dtype, z, dz.data, tokens_, softmax_, c_.state, stream_);
            if (s == FS_OK && c_.dx) s = computeDx(dz, i);
            if (s == FS_OK && c_.dweight) s = computeDweight(dz, i);
            if (s != FS_OK) return s;
        }
        if (!c_.dx || sumsOfDx() == c_.dx) return FS_OK;
        return launchRound(c_.dtype, static_cast<const float*>(sumsOfDx()), c_.dx, c_.tokens * c_.hidden, device_,
                           stream_);
    }

    const FsLinearCrossEntropyForward& c_;
    const LogitsPlan& plan_;
    char* const workspace_;
    const cudaStream_t stream_;
    const Tokens tokens_;
    const Divisor divisor_;
    Softmax softmax_{};
    DeviceFacts device_;
    bool turned_ = false; // the logits in the workspace are gradients already
};

} // namespace

FsStatus fusescope_linear_cross_entropy_workspace(const FsLinearCrossEntropyForward* call, size_t* bytes,
                                                  FsLinearCrossEntropyMode* mode) {
    beginCall();
    if (FsStatus s = checkForward(call, false); s != FS_OK) return s;
    if (FsStatus s = checkPointer(bytes, "bytes"); s != FS_OK) return s;
    const LogitsPlan plan = planLogits(*call);
    *bytes = plan.bytes;
    if (mode) *mode = plan.mode;
    return FS_OK;
}

FsStatus fusescope_linear_cross_entropy_forward(const FsLinearCrossEntropyForward* call, void* workspace,
                                                size_t workspace_bytes, cudaStream_t stream) {
    beginCall();
    if (FsStatus s = checkForward(call, true); s != FS_OK) return s;
    const LogitsPlan plan = planLogits(*call);
    if (workspace_bytes < plan.bytes)
        return fail(FS_WORKSPACE_TOO_SMALL, "workspace: expected %zu bytes, found %zu", plan.bytes, workspace_bytes);
    if (plan.bytes > 0)
        if (FsStatus s = checkPointer(workspace, "workspace"); s != FS_OK) return s;
    return guarded("linear_cross_entropy",
                   [&] { return Forward(*call, plan, static_cast<char*>(workspace), stream).run(); });
}

FsStatus fusescope_linear_cross_entropy_backward(const FsLinearCrossEntropyBackward* call, cudaStream_t stream) {
    beginCall();
    if (FsStatus s = checkPointer(call, "call"); s != FS_OK) return s;
    const FsLinearCrossEntropyBackward& c = *call;
    FsStatus s = checkDtype(c.dtype, "dx");
    if (s == FS_OK) s = checkPointer(c.dloss, "dloss");
    if (s == FS_OK) s = checkPointer(c.state, "state");
    if (s == FS_OK && c.dx) s = checkMatrix(c.dx_final, c.tokens, c.hidden, c.hidden, "dx_final");
    if (s == FS_OK && c.dweight) s = checkMatrix(c.dweight_final, c.vocab, c.hidden, c.hidden, "dweight_final");
    DeviceFacts device;
    if (s == FS_OK) s = currentDevice(device);
    if (s == FS_OK && c.dx && c.tokens * c.hidden > 0)
        s = launchScale(c.dtype, c.dx, c.dx_final, c.tokens * c.hidden, c.dloss, c.state, 1.f, device, stream);
    if (s == FS_OK && c.dweight && c.vocab * c.hidden > 0)
        s = launchScale(c.dtype, c.dweight, c.dweight_final, c.vocab * c.hidden, c.dloss, c.state,
                        c.dtype == FS_F16 ? 1.f / dweightShrink : 1.f, device, stream);
    return s;
}
