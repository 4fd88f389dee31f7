// SPDX-License-Identifier: Apache-2.0
// A region as data: what the text of pointwise_chain.h says, checked. Needs neither CUDA nor Torch.
#pragma once

#include "kernels/pointwise_chain/pointwise_chain.h"

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace fusescope::kernels::chain {

using Dtype = FsChainDtype;

const char* nameOf(Dtype dtype);
int sizeOf(Dtype dtype);
inline bool isFloating(Dtype d) { return d != FS_CHAIN_I64 && d != FS_CHAIN_I32 && d != FS_CHAIN_BOOL; }
inline bool isHalf(Dtype d) { return d == FS_CHAIN_F16 || d == FS_CHAIN_BF16; }
inline bool isInteger(Dtype d) { return d == FS_CHAIN_I64 || d == FS_CHAIN_I32; }

/// The type in which a comparison of both is made.
Dtype commonType(Dtype a, Dtype b);

enum class Op {
    input,
    // one operand
    neg,
    abs,
    reciprocal,
    sqrt,
    rsqrt,
    exp,
    log,
    tanh,
    sigmoid,
    silu,
    gelu,
    geluTanh,
    relu,
    erf,
    square,
    sin,
    cos,
    floor,
    ceil,
    trunc,
    round,
    expm1,
    log1p,
    logicalNot,
    to,
    // two
    add,
    sub,
    mul,
    div,
    minimum,
    maximum,
    pow,
    eq,
    ne,
    lt,
    le,
    gt,
    ge,
    logicalAnd,
    logicalOr,
    // three
    where,
    clamp,
    // row reductions
    sum,
    mean,
    amax,
};

/// What an operator may be asked to return.
enum class Result {
    floating, ///< f64 f32 f16 bf16
    number,   ///< and integers
    any,      ///< and bool
    boolean,
};

struct OpFacts {
    Op op;
    const char* name;
    int operands;
    Result result;
    bool comparison = false; ///< operands meet in their common type, not in the result's
    /// Returns one of its operands, up to the sign: representable where they are.
    bool selects = false;
};

const OpFacts& factsOf(Op op);
inline bool isReduction(Op op) { return op == Op::sum || op == Op::mean || op == Op::amax; }

struct Constant {
    double value = 0;
    int64_t integer = 0;
    bool integral = false; ///< `integer` holds it exactly
};

struct Operand {
    int node = -1; ///< -1: the constant, or absent
    bool absent = false;
    Constant constant;
};

struct Node {
    Op op = Op::input;
    Dtype dtype = FS_CHAIN_F32;
    /// The type in which it is evaluated, before the result is rounded to `dtype`.
    Dtype compute = FS_CHAIN_F32;
    std::vector<Operand> operands;
    double alpha = 1; ///< of add and sub
};

struct Program {
    std::vector<Node> nodes; ///< inputs first
    std::vector<int> outputs;
    std::vector<bool> summed; ///< of each output: over all rows
    int inputs = 0;
};

/// The region, or a sentence that names the line.
std::variant<Program, std::string> parse(std::string_view text);

/// What the nodes' shapes are for inputs of given shapes.
struct Shape {
    int dims = 0;
    std::array<int64_t, FS_CHAIN_MAX_DIMS> size{};

    int64_t last() const { return dims > 0 ? size[size_t(dims) - 1] : 1; }
    int64_t count() const;
    bool operator==(const Shape& other) const;
};

std::string textOf(const Shape& shape);

/// A tensor of that shape as the framework would make it: contiguous, without data.
FsChainTensor contiguous(const Shape& shape, Dtype dtype);

struct Shapes {
    std::vector<Shape> nodes;
    Shape region; ///< of all inputs together
    Shape row;    ///< the region with the last dimension 1
};

/// The shape of an output: its node's, or, of a summed one, a row of the region.
Shape outputShape(const Program& program, const Shapes& shapes, size_t output);

/// The shapes, or a sentence. Checks inputs' types as well; not their data or strides.
std::variant<Shapes, std::string> shapesOf(const Program& program, const FsChainTensor* inputs);

/// printf into a string.
[[gnu::format(printf, 1, 2)]] std::string sentence(const char* format, ...);

} // namespace fusescope::kernels::chain
