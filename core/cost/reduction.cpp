// SPDX-License-Identifier: Apache-2.0
// Reductions and scans: one operation per input element (mean: one division per result more), the input read once, the
// results written once. Without the recorded dimensions the size of the result is not known.
#include "core/cost/op_call.h"

namespace fusescope {
namespace {

struct Row {
    std::string_view name;
    double flops;      // per input element
    DType out;         // Unknown: as the input (sums of integers: int64)
    bool with_indices; // max.dim ...: a second, int64 result
    bool scan;         // as many results as inputs
};
constexpr Row kRows[] = {
    {"sum", 1, DType::Unknown, false, false},       {"mean", 1, DType::Unknown, false, false},
    {"prod", 1, DType::Unknown, false, false},      {"amax", 1, DType::Unknown, false, false},
    {"amin", 1, DType::Unknown, false, false},      {"max", 1, DType::Unknown, true, false},
    {"min", 1, DType::Unknown, true, false},        {"any", 0, DType::Bool, false, false},
    {"all", 0, DType::Bool, false, false},          {"argmax", 1, DType::Int64, false, false},
    {"argmin", 1, DType::Int64, false, false},      {"norm", 2, DType::Unknown, false, false},
    {"var", 3, DType::Unknown, false, false},       {"std", 3, DType::Unknown, false, false},
    {"var_mean", 3, DType::Unknown, false, false},  {"linalg_vector_norm", 2, DType::Unknown, false, false},
    {"logsumexp", 3, DType::Unknown, false, false}, {"cumsum", 1, DType::Unknown, false, true},
    {"cumprod", 1, DType::Unknown, false, true},    {"logcumsumexp", 3, DType::Unknown, false, true},
};

// Results of a reduction over the dimensions in text; all of them when it is empty.
double resultsOf(const TensorMeta& in, std::string_view dims) {
    const std::vector<std::int64_t> list = integersIn(dims);
    if (list.empty()) return 1;
    const auto rank = static_cast<std::int64_t>(in.sizes.size());
    std::vector<bool> gone(in.sizes.size(), false);
    for (std::int64_t d : list) {
        if (d < 0) d += rank;
        if (d >= 0 && d < rank) gone[static_cast<std::size_t>(d)] = true;
    }
    double n = 1;
    for (std::size_t d = 0; d < in.sizes.size(); ++d)
        if (!gone[d]) n *= static_cast<double>(in.sizes[d]);
    return n;
}

} // namespace

bool reductionCost(const OpCall& call, OpCost& cost) {
    const Row* row = nullptr;
    for (const Row& r : kRows)
        if (r.name == call.name) row = &r;
    const TensorMeta* in = call.tensor(0);
    if (row == nullptr || in == nullptr) return false;
    // max(a, b) of two tensors is elementwise maximum.
    if (row->with_indices && call.tensor(1) != nullptr && call.in.size() == 2) {
        OpCall two = call;
        two.name = row->name == "max" ? "maximum" : "minimum";
        return elementwiseCost(two, cost);
    }
    DType out_type = row->out != DType::Unknown ? row->out : in->dtype;
    if (row->out == DType::Unknown && !isFloating(in->dtype) && !row->with_indices && row->name != "amax" &&
        row->name != "amin")
        out_type = DType::Int64;
    const bool normed = call.name == "norm" || call.name == "linalg_vector_norm"; // (self, p, dim ...)
    const std::size_t dim_index = normed ? 2 : 1;
    const bool dims_recorded =
        call.in.size() <= dim_index || call.in[dim_index].kind == ArgKind::None || !call.text(dim_index, "dim").empty();
    double results = row->scan ? elementsOf(*in) : resultsOf(*in, call.text(dim_index, "dim"));
    if (!call.out.empty()) {
        results = elementsOf(call.out.front());
        out_type = call.out.front().dtype;
    }
    const bool whole =
        call.in.size() <= 1 || (call.in[dim_index < call.in.size() ? dim_index : 0].kind == ArgKind::None);
    double written = results * sizeOf(out_type);
    if (row->with_indices && !whole) written += results * 8;
    const double per_element = isFloating(in->dtype) ? row->flops : 0;
    double flops = elementsOf(*in) * per_element;
    const char* formula = row->flops > 1 ? "2-3 per input element" : "one per input element";
    if (call.name == "mean") {
        flops += results;
        formula = "one per input element + one per result";
    }
    fill(cost, flops, in->bytes(), written, in->dtype, formula);
    if (!row->scan && call.out.empty() && !dims_recorded) cost.bytes_known = false;
    return true;
}

} // namespace fusescope
