# SPDX-License-Identifier: Apache-2.0
"""Regions for the tests of pointwise_chain: their text, and the same in eager PyTorch."""
import torch
import torch.nn.functional as F

NAMES = {torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16", torch.float64: "f64", torch.int64: "i64",
         torch.int32: "i32", torch.bool: "bool"}

# One operand: the operator's text after its name, and eager's. {t} is the type.
UNARY = {
    "neg": torch.neg, "abs": torch.abs, "reciprocal": torch.reciprocal, "sqrt": torch.sqrt, "rsqrt": torch.rsqrt,
    "exp": torch.exp, "log": torch.log, "tanh": torch.tanh, "sigmoid": torch.sigmoid, "silu": F.silu, "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"), "relu": torch.relu, "erf": torch.erf, "square": torch.square,
    "sin": torch.sin, "cos": torch.cos, "floor": torch.floor, "ceil": torch.ceil, "trunc": torch.trunc,
    "round": torch.round, "expm1": torch.expm1, "log1p": torch.log1p,
}
SCALAR = {
    "add.{t} %0 0.3": lambda x: x + 0.3, "add.{t} %0 0.3 alpha=0.7": lambda x: torch.add(x, 0.3, alpha=0.7),
    "sub.{t} %0 0.3": lambda x: x - 0.3, "sub.{t} 1 %0": lambda x: 1 - x, "mul.{t} %0 0.1": lambda x: x * 0.1,
    "div.{t} %0 3": lambda x: x / 3, "pow.{t} %0 2": lambda x: x.pow(2), "pow.{t} %0 3": lambda x: x.pow(3),
    "pow.{t} %0 0.5": lambda x: x.pow(0.5), "pow.{t} %0 -0.5": lambda x: x.pow(-0.5),
    "pow.{t} %0 -1": lambda x: x.pow(-1), "pow.{t} %0 -2": lambda x: x.pow(-2), "pow.{t} %0 1.7": lambda x: x.pow(1.7),
    "pow.{t} %0 0": lambda x: x.pow(0), "pow.{t} %0 1": lambda x: x.pow(1),
    "clamp.{t} %0 -0.3 1.1": lambda x: x.clamp(-0.3, 1.1), "clamp.{t} %0 none 0.1": lambda x: x.clamp(max=0.1),
    "clamp.{t} %0 0.1 none": lambda x: x.clamp(min=0.1), "gt.bool %0 0.1": lambda x: x > 0.1,
    "le.bool %0 0.1": lambda x: x <= 0.1, "eq.bool %0 0": lambda x: x == 0, "ne.bool %0 1": lambda x: x != 1,
    "logical_not.bool %0": torch.logical_not, "to.f32 %0": lambda x: x.float(), "to.bf16 %0": lambda x: x.bfloat16(),
    "to.f16 %0": lambda x: x.half(), "to.f64 %0": lambda x: x.double(), "to.bool %0": lambda x: x.bool(),
    "clone.{t} %0": torch.clone,
}
BINARY = {
    "add.{t} %0 %1": torch.add, "add.{t} %0 %1 alpha=0.3": lambda x, y: torch.add(x, y, alpha=0.3),
    "sub.{t} %0 %1": torch.sub, "sub.{t} %0 %1 alpha=0.3": lambda x, y: torch.sub(x, y, alpha=0.3),
    "mul.{t} %0 %1": torch.mul, "div.{t} %0 %1": torch.div, "minimum.{t} %0 %1": torch.minimum,
    "maximum.{t} %0 %1": torch.maximum, "eq.bool %0 %1": torch.eq, "ne.bool %0 %1": torch.ne, "lt.bool %0 %1": torch.lt,
    "le.bool %0 %1": torch.le, "gt.bool %0 %1": torch.gt, "ge.bool %0 %1": torch.ge,
    "logical_and.bool %0 %1": torch.logical_and, "logical_or.bool %0 %1": torch.logical_or,
    "clamp.{t} %0 %1 none": lambda x, y: torch.clamp(x, min=y),
}


def region(body, inputs=1, t="bf16"):
    """The text of a region with inputs of one type; `body` has an operator a line, {t} for the type, and numbers that
    go on from the inputs'. The last one is the output unless outputs are named."""
    lines = [f"%{i} = input {t}" for i in range(inputs)]
    outputs = []
    for line in filter(None, (l.strip() for l in body.replace("{t}", t).split("\n"))):
        (outputs if line.startswith("output") else lines).append(line)
    return "\n".join(lines + (outputs or [f"output %{len(lines) - 1}"])) + "\n"


def operators():
    """(name, body, number of inputs, eager) of every operator alone."""
    for name, eager in UNARY.items():
        yield name, f"%1 = {name}.{{t}} %0", 1, eager
    for text, eager in SCALAR.items():
        yield text, f"%1 = {text}", 1, eager
    for text, eager in BINARY.items():
        yield text, f"%2 = {text}", 2, eager
    yield "where", "%2 = gt.bool %0 %1\n%3 = where.{t} %2 %0 -2.7", 2, lambda x, y: torch.where(x > y, x, -2.7)


SWIGLU = "%2 = silu.{t} %0\n%3 = mul.{t} %2 %1"
GEGLU = "%2 = gelu_tanh.{t} %0\n%3 = mul.{t} %2 %1"
RESIDUAL = "%2 = mul.{t} %1 0.22\n%3 = add.{t} %0 %2"
RMS_NORM = """
    %2 = to.f32 %0
    %3 = pow.f32 %2 2
    %4 = mean.f32 %3
    %5 = add.f32 %4 1e-6
    %6 = rsqrt.f32 %5
    %7 = mul.f32 %2 %6
    %8 = to.{t} %7
    %9 = mul.{t} %1 %8
    output %9
    output %6
"""
SOFTMAX = """
    %1 = to.f32 %0
    %2 = amax.f32 %1
    %3 = sub.f32 %1 %2
    %4 = exp.f32 %3
    %5 = sum.f32 %4
    %6 = div.f32 %4 %5
    %7 = to.{t} %6
"""
LAYER_NORM = """
    %3 = to.f32 %0
    %4 = mean.f32 %3
    %5 = sub.f32 %3 %4
    %6 = square.f32 %5
    %7 = mean.f32 %6
    %8 = add.f32 %7 1e-5
    %9 = rsqrt.f32 %8
    %10 = mul.f32 %5 %9
    %11 = mul.f32 %10 %1
    %12 = add.f32 %11 %2
    %13 = to.{t} %12
"""


def rms_norm(x, weight):
    h = x.float()
    r = torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + 1e-6)
    return weight * (h * r).to(x.dtype), r


def geglu(x, y):
    return F.gelu(x, approximate="tanh") * y


def softmax(x):
    e = torch.exp(x.float() - x.float().amax(-1, keepdim=True))
    return (e / e.sum(-1, keepdim=True)).to(x.dtype)


def layer_norm(x, weight, bias):
    d = x.float() - x.float().mean(-1, keepdim=True)
    r = torch.rsqrt(torch.square(d).mean(-1, keepdim=True) + 1e-5)
    return ((d * r) * weight + bias).to(x.dtype)
