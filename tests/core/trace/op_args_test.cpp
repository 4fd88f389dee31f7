// SPDX-License-Identifier: Apache-2.0
#include "core/trace/op_args.h"

#include "core/trace/trace_builder.h"

#include <gtest/gtest.h>

namespace fusescope {
namespace {

struct Parsed {
    TracePtr trace;
    std::vector<OpArg> args;
};
Parsed parse(std::string_view dims, std::string_view types, std::string_view strides, std::string_view concrete) {
    TraceBuilder builder;
    CompleteEvent e;
    e.category = Category::CpuOp;
    e.name = "op";
    e.ts = 1;
    e.track = builder.track(TrackKind::CpuThread, 1, 1);
    CpuOpDetail detail;
    detail.dims = dims;
    detail.types = types;
    detail.strides = strides;
    detail.concrete = concrete;
    builder.add(e, detail);
    Parsed out;
    out.trace = *std::move(builder).finish();
    out.args = parseOpArgs(*out.trace, CpuOpId(std::size_t{0}));
    return out;
}

TEST(OpArgs, ConcatenationTakesAListOfTensors) { // the form in real files
    const Parsed p = parse("[[[1, 559, 32], [1, 559, 32]], []]", R"(["TensorList", "Scalar"])",
                           "[[[1,2,3],[4,5,6]],[]]", R"(["", "-1"])");
    ASSERT_EQ(p.args.size(), 2U);
    ASSERT_EQ(p.args[0].list.size(), 2U);
    EXPECT_EQ(p.args[0].list[1].sizes, (std::vector<std::int64_t>{1, 559, 32}));
    EXPECT_EQ(p.args[0].list[1].strides, (std::vector<std::int64_t>{4, 5, 6}));
    EXPECT_FALSE(p.args[0].truncated);
    EXPECT_EQ(p.args[1].kind, ArgKind::Scalar);
    EXPECT_EQ(p.args[1].text, "-1");
}

TEST(OpArgs, LongListsAreRecordedEmptyAndUnknown) {
    const Parsed p = parse("[[]]", R"(["TensorList"])", "[[]]", R"([""])");
    ASSERT_EQ(p.args.size(), 1U);
    EXPECT_TRUE(p.args[0].truncated);
}

TEST(OpArgs, NoneTensorsAndScalarTensors) {
    const Parsed p = parse("[[], [4096], []]", R"(["float", "long int", ""])", "[[],[1],[]]", R"(["", "", ""])");
    ASSERT_EQ(p.args.size(), 3U);
    EXPECT_EQ(p.args[0].kind, ArgKind::Tensor);
    EXPECT_EQ(p.args[0].tensor.numel(), 1);
    EXPECT_EQ(p.args[1].tensor.dtype, DType::Int64);
    EXPECT_EQ(p.args[2].kind, ArgKind::None);
}

TEST(OpArgs, HostileText) {
    EXPECT_TRUE(parse("", "", "", "").args.empty());
    EXPECT_TRUE(parse("[[", "{", "nope", "[\"").args.empty());
    (void)parse("[[1e400]]", R"(["float"])", "[[\"x\"]]", R"(["\"])");
    (void)parse("[1,2,3]", R"([1,2,3])", "[[[[]]]]", "[[[]]]");
    const Parsed p = parse("[[9223372036854775807, 9223372036854775807]]", R"(["float"])", "", "");
    EXPECT_EQ(p.args[0].tensor.numel(), 0) << "a size that no memory holds is not known";
    EXPECT_EQ(p.args[0].tensor.sizes.size(), 2U);
}

} // namespace
} // namespace fusescope
