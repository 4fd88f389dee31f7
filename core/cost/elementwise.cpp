// SPDX-License-Identifier: Apache-2.0
// Elementwise operators. FLOPs per element: one for each arithmetic step of the definition, exp, rsqrt, sin, division
// and the like counting one; integers and booleans count none. Bytes: every input's distinct elements read once (a
// broadcast dimension is not read again), the result written once.
#include "core/cost/op_call.h"

#include <algorithm>
#include <array>

namespace fusescope {
namespace {

enum class Out : std::uint8_t { Promoted, Bool, Float };
struct Row {
    std::string_view name; // without the trailing _ of the in-place form
    std::uint8_t tensors;  // operands; one more tensor in a trace is the `out=` one
    double flops;
    Out out;
    const char* formula;
};

// Sorted by name.
constexpr std::array kRows{
    Row{"__and__", 2, 0, Out::Promoted, "no arithmetic"},
    Row{"__or__", 2, 0, Out::Promoted, "no arithmetic"},
    Row{"_conj_physical", 1, 1, Out::Promoted, "n"},
    Row{"abs", 1, 1, Out::Promoted, "n"},
    Row{"add", 2, 1, Out::Promoted, "n (2n with alpha)"},
    Row{"addcdiv", 3, 3, Out::Promoted, "3n: divide, multiply, add"},
    Row{"addcmul", 3, 3, Out::Promoted, "3n: multiply, multiply, add"},
    Row{"bitwise_and", 2, 0, Out::Promoted, "no arithmetic"},
    Row{"bitwise_not", 1, 0, Out::Promoted, "no arithmetic"},
    Row{"bitwise_or", 2, 0, Out::Promoted, "no arithmetic"},
    Row{"bitwise_xor", 2, 0, Out::Promoted, "no arithmetic"},
    Row{"ceil", 1, 1, Out::Promoted, "n"},
    Row{"clamp", 1, 2, Out::Promoted, "2n: two comparisons"},
    Row{"clamp_max", 1, 1, Out::Promoted, "n"},
    Row{"clamp_min", 1, 1, Out::Promoted, "n"},
    Row{"cos", 1, 1, Out::Float, "n"},
    Row{"diff", 1, 1, Out::Promoted, "n"},
    Row{"div", 2, 1, Out::Float, "n"},
    Row{"elu", 1, 3, Out::Promoted, "3n"},
    Row{"eq", 2, 1, Out::Bool, "n comparisons"},
    Row{"erf", 1, 1, Out::Float, "n"},
    Row{"exp", 1, 1, Out::Float, "n"},
    Row{"exp2", 1, 1, Out::Float, "n"},
    Row{"expm1", 1, 2, Out::Float, "2n"},
    Row{"floor", 1, 1, Out::Promoted, "n"},
    Row{"floor_divide", 2, 1, Out::Promoted, "n"},
    Row{"fmod", 2, 1, Out::Promoted, "n"},
    Row{"ge", 2, 1, Out::Bool, "n comparisons"},
    Row{"gelu", 1, 5, Out::Promoted, "5n: 0.5*x*(1+erf(x/sqrt 2))"},
    Row{"gelu_backward", 2, 11, Out::Promoted, "11n: dy*(cdf + x*pdf)"},
    Row{"gt", 2, 1, Out::Bool, "n comparisons"},
    Row{"hardtanh", 1, 2, Out::Promoted, "2n"},
    Row{"isinf", 1, 1, Out::Bool, "n comparisons"},
    Row{"isnan", 1, 1, Out::Bool, "n comparisons"},
    Row{"le", 2, 1, Out::Bool, "n comparisons"},
    Row{"leaky_relu", 1, 2, Out::Promoted, "2n"},
    Row{"lerp", 3, 3, Out::Promoted, "3n: subtract, multiply, add"},
    Row{"log", 1, 1, Out::Float, "n"},
    Row{"log1p", 1, 2, Out::Float, "2n"},
    Row{"log2", 1, 1, Out::Float, "n"},
    Row{"log_sigmoid_forward", 1, 4, Out::Promoted, "4n"},
    Row{"logical_and", 2, 0, Out::Bool, "no arithmetic"},
    Row{"logical_not", 1, 0, Out::Bool, "no arithmetic"},
    Row{"logical_or", 2, 0, Out::Bool, "no arithmetic"},
    Row{"lt", 2, 1, Out::Bool, "n comparisons"},
    Row{"masked_fill", 2, 0, Out::Promoted, "no arithmetic"},
    Row{"maximum", 2, 1, Out::Promoted, "n"},
    Row{"minimum", 2, 1, Out::Promoted, "n"},
    Row{"mul", 2, 1, Out::Promoted, "n"},
    Row{"native_dropout", 1, 2, Out::Promoted, "2n: compare, scale"},
    Row{"native_dropout_backward", 2, 2, Out::Promoted, "2n: mask, scale"},
    Row{"ne", 2, 1, Out::Bool, "n comparisons"},
    Row{"neg", 1, 1, Out::Promoted, "n"},
    Row{"pow", 2, 1, Out::Promoted, "n"},
    Row{"reciprocal", 1, 1, Out::Float, "n"},
    Row{"relu", 1, 1, Out::Promoted, "n"},
    Row{"remainder", 2, 1, Out::Promoted, "n"},
    Row{"round", 1, 1, Out::Promoted, "n"},
    Row{"rsqrt", 1, 1, Out::Float, "n"},
    Row{"rsub", 2, 1, Out::Promoted, "n (2n with alpha)"},
    Row{"sigmoid", 1, 4, Out::Float, "4n: 1/(1+exp(-x))"},
    Row{"sigmoid_backward", 2, 3, Out::Promoted, "3n: dy*y*(1-y)"},
    Row{"sign", 1, 1, Out::Promoted, "n"},
    Row{"silu", 1, 4, Out::Promoted, "4n: x/(1+exp(-x))"},
    Row{"silu_backward", 2, 9, Out::Promoted, "9n: dy*s*(1+x*(1-s)), s = sigmoid(x)"},
    Row{"sin", 1, 1, Out::Float, "n"},
    Row{"softplus", 1, 3, Out::Promoted, "3n"},
    Row{"sqrt", 1, 1, Out::Float, "n"},
    Row{"square", 1, 1, Out::Promoted, "n"},
    Row{"sub", 2, 1, Out::Promoted, "n (2n with alpha)"},
    Row{"tan", 1, 1, Out::Float, "n"},
    Row{"tanh", 1, 1, Out::Float, "n"},
    Row{"tanh_backward", 2, 3, Out::Promoted, "3n: dy*(1-y*y)"},
    Row{"threshold_backward", 2, 1, Out::Promoted, "n"},
    Row{"where", 3, 0, Out::Promoted, "no arithmetic"},
};
static_assert(std::is_sorted(kRows.begin(), kRows.end(), [](const Row& a, const Row& b) { return a.name < b.name; }));

const Row* rowOf(std::string_view name) {
    const auto at =
        std::lower_bound(kRows.begin(), kRows.end(), name, [](const Row& r, std::string_view n) { return r.name < n; });
    return at != kRows.end() && at->name == name ? &*at : nullptr;
}

bool isOne(std::string_view text) { return text.empty() || text == "1" || text == "1." || text == "1.0"; }

} // namespace

bool elementwiseCost(const OpCall& call, OpCost& cost) {
    const bool in_place = call.inPlace();
    const Row* row = rowOf(in_place ? call.name.substr(0, call.name.size() - 1) : call.name);
    if (row == nullptr) return false;
    std::vector<const TensorMeta*> operands;
    for (const OpArg& arg : call.in)
        if (arg.kind == ArgKind::Tensor && operands.size() < row->tensors) operands.push_back(&arg.tensor);
    if (operands.empty()) return false;

    DType type = promoted(operands);
    if (row->name == "where") { // the condition takes no part in the type
        const std::vector<const TensorMeta*> values(operands.begin() + 1, operands.end());
        if (!values.empty()) type = promoted(values);
    }
    if (row->name == "masked_fill" || row->name == "native_dropout_backward") type = operands.front()->dtype;
    DType out_type = type;
    if (row->out == Out::Bool) out_type = DType::Bool;
    if (row->out == Out::Float && !isFloating(type)) out_type = DType::Float32;
    TensorMeta out = in_place ? *operands.front() : call.output(broadcastSizes(operands), out_type);

    double read = 0;
    for (const TensorMeta* t : operands) read += t->bytes();
    double written = denseBytes(out);
    double per_element = isFloating(type) || row->out == Out::Float ? row->flops : 0;
    const char* formula = row->formula;
    if ((row->name == "add" || row->name == "sub" || row->name == "rsub") && per_element > 0 &&
        !isOne(call.text(2, "alpha")))
        per_element = 2;
    if (row->name.substr(0, 4) == "gelu" && call.text(row->tensors, "approximate") == "tanh") {
        per_element = row->tensors == 1 ? 9 : 20;
        formula = row->tensors == 1 ? "9n: tanh approximation" : "20n: tanh approximation";
    }
    if (row->name == "native_dropout") written += elementsOf(out); // the mask, one byte each
    fill(cost, elementsOf(out) * per_element, read, written, type, formula);
    return true;
}

} // namespace fusescope
