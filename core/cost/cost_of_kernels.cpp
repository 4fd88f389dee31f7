// SPDX-License-Identifier: Apache-2.0
// One leaf operator may launch several kernels. A matrix product's cost goes to the kernel that multiplies (its
// helpers, like the reduction after split-K, move data that is not compulsory: they get nothing). Multi-tensor kernels
// share by their blocks, which each do the same work; any other operator's cost is shared out by time. What tensor
// cores do of an operator of FuseScope's own is shared among those of its kernels that multiply.
#include "core/cost/cost.h"

#include "core/cost/fusescope_kernels.h"
#include "core/cost/multi_tensor.h"
#include "core/trace/op_args.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace fusescope {
namespace {

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

bool isHelper(std::string_view kernel) {
    return has(kernel, "splitKreduce") || has(kernel, "splitk_reduce") || has(kernel, "reduce_kernel") ||
           has(kernel, "Memset") || has(kernel, "memset") || has(kernel, "elementwise") || has(kernel, "convert") ||
           has(kernel, "transpose");
}

// float32 products: the kernel's name tells whether tensor cores (TF32) did them.
bool isTf32Kernel(std::string_view kernel) {
    return has(kernel, "tf32") || has(kernel, "s1688") || has(kernel, "tensorop") ||
           has(kernel, "xmma_gemm_f32f32_tf32");
}

using Signature = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t, ListTypes>;

class Costs { // layers and steps repeat the same calls: each is worked out once
public:
    explicit Costs(const TraceStore& trace) : trace_(trace) {}
    // list_type: of the tensors inside lists.
    const OpCost& of(CpuOpId op, const ListTypes& list_types) {
        const CpuOpTable& ops = trace_.cpu_ops;
        const std::size_t i = op.index();
        const StringId name = trace_.slices.name[ops.slice[i].index()];
        const auto [at, fresh] = known_.try_emplace(Signature{name.value, ops.dims[i].value, ops.types[i].value,
                                                              ops.strides[i].value, ops.concrete[i].value, list_types});
        if (!fresh) return at->second;
        std::vector<OpArg> args = parseOpArgs(trace_, op);
        if (isOwnOp(trace_.strings.view(name))) setOwnListTypes(trace_.strings.view(name), list_types, args);
        for (OpArg& arg : args)
            for (TensorMeta& tensor : arg.list)
                if (tensor.dtype == DType::Unknown) tensor.dtype = list_types.type;
        at->second = costOfOp(trace_.strings.view(name), args);
        return at->second;
    }

private:
    const TraceStore& trace_;
    std::map<Signature, OpCost> known_;
};

OpCost share(const OpCost& whole, double part) {
    OpCost cost = whole;
    cost.flops *= part;
    cost.tensor_flops *= part;
    cost.bytes_read *= part;
    cost.bytes_written *= part;
    return cost;
}

// Kernels [begin, end) are those of one operator: the products to those that multiply, the rest to the others if there
// are both.
template <class Name, class Time, class Cost>
void shareProducts(const OpCost& whole, const Name& name, const Time& time, const Cost& cost, std::size_t begin,
                   std::size_t end) {
    double of_products = 0, of_others = 0;
    for (std::size_t i = begin; i < end; ++i) (isOwnProduct(name(i)) ? of_products : of_others) += time(i);
    if (of_products <= 0 || of_others <= 0) return;
    for (std::size_t i = begin; i < end; ++i) {
        const bool product = isOwnProduct(name(i));
        cost(i).tensor_flops = product ? whole.tensor_flops * time(i) / of_products : 0;
        cost(i).flops = product ? cost(i).tensor_flops : (whole.flops - whole.tensor_flops) * time(i) / of_others;
    }
}

} // namespace

std::vector<OpCost> costOfKernels(const TraceStore& trace, const Link& link) {
    std::vector<OpCost> costs(trace.kernels.size());
    struct Row {
        std::uint32_t op, kernel;
    };
    std::vector<Row> rows;
    for (std::size_t k = 0; k < std::min(costs.size(), link.kernels.size()); ++k)
        if (link.kernels[k].op.valid()) rows.push_back({link.kernels[k].op.value, static_cast<std::uint32_t>(k)});
    std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.op < b.op; });

    Costs known(trace);
    const auto sliceOf = [&](const Row& row) { return trace.kernels.slice[row.kernel]; };
    const auto timeOf = [&](const Row& row) { return static_cast<double>(trace.slices.dur[sliceOf(row).index()]); };
    for (std::size_t begin = 0, end = 0; begin < rows.size(); begin = end) {
        while (end < rows.size() && rows[end].op == rows[begin].op) ++end;
        const CpuOpId op(rows[begin].op);
        const std::string_view kernel_name = trace.nameOf(sliceOf(rows[begin]));
        const bool own = isOwnOp(trace.nameOf(trace.cpu_ops.slice[op.index()]));
        ListTypes list_types;
        if (own)
            list_types = ownListTypes(trace, op, kernel_name);
        else
            list_types.type = listTypeOf(kernel_name);
        OpCost whole = known.of(op, list_types);
        if (isMatmul(trace.nameOf(trace.cpu_ops.slice[op.index()])) && whole.flops_known) {
            std::size_t main = begin;
            for (std::size_t i = begin + 1; i < end; ++i) {
                const bool helper = isHelper(trace.nameOf(sliceOf(rows[i]))),
                           main_helper = isHelper(trace.nameOf(sliceOf(rows[main])));
                if (main_helper != helper ? main_helper : timeOf(rows[i]) > timeOf(rows[main])) main = i;
            }
            if (whole.dtype == DType::Float32 && isTf32Kernel(trace.nameOf(sliceOf(rows[main]))))
                whole.tensor_flops = whole.flops;
            for (std::size_t i = begin; i < end; ++i) costs[rows[i].kernel] = i == main ? whole : share(whole, 0);
            continue;
        }
        bool multi_tensor = true;
        for (std::size_t i = begin; i < end; ++i)
            multi_tensor = multi_tensor && isMultiTensor(trace.nameOf(sliceOf(rows[i])));
        const auto weightOf = [&](const Row& row) {
            return multi_tensor ? static_cast<double>(trace.kernels.grid[row.kernel][0]) : timeOf(row);
        };
        double total = 0;
        for (std::size_t i = begin; i < end; ++i) total += weightOf(rows[i]);
        for (std::size_t i = begin; i < end; ++i) {
            const std::uint32_t kernel = rows[i].kernel;
            if (multi_tensor && !whole.bytes_known &&
                multiTensorCost(trace.nameOf(sliceOf(rows[i])), trace.kernels.grid[kernel][0], costs[kernel]))
                continue;
            const double part = total > 0 ? weightOf(rows[i]) / total : 1.0 / static_cast<double>(end - begin);
            costs[rows[i].kernel] = share(whole, part);
        }
        if (own && whole.tensor_flops > 0)
            shareProducts(
                whole, [&](std::size_t i) { return trace.nameOf(sliceOf(rows[i])); },
                [&](std::size_t i) { return timeOf(rows[i]); },
                [&](std::size_t i) -> OpCost& { return costs[rows[i].kernel]; }, begin, end);
    }
    return costs;
}

} // namespace fusescope
