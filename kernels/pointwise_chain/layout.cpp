// SPDX-License-Identifier: Apache-2.0
#include "kernels/pointwise_chain/layout.h"

#include <algorithm>

namespace fusescope::kernels::chain {
namespace {

constexpr int maxTensors = FS_CHAIN_MAX_INPUTS + FS_CHAIN_MAX_OUTPUTS;

/// A dimension of the region and how far it leads in each tensor, inputs first.
struct Dim {
    int64_t size = 1;
    std::array<int64_t, maxTensors> stride{};
};

class Layout {
public:
    Layout(const Program& program, const FsPointwiseChain& call, const Shapes& shapes, Plan& plan)
        : program_(program), call_(call), shapes_(shapes), plan_(plan) {}

    std::string checkTensors() {
        for (size_t t = 0; t < tensors(); ++t) {
            const bool output = t >= size_t(program_.inputs);
            const size_t node = output ? size_t(program_.outputs[t - size_t(program_.inputs)]) : t;
            const FsChainTensor& given = tensor(t);
            const bool summed = output && program_.summed[t - size_t(program_.inputs)];
            const Shape shape =
                output ? outputShape(program_, shapes_, t - size_t(program_.inputs)) : shapes_.nodes[node];
            const std::string name = (output ? "output %" : "input %") + std::to_string(node);
            if (output) {
                Shape found;
                found.dims = given.dims;
                for (int d = 0; d < std::min(int(given.dims), int(FS_CHAIN_MAX_DIMS)); ++d)
                    found.size[size_t(d)] = given.size[d];
                if (given.dtype != program_.nodes[node].dtype)
                    return name + ": expected " + nameOf(program_.nodes[node].dtype) + ", found " + nameOf(given.dtype);
                if (!(found == shape)) return name + ": expected shape " + textOf(shape) + ", found " + textOf(found);
            }
            if (shape.count() > 0 && !given.data) return name + ": expected data, found a null pointer";
            std::vector<std::pair<int64_t, int64_t>> spans; // stride, size
            for (int d = 0; d < shape.dims; ++d) {
                if (given.size[d] <= 1) continue; // the stride of a single one has no meaning and may be anything
                if (given.stride[d] < 0 || given.stride[d] > (int64_t{1} << 46) / given.size[d])
                    return name + ": stride " + std::to_string(given.stride[d]) + " cannot be";
                spans.emplace_back(given.stride[d], given.size[d]);
            }
            if (!output || shape.count() == 0) continue;
            if (summed && shape.last() > 1 && given.stride[0] != 1)
                return name + ": expected the elements of a sum over rows side by side, found stride " +
                       std::to_string(given.stride[0]);
            std::sort(spans.begin(), spans.end());
            int64_t covered = 1;
            for (auto [stride, size] : spans) {
                if (stride < covered) return name + ": its elements overlap";
                covered = (size - 1) * stride + covered;
            }
        }
        return {};
    }

    void findReductions() {
        plan_.trivial.assign(program_.nodes.size(), false);
        plan_.factor.assign(program_.nodes.size(), 1);
        const int64_t width = shapes_.region.last();
        bool rows = false;
        for (size_t i = 0; i < program_.nodes.size(); ++i) {
            const Node& node = program_.nodes[i];
            if (!isReduction(node.op)) continue;
            const Shape& of = shapes_.nodes[size_t(node.operands[0].node)];
            plan_.trivial[i] = of.last() == 1;
            rows = rows || !plan_.trivial[i];
            // PyTorch's factor, in the type of the sum: outputs over elements.
            const auto outputs = double(shapes_.nodes[i].count()), elements = double(of.count());
            plan_.factor[i] =
                node.dtype == FS_CHAIN_F64 ? outputs / elements : double(float(outputs) / float(elements));
        }
        for (size_t i = 0; i < program_.outputs.size(); ++i) {
            const bool whole = shapes_.nodes[size_t(program_.outputs[i])] == shapes_.region;
            rows = rows || program_.summed[i] || (width != 1 && !whole);
            plan_.persistent = plan_.persistent || program_.summed[i];
        }
        if (rows) plan_.kind = Kind::rows;
    }

    /// Merges dimensions that one stride spans in every tensor.
    void placeTensors() {
        std::vector<Dim> dims;
        const int all = shapes_.region.dims;
        for (int d = 0; d < all; ++d) {
            Dim dim;
            dim.size = shapes_.region.size[size_t(d)];
            for (size_t t = 0; t < tensors(); ++t) {
                const FsChainTensor& given = tensor(t);
                const int at = d - (all - given.dims);
                if (at >= 0 && given.size[at] != 1) dim.stride[t] = given.stride[at];
            }
            dims.push_back(dim);
        }
        Dim last;
        const bool rows = plan_.kind != Kind::pointwise;
        if (rows) {
            last = dims.back();
            dims.pop_back();
        }
        std::erase_if(dims, [](const Dim& d) { return d.size == 1; });
        // The order of the first output, so that a permuted whole is walked along its memory.
        if (!rows)
            std::stable_sort(dims.begin(), dims.end(), [&](const Dim& a, const Dim& b) {
                return a.stride[size_t(program_.inputs)] > b.stride[size_t(program_.inputs)];
            });
        std::vector<Dim> merged;
        for (const Dim& dim : dims) {
            bool fits = !merged.empty();
            for (size_t t = 0; fits && t < tensors(); ++t) fits = merged.back().stride[t] == dim.stride[t] * dim.size;
            if (!fits) {
                merged.push_back(dim);
                continue;
            }
            merged.back().size *= dim.size;
            merged.back().stride = dim.stride;
        }
        if (!rows && !merged.empty()) {
            last = merged.back();
            merged.pop_back();
        }
        plan_.width = last.size;
        plan_.outerDims = int(merged.size());
        plan_.inputs.resize(size_t(program_.inputs));
        plan_.outputs.resize(program_.outputs.size());
        for (size_t d = 0; d < merged.size(); ++d) {
            plan_.outerSize[d] = merged[d].size;
            plan_.rows *= merged[d].size;
        }
        for (size_t t = 0; t < tensors(); ++t) {
            TensorPlan& p = plan_.tensor(t);
            p.data = tensor(t).data;
            p.dtype = tensor(t).dtype;
            p.inner = last.stride[t];
            p.access = p.inner == 1 ? Access::vector : p.inner == 0 ? Access::same : Access::strided;
            if (t >= size_t(program_.inputs)) {
                const size_t node = size_t(program_.outputs[t - size_t(program_.inputs)]);
                p.summed = program_.summed[t - size_t(program_.inputs)];
                p.perRow = rows && plan_.width != 1 && shapes_.nodes[node].last() == 1;
                if (p.access == Access::same && !p.perRow) p.access = Access::vector; // a width of 0 or 1
            } else if (plan_.width == 0 && shapes_.nodes[t].last() == 0) {
                p.access = Access::vector;
            }
            for (size_t d = 0; d < merged.size(); ++d) {
                p.outer[d] = merged[d].stride[t];
                p.shared = p.shared || p.outer[d] == 0;
            }
            if (p.access == Access::same) p.shared = true;
            p.everyRow = rows && t < size_t(program_.inputs) && p.access != Access::same &&
                         std::all_of(p.outer.begin(), p.outer.end(), [](int64_t stride) { return stride == 0; });
        }
    }

private:
    const FsChainTensor& tensor(size_t t) const {
        const size_t inputs = size_t(program_.inputs);
        return t < inputs ? call_.inputs[t] : call_.outputs[t - inputs];
    }
    size_t tensors() const { return size_t(program_.inputs) + program_.outputs.size(); }

    const Program& program_;
    const FsPointwiseChain& call_;
    const Shapes& shapes_;
    Plan& plan_;
};

} // namespace

std::string layOut(const Program& program, const FsPointwiseChain& call, const Shapes& shapes, Plan& plan) {
    Layout layout(program, call, shapes, plan);
    if (std::string problem = layout.checkTensors(); !problem.empty()) return problem;
    layout.findReductions();
    layout.placeTensors();
    return {};
}

} // namespace fusescope::kernels::chain
