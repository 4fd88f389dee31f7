// SPDX-License-Identifier: Apache-2.0
// torch.ops.fusescope.adamw_(params, grads, exp_avgs, exp_avg_sqs, steps, ...): CUDA, CPU (the fp64 reference) and
// Meta. Updates the tensors in place; `steps` are already counted on, as torch._fused_adamw_ wants them.
#include "kernels/adamw/adamw.h"
#include "kernels/adamw/adamw_ref.h"
#include "kernels/common/torch_inductor.h"
#include "kernels/common/torch_support.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/library.h>
#include <vector>

namespace fusescope::kernels {
namespace {

using at::Tensor;
using at::TensorList;
using MaybeTensor = std::optional<Tensor>;

/// What the operator takes, after params.
struct Call {
    TensorList params, grads, expAvgs, expAvgSqs, steps;
    double lr, beta1, beta2, eps, weightDecay;
    bool maximize;
    const MaybeTensor &gradScale, &foundInf;
};

void checkScalar(const Tensor& t, const Tensor& param, const char* name, size_t i) {
    TORCH_CHECK(t.scalar_type() == at::kFloat && t.sym_numel() == 1, "adamw_: expected ", name, "[", i,
                "] as one float32, found ", t.scalar_type(), " of shape ", t.sym_sizes());
    TORCH_CHECK(t.device() == param.device(), "adamw_: expected ", name, "[", i, "] on ", param.device(), ", found ",
                t.device());
}

void checkLike(const Tensor& t, const Tensor& param, at::ScalarType type, const char* name, size_t i) {
    TORCH_CHECK(t.sym_sizes() == param.sym_sizes(), "adamw_: expected ", name, "[", i, "] of its parameter's shape ",
                param.sym_sizes(), ", found ", t.sym_sizes());
    TORCH_CHECK(t.scalar_type() == type, "adamw_: expected ", name, "[", i, "] of type ", type, ", found ",
                t.scalar_type());
    TORCH_CHECK(t.device() == param.device(), "adamw_: expected ", name, "[", i, "] on ", param.device(), ", found ",
                t.device());
}

/// All but the layout, which a tensor of the meta device need not have.
void checkArguments(const Call& c) {
    const struct {
        const char* name;
        TensorList tensors;
    } lists[] = {{"grads", c.grads}, {"exp_avgs", c.expAvgs}, {"exp_avg_sqs", c.expAvgSqs}, {"steps", c.steps}};
    for (const auto& list : lists)
        TORCH_CHECK(list.tensors.size() == c.params.size(), "adamw_: expected ", c.params.size(), " ", list.name,
                    ", one a parameter, found ", list.tensors.size());
    if (c.params.empty()) return;
    const auto type = c.params[0].scalar_type(), state = c.expAvgs[0].scalar_type();
    const auto device = c.params[0].device();
    dtypeOf(c.params[0], "adamw_: params[0]");
    TORCH_CHECK(state == type || state == at::kFloat, "adamw_: expected exp_avgs[0] of type ", type,
                " or Float, found ", state);
    for (size_t i = 0; i < c.params.size(); ++i) {
        const Tensor& param = c.params[i];
        TORCH_CHECK(param.scalar_type() == type, "adamw_: expected params of one type, found ", type, " and, params[",
                    i, "], ", param.scalar_type());
        TORCH_CHECK(param.device() == device, "adamw_: expected params on one device, found ", device, " and, params[",
                    i, "], ", param.device());
        checkLike(c.grads[i], param, type, "grads", i);
        checkLike(c.expAvgs[i], param, state, "exp_avgs", i);
        checkLike(c.expAvgSqs[i], param, state, "exp_avg_sqs", i);
        checkScalar(c.steps[i], param, "steps", i);
    }
    if (c.gradScale) checkScalar(*c.gradScale, c.params[0], "grad_scale", 0);
    if (c.foundInf) checkScalar(*c.foundInf, c.params[0], "found_inf", 0);
}

/// Whether element i of one lies beside element i of the other, all of it one run of memory.
bool sameRun(const Tensor& a, const Tensor& b) {
    if (a.is_contiguous() && b.is_contiguous()) return true;
    if (!a.is_non_overlapping_and_dense() || !b.is_non_overlapping_and_dense()) return false;
    for (int64_t d = 0; d < a.dim(); ++d)
        if (a.size(d) > 1 && a.stride(d) != b.stride(d)) return false;
    return true;
}

void checkRun(const Tensor& t, const Tensor& param, const char* name, size_t i) {
    TORCH_CHECK(sameRun(param, t), "adamw_: expected ", name, "[", i,
                "] and its parameter as one run of memory in one "
                "order, found strides ",
                t.strides(), " and ", param.strides(), " of shape ", param.sizes());
}

void checkRuns(const Call& c) {
    for (size_t i = 0; i < c.params.size(); ++i) {
        checkRun(c.params[i], c.params[i], "params", i);
        checkRun(c.grads[i], c.params[i], "grads", i);
        checkRun(c.expAvgs[i], c.params[i], "exp_avgs", i);
        checkRun(c.expAvgSqs[i], c.params[i], "exp_avg_sqs", i);
    }
}

const float* dataOf(const MaybeTensor& t) { return t ? t->const_data_ptr<float>() : nullptr; }

void runCuda(const Call& c) {
    checkArguments(c);
    checkRuns(c);
    if (c.params.empty()) return;
    const c10::cuda::CUDAGuard guard(c.params[0].device());
    std::vector<FsAdamWTensor> tensors(c.params.size());
    for (size_t i = 0; i < tensors.size(); ++i)
        tensors[i] = {c.params[i].data_ptr(),    c.grads[i].const_data_ptr(),        c.expAvgs[i].data_ptr(),
                      c.expAvgSqs[i].data_ptr(), c.steps[i].const_data_ptr<float>(), c.params[i].numel()};
    FsAdamW call{};
    call.tensors = tensors.data();
    call.count = int64_t(tensors.size());
    call.dtype = dtypeOf(c.params[0], "params");
    call.state_dtype = dtypeOf(c.expAvgs[0], "exp_avgs");
    call.lr = c.lr;
    call.beta1 = c.beta1;
    call.beta2 = c.beta2;
    call.eps = c.eps;
    call.weight_decay = c.weightDecay;
    call.maximize = c.maximize;
    call.grad_scale = dataOf(c.gradScale);
    call.found_inf = dataOf(c.foundInf);
    checkCall(fusescope_adamw(&call, streamOf(c.params[0])));
}

void runCpu(const Call& c) {
    checkArguments(c);
    if (c.foundInf && *dataOf(c.foundInf) == 1) return;
    for (size_t i = 0; i < c.params.size(); ++i) {
        const Tensor param = asDouble(c.params[i]), grad = asDouble(c.grads[i]);
        const Tensor expAvg = asDouble(c.expAvgs[i]), expAvgSq = asDouble(c.expAvgSqs[i]);
        const reference::AdamWScalars scalars{c.lr,          c.beta1,
                                              c.beta2,       c.eps,
                                              c.weightDecay, *c.steps[i].const_data_ptr<float>(),
                                              c.maximize,    c.gradScale ? *dataOf(c.gradScale) : 1.0};
        reference::adamw(param.data_ptr<double>(), grad.const_data_ptr<double>(), expAvg.data_ptr<double>(),
                         expAvgSq.data_ptr<double>(), param.numel(), scalars);
        c.params[i].copy_(param);
        c.expAvgs[i].copy_(expAvg);
        c.expAvgSqs[i].copy_(expAvgSq);
    }
}

void runMeta(const Call& c) { checkArguments(c); }

/// Reached without tensors, and on devices that nothing is written for.
void runElsewhere(const Call& c) {
    checkArguments(c);
    TORCH_CHECK(c.params.empty(), "adamw_: expected tensors on a CUDA device or the CPU, found ", c.params[0].device());
}

using Signature = void(TensorList, TensorList, TensorList, TensorList, TensorList, double, double, double, double,
                       double, bool, const MaybeTensor&, const MaybeTensor&);

template <void (*Run)(const Call&)>
void entry(TensorList params, TensorList grads, TensorList expAvgs, TensorList expAvgSqs, TensorList steps, double lr,
           double beta1, double beta2, double eps, double weightDecay, bool maximize, const MaybeTensor& gradScale,
           const MaybeTensor& foundInf) {
    const at::NoGradGuard noGrad;
    Run({params, grads, expAvgs, expAvgSqs, steps, lr, beta1, beta2, eps, weightDecay, maximize, gradScale, foundInf});
}

/// Tells autograd, which may have kept a parameter for a backward, that it has changed.
void countVersions(TensorList params, TensorList grads, TensorList expAvgs, TensorList expAvgSqs, TensorList steps,
                   double lr, double beta1, double beta2, double eps, double weightDecay, bool maximize,
                   const MaybeTensor& gradScale, const MaybeTensor& foundInf) {
    static const auto op = c10::Dispatcher::singleton().findSchemaOrThrow("fusescope::adamw_", "").typed<Signature>();
    {
        const at::AutoDispatchBelowADInplaceOrView guard;
        op.call(params, grads, expAvgs, expAvgSqs, steps, lr, beta1, beta2, eps, weightDecay, maximize, gradScale,
                foundInf);
    }
    for (const TensorList list : {params, expAvgs, expAvgSqs})
        for (const Tensor& t : list) t.unsafeGetTensorImpl()->bump_version();
}

TORCH_LIBRARY_FRAGMENT(fusescope, m) {
    m.def("adamw_(Tensor(a!)[] params, Tensor[] grads, Tensor(b!)[] exp_avgs, Tensor(c!)[] exp_avg_sqs, "
          "Tensor[] steps, *, float lr, float beta1, float beta2, float eps, float weight_decay, bool maximize=False, "
          "Tensor? grad_scale=None, Tensor? found_inf=None) -> ()");
}
TORCH_LIBRARY_IMPL(fusescope, CUDA, m) { m.impl("adamw_", entry<runCuda>); }
TORCH_LIBRARY_IMPL(fusescope, CPU, m) { m.impl("adamw_", entry<runCpu>); }
TORCH_LIBRARY_IMPL(fusescope, Meta, m) { m.impl("adamw_", meta<entry<runMeta>>); }
TORCH_LIBRARY_IMPL(fusescope, CompositeExplicitAutograd, m) { m.impl("adamw_", entry<runElsewhere>); }
TORCH_LIBRARY_IMPL(fusescope, ADInplaceOrView, m) { m.impl("adamw_", countVersions); }

} // namespace
} // namespace fusescope::kernels
