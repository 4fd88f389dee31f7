// SPDX-License-Identifier: Apache-2.0
// Which masks a causal kernel stands for: "key <= query" and no more.
#include "core/graph/graph_builder.h"
#include "core/region/fills.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace fusescope {
namespace {

class Mask {
public:
    ValueId op(const char* name, const char* op, const std::vector<ValueId>& tensors, std::vector<std::int64_t> sizes,
               DType type = DType::Int64, const char* text = nullptr, const char* value = nullptr) {
        b_.node(name, std::string("torch.ops.aten.") + op, {}, "");
        for (std::size_t i = 0; i < tensors.size(); ++i) b_.argTensor(i == 0 ? "self" : "other", false, tensors[i]);
        if (text != nullptr) b_.argText(text, false, ArgKind::Scalar, value);
        TensorMeta meta;
        meta.dtype = type;
        meta.sizes = std::move(sizes);
        return b_.output(name, meta);
    }
    ValueId keys() { return op("keys", "arange.default", {}, {1, 8}, DType::Int64, "end", "8"); }
    ValueId queries() { return op("queries", "arange.default", {}, {8, 1}, DType::Int64, "end", "8"); }
    bool isCausal(ValueId mask) {
        b_.graphOutput(mask);
        Result<ModelGraph> made = std::move(b_).finish();
        EXPECT_TRUE(made.ok());
        const fusion::GraphFlow graph(*made);
        return region::Fills(graph).isCausalMask(mask);
    }

private:
    GraphBuilder b_;
};

TEST(CausalMask, KeysUpToTheQuery) {
    Mask m;
    const ValueId k = m.keys(), q = m.queries();
    EXPECT_TRUE(m.isCausal(m.op("le", "le.Tensor", {k, q}, {8, 8}, DType::Bool)));
}

TEST(CausalMask, AWindowIsAnotherMask) {
    Mask m;
    const ValueId k = m.keys(), q = m.queries();
    const ValueId begin = m.op("sub", "sub.Tensor", {q}, {8, 1}, DType::Int64, "other", "4");
    const ValueId up_to = m.op("le", "le.Tensor", {k, q}, {8, 8}, DType::Bool),
                  from = m.op("gt", "gt.Tensor", {k, begin}, {8, 8}, DType::Bool);
    EXPECT_FALSE(m.isCausal(m.op("and", "__and__.Tensor", {up_to, from}, {8, 8}, DType::Bool)));
}

TEST(CausalMask, ChunksAreAnotherMask) {
    Mask m;
    const ValueId k = m.keys(), q = m.queries();
    const auto chunk = [&](const char* name, ValueId of, std::vector<std::int64_t> sizes) {
        return m.op(name, "floor_divide.default", {of}, std::move(sizes), DType::Int64, "other", "4");
    };
    const ValueId own = chunk("of_keys", k, {1, 8}), theirs = chunk("of_queries", q, {8, 1});
    const ValueId same = m.op("eq", "eq.Tensor", {own, theirs}, {8, 8}, DType::Bool),
                  up_to = m.op("le", "le.Tensor", {k, q}, {8, 8}, DType::Bool);
    EXPECT_FALSE(m.isCausal(m.op("and", "__and__.Tensor", {same, up_to}, {8, 8}, DType::Bool)));
}

TEST(CausalMask, OneRowAgainstANumberIsNone) {
    Mask m;
    const ValueId k = m.keys();
    EXPECT_FALSE(m.isCausal(m.op("lt", "lt.Scalar", {k}, {1, 8}, DType::Bool, "other", "4")));
}

TEST(CausalMask, Triangles) {
    const auto triangle = [](const char* op, const char* diagonal) {
        Mask m;
        const ValueId all = m.op("all", "ones.default", {}, {8, 8}, DType::Float32);
        const ValueId half = m.op("half", op, {all}, {8, 8}, DType::Float32, "diagonal", diagonal);
        return m.isCausal(m.op("zero", "eq.Scalar", {half}, {8, 8}, DType::Bool, "other", "0")); // turned around
    };
    EXPECT_TRUE(triangle("tril.default", "0"));
    EXPECT_TRUE(triangle("triu.default", "1"));
    EXPECT_FALSE(triangle("tril.default", "-2"));
    EXPECT_FALSE(triangle("triu.default", "0"));
}

} // namespace
} // namespace fusescope
