// SPDX-License-Identifier: Apache-2.0
// A small decoder built by hand: embedding, n layers (norm, linear, residual add), norm, head.
#pragma once

#include "core/graph/graph_builder.h"

#include <functional>
#include <string>
#include <vector>

namespace fusescope::test {

struct Toy {
    int layers = 3;
    std::function<std::string(int)> eps = [](int) { return std::string("1e-06"); };
    std::function<std::int64_t(int)> width = [](int) { return std::int64_t{8}; }; // of the layer's linear
    std::function<bool(int)> swapped = [](int) { return false; };                 // operands of the residual add
    std::function<std::string(int)> type = [](int) { return std::string("m.Layer"); };
};

inline TensorMeta tensor(std::vector<std::int64_t> sizes, DType dtype = DType::BFloat16) {
    TensorMeta meta;
    meta.dtype = dtype;
    meta.sizes = std::move(sizes);
    return meta;
}

class ToyBuilder {
public:
    explicit ToyBuilder(Toy toy) : toy_(std::move(toy)) {}

    ModelGraph build() {
        const ValueId embed_weight = b_.parameter(false, "p_embed", "model.embed.weight", tensor({100, 8}));
        std::vector<ValueId> norm_weights, weights;
        for (int i = 0; i < toy_.layers; ++i) {
            const std::string name = "model.layers." + std::to_string(i);
            norm_weights.push_back(
                b_.parameter(false, "p_norm_" + std::to_string(i), name + ".norm.weight", tensor({8})));
            weights.push_back(
                b_.parameter(false, "p_proj_" + std::to_string(i), name + ".proj.weight", tensor({toy_.width(i), 8})));
        }
        const ValueId head_weight = b_.parameter(false, "p_head", "head.weight", tensor({100, 8}));
        const ValueId ids = b_.input(ValueKind::Input, "ids", tensor({1, 4}, DType::Int64));

        start("embedding", "torch.ops.aten.embedding.default", {"model.embed|torch.nn.Embedding"});
        b_.argTensor("weight", false, embed_weight);
        b_.argTensor("indices", false, ids);
        ValueId x = b_.output("embedding", tensor({1, 4, 8}));

        // The mask: two operators of the backbone that depend on no weight.
        start("arange", "torch.ops.aten.arange.default", {});
        b_.argText("end", false, ArgKind::Scalar, "4");
        const ValueId arange = b_.output("arange", tensor({4}, DType::Int64));
        start("le", "torch.ops.aten.le.Tensor", {});
        b_.argTensor("self", false, arange);
        b_.argTensor("other", false, arange);
        const ValueId mask = b_.output("le", tensor({4, 4}, DType::Bool));

        for (int i = 0; i < toy_.layers; ++i)
            x = layer(i, x, mask, norm_weights[static_cast<std::size_t>(i)], weights[static_cast<std::size_t>(i)]);

        b_.node("linear_head", "torch.ops.aten.linear.default",
                {{"", "m.Top"}, {"head", "torch.nn.modules.linear.Linear"}}, "");
        b_.argTensor("input", false, x);
        b_.argTensor("weight", false, head_weight);
        b_.graphOutput(b_.output("linear_head", tensor({1, 4, 100})));
        Result<ModelGraph> graph = std::move(b_).finish();
        return graph ? std::move(graph).value() : ModelGraph{};
    }

private:
    ValueId layer(int i, ValueId x, ValueId mask, ValueId norm_weight, ValueId weight) {
        const std::string n = std::to_string(i), path = "model.layers." + n, type = toy_.type(i);
        const std::string self = path + "|" + type;
        const auto op = [&](const std::string& name, const std::string& target, const std::string& child = {}) {
            start(name + "_" + n, "torch.ops.aten." + target,
                  child.empty() ? std::vector<std::string>{self} : std::vector<std::string>{self, path + "." + child});
        };
        op("pow", "pow.Tensor_Scalar", "norm|m.RMSNorm");
        b_.argTensor("self", false, x);
        b_.argText("exponent", false, ArgKind::Scalar, "2");
        const ValueId square = b_.output("pow_" + n, tensor({1, 4, 8}));
        op("add_eps", "add.Tensor", "norm|m.RMSNorm");
        b_.argTensor("self", false, square);
        b_.argText("other", false, ArgKind::Scalar, toy_.eps(i));
        const ValueId sum = b_.output("add_eps_" + n, tensor({1, 4, 8}));
        op("rsqrt", "rsqrt.default", "norm|m.RMSNorm");
        b_.argTensor("self", false, sum);
        const ValueId root = b_.output("rsqrt_" + n, tensor({1, 4, 8}));
        op("mul", "mul.Tensor", "norm|m.RMSNorm");
        b_.argTensor("self", false, norm_weight);
        b_.argTensor("other", false, root);
        const ValueId normed = b_.output("mul_" + n, tensor({1, 4, 8}));
        op("linear", "linear.default", "proj|torch.nn.modules.linear.Linear");
        b_.argTensor("input", false, normed);
        b_.argTensor("weight", false, weight);
        const ValueId out = b_.output("linear_" + n, tensor({1, 4, toy_.width(i)}));
        op("view", "view.default");
        b_.argTensor("self", false, out);
        b_.argText("size", false, ArgKind::ScalarList, "[1, 4, -1]");
        const ValueId view = b_.output("view_" + n, tensor({1, 4, toy_.width(i)}));
        op("where", "where.self");
        b_.argTensor("condition", false, mask);
        b_.argTensor("self", false, view);
        const ValueId masked = b_.output("where_" + n, tensor({1, 4, 8}));
        op("add", "add.Tensor");
        b_.argTensor("self", false, toy_.swapped(i) ? masked : x);
        b_.argTensor("other", false, toy_.swapped(i) ? x : masked);
        return b_.output("add_" + n, tensor({1, 4, 8}));
    }

    // frames: "path|type" below the root and the backbone
    void start(const std::string& name, const std::string& target, const std::vector<std::string>& frames) {
        std::vector<ModuleFrame> stack{{"", "m.Top"}, {"model", "m.Backbone"}};
        for (const std::string& frame : frames) {
            const std::size_t bar = frame.find('|');
            stack.push_back({std::string_view(frame).substr(0, bar), std::string_view(frame).substr(bar + 1)});
        }
        b_.node(name, target, stack, "");
    }

    Toy toy_;
    GraphBuilder b_;
};

inline ModelGraph toyModel(Toy toy = {}) { return ToyBuilder(std::move(toy)).build(); }

} // namespace fusescope::test
