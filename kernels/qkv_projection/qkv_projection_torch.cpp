// SPDX-License-Identifier: Apache-2.0
// torch.ops.fusescope.packed_projection, qkv_projection and gate_up_projection: CUDA, CPU (the fp64 reference), Meta
// and Autograd.
//
// packed_projection(x, weights) gives [..., sum of features]. The others, which take the merged weight or (*_separate)
// the weights as models hold them, give views of that tensor, one a part. To autograd these are separate results of one
// function rather than views of a tensor it knows of: each may be changed in place, and their gradients arrive apart
// and are used as they lie, without a packed copy.
#include "kernels/common/torch_inductor.h"
#include "kernels/common/torch_support.h"
#include "kernels/qkv_projection/qkv_projection.h"
#include "kernels/qkv_projection/qkv_projection_ref.h"

#include <ATen/Context.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>
#include <vector>

namespace fusescope::kernels {
namespace {

using at::Tensor;
using at::TensorList;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

c10::SymInt sumOfSizes(TensorList tensors, int64_t dim) {
    c10::SymInt sum = 0;
    for (const Tensor& t : tensors) sum = sum + t.sym_size(dim);
    return sum;
}

Tensor withLastSize(const Tensor& like, const c10::SymInt& size) {
    c10::SymDimVector sizes(like.sym_sizes().begin(), like.sym_sizes().end());
    sizes.back() = size;
    return at::empty_symint(sizes, like.options());
}

Tensor outputOf(const Tensor& x, TensorList weights) {
    TORCH_CHECK(x.dim() >= 1, "projection: expected x with at least one dimension");
    TORCH_CHECK(!weights.empty(), "projection: expected a weight");
    for (const Tensor& w : weights) {
        TORCH_CHECK(w.dim() == 2 && w.sym_size(1) == x.sym_size(-1),
                    "projection: expected weights of shape [features, ", x.sym_size(-1), "], found ", w.sym_sizes());
        TORCH_CHECK(w.scalar_type() == x.scalar_type(), "projection: expected weights of x's type, found ",
                    w.scalar_type(), " and ", x.scalar_type());
        TORCH_CHECK(w.device() == x.device(), "projection: expected weights on ", x.device(), ", found ", w.device());
    }
    return withLastSize(x, sumOfSizes(weights, 0));
}

void checkGradients(TensorList dy) {
    TORCH_CHECK(!dy.empty() && dy[0].dim() >= 1, "projection: expected a gradient with at least one dimension");
    for (const Tensor& d : dy) {
        TORCH_CHECK(d.dim() == dy[0].dim() && d.scalar_type() == dy[0].scalar_type(),
                    "projection: expected gradients of one type and number of dimensions");
        for (int64_t i = 0; i + 1 < d.dim(); ++i)
            TORCH_CHECK(d.sym_size(i) == dy[0].sym_size(i), "projection: expected gradients with the same rows, found ",
                        dy[0].sym_sizes(), " and ", d.sym_sizes());
    }
}

Tensor inputGradientOf(TensorList dy, TensorList weights) {
    checkGradients(dy);
    TORCH_CHECK(!weights.empty() && weights[0].dim() == 2, "projection: expected weights of two dimensions");
    TORCH_CHECK(sumOfSizes(dy, -1) == sumOfSizes(weights, 0), "projection: expected as many columns of gradients as ",
                "the weights have features, found ", sumOfSizes(dy, -1), " and ", sumOfSizes(weights, 0));
    return withLastSize(dy[0], weights[0].sym_size(1));
}

Tensor weightGradientOf(TensorList dy, const Tensor& x) {
    checkGradients(dy);
    TORCH_CHECK(x.dim() == dy[0].dim(), "projection: expected x with the dimensions of its gradients");
    for (int64_t i = 0; i + 1 < x.dim(); ++i)
        TORCH_CHECK(x.sym_size(i) == dy[0].sym_size(i), "projection: expected x with the rows of the gradients, found ",
                    x.sym_sizes(), " and ", dy[0].sym_sizes());
    return at::empty_symint({sumOfSizes(dy, -1), x.sym_size(-1)}, x.options());
}

/// Rows at one stride, as matrix products take them; a contiguous copy where the tensor's are not.
RowTensor matrixOf(const Tensor& t) {
    RowTensor rows(t);
    const FsRows& r = rows.rows;
    const int64_t stride = r.inner > 1 ? r.inner_stride : r.outer_stride;
    const bool oneStride = r.inner <= 1 || r.outer <= 1 || r.outer_stride == r.inner * r.inner_stride;
    if (r.outer * r.inner <= 1 || (oneStride && stride >= t.size(-1))) return rows;
    return RowTensor(t.contiguous());
}

std::vector<Tensor> contiguous(TensorList tensors) {
    std::vector<Tensor> all;
    for (const Tensor& t : tensors) all.push_back(t.contiguous());
    return all;
}

void checkParts(size_t parts) {
    TORCH_CHECK(parts <= FS_PROJECTION_MAX_PARTS, "projection: expected at most ", FS_PROJECTION_MAX_PARTS,
                " parts, found ", parts);
}

void* offset(const Tensor& t, int64_t elements) {
    return static_cast<char*>(t.data_ptr()) + elements * int64_t(t.element_size());
}

bool tf32Allowed() { return at::globalContext().allowTF32CuBLAS(); }

Tensor forwardCuda(const Tensor& x, TensorList weights) {
    const c10::cuda::CUDAGuard guard(x.device());
    const Tensor y = outputOf(x, weights);
    checkParts(weights.size());
    const RowTensor rows = matrixOf(x);
    const std::vector<Tensor> w = contiguous(weights);
    FsQkvProjectionForward call{};
    call.x = rows.rows;
    call.y = *rowsOf(y);
    for (const Tensor& part : w) {
        call.weights[call.parts] = part.data_ptr();
        call.features[call.parts++] = part.size(0);
    }
    call.in_features = x.size(-1);
    call.dtype = dtypeOf(x, "x");
    call.allow_tf32 = tf32Allowed();
    callWithWorkspace(call, fusescope_qkv_projection_forward_workspace, fusescope_qkv_projection_forward, x);
    return y;
}

void runBackward(FsQkvProjectionBackward& call, const Tensor& like) {
    call.dtype = dtypeOf(like, "dy");
    call.allow_tf32 = tf32Allowed();
    callWithWorkspace(call, fusescope_qkv_projection_backward_workspace, fusescope_qkv_projection_backward, like);
}

/// The gradients and the weights may be cut differently (one packed gradient, three weights): every cut of either
/// begins a part, and the library merges what lies side by side in both.
Tensor inputGradientCuda(TensorList dy, TensorList weights) {
    const c10::cuda::CUDAGuard guard(dy[0].device());
    const Tensor dx = inputGradientOf(dy, weights);
    std::vector<RowTensor> gradients;
    for (const Tensor& d : dy) gradients.push_back(matrixOf(d.to(weights[0].scalar_type())));
    const std::vector<Tensor> w = contiguous(weights);
    FsQkvProjectionBackward call{};
    call.in_features = dx.size(-1);
    call.dx = *rowsOf(dx);
    size_t i = 0, j = 0;
    int64_t ofGradient = 0, ofWeight = 0;
    while (i < gradients.size() && j < w.size()) {
        const int64_t columns = dy[i].size(-1) - ofGradient, features = w[j].size(0) - ofWeight;
        const int64_t both = columns < features ? columns : features;
        if (both > 0) {
            checkParts(size_t(call.parts) + 1);
            FsRows& rows = call.dy[call.parts];
            rows = gradients[i].rows;
            rows.data = offset(gradients[i].tensor, ofGradient);
            call.weights[call.parts] = offset(w[j], ofWeight * call.in_features);
            call.features[call.parts++] = both;
        }
        ofGradient += both;
        ofWeight += both;
        if (both == columns) ++i, ofGradient = 0;
        if (both == features) ++j, ofWeight = 0;
    }
    if (call.parts == 0) return dx.zero_();
    runBackward(call, dx);
    return dx;
}

Tensor weightGradientCuda(TensorList dy, const Tensor& x) {
    const c10::cuda::CUDAGuard guard(x.device());
    const Tensor dweight = weightGradientOf(dy, x);
    checkParts(dy.size());
    const RowTensor rows = matrixOf(x);
    std::vector<RowTensor> gradients;
    for (const Tensor& d : dy) gradients.push_back(matrixOf(d.to(x.scalar_type())));
    FsQkvProjectionBackward call{};
    call.x = rows.rows;
    call.in_features = x.size(-1);
    int64_t features = 0;
    for (const RowTensor& g : gradients) {
        call.dy[call.parts] = g.rows;
        call.dweights[call.parts] = offset(dweight, features * call.in_features);
        call.features[call.parts] = g.tensor.size(-1);
        features += call.features[call.parts++];
    }
    runBackward(call, dweight);
    return dweight;
}

int64_t rowsIn(const Tensor& t) {
    int64_t rows = 1;
    for (int64_t i = 0; i + 1 < t.dim(); ++i) rows *= t.size(i);
    return rows;
}

Tensor forwardCpu(const Tensor& x, TensorList weights) {
    Tensor y = outputOf(x, weights);
    const Tensor x64 = asDouble(x), w = asDouble(at::cat(weights)), y64 = at::empty(y.sizes(), x64.options());
    reference::projectionForward(x64.data_ptr<double>(), w.data_ptr<double>(), rowsIn(x), x.size(-1), w.size(0),
                                 y64.data_ptr<double>());
    return y.copy_(y64);
}

Tensor inputGradientCpu(TensorList dy, TensorList weights) {
    Tensor dx = inputGradientOf(dy, weights);
    const Tensor d = asDouble(at::cat(dy, -1)), w = asDouble(at::cat(weights)),
                 dx64 = at::empty(dx.sizes(), d.options());
    reference::projectionInputGradient(d.data_ptr<double>(), w.data_ptr<double>(), rowsIn(d), w.size(1), w.size(0),
                                       dx64.data_ptr<double>());
    return dx.copy_(dx64);
}

Tensor weightGradientCpu(TensorList dy, const Tensor& x) {
    Tensor dweight = weightGradientOf(dy, x);
    const Tensor d = asDouble(at::cat(dy, -1)), x64 = asDouble(x), dw = at::empty(dweight.sizes(), d.options());
    reference::projectionWeightGradient(d.data_ptr<double>(), x64.data_ptr<double>(), rowsIn(x), x.size(-1), d.size(-1),
                                        dw.data_ptr<double>());
    return dweight.copy_(dw);
}

struct Projection : torch::autograd::Function<Projection> {
    /// x weights^T, cut into columns of these sizes.
    static variable_list forward(AutogradContext* context, const Tensor& x, TensorList weights,
                                 const std::vector<c10::SymInt>& parts) {
        const at::AutoDispatchBelowADInplaceOrView guard;
        static const auto op = operatorOf<decltype(outputOf)>("fusescope::packed_projection");
        variable_list saved{x};
        saved.insert(saved.end(), weights.begin(), weights.end());
        context->save_for_backward(std::move(saved));
        const Tensor y = op.call(x, weights);
        if (parts.size() == 1) return {y};
        variable_list cut;
        c10::SymInt start = 0;
        for (const c10::SymInt& size : parts) {
            cut.push_back(y.narrow_symint(-1, start, size));
            start = start + size;
        }
        return cut;
    }

    static variable_list backward(AutogradContext* context, const variable_list& dy) {
        static const auto inputGradient =
            operatorOf<decltype(inputGradientOf)>("fusescope::packed_projection_input_gradient");
        static const auto weightGradient =
            operatorOf<decltype(weightGradientOf)>("fusescope::packed_projection_weight_gradient");
        const variable_list saved = context->get_saved_variables();
        const TensorList weights(saved.data() + 1, saved.size() - 1);
        variable_list gradients(saved.size() + 1); // x, the weights, and none for the sizes
        bool wantsWeight = false;
        for (size_t i = 1; i < saved.size(); ++i) wantsWeight = wantsWeight || context->needs_input_grad(i);
        if (context->needs_input_grad(0)) gradients[0] = inputGradient.call(dy, weights);
        if (!wantsWeight) return gradients;
        const Tensor all = weightGradient.call(dy, saved[0]);
        c10::SymInt start = 0;
        for (size_t i = 1; i < saved.size(); ++i) {
            const c10::SymInt size = saved[i].sym_size(0);
            if (context->needs_input_grad(i))
                gradients[i] = saved.size() == 2 ? all : all.narrow_symint(0, start, size);
            start = start + size;
        }
        return gradients;
    }
};

Tensor packedWithGradient(const Tensor& x, TensorList weights) {
    return Projection::apply(x, weights, std::vector<c10::SymInt>(1))[0];
}

using Two = std::tuple<Tensor, Tensor>;
using Three = std::tuple<Tensor, Tensor, Tensor>;

Three three(const Tensor& x, TensorList weights, const std::vector<c10::SymInt>& parts) {
    const variable_list cut = Projection::apply(x, weights, parts);
    return {cut[0], cut[1], cut[2]};
}

Two two(const Tensor& x, TensorList weights, const std::vector<c10::SymInt>& parts) {
    const variable_list cut = Projection::apply(x, weights, parts);
    return {cut[0], cut[1]};
}

Three qkvProjection(const Tensor& x, const Tensor& weight, c10::SymInt qDim, c10::SymInt kvDim) {
    TORCH_CHECK(weight.dim() == 2 && qDim + kvDim * 2 == weight.sym_size(0), "qkv_projection: expected a weight of ",
                qDim, " + 2 * ", kvDim, " features, found shape ", weight.sym_sizes());
    return three(x, {weight}, {qDim, kvDim, kvDim});
}

Three qkvProjectionOfThree(const Tensor& x, const Tensor& q, const Tensor& k, const Tensor& v) {
    return three(x, {q, k, v}, {q.sym_size(0), k.sym_size(0), v.sym_size(0)});
}

Two gateUpProjection(const Tensor& x, const Tensor& weight) {
    TORCH_CHECK(weight.dim() == 2 && weight.sym_size(0) % 2 == 0,
                "gate_up_projection: expected a weight of gate and up, found shape ", weight.sym_sizes());
    const c10::SymInt half = weight.sym_size(0) / 2;
    return two(x, {weight}, {half, half});
}

Two gateUpProjectionOfTwo(const Tensor& x, const Tensor& gate, const Tensor& up) {
    return two(x, {gate, up}, {gate.sym_size(0), up.sym_size(0)});
}

TORCH_LIBRARY_FRAGMENT(fusescope, m) {
    m.def("packed_projection(Tensor x, Tensor[] weights) -> Tensor");
    m.def("packed_projection_input_gradient(Tensor[] dy, Tensor[] weights) -> Tensor");
    m.def("packed_projection_weight_gradient(Tensor[] dy, Tensor x) -> Tensor");
    m.def("qkv_projection(Tensor x, Tensor weight, SymInt q_dim, SymInt kv_dim) -> (Tensor q, Tensor k, Tensor v)");
    m.def("qkv_projection_separate(Tensor x, Tensor q_weight, Tensor k_weight, Tensor v_weight)"
          " -> (Tensor q, Tensor k, Tensor v)");
    m.def("gate_up_projection(Tensor x, Tensor weight) -> (Tensor gate, Tensor up)");
    m.def("gate_up_projection_separate(Tensor x, Tensor gate_weight, Tensor up_weight) -> (Tensor gate, Tensor up)");
}
TORCH_LIBRARY_IMPL(fusescope, CompositeImplicitAutograd, m) {
    m.impl("qkv_projection", qkvProjection);
    m.impl("qkv_projection_separate", qkvProjectionOfThree);
    m.impl("gate_up_projection", gateUpProjection);
    m.impl("gate_up_projection_separate", gateUpProjectionOfTwo);
}
TORCH_LIBRARY_IMPL(fusescope, Autograd, m) { m.impl("packed_projection", packedWithGradient); }
TORCH_LIBRARY_IMPL(fusescope, CUDA, m) {
    m.impl("packed_projection", forwardCuda);
    m.impl("packed_projection_input_gradient", inputGradientCuda);
    m.impl("packed_projection_weight_gradient", weightGradientCuda);
}
TORCH_LIBRARY_IMPL(fusescope, CPU, m) {
    m.impl("packed_projection", forwardCpu);
    m.impl("packed_projection_input_gradient", inputGradientCpu);
    m.impl("packed_projection_weight_gradient", weightGradientCpu);
}
TORCH_LIBRARY_IMPL(fusescope, Meta, m) {
    m.impl("packed_projection", meta<outputOf>);
    m.impl("packed_projection_input_gradient", meta<inputGradientOf>);
    m.impl("packed_projection_weight_gradient", meta<weightGradientOf>);
}

} // namespace
} // namespace fusescope::kernels
