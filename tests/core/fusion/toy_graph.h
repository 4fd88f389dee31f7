// SPDX-License-Identifier: Apache-2.0
// Small graphs for near misses: a few lines each, every operator by name.
#pragma once

#include "core/fusion/matchers.h"
#include "core/graph/graph_builder.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace fusescope::test {

inline TensorMeta meta(std::vector<std::int64_t> sizes, DType dtype = DType::BFloat16) {
    TensorMeta m;
    m.dtype = dtype;
    m.sizes = std::move(sizes);
    return m;
}

class ToyGraph {
public:
    struct Text {
        const char *name, *text;
    };

    ValueId input(const char* name, TensorMeta m) { return b_.input(ValueKind::Input, name, std::move(m)); }
    ValueId weight(const char* name, TensorMeta m) { return b_.parameter(false, name, name, std::move(m)); }
    // op: "mul.Tensor"; tensors become the arguments self, other ...; a cat gets a list.
    ValueId op(const char* name, const char* op, std::vector<ValueId> tensors, TensorMeta result,
               std::vector<Text> texts = {}) {
        b_.node(name, std::string("torch.ops.aten.") + op, {{"", "m.Model"}, {"layer", "m.Layer"}}, "");
        if (std::string(op).substr(0, 3) == "cat")
            b_.argTensors("tensors", false, tensors);
        else
            for (std::size_t i = 0; i < tensors.size(); ++i)
                b_.argTensor(i == 0 ? "self" : i == 1 ? "other" : "third", false, tensors[i]);
        for (const Text& text : texts)
            b_.argText(text.name, false, text.text[0] == '[' ? ArgKind::ScalarList : ArgKind::Scalar, text.text);
        return b_.output(name, std::move(result));
    }
    void leaves(ValueId value) { b_.graphOutput(value); }
    fusion::Matches match() {
        Result<ModelGraph> made = std::move(b_).finish();
        EXPECT_TRUE(made.ok());
        graph_ = std::make_unique<ModelGraph>(std::move(*made));
        return fusion::matchGraph(fusion::GraphFlow(*graph_));
    }

private:
    GraphBuilder b_;
    std::unique_ptr<ModelGraph> graph_;
};

inline std::size_t countOf(const fusion::Matches& matches, Pattern pattern) {
    std::size_t n = 0;
    for (const fusion::Match& match : matches.found) n += match.pattern == pattern ? 1U : 0U;
    return n;
}

inline std::string missOf(const fusion::Matches& matches, Pattern pattern) {
    for (const fusion::NearMiss& miss : matches.misses)
        if (miss.pattern == pattern) return miss.reason;
    return {};
}

} // namespace fusescope::test
