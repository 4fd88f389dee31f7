// SPDX-License-Identifier: Apache-2.0
// torch.ops.fusescope.attention(q, k, v, mask, causal, scale, backend), as scaled_dot_product_attention with
// enable_gqa, and attention_choice(...), which names the backend that `auto` takes. Both are composites: on CUDA the
// operator becomes the operator of the chosen backend, ATen's or ours, whose gradients, fake tensors and compilation it
// has; elsewhere it is the reference, whichever backend is named.
//
// Causal counts from the start: query i sees the keys 0 to i. A row whose boolean mask is false everywhere is 0 and has
// no gradients. An additive mask is the caller's word: a row of -inf alone is NaN in cuDNN and 0 elsewhere, and a row
// of the smallest numbers alone has gradients that are too large, because the kernels' log-sum-exp cannot hold them.
#include "kernels/attention/attention_torch.h"
#include "kernels/attention/choose.h"

#include <ATen/Context.h>
#include <ATen/FuncTorchTLS.h>
#include <ATen/core/grad_mode.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <array>
#include <atomic>
#include <cmath>
#include <cuda_runtime_api.h>
#include <limits>
#include <torch/library.h>

namespace fusescope::kernels {
namespace {

using at::Tensor;
using c10::SymInt;
using MaybeTensor = std::optional<Tensor>;

bool holds(const c10::SymBool& condition) { return condition.guard_bool(__FILE__, __LINE__); }

int64_t fixed(const SymInt& size) { return size.guard_int(__FILE__, __LINE__); }

/// What every backend gets: keys that causal hides from all queries are cut off, and the mask is four-dimensional.
struct Inputs {
    Tensor q, k, v;
    MaybeTensor mask;
    bool causal;
    double scale;
    int64_t headDim; ///< as given; q, k and v may be padded

    /// Heads of q for each of k and v.
    int64_t group() const {
        const int64_t kvHeads = fixed(k.sym_size(1));
        return kvHeads == 0 ? 1 : fixed(q.sym_size(1)) / kvHeads;
    }
};

void checkShapes(const Tensor& q, const Tensor& k, const Tensor& v, const MaybeTensor& mask, bool causal) {
    TORCH_CHECK(q.dim() == 4 && k.dim() == 4 && v.dim() == 4,
                "attention: expected q, k and v of shape [batch, heads, tokens, head_dim], found ", q.dim(), ", ",
                k.dim(), " and ", v.dim(), " dimensions");
    TORCH_CHECK(at::isFloatingType(q.scalar_type()), "attention: expected floating point q, found ", q.scalar_type());
    TORCH_CHECK(k.scalar_type() == q.scalar_type() && v.scalar_type() == q.scalar_type(), "attention: q is ",
                q.scalar_type(), ", k is ", k.scalar_type(), ", v is ", v.scalar_type());
    TORCH_CHECK(k.device() == q.device() && v.device() == q.device(), "attention: q, k and v are on different devices");
    TORCH_CHECK(k.sym_sizes() == v.sym_sizes(), "attention: expected k and v of one shape, found ", k.sym_sizes(),
                " and ", v.sym_sizes());
    TORCH_CHECK(q.sym_size(0) == k.sym_size(0) && q.sym_size(3) == k.sym_size(3),
                "attention: q and k may differ in heads and tokens alone, found ", q.sym_sizes(), " and ",
                k.sym_sizes());
    TORCH_CHECK(fixed(q.sym_size(3)) > 0, "attention: expected a head_dim, found 0");
    const int64_t heads = fixed(q.sym_size(1)), kvHeads = fixed(k.sym_size(1));
    TORCH_CHECK(kvHeads > 0 ? heads % kvHeads == 0 : heads == 0,
                "attention: expected heads of q to be a multiple of the heads of k, found ", heads, " and ", kvHeads);
    if (!mask) return;
    TORCH_CHECK(!causal, "attention: expected a mask or causal, not both: put causal into the mask");
    TORCH_CHECK(mask->scalar_type() == at::kBool || mask->scalar_type() == q.scalar_type(),
                "attention: expected a mask of bool or of q's type ", q.scalar_type(), ", found ", mask->scalar_type());
    TORCH_CHECK(mask->device() == q.device(), "attention: the mask is on another device than q");
    const std::array<SymInt, 4> whole{q.sym_size(0), q.sym_size(1), q.sym_size(2), k.sym_size(2)};
    bool broadcasts = mask->dim() <= 4;
    for (int64_t d = 0; broadcasts && d < mask->dim(); ++d) {
        const SymInt size = mask->sym_size(-1 - d);
        broadcasts = size == 1 || size == whole[size_t(3 - d)];
    }
    TORCH_CHECK(broadcasts, "attention: expected a mask that broadcasts to ", at::SymIntArrayRef(whole), ", found ",
                mask->sym_sizes());
}

Inputs inputsOf(const Tensor& q, const Tensor& k, const Tensor& v, const MaybeTensor& mask, bool causal,
                std::optional<double> scale) {
    checkShapes(q, k, v, mask, causal);
    const int64_t headDim = fixed(q.sym_size(3));
    Inputs in{q, k, v, mask, causal, scale.value_or(1.0 / std::sqrt(double(headDim))), headDim};
    if (causal && q.sym_size(2) < k.sym_size(2)) {
        in.k = k.slice_symint(2, 0, q.sym_size(2));
        in.v = v.slice_symint(2, 0, q.sym_size(2));
    }
    while (in.mask && in.mask->dim() < 4) in.mask = in.mask->unsqueeze(0);
    return in;
}

/// Of the device, 90 for 9.0. A device that cannot be asked (fake tensors where there is no GPU) is taken for 8.0.
int capabilityOf(const c10::Device& device) {
    static std::array<std::atomic<int>, 64> known{};
    const int index = device.has_index() ? device.index() : 0;
    std::atomic<int>& kept = known[size_t(index) % known.size()];
    if (const int capability = kept.load(std::memory_order_relaxed)) return capability;
    int major = 0, minor = 0;
    if (cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, index) != cudaSuccess ||
        cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, index) != cudaSuccess) {
        (void)cudaGetLastError();
        return 80;
    }
    kept.store(10 * major + minor, std::memory_order_relaxed);
    return 10 * major + minor;
}

template <typename Hooks> long cudnnVersionOf(const Hooks& hooks) {
    if (!hooks.hasCuDNN()) return 0;
    if constexpr (requires { hooks.versionRuntimeCuDNN(); }) return hooks.versionRuntimeCuDNN();
    return hooks.versionCuDNN();
}

long cudnnVersion() {
    static const long version = cudnnVersionOf(at::detail::getCUDAHooks());
    return version;
}

AttentionType typeOf(const Tensor& t) {
    switch (t.scalar_type()) {
    case at::kHalf: return AttentionType::half;
    case at::kBFloat16: return AttentionType::bfloat16;
    case at::kFloat: return AttentionType::single;
    default: return AttentionType::other;
    }
}

/// Whether torch.func.grad, vmap and the like are at work, which take no autograd functions of C++. All that PyTorch's
/// headers offer is a check that throws.
bool inTransform() {
    const auto& transforms = at::functorch::functorchTLSAccessor();
    if (!transforms) return false;
    try {
        transforms->checkSupportsCppAutogradFunction();
        return false;
    } catch (const c10::Error&) {
        return true;
    }
}

/// Asks of the lengths only what the choice can depend on: each question is a guard of a compiled graph.
AttentionProblem problemOf(const Inputs& in, int capability, long cudnn) {
    const SymInt queries = in.q.sym_size(2), keys = in.k.sym_size(2);
    AttentionProblem problem;
    problem.capability = capability;
    problem.cudnn = cudnn;
    problem.type = typeOf(in.q);
    problem.headDim = in.headDim;
    problem.empty = in.q.sym_numel() == 0 || in.k.sym_numel() == 0;
    problem.causal = in.causal;
    problem.mask = in.mask.has_value();
    if (at::GradMode::is_enabled()) {
        problem.gradient = in.q.requires_grad() || in.k.requires_grad() || in.v.requires_grad();
        problem.maskGradient = in.mask && in.mask->requires_grad();
    }
    problem.oneQuery = queries == 1;
    problem.oneKey = keys == 1;
    problem.moreQueries = in.causal && queries > keys;
    problem.keyTail64 = problem.gradient && (!in.causal || problem.moreQueries) && holds((keys % 128).sym_eq(64));
    const float scale = static_cast<float>(in.scale);
    problem.positiveScale = scale > 0 && std::isfinite(scale);
    problem.transform = inTransform();
    const at::Context& context = at::globalContext();
    problem.deterministic = context.deterministicAlgorithms() && !context.deterministicAlgorithmsWarnOnly();
    if (mayTakeOwnBackward(problem)) {
        // Not asked of lengths that are still open: each question binds a graph, and our own is right for all.
        const SymInt heads = in.k.sym_size(0) * in.k.sym_size(1);
        const bool open = heads.is_symbolic() || queries.is_symbolic() || keys.is_symbolic();
        problem.ownBackwardFills = open || ownBackwardFills(heads, queries, keys, in.causal);
    }
    return problem;
}

AttentionBackend backendNamed(c10::string_view name) {
    using enum AttentionBackend;
    for (const AttentionBackend backend : {cudnn, flash, efficient, math, hopper})
        if (std::string_view(name.data(), name.size()) == nameOf(backend)) return backend;
    TORCH_CHECK(false,
                "attention: backend is \"auto\", \"cudnn\", \"flash\", \"efficient\", \"math\" or \"hopper\", found \"",
                name, "\"");
}

// --- as the fused kernels take their inputs: 16-byte loads of dense heads
// ---------------------------------------------

int64_t elementsOf16Bytes(const Tensor& t) { return 16 / t.element_size(); }

bool fitsLoads(const Tensor& t, bool mayBroadcast) {
    const int64_t step = elementsOf16Bytes(t);
    if (t.sym_stride(3) != 1 || t.sym_storage_offset() % step != 0) return false;
    for (int64_t d = 0; d < 3; ++d)
        if ((!mayBroadcast && t.sym_stride(d) == 0) || t.sym_stride(d) % step != 0) return false;
    return true;
}

/// q, k or v with head_dim a multiple of 16 bytes (zeros change neither scores nor the rest of the result).
Tensor padded(const Tensor& t) {
    const int64_t step = elementsOf16Bytes(t), rest = fixed(t.sym_size(3)) % step;
    const Tensor whole = rest == 0 ? t : at::constant_pad_nd(t, {0, step - rest});
    return fitsLoads(whole, false) ? whole : whole.clone(at::MemoryFormat::Contiguous);
}

Inputs forFusedKernels(Inputs in) {
    in.q = padded(in.q);
    in.k = padded(in.k);
    in.v = padded(in.v);
    return in;
}

Tensor unpadded(const Tensor& out, const Inputs& in) {
    return fixed(out.sym_size(3)) == in.headDim ? out : out.slice(3, 0, in.headDim);
}

/// The mask as what is added to the scores; where a boolean one is false, `never`.
Tensor additive(const Tensor& mask, const Tensor& q, double never) {
    if (mask.scalar_type() != at::kBool) return mask;
    return at::where(mask, at::scalar_tensor(0.0, q.options()), at::scalar_tensor(never, q.options()));
}

/// All keys side by side, rows at multiples of 16 bytes; other dimensions may still broadcast.
Tensor forLoads(const Tensor& mask, const SymInt& keys) {
    const Tensor wide = mask.sym_size(3) == keys ? mask : mask.expand_symint({-1, -1, -1, keys});
    if (fitsLoads(wide, true)) return wide;
    const int64_t step = elementsOf16Bytes(wide);
    const SymInt missing = (step - keys % step) % step;
    if (missing == 0) return wide.clone(at::MemoryFormat::Contiguous);
    return at::constant_pad_nd_symint(wide.contiguous(), {SymInt(0), missing}).slice_symint(3, 0, keys);
}

// --- heads of k and v that several heads of q share, for the backends that know no such
// -------------------------------

/// The queries of the heads that share k and v, as queries of one head: nothing of k and v is copied. A row of the
/// mask must be the same for all of them, and none may be told apart by its position.
bool canFold(const Inputs& in) {
    return !in.causal && (!in.mask || (in.mask->sym_size(1) == 1 && in.mask->sym_size(2) == 1));
}

Tensor ofSharedHeads(const Tensor& t, int64_t group) {
    return t.unsqueeze(2)
        .expand_symint({-1, -1, group, -1, -1})
        .reshape_symint({t.sym_size(0), t.sym_size(1) * group, t.sym_size(2), t.sym_size(3)});
}

template <typename Function> Tensor withSharedHeads(Inputs in, Function function) {
    const int64_t group = in.group();
    if (group == 1) return function(in);
    if (!canFold(in)) {
        in.k = ofSharedHeads(in.k, group);
        in.v = ofSharedHeads(in.v, group);
        return function(in);
    }
    const Tensor q = in.q;
    in.q = q.reshape_symint({q.sym_size(0), in.k.sym_size(1), group * q.sym_size(2), q.sym_size(3)});
    return function(in).reshape_symint(q.sym_sizes());
}

// --- the backends
// ------------------------------------------------------------------------------------------------------

/// cuDNN gives the mean of v for a row whose mask is false everywhere (-inf would give NaN); here it is 0, and so are
/// its gradients.
Tensor withoutUnseeingRows(const Tensor& out, const Tensor& mask) { return out.mul(mask.any(-1, true)); }

/// Measured on an H200 with cuDNN 9.19: with a head_dim of 128, lengths that 128 does not divide and heads outside
/// tokens in memory, the gradient of q is off by 8 to 21%. With tokens outside heads it is right.
Inputs forCudnnGradients(Inputs in) {
    const auto uneven = [](const Tensor& t) { return holds((t.sym_size(2) % 128).sym_ne(0)); };
    if (fixed(in.q.sym_size(3)) <= 96 || (!uneven(in.q) && !uneven(in.k))) return in;
    for (Tensor* t : {&in.q, &in.k, &in.v})
        if (t->sym_stride(1) > t->sym_stride(2)) *t = t->transpose(1, 2).contiguous().transpose(1, 2);
    return in;
}

Tensor viaCudnn(const Inputs& given, bool gradient) {
    const Inputs in = gradient ? forCudnnGradients(forFusedKernels(given)) : forFusedKernels(given);
    MaybeTensor bias;
    if (in.mask)
        bias = forLoads(additive(*in.mask, in.q, std::numeric_limits<at::Half>::lowest()), in.k.sym_size(2))
                   .expand_symint({in.q.sym_size(0), -1, in.q.sym_size(2), -1});
    const Tensor out = unpadded(std::get<0>(at::_scaled_dot_product_cudnn_attention(in.q, in.k, in.v, bias, gradient,
                                                                                    0.0, in.causal, false, in.scale)),
                                in);
    return in.mask && in.mask->scalar_type() == at::kBool ? withoutUnseeingRows(out, *in.mask) : out;
}

Tensor viaFlash(const Inputs& given) {
    const Inputs in = forFusedKernels(given);
    return unpadded(
        std::get<0>(at::_scaled_dot_product_flash_attention(in.q, in.k, in.v, 0.0, in.causal, false, in.scale)), in);
}

Tensor viaEfficient(const Inputs& given, bool gradient) {
    const Inputs loads = forFusedKernels(given);
    const Tensor out = withSharedHeads(loads, [gradient](const Inputs& in) {
        MaybeTensor bias;
        if (in.mask)
            bias = forLoads(additive(*in.mask, in.q, -std::numeric_limits<double>::infinity()), in.k.sym_size(2))
                       .expand_symint({in.q.sym_size(0), in.q.sym_size(1), in.q.sym_size(2), -1});
        return std::get<0>(
            at::_scaled_dot_product_efficient_attention(in.q, in.k, in.v, bias, gradient, 0.0, in.causal, in.scale));
    });
    return unpadded(out, loads);
}

Tensor viaMath(const Inputs& given) {
    return withSharedHeads(given, [](const Inputs& in) {
        MaybeTensor bias;
        if (in.mask) bias = additive(*in.mask, in.q, -std::numeric_limits<double>::infinity());
        return std::get<0>(at::_scaled_dot_product_attention_math(in.q, in.k, in.v, bias, 0.0, in.causal, std::nullopt,
                                                                  in.scale, false));
    });
}

Tensor viaHopper(const Inputs& given, const AttentionProblem& problem) {
    const Inputs in = forFusedKernels(given);
    return unpadded(hopperAttention(in.q, in.k, in.v, in.causal, in.scale, chooseHopperBackward(problem)), in);
}

Tensor onCuda(const Inputs& in, c10::string_view name) {
    const AttentionProblem problem = problemOf(in, capabilityOf(in.q.device()), cudnnVersion());
    AttentionBackend backend = chooseAttention(problem).backend;
    if (name != "auto" && !problem.empty) {
        backend = backendNamed(name);
        const char* reason = whyNot(backend, problem);
        TORCH_CHECK(!reason, "attention: backend \"", name, "\" cannot be used: ", reason);
    }
    switch (backend) {
    case AttentionBackend::cudnn: return viaCudnn(in, problem.gradient);
    case AttentionBackend::flash: return viaFlash(in);
    case AttentionBackend::efficient: return viaEfficient(in, problem.gradient || problem.maskGradient);
    case AttentionBackend::hopper: return viaHopper(in, problem);
    case AttentionBackend::math: break;
    }
    return viaMath(in);
}

Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const MaybeTensor& mask, bool causal,
                 std::optional<double> scale, c10::string_view backend) {
    if (backend != "auto") (void)backendNamed(backend);
    const Inputs in = inputsOf(q, k, v, mask, causal, scale);
    return q.is_cuda() ? onCuda(in, backend) : attentionReference(in.q, in.k, in.v, in.mask, in.causal, in.scale);
}

std::string attentionChoice(const Tensor& q, const Tensor& k, const Tensor& v, const MaybeTensor& mask, bool causal,
                            std::optional<int64_t> capability, std::optional<int64_t> cudnn) {
    const Inputs in = inputsOf(q, k, v, mask, causal, std::nullopt);
    const AttentionProblem problem =
        problemOf(in, capability ? int(*capability) : capabilityOf(q.device()), cudnn ? long(*cudnn) : cudnnVersion());
    const AttentionChoice choice = chooseAttention(problem);
    std::string text = std::string(nameOf(choice.backend)) + ": " + choice.reason;
    if (choice.backend == AttentionBackend::hopper && problem.gradient)
        text += "; backward: " + std::string(nameOf(chooseHopperBackward(problem)));
    return text;
}

TORCH_LIBRARY_FRAGMENT(fusescope, m) {
    m.def("attention(Tensor q, Tensor k, Tensor v, Tensor? mask=None, bool causal=False, float? scale=None,"
          " str backend=\"auto\") -> Tensor");
    m.def("attention_choice(Tensor q, Tensor k, Tensor v, Tensor? mask=None, bool causal=False, int? capability=None,"
          " int? cudnn=None) -> str");
}
TORCH_LIBRARY_IMPL(fusescope, CompositeImplicitAutograd, m) {
    m.impl("attention", attention);
    m.impl("attention_choice", attentionChoice);
}

} // namespace
} // namespace fusescope::kernels
