// SPDX-License-Identifier: Apache-2.0
// The bundled sample. Counts by category: one pass over the file with Python's json.
#include "core/io/open.h"
#include "core/trace/op_args.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace fusescope {
namespace {

const std::string kPath = FUSESCOPE_SAMPLES_DIR "/qwen3-8b-2layer-train-eager.pt.trace.json.gz";

const TraceStore& sample() {
    static const TracePtr trace = [] {
        Progress progress;
        auto opened = openFile(kPath, progress);
        EXPECT_TRUE(opened.ok()) << (opened.ok() ? "" : opened.error().message());
        return opened.ok() ? std::get<TracePtr>(*opened) : std::make_shared<const TraceStore>();
    }();
    return *trace;
}

TEST(KinetoSample, Counts) {
    const TraceStore& t = sample();
    EXPECT_EQ(t.counts.total, 14911U);
    EXPECT_EQ(t.counts.flow, 1268U + 1211U + 488U + 488U);
    EXPECT_EQ(t.counts.instant, 1912U + 2U);
    EXPECT_EQ(t.counts.metadata, 60U);
    EXPECT_EQ(t.counts.dropped, 0U);
    EXPECT_TRUE(t.problems.empty());
    std::map<Category, int> by_category;
    for (const Category c : t.slices.category) ++by_category[c];
    EXPECT_EQ(by_category[Category::CpuOp], 4252);
    EXPECT_EQ(by_category[Category::PythonFunction], 2740);
    EXPECT_EQ(by_category[Category::Kernel], 1042);
    EXPECT_EQ(by_category[Category::CudaRuntime], 1159);
    EXPECT_EQ(by_category[Category::CudaDriver], 116);
    EXPECT_EQ(by_category[Category::GpuMemset], 136);
    EXPECT_EQ(by_category[Category::GpuMemcpy], 26);
}

TEST(KinetoSample, Device) {
    ASSERT_EQ(sample().devices.size(), 1U);
    EXPECT_EQ(sample().devices[0].name, "NVIDIA H200");
    EXPECT_EQ(sample().devices[0].sms, 132);
    EXPECT_EQ(sample().devices[0].compute_major, 9);
    EXPECT_TRUE(sample().with_stack && sample().record_shapes && sample().compressed);
    EXPECT_EQ(sample().base_time_ns, 1'790'857'026'000'000'000);
}

TEST(KinetoSample, AKernelsDetails) { // the last fill of the first step's nll_loss_backward
    const TraceStore& t = sample();
    for (std::size_t k = 0; k < t.kernels.size(); ++k) {
        const std::size_t row = t.kernels.slice[k].index();
        if (t.slices.correlation[row] != 17180) continue;
        EXPECT_EQ(t.slices.ts[row], 5'105'189'137'634'952);
        EXPECT_EQ(t.slices.dur[row], 265'535);
        EXPECT_EQ(t.kernels.grid[k], (std::array<std::uint32_t, 3>{303872, 1, 1}));
        EXPECT_EQ(t.kernels.block[k], (std::array<std::uint32_t, 3>{128, 1, 1}));
        EXPECT_EQ(t.kernels.registers[k], 16);
        EXPECT_EQ(t.kernels.occupancy[k], 100);
        EXPECT_EQ(t.slices.external_id[row], 1029U);
        return;
    }
    FAIL() << "kernel 17180 is not there";
}

TEST(KinetoSample, ArgsAreReadAgainFromTheFile) {
    const TraceStore& t = sample();
    for (const std::size_t k : {std::size_t{0}, std::size_t{520}, std::size_t{1041}}) {
        const SliceId slice = t.kernels.slice[k];
        const auto text = readArgsText(t, slice);
        ASSERT_TRUE(text.ok()) << text.error().message();
        EXPECT_EQ(text->front(), '{');
        EXPECT_EQ(text->back(), '}');
        EXPECT_NE(text->find("\"correlation\": " + std::to_string(t.slices.correlation[slice.index()])),
                  std::string::npos);
    }
}

TEST(KinetoSample, ShapesOfAnOperator) { // aten::nll_loss_backward, as printed in the file
    const TraceStore& t = sample();
    for (std::size_t i = 0; i < t.cpu_ops.size(); ++i) {
        if (t.nameOf(t.cpu_ops.slice[i]) != "aten::nll_loss_backward") continue;
        const auto args = parseOpArgs(t, CpuOpId(i));
        ASSERT_EQ(args.size(), 7U);
        EXPECT_EQ(args[1].kind, ArgKind::Tensor);
        EXPECT_EQ(args[1].tensor.dtype, DType::Float32);
        EXPECT_EQ(args[1].tensor.sizes, (std::vector<std::int64_t>{4096, 151936}));
        EXPECT_EQ(args[1].tensor.strides, (std::vector<std::int64_t>{151936, 1}));
        EXPECT_EQ(args[2].tensor.dtype, DType::Int64);
        EXPECT_EQ(args[4].kind, ArgKind::Scalar);
        EXPECT_EQ(args[5].text, "-100");
        return;
    }
    FAIL() << "aten::nll_loss_backward is not there";
}

TEST(KinetoSample, ListsOfTensors) { // the fused optimizer is handed 25 parameters
    const TraceStore& t = sample();
    for (std::size_t i = 0; i < t.cpu_ops.size(); ++i) {
        if (t.nameOf(t.cpu_ops.slice[i]) != "aten::_fused_adamw_") continue;
        const auto args = parseOpArgs(t, CpuOpId(i));
        ASSERT_FALSE(args.empty());
        EXPECT_EQ(args[0].kind, ArgKind::TensorList);
        ASSERT_EQ(args[0].list.size(), 25U);
        EXPECT_EQ(args[0].list[0].sizes, (std::vector<std::int64_t>{151936, 4096}));
        return;
    }
    FAIL() << "aten::_fused_adamw_ is not there";
}

TEST(KinetoSample, HalfAByteOfMemoryPerByteOfJson) {
    EXPECT_LE(static_cast<double>(sample().bytes()), 0.5 * static_cast<double>(sample().json_bytes));
}

} // namespace
} // namespace fusescope
