// SPDX-License-Identifier: Apache-2.0
// Gathers, scatters, embeddings, selection. Rows that several indices share are counted each time they are asked for.
#include "core/cost/op_call.h"

#include <algorithm>

namespace fusescope {
namespace {

double lastSize(const TensorMeta& t) { return t.sizes.empty() ? 1 : static_cast<double>(t.sizes.back()); }

bool picked(double elements, const TensorMeta& table, double index_bytes, OpCost& cost) {
    const double bytes = elements * sizeOf(table.dtype);
    fill(cost, 0, bytes + index_bytes, bytes, table.dtype,
         "no arithmetic: picked elements and indices read, result written");
    return true;
}

bool embeddingBackward(const OpCall& call, OpCost& cost) { // (dy, indices, rows, padding, scale)
    const TensorMeta *dy = call.tensor(0), *index = call.tensor(1);
    if (dy == nullptr || index == nullptr) return false;
    // The zeros of the untouched rows are written by the zero_ inside.
    fill(cost, elementsOf(*dy), dy->bytes() + index->bytes(), denseBytes(*dy), dy->dtype,
         "n: rows of one token added, each touched row written once");
    return true;
}

bool sorted(const OpCall& call, OpCost& cost) { // topk, sort: values and int64 indices
    const TensorMeta* in = call.tensor(0);
    if (in == nullptr) return false;
    double results = elementsOf(*in);
    if (call.name == "topk") {
        const std::vector<std::int64_t> k = integersIn(call.text(1, "k"));
        if (!k.empty() && lastSize(*in) > 0)
            results = results / lastSize(*in) * static_cast<double>(std::max<std::int64_t>(k[0], 0));
    }
    fill(cost, 0, in->bytes(), results * (sizeOf(in->dtype) + 8), in->dtype,
         "comparisons not counted: input read, values and indices written");
    return true;
}

} // namespace

bool gatherCost(const OpCall& call, OpCost& cost) {
    const std::string_view n = call.name;
    const TensorMeta* self = call.tensor(0);
    if (self == nullptr) return false;
    if (n == "embedding") { // (weight, indices)
        const TensorMeta* index = call.tensor(1);
        return index != nullptr && picked(elementsOf(*index) * lastSize(*self), *self, index->bytes(), cost);
    }
    if (n == "gather" || n == "take_along_dim") { // (self, dim, index)
        const TensorMeta* index = call.tensor(2, "index");
        if (index == nullptr && n == "take_along_dim") index = call.tensor(1, "indices");
        return index != nullptr && picked(elementsOf(*index), *self, index->bytes(), cost);
    }
    if (n == "index_select") { // (self, dim, index): slices along dim
        const TensorMeta* index = call.tensor(2, "index");
        const std::vector<std::int64_t> dim = integersIn(call.text(1, "dim"));
        if (index == nullptr || dim.empty()) return false;
        const std::int64_t rank = static_cast<std::int64_t>(self->sizes.size());
        const std::int64_t d = dim[0] < 0 ? dim[0] + rank : dim[0];
        if (d < 0 || d >= rank || self->sizes[static_cast<std::size_t>(d)] <= 0) return false;
        const double slice = elementsOf(*self) / static_cast<double>(self->sizes[static_cast<std::size_t>(d)]);
        return picked(slice * elementsOf(*index), *self, index->bytes(), cost);
    }
    if (n == "index" || n == "_unsafe_index") { // (self, indices?)
        if (call.in.size() < 2 || call.in[1].kind != ArgKind::TensorList || call.in[1].truncated) return false;
        double index_bytes = 0;
        std::vector<const TensorMeta*> indices;
        for (const TensorMeta& t : call.in[1].list) {
            index_bytes += t.bytes();
            indices.push_back(&t);
        }
        double results = 1;
        if (!call.out.empty()) {
            results = elementsOf(call.out.front());
        } else {
            for (const std::int64_t s : broadcastSizes(indices)) results *= static_cast<double>(s);
            for (std::size_t d = indices.size(); d < self->sizes.size(); ++d)
                results *= static_cast<double>(self->sizes[d]);
        }
        return picked(results, *self, index_bytes, cost);
    }
    if (n == "embedding_dense_backward" || n == "embedding_backward") return embeddingBackward(call, cost);
    if (n == "scatter" || n == "scatter_" || n == "scatter_add_" || n == "scatter_add" || n == "index_add_" ||
        n == "index_copy_") {
        const TensorMeta *index = call.tensor(2, "index"), *source = call.tensor(3);
        if (index == nullptr) return false;
        const bool adds = n.find("add") != std::string_view::npos;
        const double elements = source != nullptr ? elementsOf(*source) : elementsOf(*index);
        const double moved = elements * sizeOf(self->dtype);
        fill(cost, adds ? elements : 0, index->bytes() + (source != nullptr ? source->bytes() : 0) + (adds ? moved : 0),
             moved, self->dtype,
             adds ? "one addition per source element" : "no arithmetic: source and indices read, targets written");
        return true;
    }
    if (n == "index_put_" || n == "_index_put_impl_" || n == "index_put") { // (self, indices, values, accumulate)
        const TensorMeta* values = call.tensor(2, "values");
        if (values == nullptr) return false;
        fill(cost, 0, values->bytes(), elementsOf(*values) * sizeOf(self->dtype), self->dtype,
             "values read, targets written");
        return true;
    }
    if (n == "topk" || n == "sort" || n == "argsort") return sorted(call, cost);
    return false;
}

} // namespace fusescope
