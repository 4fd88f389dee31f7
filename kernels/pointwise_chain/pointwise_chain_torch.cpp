// SPDX-License-Identifier: Apache-2.0
// torch.ops.fusescope.pointwise_chain(inputs, program, fast): CUDA, CPU (the fp64 reference, each result rounded to its
// type unless `fast`), Meta and Autograd (gradient.h makes the backward's region).
//   pointwise_chain_gradient(inputs, program)                          the backward's region, as gradient.h has it
//   pointwise_chain_source(inputs, program, fast)                      the CUDA source that these inputs need
//   pointwise_chain_binary(inputs, program, compute_capability, fast)  and its machine code; no device is needed
#include "kernels/common/torch_inductor.h"
#include "kernels/common/torch_support.h"
#include "kernels/pointwise_chain/chain.h"
#include "kernels/pointwise_chain/gradient.h"
#include "kernels/pointwise_chain/pointwise_chain.h"
#include "kernels/pointwise_chain/pointwise_chain_ref.h"

#include <ATen/ExpandUtils.h>
#include <algorithm>
#include <c10/cuda/CUDAGuard.h>
#include <mutex>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

namespace fusescope::kernels {
namespace {

using at::Tensor;
using Tensors = std::vector<Tensor>;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using Chain = std::shared_ptr<const FsChain>;

/// The region of a text, read once.
Chain chainOf(const std::string& text) {
    constexpr size_t most = 4096; // callers may write constants that change into their texts
    static std::mutex mutex;
    static auto& known = *new std::unordered_map<std::string, Chain>;
    std::lock_guard lock(mutex);
    if (const auto found = known.find(text); found != known.end()) return found->second;
    FsChain* chain = nullptr;
    checkCall(fusescope_pointwise_chain_create(text.c_str(), &chain));
    if (known.size() >= most) known.clear();
    return known[text] = Chain(chain, fusescope_pointwise_chain_destroy);
}

FsChainDtype chainTypeOf(const Tensor& t, size_t index) {
    switch (t.scalar_type()) {
    case at::kFloat: return FS_CHAIN_F32;
    case at::kHalf: return FS_CHAIN_F16;
    case at::kBFloat16: return FS_CHAIN_BF16;
    case at::kDouble: return FS_CHAIN_F64;
    case at::kLong: return FS_CHAIN_I64;
    case at::kInt: return FS_CHAIN_I32;
    case at::kBool: return FS_CHAIN_BOOL;
    default: break;
    }
    TORCH_CHECK(false, "pointwise_chain: %", index, ": no region takes ", t.scalar_type());
}

at::ScalarType scalarTypeOf(FsChainDtype dtype) {
    constexpr at::ScalarType types[] = {at::kFloat, at::kHalf, at::kBFloat16, at::kDouble,
                                        at::kLong,  at::kInt,  at::kBool};
    return types[dtype];
}

void checkInputs(const FsChain& chain, at::TensorList inputs) {
    TORCH_CHECK(int64_t(inputs.size()) == chain.program.inputs, "pointwise_chain: the region has ",
                chain.program.inputs, " inputs, found ", inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) {
        TORCH_CHECK(inputs[i].dim() <= FS_CHAIN_MAX_DIMS, "pointwise_chain: %", i, ": ", inputs[i].dim(),
                    " dimensions: at most ", int(FS_CHAIN_MAX_DIMS));
        TORCH_CHECK(inputs[i].device() == inputs[0].device(), "pointwise_chain: expected inputs on one device, found ",
                    inputs[0].device(), " and ", inputs[i].device());
        TORCH_CHECK(chainTypeOf(inputs[i], i) == chain.program.nodes[i].dtype, "pointwise_chain: %", i, ": expected ",
                    scalarTypeOf(chain.program.nodes[i].dtype), ", found ", inputs[i].scalar_type());
    }
}

/// A call and what it points to.
struct Call {
    Call(const std::string& text, at::TensorList inputs, bool fast) : chain(chainOf(text)) {
        checkInputs(*chain, inputs);
        for (size_t i = 0; i < inputs.size(); ++i) in.push_back(chainTensor(inputs[i], i));
        out.resize(chain->program.outputs.size());
        checkCall(fusescope_pointwise_chain_shapes(chain.get(), in.data(), out.data()));
        call.chain = chain.get();
        call.inputs = in.data();
        call.outputs = out.data();
        call.rounding = roundingOf(fast);
    }

    static FsChainTensor chainTensor(const Tensor& t, size_t index) {
        FsChainTensor c{};
        c.dtype = chainTypeOf(t, index);
        c.dims = int32_t(t.dim());
        for (int64_t d = 0; d < t.dim(); ++d) {
            c.size[d] = t.size(d);
            c.stride[d] = t.stride(d);
        }
        return c;
    }

    void allocate(const Tensor& like) {
        for (FsChainTensor& t : out)
            outputs.push_back(at::empty({t.size, size_t(t.dims)}, like.options().dtype(scalarTypeOf(t.dtype))));
    }

    Chain chain;
    std::vector<FsChainTensor> in, out;
    Tensors outputs;
    FsPointwiseChain call{};
};

Tensors runCuda(at::TensorList inputs, const std::string& text, bool fast) {
    const c10::cuda::CUDAGuard guard(inputs[0].device());
    Call c(text, inputs, fast);
    c.allocate(inputs[0]);
    for (size_t i = 0; i < c.in.size(); ++i) c.in[i].data = inputs[i].data_ptr();
    for (size_t i = 0; i < c.out.size(); ++i) c.out[i].data = c.outputs[i].data_ptr();
    const bool sums = std::find(c.chain->program.summed.begin(), c.chain->program.summed.end(), true) !=
                      c.chain->program.summed.end();
    if (sums)
        callWithWorkspace(c.call, fusescope_pointwise_chain_workspace, fusescope_pointwise_chain, inputs[0]);
    else // nothing to ask for
        checkCall(fusescope_pointwise_chain(&c.call, nullptr, 0, streamOf(inputs[0])));
    return std::move(c.outputs);
}

Tensors runCpu(at::TensorList inputs, const std::string& text, bool fast) {
    Call c(text, inputs, fast);
    c.allocate(inputs[0]);
    Tensors wide;
    std::vector<const double*> data;
    for (const Tensor& t : inputs) {
        wide.push_back(asDouble(t));
        data.push_back(wide.back().data_ptr<double>());
    }
    const auto shapes = std::get<chain::Shapes>(chain::shapesOf(c.chain->program, c.in.data()));
    auto results = reference::pointwiseChain(c.chain->program, shapes, data, !fast);
    for (size_t i = 0; i < results.size(); ++i)
        c.outputs[i].copy_(at::from_blob(results[i].data(), c.outputs[i].sizes(), at::kDouble));
    return std::move(c.outputs);
}

/// Shapes may be symbols.
Tensors runMeta(at::TensorList inputs, const std::string& text, bool) {
    const Chain chain = chainOf(text);
    checkInputs(*chain, inputs);
    std::vector<c10::SymDimVector> shapes;
    c10::SymDimVector region;
    for (const chain::Node& node : chain->program.nodes) {
        c10::SymDimVector shape;
        if (node.op == chain::Op::input) {
            const auto sizes = inputs[shapes.size()].sym_sizes();
            shape.assign(sizes.begin(), sizes.end());
            region = at::infer_size_symdimvector(region, shape);
        }
        for (const chain::Operand& o : node.operands)
            if (o.node >= 0) shape = at::infer_size_symdimvector(shape, shapes[size_t(o.node)]);
        if (chain::isReduction(node.op)) {
            TORCH_CHECK(!shape.empty(), "pointwise_chain: ", chain::factsOf(node.op).name, " of a 0-d tensor");
            shape.back() = 1;
        }
        shapes.push_back(std::move(shape));
    }
    c10::SymDimVector row = region;
    if (!row.empty()) row.back() = 1;
    Tensors outputs;
    for (size_t i = 0; i < chain->program.outputs.size(); ++i) {
        const int output = chain->program.outputs[i];
        c10::SymDimVector shape = shapes[size_t(output)];
        if (chain->program.summed[i]) {
            TORCH_CHECK(shape == region && !shape.empty(), "pointwise_chain: output %", output, ": its shape ",
                        c10::SymIntArrayRef(shape), " is not the region's ", c10::SymIntArrayRef(region),
                        ", over whose rows it is summed");
            shape = {region.back()};
        } else
            TORCH_CHECK(shape == region || shape == row, "pointwise_chain: output %", output, ": its shape ",
                        c10::SymIntArrayRef(shape), " is neither the region's ", c10::SymIntArrayRef(region),
                        " nor that of its rows");
        const at::ScalarType type = scalarTypeOf(chain->program.nodes[size_t(output)].dtype);
        outputs.push_back(at::empty_symint(shape, inputs[0].options().dtype(type)));
    }
    return outputs;
}

Tensors callChain(at::TensorList inputs, const std::string& text, bool fast) {
    static const auto op = operatorOf<decltype(runMeta)>("fusescope::pointwise_chain");
    return op.call(inputs, text, fast);
}

/// A gradient of the broadcast shape, of its rows, or summed over them, as the input's.
Tensor shapedAs(const Tensor& input, const Tensor& gradient, bool summed) {
    Tensor g = gradient;
    if (summed) return g.view_symint(input.sym_sizes());
    if (input.dim() > 0 && input.sym_size(-1) != g.sym_size(-1) && g.sym_size(-1) == 1) {
        c10::SymDimVector wide(g.sym_sizes().begin(), g.sym_sizes().end());
        wide.back() = input.sym_size(-1);
        g = g.expand_symint(wide);
    }
    return at::sum_to(g, input.sym_sizes());
}

std::vector<int64_t> lastSizes(at::TensorList inputs) {
    std::vector<int64_t> last;
    for (const Tensor& t : inputs) last.push_back(t.dim() > 0 ? t.sym_size(-1).guard_int(__FILE__, __LINE__) : 1);
    return last;
}

/// Of the inputs, which of them every row of the region reads as a whole: weights and biases of a row's width.
std::vector<bool> rowInputs(at::TensorList inputs) {
    const auto isRow = [](const Tensor& t) {
        for (int64_t d = 0; d + 1 < t.dim(); ++d)
            if (t.sym_size(d) != 1) return false;
        return true;
    };
    bool several = false; // rows
    c10::SymInt width = 1;
    for (const Tensor& t : inputs) {
        several = several || !isRow(t);
        if (t.dim() > 0 && t.sym_size(-1) != 1) width = t.sym_size(-1);
    }
    std::vector<bool> rows;
    for (const Tensor& t : inputs)
        rows.push_back(several && t.dim() > 0 && width != 1 && t.sym_size(-1) == width && isRow(t));
    return rows;
}

/// A backward as the regions that it takes, each with as many gradients as a region may have outputs; or a sentence:
/// there is none.
using Gradients = std::variant<std::vector<chain::Gradient>, std::string>;

Gradients makeGradients(const chain::Program& program, const std::vector<int64_t>& last, const std::vector<bool>& row,
                        const std::vector<bool>& wanted) {
    std::vector<chain::Gradient> all;
    for (size_t begin = 0; begin < wanted.size();) {
        std::vector<bool> some(wanted.size(), false);
        for (int found = 0; begin < wanted.size() && found < FS_CHAIN_MAX_OUTPUTS; ++begin)
            if (wanted[begin]) some[begin] = ++found > 0;
        auto made = chain::gradientOf(program, last, row, some);
        if (auto* refused = std::get_if<std::string>(&made)) return std::move(*refused);
        all.push_back(std::get<chain::Gradient>(std::move(made)));
    }
    return all;
}

/// Made once: they depend on the text, on which inputs want one and on the lengths of rows.
std::shared_ptr<const Gradients> gradientsOf(const std::string& text, at::TensorList inputs,
                                             const std::vector<bool>& wanted) {
    constexpr size_t most = 4096;
    static std::mutex mutex;
    static auto& known = *new std::unordered_map<std::string, std::shared_ptr<const Gradients>>;
    const std::vector<int64_t> last = lastSizes(inputs);
    const std::vector<bool> row = rowInputs(inputs);
    std::string key = text;
    for (size_t i = 0; i < wanted.size(); ++i)
        key += (wanted[i] ? '+' : '-') + std::to_string(last[i]) + (row[i] ? "r" : "");
    const Chain chain = chainOf(text);
    std::lock_guard lock(mutex);
    if (const auto found = known.find(key); found != known.end()) return found->second;
    if (known.size() >= most) known.clear();
    return known[key] = std::make_shared<const Gradients>(makeGradients(chain->program, last, row, wanted));
}

struct PointwiseChain : torch::autograd::Function<PointwiseChain> {
    static variable_list forward(AutogradContext* context, at::TensorList inputs, const std::string& text, bool fast) {
        std::vector<bool> wanted;
        for (const Tensor& t : inputs) wanted.push_back(t.requires_grad());
        const at::AutoDispatchBelowADInplaceOrView guard;
        context->save_for_backward(neededOf(inputs, text, wanted));
        context->saved_data["text"] = text;
        context->saved_data["fast"] = fast;
        Tensors outputs = callChain(inputs, text, fast);
        Tensors exact;
        for (const Tensor& t : outputs)
            if (!t.is_floating_point()) exact.push_back(t);
        context->mark_non_differentiable(exact);
        return outputs;
    }

    /// The inputs, those that the backward does not read as one element that stands for the shape: a sum's terms need
    /// not live until then.
    static Tensors neededOf(at::TensorList inputs, const std::string& text, const std::vector<bool>& wanted) {
        const auto made = gradientsOf(text, inputs, wanted);
        const auto* gradients = std::get_if<std::vector<chain::Gradient>>(made.get());
        Tensors saved = inputs.vec();
        if (gradients == nullptr) return saved; // whoever asks for one is told
        std::vector<bool> read(inputs.size(), false);
        for (const chain::Gradient& g : *gradients)
            for (const int i : g.from)
                if (size_t(i) < read.size()) read[size_t(i)] = true;
        for (size_t i = 0; i < saved.size(); ++i)
            if (!read[i])
                saved[i] = at::empty({}, saved[i].options().requires_grad(false)).expand_symint(saved[i].sym_sizes());
        return saved;
    }

    static variable_list backward(AutogradContext* context, const variable_list& gradients) {
        Tensors inputs = context->get_saved_variables();
        const size_t count = inputs.size();
        const std::string& text = context->saved_data["text"].toStringRef();
        std::vector<bool> wanted;
        for (size_t i = 0; i < count; ++i) wanted.push_back(context->needs_input_grad(i));
        const auto made = gradientsOf(text, inputs, wanted);
        if (const auto* refused = std::get_if<std::string>(made.get())) TORCH_CHECK(false, *refused);
        const Chain chain = chainOf(text);
        c10::SymDimVector region;
        for (size_t i = 0; i < count; ++i) region = at::infer_size_symdimvector(region, inputs[i].sym_sizes());
        for (size_t i = 0; i < gradients.size(); ++i)
            if (chain::isFloating(chain->program.nodes[size_t(chain->program.outputs[i])].dtype))
                inputs.push_back(chain->program.summed[i] ? gradients[i].expand_symint(region) : gradients[i]);
        variable_list results(count + 2); // the text and `fast` have none
        for (const chain::Gradient& gradient : std::get<std::vector<chain::Gradient>>(*made)) {
            Tensors used, found;
            for (const int i : gradient.from) used.push_back(inputs[size_t(i)]);
            if (!gradient.text.empty()) found = callChain(used, gradient.text, context->saved_data["fast"].toBool());
            for (const auto [input, value, summed] : gradient.of)
                results[size_t(input)] = shapedAs(
                    inputs[size_t(input)], value < 0 ? inputs[size_t(-1 - value)] : found[size_t(value)], summed);
        }
        for (size_t i = 0; i < count; ++i)
            if (wanted[i] && !results[i].defined()) results[i] = at::zeros_like(inputs[i]);
        return results;
    }
};

Tensors withGradient(at::TensorList inputs, const std::string& text, bool fast) {
    bool wanted = false;
    for (const Tensor& t : inputs) wanted = wanted || wantsGradient(t);
    if (wanted) return PointwiseChain::apply(inputs, text, fast);
    const at::AutoDispatchBelowADInplaceOrView below;
    return callChain(inputs, text, fast);
}

/// The call with addresses that are not looked at, aligned as the allocator's would be: tensors without memory have a
/// source too.
Call unlaunched(at::TensorList inputs, const std::string& text, bool fast) {
    TORCH_CHECK(!inputs.empty(), "pointwise_chain: there is no input");
    Call c(text, inputs, fast);
    constexpr uintptr_t somewhere = 4096;
    for (size_t i = 0; i < c.in.size(); ++i)
        c.in[i].data = reinterpret_cast<void*>(somewhere + size_t(inputs[i].storage_offset()) * inputs[i].itemsize());
    for (FsChainTensor& t : c.out) t.data = reinterpret_cast<void*>(somewhere);
    c.call.inputs = c.in.data();
    c.call.outputs = c.out.data();
    return c;
}

std::string source(at::TensorList inputs, const std::string& text, bool fast) {
    const Call c = unlaunched(inputs, text, fast);
    size_t size = 0;
    checkCall(fusescope_pointwise_chain_source(&c.call, nullptr, 0, &size));
    std::string written(size, '\0');
    checkCall(fusescope_pointwise_chain_source(&c.call, written.data(), size, &size));
    written.pop_back();
    return written;
}

Tensor binary(at::TensorList inputs, const std::string& text, int64_t capability, bool fast) {
    const Call c = unlaunched(inputs, text, fast);
    std::vector<char> code(1 << 20);
    size_t size = 0;
    for (;;) {
        checkCall(fusescope_pointwise_chain_binary(&c.call, int32_t(capability), code.data(), code.size(), &size));
        if (size <= code.size()) break;
        code.resize(size);
    }
    return at::from_blob(code.data(), {int64_t(size)}, at::kByte).clone();
}

/// The backward's region for all floating inputs, what it takes, whose gradients there are, and what each of them is.
std::tuple<std::string, std::vector<int64_t>, std::vector<int64_t>, std::vector<int64_t>>
backwardText(at::TensorList inputs, const std::string& text) {
    const Chain chain = chainOf(text);
    checkInputs(*chain, inputs);
    std::vector<bool> wanted;
    for (const Tensor& t : inputs) wanted.push_back(t.is_floating_point());
    const auto made = chain::gradientOf(chain->program, lastSizes(inputs), rowInputs(inputs), wanted);
    if (const auto* refused = std::get_if<std::string>(&made)) TORCH_CHECK(false, *refused);
    const auto& g = std::get<chain::Gradient>(made);
    std::vector<int64_t> of, value;
    for (const auto& one : g.of) of.push_back(one.input), value.push_back(one.value);
    return {g.text, {g.from.begin(), g.from.end()}, of, value};
}

TORCH_LIBRARY_FRAGMENT(fusescope, m) {
    m.def("pointwise_chain_gradient(Tensor[] inputs, str program) -> (str, int[], int[], int[])", backwardText);
    m.def("pointwise_chain(Tensor[] inputs, str program, bool fast=False) -> Tensor[]");
    m.def("pointwise_chain_source(Tensor[] inputs, str program, bool fast=False) -> str", source);
    m.def("pointwise_chain_binary(Tensor[] inputs, str program, int compute_capability, bool fast=False) -> Tensor",
          binary);
}
TORCH_LIBRARY_IMPL(fusescope, CUDA, m) { m.impl("pointwise_chain", runCuda); }
TORCH_LIBRARY_IMPL(fusescope, CPU, m) { m.impl("pointwise_chain", runCpu); }
TORCH_LIBRARY_IMPL(fusescope, Meta, m) { m.impl("pointwise_chain", meta<runMeta>); }
TORCH_LIBRARY_IMPL(fusescope, Autograd, m) { m.impl("pointwise_chain", withGradient); }

} // namespace
} // namespace fusescope::kernels
