// SPDX-License-Identifier: Apache-2.0
// torch.ops.fusescope.linear_cross_entropy(x, weight, labels, num_items, ignore_index, mode, memory_limit): CUDA, CPU
// (the fp64 reference), Meta and Autograd.
#include "kernels/common/torch_inductor.h"
#include "kernels/common/torch_support.h"
#include "kernels/linear_cross_entropy/linear_cross_entropy.h"
#include "kernels/linear_cross_entropy/linear_cross_entropy_ref.h"

#include <ATen/FunctionalTensorWrapper.h>
#include <c10/core/impl/TorchDispatchModeTLS.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/csrc/autograd/graph_task.h>
#include <torch/library.h>

namespace fusescope::kernels {
namespace {

using at::Tensor;
using Pair = std::tuple<Tensor, Tensor>;
using Outputs = std::tuple<Tensor, Tensor, Tensor, Tensor>; // loss, state, dx, dweight; unwanted gradients are empty
using MaybeTensor = std::optional<Tensor>;

/// What the sum over tokens is divided by: a tensor, a number, or neither (the labels that are not ignored).
struct Options {
    MaybeTensor items;
    std::optional<double> number;
    int64_t ignored;
    std::string mode;
    int64_t memoryLimit;
};

void checkShapes(const Tensor& x, const Tensor& weight, const Tensor& labels, const MaybeTensor& items) {
    TORCH_CHECK(x.dim() >= 1, "linear_cross_entropy: expected x with at least one dimension");
    TORCH_CHECK(weight.dim() == 2 && weight.sym_size(1) == x.sym_size(-1),
                "linear_cross_entropy: expected weight of shape [vocab, ", x.sym_size(-1), "], found ",
                weight.sym_sizes());
    TORCH_CHECK(weight.scalar_type() == x.scalar_type(), "linear_cross_entropy: x is ", x.scalar_type(), ", weight is ",
                weight.scalar_type());
    TORCH_CHECK(labels.scalar_type() == at::kLong, "linear_cross_entropy: expected labels of int64, found ",
                labels.scalar_type());
    TORCH_CHECK(labels.sym_sizes() == x.sym_sizes().slice(0, size_t(x.dim() - 1)),
                "linear_cross_entropy: expected a label for each row of x, found shapes ", labels.sym_sizes(), " and ",
                x.sym_sizes());
    TORCH_CHECK(weight.device() == x.device() && labels.device() == x.device(),
                "linear_cross_entropy: x, weight and labels are on different devices");
    TORCH_CHECK(!items || items->sym_numel() == 1, "linear_cross_entropy: expected one num_items, found ",
                items->sym_numel());
}

FsLinearCrossEntropyMode modeOf(c10::string_view mode) {
    if (mode == "auto") return FS_LINEAR_CROSS_ENTROPY_AUTO;
    if (mode == "fast") return FS_LINEAR_CROSS_ENTROPY_FAST;
    TORCH_CHECK(mode == "lean", "linear_cross_entropy: mode is \"auto\", \"fast\" or \"lean\", found \"", mode, "\"");
    return FS_LINEAR_CROSS_ENTROPY_LEAN;
}

Tensor gradientLike(const Tensor& t, bool wanted) {
    return wanted ? at::empty_symint(t.sym_sizes(), t.options()) : at::empty({0}, t.options());
}

Outputs outputsOf(const Tensor& x, const Tensor& weight, bool wantDx, bool wantDweight) {
    const at::ScalarType lossType = x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
    return {at::empty({}, x.options().dtype(lossType)),
            at::empty({FS_LINEAR_CROSS_ENTROPY_STATE}, x.options().dtype(at::kFloat)), gradientLike(x, wantDx),
            gradientLike(weight, wantDweight)};
}

/// A matrix as cuBLAS takes it: rows that do not overlap, at one stride.
struct Matrix {
    explicit Matrix(const Tensor& t) : rows(t), tensor(rows.tensor) {
        if (rows.rows.inner == 1 && rows.rows.outer_stride >= t.size(-1)) {
            stride = rows.rows.outer_stride;
        } else {
            tensor = t.contiguous();
            stride = t.size(-1);
        }
    }
    RowTensor rows;
    Tensor tensor;
    int64_t stride;
};

Outputs forwardCuda(const Tensor& x, const Tensor& weight, const Tensor& labels, const MaybeTensor& items,
                    std::optional<double> number, int64_t ignored, c10::string_view mode, int64_t memoryLimit,
                    bool wantDx, bool wantDweight) {
    const c10::cuda::CUDAGuard guard(x.device());
    checkShapes(x, weight, labels, items);
    auto outputs = outputsOf(x, weight, wantDx, wantDweight);
    auto& [loss, state, dx, dweight] = outputs;
    const Matrix rows(x), words(weight);
    const Tensor ids = labels.contiguous();

    FsLinearCrossEntropyForward call{};
    call.x = rows.tensor.data_ptr();
    call.x_stride = rows.stride;
    call.weight = words.tensor.data_ptr();
    call.weight_stride = words.stride;
    call.labels = ids.data_ptr<int64_t>();
    call.tokens = ids.numel();
    call.hidden = x.size(-1);
    call.vocab = weight.size(0);
    call.dtype = dtypeOf(x, "x");
    call.ignore_index = ignored;
    Tensor onDevice;
    if (items && items->is_cuda()) {
        onDevice = items->to(x.device(), at::kFloat).contiguous();
        call.divisor = FS_DIVIDE_BY_DEVICE;
        call.num_items_device = onDevice.data_ptr<float>();
    } else if (items || number) {
        call.divisor = FS_DIVIDE_BY_NUMBER;
        call.num_items = items ? items->item().toDouble() : *number;
    }
    call.loss = loss.data_ptr<float>();
    call.state = state.data_ptr<float>();
    call.dx = wantDx ? dx.data_ptr() : nullptr;
    call.dweight = wantDweight ? dweight.data_ptr() : nullptr;
    call.mode = modeOf(mode);
    call.memory_limit = memoryLimit < 0 ? 0 : uint64_t(memoryLimit);
    callWithWorkspace(
        call, [](auto* c, size_t* bytes) { return fusescope_linear_cross_entropy_workspace(c, bytes, nullptr); },
        fusescope_linear_cross_entropy_forward, x);
    return outputs;
}

Outputs forwardCpu(const Tensor& x, const Tensor& weight, const Tensor& labels, const MaybeTensor& items,
                   std::optional<double> number, int64_t ignored, c10::string_view mode, int64_t, bool wantDx,
                   bool wantDweight) {
    checkShapes(x, weight, labels, items);
    modeOf(mode);
    auto outputs = outputsOf(x, weight, wantDx, wantDweight);
    auto& [loss, state, dx, dweight] = outputs;
    const Tensor x64 = asDouble(x), w64 = asDouble(weight), ids = labels.contiguous();
    const int64_t* const id = ids.data_ptr<int64_t>();
    int64_t valid = 0;
    for (int64_t i = 0; i < ids.numel(); ++i) {
        if (id[i] == ignored) continue;
        TORCH_CHECK(id[i] >= 0 && id[i] < weight.size(0), "linear_cross_entropy: label ", id[i],
                    " is outside the vocabulary of ", weight.size(0));
        ++valid;
    }
    const double divisor = items ? items->item().toDouble() : number.value_or(double(valid));
    const reference::LinearCrossEntropy call{
        x64.data_ptr<double>(), w64.data_ptr<double>(), id, ids.numel(), x.size(-1), weight.size(0), ignored, divisor};
    const Tensor dx64 = wantDx ? at::empty_like(x64) : Tensor(), dw64 = wantDweight ? at::empty_like(w64) : Tensor();
    loss.fill_(reference::linearCrossEntropy(call, wantDx ? dx64.data_ptr<double>() : nullptr,
                                             wantDweight ? dw64.data_ptr<double>() : nullptr));
    if (wantDx) dx.copy_(dx64);
    if (wantDweight) dweight.copy_(dw64);
    float* const s = state.data_ptr<float>();
    s[0] = float(1 / divisor), s[1] = 1, s[2] = float(valid), s[3] = 0;
    return outputs;
}

Outputs forwardMeta(const Tensor& x, const Tensor& weight, const Tensor& labels, const MaybeTensor& items,
                    std::optional<double>, int64_t, c10::string_view mode, int64_t, bool wantDx, bool wantDweight) {
    checkShapes(x, weight, labels, items);
    modeOf(mode);
    return outputsOf(x, weight, wantDx, wantDweight);
}

void scaleCuda(const Tensor& dloss, const Tensor& state, const Tensor& dx, const Tensor& dweight, const Tensor& dxFinal,
               const Tensor& dweightFinal) {
    const c10::cuda::CUDAGuard guard(state.device());
    const Tensor by = dloss.to(at::kFloat).contiguous();
    FsLinearCrossEntropyBackward call{};
    call.dloss = by.data_ptr<float>();
    call.state = state.data_ptr<float>();
    if (dx.numel() > 0) {
        call.dx = dx.data_ptr();
        call.dx_final = dxFinal.data_ptr();
        call.hidden = dx.size(-1);
        call.tokens = dx.numel() / call.hidden;
    }
    if (dweight.numel() > 0) {
        call.dweight = dweight.data_ptr();
        call.dweight_final = dweightFinal.data_ptr();
        call.vocab = dweight.size(0);
        call.hidden = dweight.size(1);
    }
    call.dtype = dtypeOf(dx, "dx");
    checkCall(fusescope_linear_cross_entropy_backward(&call, streamOf(state)));
}

Pair backwardMeta(const Tensor&, const Tensor&, const Tensor& dx, const Tensor& dweight) {
    return {gradientLike(dx, true), gradientLike(dweight, true)};
}

Pair backwardCuda(const Tensor& dloss, const Tensor& state, const Tensor& dx, const Tensor& dweight) {
    const Tensor from = dx.contiguous(), fromWeight = dweight.contiguous();
    Pair out{at::empty_like(from), at::empty_like(fromWeight)};
    scaleCuda(dloss, state, from, fromWeight, std::get<0>(out), std::get<1>(out));
    return out;
}

Pair backwardCpu(const Tensor& dloss, const Tensor&, const Tensor& dx, const Tensor& dweight) {
    return {dx.mul(dloss), dweight.mul(dloss)};
}

void backwardInPlaceCuda(const Tensor& dloss, const Tensor& state, Tensor& dx, Tensor& dweight) {
    TORCH_CHECK(dx.is_contiguous() && dweight.is_contiguous(), "linear_cross_entropy: expected contiguous gradients");
    scaleCuda(dloss, state, dx, dweight, dx, dweight);
}

void backwardInPlaceCpu(const Tensor& dloss, const Tensor&, Tensor& dx, Tensor& dweight) {
    dx.mul_(dloss);
    dweight.mul_(dloss);
}

void backwardInPlaceMeta(const Tensor&, const Tensor&, Tensor&, Tensor&) {}

Outputs callForward(const Tensor& x, const Tensor& weight, const Tensor& labels, const Options& o, bool wantDx,
                    bool wantDweight) {
    static const auto op = operatorOf<decltype(forwardCpu)>("fusescope::linear_cross_entropy_forward");
    return op.call(x, weight, labels, o.items, o.number, o.ignored, o.mode, o.memoryLimit, wantDx, wantDweight);
}

Pair callBackward(const Tensor& dloss, const Tensor& state, const Tensor& dx, const Tensor& dweight) {
    static const auto op = operatorOf<decltype(callBackward)>("fusescope::linear_cross_entropy_backward");
    return op.call(dloss, state, dx, dweight);
}

void callBackwardInPlace(const Tensor& dloss, const Tensor& state, Tensor& dx, Tensor& dweight) {
    static const auto op = operatorOf<decltype(callBackwardInPlace)>("fusescope::linear_cross_entropy_backward_");
    op.call(dloss, state, dx, dweight);
}

/// Whether nobody will read the saved gradients again, so that they may become the result: a graph that is run once,
/// and no tracer that would have to make a copy of what an operator changes.
bool mayScaleInPlace(const Tensor& dx, const Tensor& dweight) {
    auto plain = [](const Tensor& t) {
        return !at::functionalization::impl::isFunctionalTensor(t) && !t.key_set().has(c10::DispatchKey::Python);
    };
    return !torch::autograd::get_current_graph_task_keep_graph() && !c10::impl::TorchDispatchModeTLS::any_modes_set() &&
           plain(dx) && plain(dweight);
}

struct LinearCrossEntropy : torch::autograd::Function<LinearCrossEntropy> {
    static Tensor forward(torch::autograd::AutogradContext* context, const Tensor& x, const Tensor& weight,
                          const Tensor& labels, const Options& options, bool wantDx, bool wantDweight) {
        const at::AutoDispatchBelowADInplaceOrView guard;
        auto [loss, state, dx, dweight] = callForward(x, weight, labels, options, wantDx, wantDweight);
        context->save_for_backward({state, dx, dweight});
        context->saved_data["dx"] = wantDx;
        context->saved_data["dweight"] = wantDweight;
        return loss;
    }

    static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                   const torch::autograd::variable_list& gradients) {
        TORCH_CHECK(!at::GradMode::is_enabled(), "linear_cross_entropy has no second derivative");
        const auto saved = context->get_saved_variables();
        Tensor dx = saved[1], dweight = saved[2];
        if (mayScaleInPlace(dx, dweight))
            callBackwardInPlace(gradients[0], saved[0], dx, dweight);
        else
            std::tie(dx, dweight) = callBackward(gradients[0], saved[0], dx, dweight);
        if (!context->saved_data["dx"].toBool()) dx = Tensor();
        if (!context->saved_data["dweight"].toBool()) dweight = Tensor();
        return {dx, dweight, {}, {}, {}, {}};
    }
};

Tensor apply(const Tensor& x, const Tensor& weight, const Tensor& labels, const Options& options) {
    const bool recording = at::GradMode::is_enabled();
    const bool wantDx = recording && x.requires_grad(), wantDweight = recording && weight.requires_grad();
    if (wantDx || wantDweight) return LinearCrossEntropy::apply(x, weight, labels, options, wantDx, wantDweight);
    const at::AutoDispatchBelowADInplaceOrView guard;
    return std::get<0>(callForward(x, weight, labels, options, false, false));
}

Tensor withGradient(const Tensor& x, const Tensor& weight, const Tensor& labels, const MaybeTensor& items,
                    int64_t ignored, c10::string_view mode, int64_t memoryLimit) {
    return apply(x, weight, labels, {items, std::nullopt, ignored, std::string(mode), memoryLimit});
}

Tensor withGradientNumber(const Tensor& x, const Tensor& weight, const Tensor& labels, double number, int64_t ignored,
                          c10::string_view mode, int64_t memoryLimit) {
    return apply(x, weight, labels, {std::nullopt, number, ignored, std::string(mode), memoryLimit});
}

Tensor withoutGradient(const Tensor& x, const Tensor& weight, const Tensor& labels, const MaybeTensor& items,
                       int64_t ignored, c10::string_view mode, int64_t memoryLimit) {
    const Options options{items, std::nullopt, ignored, std::string(mode), memoryLimit};
    return std::get<0>(callForward(x, weight, labels, options, false, false));
}

Tensor withoutGradientNumber(const Tensor& x, const Tensor& weight, const Tensor& labels, double number,
                             int64_t ignored, c10::string_view mode, int64_t memoryLimit) {
    const Options options{std::nullopt, number, ignored, std::string(mode), memoryLimit};
    return std::get<0>(callForward(x, weight, labels, options, false, false));
}

// The limit of "auto" leaves the 2.6 GB of 4096 tokens and Qwen3's vocabulary to the fast mode.
TORCH_LIBRARY_FRAGMENT(fusescope, m) {
    m.def("linear_cross_entropy(Tensor x, Tensor weight, Tensor labels, Tensor? num_items=None, int ignore_index=-100,"
          " str mode=\"auto\", int memory_limit=3000000000) -> Tensor");
    m.def("linear_cross_entropy.number(Tensor x, Tensor weight, Tensor labels, float num_items, int ignore_index=-100,"
          " str mode=\"auto\", int memory_limit=3000000000) -> Tensor");
    m.def("linear_cross_entropy_forward(Tensor x, Tensor weight, Tensor labels, Tensor? num_items, float? number,"
          " int ignore_index, str mode, int memory_limit, bool want_dx, bool want_dweight)"
          " -> (Tensor loss, Tensor state, Tensor dx, Tensor dweight)");
    m.def("linear_cross_entropy_backward(Tensor dloss, Tensor state, Tensor dx, Tensor dweight)"
          " -> (Tensor dx, Tensor dweight)");
    m.def("linear_cross_entropy_backward_(Tensor dloss, Tensor state, Tensor(a!) dx, Tensor(b!) dweight) -> ()");
}
TORCH_LIBRARY_IMPL(fusescope, CompositeExplicitAutograd, m) {
    m.impl("linear_cross_entropy", withoutGradient);
    m.impl("linear_cross_entropy.number", withoutGradientNumber);
}
TORCH_LIBRARY_IMPL(fusescope, Autograd, m) {
    m.impl("linear_cross_entropy", withGradient);
    m.impl("linear_cross_entropy.number", withGradientNumber);
}
TORCH_LIBRARY_IMPL(fusescope, CUDA, m) {
    m.impl("linear_cross_entropy_forward", forwardCuda);
    m.impl("linear_cross_entropy_backward", backwardCuda);
    m.impl("linear_cross_entropy_backward_", backwardInPlaceCuda);
}
TORCH_LIBRARY_IMPL(fusescope, CPU, m) {
    m.impl("linear_cross_entropy_forward", forwardCpu);
    m.impl("linear_cross_entropy_backward", backwardCpu);
    m.impl("linear_cross_entropy_backward_", backwardInPlaceCpu);
}
TORCH_LIBRARY_IMPL(fusescope, Meta, m) {
    m.impl("linear_cross_entropy_forward", meta<forwardMeta>);
    m.impl("linear_cross_entropy_backward", meta<backwardMeta>);
    m.impl("linear_cross_entropy_backward_", meta<backwardInPlaceMeta>);
}

} // namespace
} // namespace fusescope::kernels
