// SPDX-License-Identifier: Apache-2.0
#include "core/base/tensor.h"

#include <gtest/gtest.h>

#include <limits>

namespace fusescope {
namespace {

TEST(Tensor, ExportNumbersAreNotThoseOfC10) { // torch/_export/serde/schema.py: 6 half, 7 float, 13 bfloat16
    EXPECT_EQ(dtypeFromExportSchema(6), DType::Float16);
    EXPECT_EQ(dtypeFromExportSchema(7), DType::Float32);
    EXPECT_EQ(dtypeFromExportSchema(12), DType::Bool);
    EXPECT_EQ(dtypeFromExportSchema(13), DType::BFloat16);
    EXPECT_EQ(dtypeFromExportSchema(5), DType::Int64);
    EXPECT_EQ(dtypeFromExportSchema(29), DType::Float8E4M3FN);
    for (const std::int64_t unknown : {0, -1, 15, 27, 99})
        EXPECT_EQ(dtypeFromExportSchema(unknown), DType::Unknown) << unknown;
}

TEST(Tensor, TraceNames) {
    EXPECT_EQ(dtypeFromTraceName("c10::BFloat16"), DType::BFloat16);
    EXPECT_EQ(dtypeFromTraceName("float"), DType::Float32);
    EXPECT_EQ(dtypeFromTraceName("long int"), DType::Int64);
    EXPECT_EQ(dtypeFromTraceName("Scalar"), DType::Unknown);
    EXPECT_EQ(dtypeFromTraceName(""), DType::Unknown);
}

TEST(Tensor, ExpandedDimensionsAreStoredOnce) { // repeat_kv: [1, 8, 4, 4096, 128] over 8 heads of keys
    TensorMeta t{DType::BFloat16, {1, 8, 4, 4096, 128}, {4194304, 524288, 0, 128, 1}, false};
    EXPECT_EQ(t.numel(), 16'777'216);
    EXPECT_EQ(t.storedElements(), 4'194'304);
    EXPECT_DOUBLE_EQ(t.bytes(), 8'388'608);
    t.strides.clear();
    EXPECT_EQ(t.storedElements(), t.numel());
}

TEST(Tensor, HostileSizesSaturate) {
    const TensorMeta t{DType::Float32, {std::numeric_limits<std::int64_t>::max(), 1000}, {}, false};
    EXPECT_EQ(t.numel(), std::numeric_limits<std::int64_t>::max());
    EXPECT_EQ((TensorMeta{DType::Float32, {kDynamicSize, 4}, {}, false}).numel(), 0);
    EXPECT_EQ((TensorMeta{DType::Float32, {}, {}, false}).numel(), 1); // a scalar
}

} // namespace
} // namespace fusescope
