# SPDX-License-Identifier: Apache-2.0
"""pointwise_chain's backward, a region made from the region, beside autograd through the same in eager PyTorch."""
import os
import shutil
import subprocess
import sys

import pytest
import torch
from checking import assert_close
from conftest import LIBRARY
from regions import GEGLU, LAYER_NORM, RMS_NORM, SOFTMAX, SWIGLU, geglu, layer_norm, operators, region, rms_norm, softmax
from torch.testing._internal.optests import opcheck

ops = torch.ops.fusescope
chain = ops.pointwise_chain
OPERATORS = [o for o in operators() if ".bool" not in o[1] or o[0] == "where"]
POSITIVE = ("log", "sqrt", "rsqrt", "pow.{t} %0 0.5", "pow.{t} %0 -0.5", "pow.{t} %0 1.7", "log1p", "reciprocal",
            "pow.{t} %0 -1", "pow.{t} %0 -2")
# Text, shapes of the inputs, eager. The weight is a row; others stand for what lies beside a whole row.
REGIONS = {
    "rms_norm": (RMS_NORM, [(6, 40), (40,)], lambda x, w: rms_norm(x, w)),
    "softmax": (SOFTMAX, [(2, 3, 17)], lambda x: (softmax(x),)),
    "layer_norm": (LAYER_NORM, [(5, 33), (33,), (33,)], lambda x, w, b: (layer_norm(x, w, b),)),
    "swiglu": (SWIGLU, [(4, 24), (4, 24)], lambda g, u: (torch.nn.functional.silu(g) * u,)),
    "geglu": (GEGLU, [(4, 24), (4, 24)], lambda g, u: (geglu(g, u),)),
    # A gradient that is the same along the row meets an operand that stands for the row.
    "mean of a sum": ("%2 = neg.{t} %0\n%3 = add.{t} %2 %1\n%4 = mean.{t} %3", [(4, 9), (4, 1)],
                      lambda x, b: ((-x + b).mean(-1, keepdim=True),)),
    # A row's value that is used by rows and by elements, and is an output itself.
    "a sum used twice": ("%2 = sum.{t} %0\n%3 = sin.{t} %2\n%4 = mul.{t} %3 %2\n%5 = mul.{t} %0 %4\n%6 = mul.{t} %5 %1"
                         "\noutput %6\noutput %4", [(3, 7), ()],
                         lambda x, s: (x * (x.sum(-1, keepdim=True).sin() * x.sum(-1, keepdim=True)) * s,
                                       x.sum(-1, keepdim=True).sin() * x.sum(-1, keepdim=True))),
    "amax with ties": ("%1 = amax.{t} %0\n%2 = mul.{t} %0 %1", [(3, 5)],
                       lambda x: (x * x.amax(-1, keepdim=True),)),
    "broadcast over all": ("%3 = mul.{t} %0 %1\n%4 = cos.{t} %2\n%5 = add.{t} %3 %4 alpha=0.7",
                           [(2, 3, 5), (3, 1), (1, 1, 5)], lambda x, y, z: (torch.add(x * y, z.cos(), alpha=0.7),)),
    "rows of one": ("%2 = sum.{t} %0\n%3 = mul.{t} %2 %1", [(4, 1), (4, 1)], lambda x, y: (x.sum(-1, keepdim=True) * y,)),
    "the same twice": ("%2 = mul.{t} %0 %0\n%3 = add.{t} %2 %1", [(3, 4), (3, 4)], lambda x, y: (x * x + y,)),
}


def gradients(outputs, inputs, seed=3):
    generator = torch.Generator().manual_seed(seed)
    given = [torch.randn(o.shape, generator=generator, dtype=torch.float64).to(o.dtype).to(o.device) for o in outputs]
    return torch.autograd.grad(outputs, inputs, given, allow_unused=True)


def leaves(shapes, dtype, device, positive=False):
    made = [torch.randn(shape, dtype=torch.float64) for shape in shapes]
    return [(t.abs() + 0.1 if positive else t).to(dtype).to(device).requires_grad_() for t in made]


@pytest.mark.parametrize("name,body,inputs,eager", OPERATORS, ids=[o[0] for o in OPERATORS])
def test_operators_in_fp64(name, body, inputs, eager, device):
    x = leaves([(4, 33)] * inputs, torch.float64, device, name in POSITIVE)
    if "clamp.{t} %0 %1" in name:
        x[1] = x[1].detach() # a bound: none
    out, want = chain(x, region(body, inputs, "f64"))[0], eager(*x)
    wanted = [t for t in x if t.requires_grad]
    for mine, theirs in zip(gradients([out], wanted), gradients([want], wanted)):
        theirs = torch.zeros_like(x[0]) if theirs is None else theirs
        assert mine.dtype == theirs.dtype
        torch.testing.assert_close(mine, theirs, rtol=1e-6 if "to." in name else 1e-10, atol=1e-10)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("name", REGIONS)
def test_regions(name, dtype, device):
    body, shapes, eager = REGIONS[name]
    kind = {torch.float32: "f32", torch.bfloat16: "bf16", torch.float16: "f16"}[dtype]
    x = leaves(shapes, dtype, device)
    if name == "amax with ties":
        x = [torch.tensor([[1, 3, 3, 0, -1], [2, 2, 2, 2, 2], [0, -1, -2, 5, 1]], dtype=dtype, device=device).requires_grad_()]
    outputs = chain(x, region(body, len(x), kind))
    exact = [t.detach().double().requires_grad_() for t in x]
    want = eager(*exact)
    for mine, theirs, t in zip(gradients(outputs, x), gradients([w.to(torch.float64) for w in want], exact), x):
        assert mine.shape == t.shape and mine.dtype == dtype
        assert_close(mine, theirs.to(device), dtype=dtype, factor=8, scale=max(theirs.abs().max().item(), 1))


def test_only_what_is_wanted(device):
    x, weight = leaves([(6, 40), (40,)], torch.float32, device)
    weight = weight.detach()
    out = chain([x, weight], region(RMS_NORM, 2, "f32"))[0]
    assert out.requires_grad and torch.autograd.grad(out.sum(), x)[0].shape == x.shape
    with torch.no_grad():
        assert not chain([x, weight], region(RMS_NORM, 2, "f32"))[0].requires_grad
    assert not chain([x.detach(), weight], region(RMS_NORM, 2, "f32"))[0].requires_grad


def test_keeps_what_its_backward_reads(device):
    # Of x * w + y: both factors, and nothing of y.
    x, w, y = leaves([(64, 256)] * 3, torch.float32, device)
    kept = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t) or t, lambda t: t):
        out = chain([x, w, y], region("%3 = mul.{t} %0 %1\n%4 = add.{t} %3 %2", 3, "f32"))[0]
    assert sorted(t.untyped_storage().nbytes() for t in kept) == [4, 4 * 64 * 256, 4 * 64 * 256]
    assert all(t.shape == x.shape for t in kept)
    for mine, theirs in zip(gradients([out], [x, w, y]), gradients([x * w + y], [x, w, y])):
        torch.testing.assert_close(mine, theirs)
    # Where nothing wants the second factor's gradient, the first is not read either.
    kept.clear()
    with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t) or t, lambda t: t):
        out = chain([x, w.detach(), y], region("%3 = mul.{t} %0 %1\n%4 = add.{t} %3 %2", 3, "f32"))[0]
    assert sorted(t.untyped_storage().nbytes() for t in kept) == [4, 4, 4 * 64 * 256]
    torch.testing.assert_close(torch.autograd.grad(out.sum(), x)[0], w.detach())


def test_keeps_nothing_of_a_number_that_it_does_not_read(device):
    x, number = leaves([(4, 6), ()], torch.float32, device)
    text = region("%2 = add.{t} %0 %1\n%3 = mul.{t} %2 2", 2, "f32")
    for a, b in ((x, number), (x.detach(), number), (x, number.detach())):
        wanted = [t for t in (a, b) if t.requires_grad]
        for mine, theirs in zip(gradients(chain([a, b], text), wanted), gradients([(a + b) * 2], wanted)):
            torch.testing.assert_close(mine, theirs)


def test_what_passes_through_is_not_copied(device):
    # A residual sum: its backward computes nothing, as in eager.
    for kind, dtype in ("f32", torch.float32), ("bf16", torch.bfloat16):
        x, y = leaves([(4, 6), (6,)], dtype, device)
        text = region("%2 = add.{t} %0 %1", 2, kind)
        assert ops.pointwise_chain_gradient([x, y], text) == ("", [], [0, 1], [-3, -3])
        given = torch.randn(4, 6, device=device).to(dtype)
        dx, dy = torch.autograd.grad(chain([x, y], text)[0], [x, y], given)
        assert dx.data_ptr() == given.data_ptr() and torch.equal(dx, given)
        torch.testing.assert_close(dy, given.sum(0))
    # The same computed gradient for two inputs is computed once.
    a, b = leaves([(4, 6)] * 2, torch.float32, device)
    text = region("%2 = add.{t} %0 %1\n%3 = sin.{t} %2", 2, "f32")
    backward, _, of, value = ops.pointwise_chain_gradient([a, b], text)
    assert backward.count("output") == 1 and (of, value) == ([0, 1], [0, 0])
    for mine, theirs in zip(gradients(chain([a, b], text), [a, b]), gradients([(a + b).sin()], [a, b])):
        torch.testing.assert_close(mine, theirs)


def test_whole_numbers_have_none(device):
    x = torch.randn(3, 5, device=device).requires_grad_()
    of = torch.tensor([[0], [2], [4]], device=device)
    text = "%0 = input f32; %1 = input i64; %2 = to.f32 %1; %3 = mul.f32 %0 %2; %4 = gt.bool %3 0.5; output %3; output %4"
    out, above = chain([x, of], text)
    assert not above.requires_grad
    assert torch.equal(torch.autograd.grad(out.sum(), x)[0], of.float().expand(3, 5))


def test_as_large_as_a_region_may_be(device):
    # 24 inputs, more gradients than a region has outputs, and 232 operators, whose backward has several times as many.
    count, unary = 24, ("sin", "silu", "tanh", "gelu")
    lines = [f"%{count + i} = tanh.{{t}} %{i}" for i in range(count)]
    lines += [f"%{2 * count + i} = mul.{{t}} %{count + i} %{(i + 1) % count}" for i in range(count)]
    products, last = 2 * count, 3 * count - 1
    for i in range(1, count):
        lines.append(f"%{last + i} = add.{{t}} %{products if i == 1 else last + i - 1} %{products + i}")
    last += count - 1
    for i in range(161):
        lines.append(f"%{last + 1 + i} = {unary[i % 4]}.{{t}} %{last + i}")
    lines += [f"output %{products + i}" for i in range(7)] + [f"output %{last + 161}"]
    x = leaves([(3, 5)] * count, torch.float64, device)
    t = [torch.tanh(x[i]) * x[(i + 1) % count] for i in range(count)]
    y = sum(t[1:], t[0])
    for i in range(161):
        y = getattr(torch if unary[i % 4] in ("sin", "tanh") else torch.nn.functional, unary[i % 4])(y)
    out = chain(x, region("\n".join(lines), count, "f64"))
    for mine, theirs in zip(gradients(out, x), gradients([*t[:7], y], x)):
        torch.testing.assert_close(mine, theirs, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name,eager", [("abs", torch.abs), ("relu", torch.relu)])
def test_zero_and_nan_as_eager(name, eager, device):
    x = torch.tensor([[-2.0, -0.0, 0.0, 3.0, torch.nan, torch.inf]], device=device).requires_grad_()
    mine, = torch.autograd.grad(chain([x], region(f"%1 = {name}.f32 %0", 1, "f32"))[0].sum(), x)
    want, = torch.autograd.grad(eager(x).sum(), x)
    torch.testing.assert_close(mine, want, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("name", ["maximum", "minimum"])
def test_nan_passes_both_ways_as_in_eager(name, device):
    x = torch.tensor([[1.0, torch.nan, 2.0, torch.nan, 3.0, 5.0]], device=device).requires_grad_()
    y = torch.tensor([[2.0, 1.0, torch.nan, torch.nan, 3.0, 4.0]], device=device).requires_grad_()
    mine = torch.autograd.grad(chain([x, y], region(f"%2 = {name}.f32 %0 %1", 2, "f32"))[0].sum(), (x, y))
    want = torch.autograd.grad(getattr(torch, name)(x, y).sum(), (x, y))
    assert torch.equal(mine[0], want[0]) and torch.equal(mine[1], want[1])


@pytest.mark.parametrize("dtype,kind", [(torch.bfloat16, "bf16"), (torch.float16, "f16")])
def test_a_bound_is_compared_as_it_was_rounded(dtype, kind, device):
    # 0.1 as bf16 is more than 0.1, as fp16 it is less: elements that lie on the bound keep their gradients.
    x = torch.tensor([[-0.3, -0.1, 0.05, 0.1, 0.2]], dtype=dtype, device=device).requires_grad_()
    mine, = torch.autograd.grad(chain([x], region("%1 = clamp.{t} %0 -0.1 0.1", 1, kind))[0].sum(), x)
    want, = torch.autograd.grad(x.clamp(-0.1, 0.1).sum(), x)
    assert want.tolist() == [[0, 1, 1, 1, 0]] and torch.equal(mine, want)


def test_minus_zero_stays_itself(device):
    x = torch.tensor([[-0.0]], device=device).requires_grad_()
    mine, = torch.autograd.grad(chain([x], region("%1 = add.f32 %0 -0.0\n%2 = pow.f32 %1 -2", 1, "f32"))[0].sum(), x)
    assert mine.item() == torch.inf  # -2 / x^3


COMMA = """
import locale, sys, torch
locale.setlocale(locale.LC_ALL, "de_DE.UTF-8")
assert locale.localeconv()["decimal_point"] == ","
torch.ops.load_library(sys.argv[1])
x = torch.ones(1, 3, requires_grad=True)
y, = torch.ops.fusescope.pointwise_chain([x], "%0 = input f32; %1 = add.f32 %0 0.25 alpha=0.5; %2 = gelu.f32 %1; output %2")
y.sum().backward()
"""


def test_where_a_comma_is_the_decimal_point(tmp_path):
    made = shutil.which("localedef") and subprocess.run(
        ["localedef", "-i", "de_DE", "-f", "UTF-8", tmp_path / "de_DE.UTF-8"], capture_output=True).returncode == 0
    if not made:
        pytest.skip("localedef cannot make de_DE.UTF-8 here (package locales)")
    subprocess.run([sys.executable, "-c", COMMA, LIBRARY], check=True, env=dict(os.environ, LOCPATH=str(tmp_path)))


def test_a_bound_has_none(device):
    x, low = leaves([(3, 4), (3, 4)], torch.float32, device)
    out = chain([x, low], region("%2 = clamp.{t} %0 %1 none", 2, "f32"))[0]
    with pytest.raises(RuntimeError, match="no gradient of a bound of clamp"):
        out.sum().backward()


@pytest.mark.parametrize("name", REGIONS)
def test_against_differences(name):
    body, shapes, _ = REGIONS[name]
    x = leaves(shapes, torch.float64, "cpu")
    text = region(body.replace(".f32", ".f64"), len(x), "f64")
    assert torch.autograd.gradcheck(lambda *t: tuple(chain(list(t), text)), x)
    assert torch.autograd.gradgradcheck(lambda *t: tuple(chain(list(t), text)), x)


@pytest.mark.parametrize("kind", ["f32", "bf16"])
@pytest.mark.parametrize("name", REGIONS)
def test_the_compiler_takes_it(name, kind):
    body, shapes, _ = REGIONS[name]
    dtype = {"f32": torch.float32, "bf16": torch.bfloat16}[kind]
    x = leaves(shapes, dtype, "cpu")
    text = region(body, len(x), kind)
    backward, used, of, _ = ops.pointwise_chain_gradient(x, text)
    taken = (x + chain(x, text))
    assert sorted(of) == list(range(len(x)))
    assert ops.pointwise_chain_binary([taken[i].detach() for i in used], backward, 90).numel() > 0


def test_traced(device):
    body, shapes, _ = REGIONS["rms_norm"]
    x = leaves(shapes, torch.float32, device)
    text = region(body, 2, "f32")
    opcheck(chain.default, (x, text))
    compiled = torch.compile(lambda *t: chain(list(t), text)[0] * 2, backend="aot_eager", fullgraph=True)
    mine, want = gradients([compiled(*x)], x), gradients([chain(x, text)[0] * 2], x)
    assert all(torch.equal(a, b) for a, b in zip(mine, want))
