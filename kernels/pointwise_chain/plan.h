// SPDX-License-Identifier: Apache-2.0
// How a call of a region is launched: which kernel, how wide its accesses, where each tensor's elements lie.
#pragma once

#include "kernels/pointwise_chain/program.h"

#include <array>
#include <string>
#include <variant>
#include <vector>

namespace fusescope::kernels::chain {

enum class Kind {
    pointwise, ///< a thread takes packs of elements, wherever they lie
    rows,      ///< a row lies in the registers of some lanes of a warp, or of a block
    looped,    ///< a block walks over its row, once a reduction and once more
};

/// How the elements of a row (pointwise: of the innermost dimension) follow each other.
enum class Access {
    vector,  ///< side by side
    same,    ///< one element for all of them
    strided, ///< at a stride; all tensors are then read element by element
};

struct TensorPlan {
    void* data = nullptr;
    Dtype dtype = FS_CHAIN_F32;
    Access access = Access::vector;
    bool shared = false;   ///< an input that several rows read
    bool everyRow = false; ///< an input whose one row all rows read: a grid that stays loads it once
    bool staged = false;   ///< an input whose next row is on its way into shared memory while one is computed
    bool perRow = false;   ///< an output with one element a row
    bool summed = false;   ///< an output that is a sum over rows: each block leaves its part in `partial`
    void* partial = nullptr;
    int64_t inner = 1; ///< stride inside a row
    std::array<int64_t, FS_CHAIN_MAX_DIMS> outer{};
};

struct Plan {
    Kind kind = Kind::pointwise;
    FsRounding rounding = FS_ROUND_AS_FRAMEWORK;
    int n = 1;        ///< elements of a pack
    int inFlight = 1; ///< packs (rows: of a row) that a thread has under way
    int rowsInFlight = 1;
    int lanes = 0; ///< threads of a row; 0: the block
    int threads = 256;
    int bound = 256;   ///< what the kernel is compiled for
    bool wide = false; ///< 64-bit indices

    int64_t rows = 1;
    int64_t packs = 0; ///< of a row; pointwise: of all
    int64_t width = 1; ///< elements of a row
    int64_t tail = 0;  ///< elements after the last pack, pointwise in one run
    int64_t packsOfRow = 0;
    int outerDims = 0;
    std::array<int64_t, FS_CHAIN_MAX_DIMS> outerSize{};
    int64_t grid = 0; ///< 0: no kernel is launched
    /// The grid stays, and its blocks go from row to row; always so with sums over rows.
    bool persistent = false;
    int perMultiprocessor = 1; ///< blocks of a persistent grid
    int partBytes = 0;         ///< shared memory for sums over rows that several rows of a block have a part in

    std::vector<TensorPlan> inputs, outputs;
    /// Inputs first.
    TensorPlan& tensor(size_t t) { return t < inputs.size() ? inputs[t] : outputs[t - inputs.size()]; }
    /// Of each node: a reduction over a dimension of size 1, which changes nothing.
    std::vector<bool> trivial;
    /// Of each node: mean's factor.
    std::vector<double> factor;

    /// What the source depends on, beside the program.
    std::string key;
};

/// The type in which a sum over rows is kept.
inline Dtype sumType(Dtype dtype) { return dtype == FS_CHAIN_F64 ? FS_CHAIN_F64 : FS_CHAIN_F32; }

/// Bytes that the sums over rows of a plan need, [grid][width] each; and where each lies in them.
size_t workspaceOf(const Plan& plan);
void placeSums(Plan& plan, void* workspace);

/// The plan, or a sentence. `multiprocessors` of the device.
std::variant<Plan, std::string> planOf(const Program& program, const FsPointwiseChain& call, int multiprocessors);

/// Visits the kernel's arguments in their order; the source declares them and the launch fills them in. All have 8
/// bytes but dividers, which have 16. The visitor has:
///   pointer(const char* name, int index, Dtype, bool written, void* value)
///   number(const char* name, int index, int part, int64_t value)      index and part: -1 when there is none
///   divider(const char* name, int index, int64_t divisor)
///   factor(int node, Dtype, double value)
template <class Visitor> void visitArguments(const Program& program, const Plan& plan, Visitor&& visitor) {
    for (size_t i = 0; i < plan.inputs.size(); ++i)
        visitor.pointer("in", int(i), plan.inputs[i].dtype, false, plan.inputs[i].data);
    for (size_t i = 0; i < plan.outputs.size(); ++i) {
        const TensorPlan& t = plan.outputs[i];
        if (t.summed)
            visitor.pointer("out", int(i), sumType(t.dtype), true, t.partial);
        else
            visitor.pointer("out", int(i), t.dtype, true, t.data);
    }
    visitor.number("packs", -1, -1, plan.packs);
    if (plan.kind == Kind::pointwise) {
        visitor.number("tail", -1, -1, plan.tail);
        if (plan.outerDims > 0) visitor.divider("packsOfRow", -1, plan.packsOfRow);
    } else {
        visitor.number("rows", -1, -1, plan.rows);
    }
    for (int d = 1; d < plan.outerDims; ++d) visitor.divider("size", d, plan.outerSize[size_t(d)]);
    auto strides = [&](const char* name, const std::vector<TensorPlan>& tensors) {
        for (size_t i = 0; i < tensors.size(); ++i) {
            if (tensors[i].summed) continue;
            for (int d = 0; d < plan.outerDims; ++d) visitor.number(name, int(i), d, tensors[i].outer[size_t(d)]);
            if (tensors[i].access == Access::strided) visitor.number(name, int(i), -1, tensors[i].inner);
        }
    };
    strides("in", plan.inputs);
    strides("out", plan.outputs);
    for (size_t i = 0; i < program.nodes.size(); ++i)
        if (program.nodes[i].op == Op::mean && !plan.trivial[i])
            visitor.factor(int(i), program.nodes[i].dtype, plan.factor[i]);
}

/// A kernel's arguments as bytes.
std::vector<uint64_t> argumentsOf(const Program& program, const Plan& plan);

} // namespace fusescope::kernels::chain
