// SPDX-License-Identifier: Apache-2.0
#include "cases.h"

#include "kernels/pointwise_chain/gradient.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>

namespace fusescope::kernels::chain {
namespace {

constexpr const char* rmsNorm = "%0 = input bf16; %1 = input bf16; %2 = to.f32 %0; %3 = pow.f32 %2 2; %4 = mean.f32 %3;"
                                "%5 = add.f32 %4 1e-6; %6 = rsqrt.f32 %5; %7 = mul.f32 %2 %6; %8 = to.bf16 %7;"
                                "%9 = mul.bf16 %1 %8; output %9";
constexpr const char* layerNorm =
    "%0 = input f32; %1 = input f32; %2 = input f32; %3 = mean.f32 %0; %4 = sub.f32 %0 %3; %5 = square.f32 %4;"
    "%6 = mean.f32 %5; %7 = add.f32 %6 1e-5; %8 = rsqrt.f32 %7; %9 = mul.f32 %4 %8; %10 = mul.f32 %9 %1;"
    "%11 = add.f32 %10 %2; output %11";
constexpr const char* softmax = "%0 = input bf16; %1 = mul.bf16 %0 0.3; %2 = to.f32 %1; %3 = amax.f32 %2;"
                                "%4 = sub.f32 %2 %3; %5 = exp.f32 %4; %6 = sum.f32 %5; %7 = div.f32 %5 %6; output %7";
constexpr const char* biasGelu = "%0 = input f32; %1 = input f32; %2 = add.f32 %0 %1; %3 = gelu.f32 %2; output %3";
constexpr const char* oneSum =
    "%0 = input f64; %1 = input f64; %2 = mul.f64 %0 %1; %3 = sum.f64 %2; %4 = sub.f64 %2 %3;"
    "output %4; output %4 summed; output %3";

/// A chain of row maxima, each of what the one before left: more passes than sets of shared memory.
std::string manyPasses() {
    std::string text = "%0 = input f32; %1 = input f32; %2 = mul.f32 %0 %1;";
    int last = 2;
    for (int i = 0; i < 7; ++i, last += 3)
        text += sentence("%%%d = %s.f32 %%%d; %%%d = mul.f32 %%%d 0.1; %%%d = sub.f32 %%%d %%%d;", last + 1,
                         i % 2 ? "amax" : "sum", last, last + 2, last + 1, last + 3, last, last + 2);
    return text + sentence("output %%%d; output %%%d summed", last, last);
}

/// Several reductions in one pass, and a row's value that is needed much later.
constexpr const char* together =
    "%0 = input f32; %1 = input f32; %2 = sum.f32 %0; %3 = amax.f32 %1; %4 = mean.f32 %1; %5 = mul.f32 %0 %2;"
    "%6 = sub.f32 %5 %3; %7 = sin.f32 %6; %8 = sum.f32 %7; %9 = div.f32 %7 %4; %10 = add.f32 %9 %8; output %10;"
    "output %7 summed; output %9 summed; output %8";

FsLaunchHint hint(int threads, int blocks, int variant) {
    FsLaunchHint h{};
    h.threads = threads;
    h.blocks_per_sm = blocks;
    h.variant = variant;
    return h;
}

[[noreturn]] void giveUp(const Case& of, const std::string& why) {
    std::fprintf(stderr, "%s: %s\n", of.name, why.c_str());
    std::abort();
}

Program programOf(const Case& of, const std::string& text) {
    auto parsed = parse(text);
    if (auto* problem = std::get_if<std::string>(&parsed)) giveUp(of, *problem);
    return std::get<Program>(std::move(parsed));
}

uint64_t bitsOf(Dtype dtype, double value) {
    const auto narrow = float(value);
    uint32_t bits = 0;
    std::memcpy(&bits, &narrow, sizeof bits);
    uint64_t wide = 0;
    std::memcpy(&wide, &value, sizeof wide);
    return dtype == FS_CHAIN_F64 ? wide : dtype == FS_CHAIN_BF16 ? bits >> 16 : bits;
}

/// Elements beyond a row's end are NaN: nothing may read them.
FsChainTensor inputOf(const CaseInput& input, Dtype dtype, std::mt19937& random, std::vector<char>& memory) {
    FsChainTensor t{};
    t.dtype = dtype;
    t.dims = int(input.size.size());
    int64_t stride = 1, rows = 1;
    for (int d = t.dims - 1; d >= 0; --d) {
        t.size[d] = input.size[size_t(d)];
        t.stride[d] = stride;
        stride *= t.size[d] + (d == t.dims - 1 ? input.wider : 0);
        if (d < t.dims - 1) rows *= t.size[d];
    }
    const int64_t width = t.dims > 0 ? t.size[t.dims - 1] : 1, step = width + input.wider;
    memory.assign(size_t(rows * step) * size_t(sizeOf(dtype)), '\xff');
    for (int64_t r = 0; r < rows; ++r)
        for (int64_t i = 0; i < width; ++i) {
            const double value = double(random() % 4001) / 1000 - 2;
            const uint64_t bits = bitsOf(dtype, value);
            std::memcpy(memory.data() + size_t(r * step + i) * size_t(sizeOf(dtype)), &bits, size_t(sizeOf(dtype)));
        }
    return t;
}

} // namespace

const std::vector<Case>& cases() {
    static const std::vector<Case> all = {
        {"rows in a block, sums, staged", rmsNorm, {{{7, 1024}}, {{1024}}}, {}, 1, true},
        {"several packs a thread", rmsNorm, {{{5, 1024}}, {{1024}}}, hint(0, 1, 4), 1, true},
        {"two sums", layerNorm, {{{7, 512}}, {{512}}, {{1, 512}}}, {}, 2, true},
        {"rows in lanes, sums", layerNorm, {{{3, 25, 64}}, {{64}}, {{64}}}, {}, 1, true},
        {"rows in a lane", biasGelu, {{{40, 4}}, {{4}}}, {}, 1, true},
        {"no reduction", biasGelu, {{{5, 1000}}, {{1000}}}, {}, 1, true},
        {"softmax", softmax, {{{5, 1024}}}, {}, 1, false},
        {"softmax, backward", softmax, {{{5, 1024}}}, {}, 1, true},
        {"softmax in lanes", softmax, {{{37, 72}}}, {}, 1, true},
        {"one pass, many rows a block", oneSum, {{{17, 200}}, {{200}}}, hint(0, 1, 1), 1, false},
        {"looped, sums", oneSum, {{{5, 9000}}, {{9000}}}, hint(64, 1, 0), 1, false},
        {"looped", softmax, {{{3, 9001}}}, hint(64, 0, 0), 1, false},
        {"many passes", manyPasses(), {{{9, 260}}, {{260}}}, {}, 1, false},
        {"a grid that stays", softmax, {{{9, 1024}}}, hint(0, 1, 0), 1, false},
        {"rows apart", together, {{{9, 256}, 8}, {{9, 256}, 3}}, {}, 1, false},
        {"element by element", together, {{{6, 130}, 1}, {{6, 130}}}, hint(0, 1, -1), 1, false},
    };
    return all;
}

void prepare(const Case& of, Prepared& made) {
    std::mt19937 random(unsigned(of.text.size() * 31 + of.inputs[0].size.back()));
    made.program = programOf(of, of.text);
    std::vector<CaseInput> shapes = of.inputs;
    if (of.backward) {
        std::vector<int64_t> last;
        std::vector<bool> row, wanted(of.inputs.size(), true);
        for (const CaseInput& input : of.inputs) {
            last.push_back(input.size.back());
            row.push_back(std::all_of(input.size.begin(), input.size.end() - 1, [](int64_t n) { return n == 1; }));
        }
        const auto found = gradientOf(made.program, last, row, wanted);
        if (const auto* problem = std::get_if<std::string>(&found)) giveUp(of, *problem);
        const auto& gradient = std::get<Gradient>(found);
        shapes.clear(); // the forward has one output, of the first input's shape
        for (const int from : gradient.from) shapes.push_back(of.inputs[size_t(from) % of.inputs.size()]);
        made.program = programOf(of, gradient.text);
    }
    if (int(shapes.size()) != made.program.inputs) giveUp(of, "another number of inputs");
    made.memory.resize(shapes.size() + made.program.outputs.size());
    for (size_t i = 0; i < shapes.size(); ++i)
        made.inputs.push_back(inputOf(shapes[i], made.program.nodes[i].dtype, random, made.memory[i]));
    auto sizes = shapesOf(made.program, made.inputs.data());
    if (auto* problem = std::get_if<std::string>(&sizes)) giveUp(of, *problem);
    made.shapes = std::get<Shapes>(std::move(sizes));
    for (size_t i = 0; i < made.program.outputs.size(); ++i) {
        const Shape shape = outputShape(made.program, made.shapes, i);
        const FsChainTensor t = contiguous(shape, made.program.nodes[size_t(made.program.outputs[i])].dtype);
        made.memory[shapes.size() + i].assign(size_t(shape.count()) * size_t(sizeOf(t.dtype)), '\xff');
        made.outputs.push_back(t);
    }
    for (size_t i = 0; i < made.memory.size(); ++i) {
        FsChainTensor& t = i < shapes.size() ? made.inputs[i] : made.outputs[i - shapes.size()];
        t.data = made.memory[i].data();
    }
    made.call.inputs = made.inputs.data();
    made.call.outputs = made.outputs.data();
    made.call.hint = of.hint;
    auto planned = planOf(made.program, made.call, of.multiprocessors);
    if (auto* problem = std::get_if<std::string>(&planned)) giveUp(of, *problem);
    made.plan = std::get<Plan>(std::move(planned));
}

} // namespace fusescope::kernels::chain
