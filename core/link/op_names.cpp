// SPDX-License-Identifier: Apache-2.0
#include "core/link/op_names.h"

#include "core/link/fusescope_ops.h"

#include <cctype>
#include <utility>

namespace fusescope {
namespace {

constexpr std::string_view kEvaluate = "autograd::engine::evaluate_function: ";

bool has(std::string_view text, std::string_view part) noexcept { return text.find(part) != std::string_view::npos; }
bool startsWith(std::string_view text, std::string_view part) noexcept { return text.substr(0, part.size()) == part; }
bool endsWith(std::string_view text, std::string_view part) noexcept {
    return text.size() >= part.size() && text.substr(text.size() - part.size()) == part;
}

std::string lettersAndDigits(std::string_view text) {
    std::string out;
    for (const char c : text)
        if (std::isalnum(static_cast<unsigned char>(c)) != 0)
            out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return out;
}

// "loss_utils.py(49): ForCausalLMLoss" -> file "loss_utils.py", function "ForCausalLMLoss".
std::pair<std::string_view, std::string_view> splitPython(std::string_view name) noexcept {
    const std::size_t at = name.rfind("): ");
    if (at == std::string_view::npos) return {{}, name};
    const std::size_t open = name.rfind('(', at);
    return {name.substr(0, open == std::string_view::npos ? at : open), name.substr(at + 3)};
}

} // namespace

std::string_view shortOpName(std::string_view op) noexcept {
    const std::size_t at = op.rfind("::");
    return at == std::string_view::npos ? op : op.substr(at + 2);
}

bool isEngineRow(std::string_view op) noexcept {
    return startsWith(op, kEvaluate) || startsWith(op, "torch::autograd::");
}

bool isAccumulateGrad(std::string_view op) noexcept { return endsWith(op, "torch::autograd::AccumulateGrad"); }

bool isCompiledWrapper(std::string_view op) noexcept {
    return startsWith(op, "CompiledFunction") || startsWith(op, "Torch-Compiled Region") ||
           startsWith(op, "## Call CompiledFxGraph");
}

std::string forwardNameOf(std::string_view node) {
    if (startsWith(node, kEvaluate)) node.remove_prefix(kEvaluate.size());
    node = shortOpName(node);
    while (!node.empty() && node.back() >= '0' && node.back() <= '9') node.remove_suffix(1);
    if (endsWith(node, "Backward")) node.remove_suffix(8);
    return lettersAndDigits(node);
}

std::string comparableName(std::string_view op) { return lettersAndDigits(shortOpName(op)); }

Phase phaseOfAnnotation(std::string_view name) noexcept {
    if (startsWith(name, "Optimizer.step#")) return Phase::Optimizer;
    if (startsWith(name, "Optimizer.zero_grad#")) return Phase::ZeroGrad;
    if (startsWith(name, "enumerate(DataLoader)") || has(name, "DataLoader") ||
        startsWith(name, "[pl][profile]run_training_batch.get"))
        return Phase::Data;
    if (startsWith(name, "nccl:") || startsWith(name, "c10d::") || startsWith(name, "gloo:"))
        return Phase::Communication;
    return Phase::Unknown;
}

Phase phaseOfPython(std::string_view name) noexcept {
    const auto [file, function] = splitPython(name);
    if (file.empty()) return Phase::Unknown;
    if (startsWith(function, "clip_grad_norm") || startsWith(function, "clip_grad_value") ||
        function == "_clip_grads_with_norm_")
        return Phase::GradClip;
    if (function == "zero_grad" && has(file, "optim")) return Phase::ZeroGrad;
    if (function == "step" && has(file, "optim") && !has(file, "profiler")) return Phase::Optimizer;
    if (function == "__next__" && endsWith(file, "dataloader.py")) return Phase::Data;
    if (endsWith(function, "Loss") || endsWith(function, "cross_entropy") || endsWith(function, "nll_loss"))
        return Phase::Loss;
    // The gradient of the loss with respect to itself: the seed of the backward pass.
    if (function == "_make_grads" && has(file, "__init__.py")) return Phase::Loss;
    return Phase::Unknown;
}

bool isRopePython(std::string_view name) noexcept {
    const std::string_view function = splitPython(name).second;
    return has(function, "rotary_pos_emb") || function == "rotate_half" || function == "apply_rotary_emb" ||
           function == "_apply_rope" || function == "apply_rope";
}

Phase phaseOfOp(std::string_view op) noexcept {
    if (op == "record_param_comms" || startsWith(op, "c10d::") || startsWith(op, "nccl:") ||
        startsWith(op, "_c10d_functional"))
        return Phase::Communication;
    const std::string_view name = shortOpName(op);
    if (startsWith(name, "triton_") && has(name, "log_softmax")) return Phase::Loss;
    if (has(name, "cross_entropy") || has(name, "nll_loss") || startsWith(name, "log_softmax") ||
        startsWith(name, "_log_softmax"))
        return Phase::Loss;
    if (kindOfOwnOp(op) == OpKind::Optimizer) return Phase::Optimizer;
    if (startsWith(name, "_fused_adam") || startsWith(name, "_fused_sgd") || startsWith(name, "_fused_adagrad"))
        return Phase::Optimizer;
    if (startsWith(name, "_foreach_norm") || startsWith(name, "linalg_vector_norm")) return Phase::GradClip;
    return Phase::Unknown;
}

Phase phaseOfKernel(std::string_view kernel) noexcept {
    if (has(kernel, "ncclDev") || has(kernel, "ncclKernel")) return Phase::Communication;
    if (const std::optional<OpKind> own = kindOfOwnKernel(kernel)) {
        if (own == OpKind::Optimizer) return Phase::Optimizer;
        return own == OpKind::Loss ? Phase::Loss : Phase::Unknown;
    }
    if (has(kernel, "FusedAdam") || has(kernel, "FusedSgd") || has(kernel, "FusedAdagrad")) return Phase::Optimizer;
    if (has(kernel, "nll_loss") || has(kernel, "LogSoftMax") || has(kernel, "cross_entropy")) return Phase::Loss;
    return Phase::Unknown;
}

std::string_view moduleFrameName(std::string_view name) noexcept {
    constexpr std::string_view prefix = "nn.Module: ";
    return startsWith(name, prefix) ? name.substr(prefix.size()) : std::string_view{};
}

std::string_view moduleClass(std::string_view frame_name) noexcept {
    const std::size_t at = frame_name.rfind('_');
    if (at == std::string_view::npos || at == 0 || at + 1 == frame_name.size()) return frame_name;
    for (std::size_t i = at + 1; i < frame_name.size(); ++i)
        if (frame_name[i] < '0' || frame_name[i] > '9') return frame_name;
    return frame_name.substr(0, at);
}

std::string canonicalOp(std::string_view op) {
    std::string_view name = shortOpName(op);
    if (name == "__and__" || name == "bitwise_and" || name == "logical_and") return "and";
    if (name == "__or__" || name == "bitwise_or" || name == "logical_or") return "or";
    if (name == "to" || name == "_to_copy" || name == "type_as" || name == "float" ||
        name == "_autocast_to_reduced_precision")
        return "to";
    if (name == "view" || name == "reshape" || name == "_unsafe_view" || name == "_reshape_alias" || name == "flatten")
        return "view";
    if (name == "clone" || name == "contiguous") return "clone";
    if (name == "mm" || name == "addmm") return "mm";
    if (name == "true_divide" || name == "divide") return "div";
    if (name == "multiply") return "mul";
    if (name == "select" || name == "narrow" || name == "slice") return std::string(name);
    if (name == "alias" || name == "detach" || name == "detach_" || name == "lift_fresh" || name == "lift_fresh_copy")
        return "alias";
    // In place or not, wrapped or not, the same operator: add_ ~ add, _softmax ~ softmax.
    while (!name.empty() && name.front() == '_') name.remove_prefix(1);
    while (!name.empty() && name.back() == '_') name.remove_suffix(1);
    return std::string(name);
}

} // namespace fusescope
