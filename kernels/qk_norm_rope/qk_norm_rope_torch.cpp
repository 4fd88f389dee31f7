// SPDX-License-Identifier: Apache-2.0
// torch.ops.fusescope.qk_norm_rope(q, k, q_weight, k_weight, cos, sin, eps, fast): CUDA, CPU (the fp64 reference), Meta
// and Autograd. q and k are [batch, tokens, heads, head_dim], views allowed; cos and sin get no gradient.
#include "kernels/common/torch_heads.h"
#include "kernels/common/torch_inductor.h"
#include "kernels/qk_norm_rope/qk_norm_rope.h"
#include "kernels/qk_norm_rope/qk_norm_rope_ref.h"

#include <c10/cuda/CUDAGuard.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

namespace fusescope::kernels {
namespace {

using at::Tensor;
using Pair = std::tuple<Tensor, Tensor>;
using Four = std::tuple<Tensor, Tensor, Tensor, Tensor>;

/// What forward and backward both read.
struct Inputs {
    const Tensor &q, &k, &qWeight, &kWeight, &cos, &sin;
};

void checkWeight(const char* name, const Tensor& weight, const Tensor& q) {
    TORCH_CHECK(weight.dim() == 1 && weight.sym_size(0) == q.sym_size(3), "qk_norm_rope: expected ", name,
                " of shape [", q.sym_size(3), "], found ", weight.sym_sizes());
    TORCH_CHECK(weight.scalar_type() == q.scalar_type() && weight.device() == q.device(), "qk_norm_rope: expected ",
                name, " as ", q.scalar_type(), " on ", q.device(), ", found ", weight.scalar_type(), " on ",
                weight.device());
}

void checkInputs(const Inputs& in) {
    checkHeadTensors("qk_norm_rope", in.q, in.k, in.cos, in.sin);
    checkWeight("q_weight", in.qWeight, in.q);
    checkWeight("k_weight", in.kWeight, in.q);
}

Tensor emptyLike(const Tensor& t) { return at::empty_symint(t.sym_sizes(), t.options()); }

Tensor emptyRstd(const Tensor& x) { return at::empty_symint(x.sym_sizes().slice(0, 3), x.options().dtype(at::kFloat)); }

Four outputsOfForward(const Inputs& in) {
    checkInputs(in);
    return {emptyLike(in.q), emptyLike(in.k), emptyRstd(in.q), emptyRstd(in.k)};
}

void checkGradient(const char* name, const Tensor& dy, const Tensor& x) {
    TORCH_CHECK(dy.sym_sizes() == x.sym_sizes() && dy.scalar_type() == x.scalar_type(), "qk_norm_rope: expected ", name,
                " of shape ", x.sym_sizes(), " as ", x.scalar_type(), ", found ", dy.sym_sizes(), " as ",
                dy.scalar_type());
}

// --- CUDA

Tensor emptyRstdCuda(const Tensor& x) { return emptyCuda(x.sizes().slice(0, 3), at::kFloat); }

/// The outputs, the rstd of each head among them where a backward will want it, else undefined.
Four runForward(const Inputs& in, double eps, bool fast, bool keepRstd) {
    checkInputs(in);
    const auto& [q, k, qWeight, kWeight, cos, sin] = in;
    const c10::cuda::CUDAGuard guard(q.device());
    Four out{emptyCudaContiguous(q), emptyCudaContiguous(k), keepRstd ? emptyRstdCuda(q) : Tensor(),
             keepRstd ? emptyRstdCuda(k) : Tensor()};
    auto& [qOut, kOut, qRstd, kRstd] = out;
    const HeadTensor ofQ(q), ofK(k);
    const RotaryTensors tables(cos, sin);
    const Tensor wq = qWeight.contiguous(), wk = kWeight.contiguous();
    FsQkNormRopeForward call{};
    call.q = ofQ.heads;
    call.k = ofK.heads;
    call.q_out = HeadTensor(qOut).heads;
    call.k_out = HeadTensor(kOut).heads;
    call.q_weight = wq.data_ptr();
    call.k_weight = wk.data_ptr();
    call.rotary = tables.rotary;
    call.q_rstd = static_cast<float*>(dataOrNull(qRstd));
    call.k_rstd = static_cast<float*>(dataOrNull(kRstd));
    call.batch = q.size(0);
    call.tokens = q.size(1);
    call.head_dim = q.size(3);
    call.dtype = dtypeOf(q, "q");
    call.eps = eps;
    call.rounding = roundingOf(fast);
    checkCall(fusescope_qk_norm_rope_forward(&call, streamOf(q)));
    return out;
}

Four forwardCuda(const Tensor& q, const Tensor& k, const Tensor& qWeight, const Tensor& kWeight, const Tensor& cos,
                 const Tensor& sin, double eps, bool fast) {
    return runForward({q, k, qWeight, kWeight, cos, sin}, eps, fast, true);
}

Pair inferenceCuda(const Tensor& q, const Tensor& k, const Tensor& qWeight, const Tensor& kWeight, const Tensor& cos,
                   const Tensor& sin, double eps, bool fast) {
    Four out = runForward({q, k, qWeight, kWeight, cos, sin}, eps, fast, false);
    return {std::move(std::get<0>(out)), std::move(std::get<1>(out))};
}

Pair backwardInto(const Tensor& dqOut, const Tensor& dkOut, const Inputs& in, const Tensor& qRstd, const Tensor& kRstd,
                  bool fast, const Tensor& dq, const Tensor& dk) {
    const c10::cuda::CUDAGuard guard(in.q.device());
    const HeadTensor ofDqOut(dqOut), ofDkOut(dkOut), ofQ(in.q), ofK(in.k);
    const RotaryTensors tables(in.cos, in.sin);
    const Tensor wq = in.qWeight.contiguous(), wk = in.kWeight.contiguous();
    const Tensor rq = qRstd.contiguous(), rk = kRstd.contiguous();
    Pair out{emptyCudaContiguous(wq), emptyCudaContiguous(wk)};
    FsQkNormRopeBackward call{};
    call.dq_out = ofDqOut.heads;
    call.dk_out = ofDkOut.heads;
    call.q = ofQ.heads;
    call.k = ofK.heads;
    call.dq = HeadTensor(dq).heads;
    call.dk = HeadTensor(dk).heads;
    call.q_weight = wq.data_ptr();
    call.k_weight = wk.data_ptr();
    call.rotary = tables.rotary;
    call.q_rstd = rq.data_ptr<float>();
    call.k_rstd = rk.data_ptr<float>();
    call.dq_weight = std::get<0>(out).data_ptr();
    call.dk_weight = std::get<1>(out).data_ptr();
    call.batch = in.q.size(0);
    call.tokens = in.q.size(1);
    call.head_dim = in.q.size(3);
    call.dtype = dtypeOf(in.q, "q");
    call.rounding = roundingOf(fast);
    size_t bytes = 0;
    checkCall(fusescope_qk_norm_rope_backward_workspace(&call, &bytes));
    const Tensor workspace = workspaceOf(bytes);
    checkCall(fusescope_qk_norm_rope_backward(&call, dataOrNull(workspace), bytes, streamOf(in.q)));
    return out;
}

Four backwardCuda(const Tensor& dqOut, const Tensor& dkOut, const Tensor& q, const Tensor& k, const Tensor& qWeight,
                  const Tensor& kWeight, const Tensor& cos, const Tensor& sin, const Tensor& qRstd, const Tensor& kRstd,
                  double, bool fast) {
    const Inputs in{q, k, qWeight, kWeight, cos, sin};
    checkInputs(in);
    checkGradient("dq_out", dqOut, q);
    checkGradient("dk_out", dkOut, k);
    const c10::cuda::CUDAGuard guard(q.device());
    const Tensor dq = emptyCudaContiguous(q), dk = emptyCudaContiguous(k);
    auto [dqWeight, dkWeight] = backwardInto(dqOut, dkOut, in, qRstd, kRstd, fast, dq, dk);
    return {dq, dk, dqWeight, dkWeight};
}

void checkDestination(const char* name, const Tensor& dx, const Tensor& x) {
    checkGradient(name, dx, x);
    TORCH_CHECK(dx.size(3) == 1 || dx.stride(3) == 1, "qk_norm_rope: expected ", name,
                " with the elements of a head side by side");
}

Pair backwardIntoCuda(const Tensor& dqOut, const Tensor& dkOut, const Tensor& q, const Tensor& k, const Tensor& qWeight,
                      const Tensor& kWeight, const Tensor& cos, const Tensor& sin, const Tensor& qRstd,
                      const Tensor& kRstd, double, bool fast, const Tensor& dq, const Tensor& dk) {
    const Inputs in{q, k, qWeight, kWeight, cos, sin};
    checkInputs(in);
    checkGradient("dq_out", dqOut, q);
    checkGradient("dk_out", dkOut, k);
    checkDestination("dq", dq, q);
    checkDestination("dk", dk, k);
    return backwardInto(dqOut, dkOut, in, qRstd, kRstd, fast, dq, dk);
}

// --- CPU

struct TablesAsDouble {
    TablesAsDouble(const Tensor& cosines, const Tensor& sines, int64_t batch)
        : cos(tableAsDouble(cosines, batch)), sin(tableAsDouble(sines, batch)) {}
    Tensor cos, sin;
};

reference::QkNormRopeShape shapeOf(const Tensor& x) { return {x.size(0) * x.size(1), x.size(2), x.size(3)}; }

void forwardOne(const Tensor& x, const Tensor& weight, const TablesAsDouble& tables, double eps, const Tensor& y,
                const Tensor& rstd) {
    const Tensor x64 = asDouble(x), w64 = asDouble(weight), y64 = at::empty_like(x64);
    const Tensor rstd64 = at::empty(rstd.sizes(), x64.options());
    reference::qkNormRopeForward(x64.data_ptr<double>(), w64.data_ptr<double>(), tables.cos.data_ptr<double>(),
                                 tables.sin.data_ptr<double>(), eps, shapeOf(x), y64.data_ptr<double>(),
                                 rstd64.data_ptr<double>());
    y.copy_(y64);
    rstd.copy_(rstd64);
}

void backwardOne(const Tensor& dy, const Tensor& x, const Tensor& weight, const TablesAsDouble& tables, double eps,
                 const Tensor& dx, const Tensor& dweight) {
    const Tensor dy64 = asDouble(dy), x64 = asDouble(x), w64 = asDouble(weight);
    const Tensor dx64 = at::empty_like(x64), dw64 = at::empty_like(w64);
    reference::qkNormRopeBackward(dy64.data_ptr<double>(), x64.data_ptr<double>(), w64.data_ptr<double>(),
                                  tables.cos.data_ptr<double>(), tables.sin.data_ptr<double>(), eps, shapeOf(x),
                                  dx64.data_ptr<double>(), dw64.data_ptr<double>());
    dx.copy_(dx64);
    dweight.copy_(dw64);
}

Four forwardCpu(const Tensor& q, const Tensor& k, const Tensor& qWeight, const Tensor& kWeight, const Tensor& cos,
                const Tensor& sin, double eps, bool) {
    Four out = outputsOfForward({q, k, qWeight, kWeight, cos, sin});
    const TablesAsDouble tables(cos, sin, q.size(0));
    forwardOne(q, qWeight, tables, eps, std::get<0>(out), std::get<2>(out));
    forwardOne(k, kWeight, tables, eps, std::get<1>(out), std::get<3>(out));
    return out;
}

Pair backwardIntoCpu(const Tensor& dqOut, const Tensor& dkOut, const Tensor& q, const Tensor& k, const Tensor& qWeight,
                     const Tensor& kWeight, const Tensor& cos, const Tensor& sin, const Tensor&, const Tensor&,
                     double eps, bool, const Tensor& dq, const Tensor& dk) {
    checkInputs({q, k, qWeight, kWeight, cos, sin});
    checkGradient("dq_out", dqOut, q);
    checkGradient("dk_out", dkOut, k);
    checkDestination("dq", dq, q);
    checkDestination("dk", dk, k);
    const TablesAsDouble tables(cos, sin, q.size(0));
    Pair out{emptyLike(qWeight), emptyLike(kWeight)};
    backwardOne(dqOut, q, qWeight, tables, eps, dq, std::get<0>(out));
    backwardOne(dkOut, k, kWeight, tables, eps, dk, std::get<1>(out));
    return out;
}

Four backwardCpu(const Tensor& dqOut, const Tensor& dkOut, const Tensor& q, const Tensor& k, const Tensor& qWeight,
                 const Tensor& kWeight, const Tensor& cos, const Tensor& sin, const Tensor& qRstd, const Tensor& kRstd,
                 double eps, bool fast) {
    const Tensor dq = emptyLike(q), dk = emptyLike(k);
    auto [dqWeight, dkWeight] =
        backwardIntoCpu(dqOut, dkOut, q, k, qWeight, kWeight, cos, sin, qRstd, kRstd, eps, fast, dq, dk);
    return {dq, dk, dqWeight, dkWeight};
}

// --- Meta

Four forwardMeta(const Tensor& q, const Tensor& k, const Tensor& qWeight, const Tensor& kWeight, const Tensor& cos,
                 const Tensor& sin, double, bool) {
    return outputsOfForward({q, k, qWeight, kWeight, cos, sin});
}

Four backwardMeta(const Tensor&, const Tensor&, const Tensor& q, const Tensor& k, const Tensor& qWeight,
                  const Tensor& kWeight, const Tensor&, const Tensor&, const Tensor&, const Tensor&, double, bool) {
    return {emptyLike(q), emptyLike(k), emptyLike(qWeight), emptyLike(kWeight)};
}

Pair backwardIntoMeta(const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor& qWeight,
                      const Tensor& kWeight, const Tensor&, const Tensor&, const Tensor&, const Tensor&, double, bool,
                      const Tensor&, const Tensor&) {
    return {emptyLike(qWeight), emptyLike(kWeight)};
}

// --- Autograd

Four callForward(const Inputs& in, double eps, bool fast) {
    static const auto op = operatorOf<decltype(forwardMeta)>("fusescope::qk_norm_rope_forward");
    return op.call(in.q, in.k, in.qWeight, in.kWeight, in.cos, in.sin, eps, fast);
}

Four callBackward(const Tensor& dqOut, const Tensor& dkOut, const Inputs& in, const Tensor& qRstd, const Tensor& kRstd,
                  double eps, bool fast) {
    static const auto op = operatorOf<decltype(backwardMeta)>("fusescope::qk_norm_rope_backward");
    return op.call(dqOut, dkOut, in.q, in.k, in.qWeight, in.kWeight, in.cos, in.sin, qRstd, kRstd, eps, fast);
}

/// Below autograd, for devices without an implementation of their own.
Pair withoutGradient(const Tensor& q, const Tensor& k, const Tensor& qWeight, const Tensor& kWeight, const Tensor& cos,
                     const Tensor& sin, double eps, bool fast) {
    const Four out = callForward({q, k, qWeight, kWeight, cos, sin}, eps, fast);
    return {std::get<0>(out), std::get<1>(out)};
}

struct QkNormRope : torch::autograd::Function<QkNormRope> {
    static torch::autograd::variable_list forward(torch::autograd::AutogradContext* context, const Tensor& q,
                                                  const Tensor& k, const Tensor& qWeight, const Tensor& kWeight,
                                                  const Tensor& cos, const Tensor& sin, double eps, bool fast) {
        const at::AutoDispatchBelowADInplaceOrView guard;
        const auto [qOut, kOut, qRstd, kRstd] = callForward({q, k, qWeight, kWeight, cos, sin}, eps, fast);
        context->save_for_backward({q, k, qWeight, kWeight, cos, sin, qRstd, kRstd});
        context->saved_data["eps"] = eps;
        context->saved_data["fast"] = fast;
        return {qOut, kOut};
    }

    static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                   const torch::autograd::variable_list& gradients) {
        const auto s = context->get_saved_variables();
        const auto [dq, dk, dqWeight, dkWeight] =
            callBackward(gradients[0], gradients[1], {s[0], s[1], s[2], s[3], s[4], s[5]}, s[6], s[7],
                         context->saved_data["eps"].toDouble(), context->saved_data["fast"].toBool());
        return {dq, dk, dqWeight, dkWeight, {}, {}, {}, {}};
    }
};

Pair withGradient(const Tensor& q, const Tensor& k, const Tensor& qWeight, const Tensor& kWeight, const Tensor& cos,
                  const Tensor& sin, double eps, bool fast) {
    if (wantsGradient(q, k, qWeight, kWeight)) {
        const auto out = QkNormRope::apply(q, k, qWeight, kWeight, cos, sin, eps, fast);
        return {out[0], out[1]};
    }
    static const auto op = operatorOf<decltype(withoutGradient)>("fusescope::qk_norm_rope");
    const at::AutoDispatchBelowADInplaceOrView below;
    return op.call(q, k, qWeight, kWeight, cos, sin, eps, fast);
}

TORCH_LIBRARY_FRAGMENT(fusescope, m) {
    m.def("qk_norm_rope(Tensor q, Tensor k, Tensor q_weight, Tensor k_weight, Tensor cos, Tensor sin, float eps=1e-6,"
          " bool fast=False) -> (Tensor q_out, Tensor k_out)");
    m.def("qk_norm_rope_forward(Tensor q, Tensor k, Tensor q_weight, Tensor k_weight, Tensor cos, Tensor sin,"
          " float eps, bool fast) -> (Tensor q_out, Tensor k_out, Tensor q_rstd, Tensor k_rstd)");
    m.def("qk_norm_rope_backward(Tensor dq_out, Tensor dk_out, Tensor q, Tensor k, Tensor q_weight, Tensor k_weight,"
          " Tensor cos, Tensor sin, Tensor q_rstd, Tensor k_rstd, float eps, bool fast)"
          " -> (Tensor dq, Tensor dk, Tensor dq_weight, Tensor dk_weight)");
    // Into views of the caller's, for example of one packed gradient of the projection.
    m.def("qk_norm_rope_backward_into(Tensor dq_out, Tensor dk_out, Tensor q, Tensor k, Tensor q_weight,"
          " Tensor k_weight, Tensor cos, Tensor sin, Tensor q_rstd, Tensor k_rstd, float eps, bool fast,"
          " Tensor(a!) dq, Tensor(b!) dk) -> (Tensor dq_weight, Tensor dk_weight)");
}
TORCH_LIBRARY_IMPL(fusescope, CompositeExplicitAutograd, m) { m.impl("qk_norm_rope", withoutGradient); }
TORCH_LIBRARY_IMPL(fusescope, Autograd, m) { m.impl("qk_norm_rope", withGradient); }
TORCH_LIBRARY_IMPL(fusescope, CUDA, m) {
    m.impl("qk_norm_rope", inferenceCuda);
    m.impl("qk_norm_rope_forward", forwardCuda);
    m.impl("qk_norm_rope_backward", backwardCuda);
    m.impl("qk_norm_rope_backward_into", backwardIntoCuda);
}
TORCH_LIBRARY_IMPL(fusescope, CPU, m) {
    m.impl("qk_norm_rope_forward", forwardCpu);
    m.impl("qk_norm_rope_backward", backwardCpu);
    m.impl("qk_norm_rope_backward_into", backwardIntoCpu);
}
TORCH_LIBRARY_IMPL(fusescope, Meta, m) {
    m.impl("qk_norm_rope_forward", meta<forwardMeta>);
    m.impl("qk_norm_rope_backward", meta<backwardMeta>);
    m.impl("qk_norm_rope_backward_into", meta<backwardIntoMeta>);
}

} // namespace
} // namespace fusescope::kernels
