# SPDX-License-Identifier: Apache-2.0
"""Regions of pointwise_chain made at random, and their backwards, beside autograd through the same operators."""
import random

import pytest
import torch
from regions import UNARY

chain = torch.ops.fusescope.pointwise_chain
SMOOTH = ("neg", "abs", "tanh", "sigmoid", "silu", "gelu", "gelu_tanh", "relu", "erf", "square", "sin", "cos")
POSITIVE = ("reciprocal", "sqrt", "rsqrt", "log", "log1p")
REDUCTIONS = {"sum": torch.sum, "mean": torch.mean, "amax": torch.amax}
# Lanes of a warp, blocks, rows that a block walks over, and those that cannot be read by 16 bytes.
WIDTHS = (1, 2, 6, 37, 64, 200, 1024, 1030, 9000)


class Maker:
    """A region's lines, and beside each what eager PyTorch makes of it."""

    def __init__(self, rng, device):
        self.rng = rng
        width = rng.choice(WIDTHS)
        rows = rng.choice(((1,), (7,), (3, 5), (2, 1, 3), (40,)) if width < 1000 else ((1,), (5,), (2, 2)))
        self.region = (*rows, width)
        kinds = [self.region, self.region, self.region[1:], (width,), (1, width), (*rows, 1), (1,), ()]
        shapes = [self.region] + [rng.choice(kinds) for _ in range(rng.randrange(4))]
        rng.shuffle(shapes)
        self.inputs = [torch.randn(s, dtype=torch.float64, device=device).requires_grad_(rng.random() < 0.8) for s in shapes]
        self.lines, self.values = ["input f64"] * len(shapes), list(self.inputs)

    def emit(self, line, value):
        self.lines.append(line)
        self.values.append(value)
        return len(self.values) - 1

    def pick(self):
        """A node: any, or one of the last."""
        at = self.rng.randrange(-len(self.values) if self.rng.random() < 0.5 else -min(4, len(self.values)), 0)
        at += len(self.values)
        return at if self.values[at].is_floating_point() and self.values[at].dim() > 0 else self.whole()

    def whole(self):
        return self.rng.choice([i for i, v in enumerate(self.values) if v.shape == self.region and v.is_floating_point()])

    def unary(self, name, a):
        return self.emit(f"{name}.f64 %{a}", UNARY[name](self.values[a]))

    def binary(self, name, a, b):
        return self.emit(f"{name}.f64 %{a} %{b}", getattr(torch, name)(self.values[a], self.values[b]))

    def plus(self, a, number):
        return self.emit(f"add.f64 %{a} {number}", self.values[a] + number)

    def positive(self, a):
        return self.plus(self.unary("square", a), 0.7)

    def reduce(self, name, a):
        return self.emit(f"{name}.f64 %{a}", REDUCTIONS[name](self.values[a], -1, keepdim=True))

    def softmax(self, a):
        parts = [self.unary("tanh", a)]
        if self.rng.random() < 0.7:
            parts.append(self.reduce("amax", parts[0]))
            parts.append(self.binary("sub", parts[0], parts[1]))
        parts.append(self.unary("exp", parts[-1]))
        parts.append(self.reduce("sum", parts[-1]))
        y = self.binary("div", parts[-2], parts[-1])
        # A part that serves something else as well.
        return y if self.rng.random() < 0.6 else self.binary("mul", self.rng.choice(parts), y)

    def step(self):
        rng, a, b = self.rng, self.pick(), self.pick()
        value = self.values
        match rng.randrange(10):
            case 0 | 1: self.unary(rng.choice(SMOOTH), a)
            case 2: self.unary(rng.choice(POSITIVE), self.positive(a))
            case 3: self.binary(rng.choice(("add", "sub", "mul", "minimum", "maximum")), a, b)
            case 4: self.binary("div", a, self.positive(b))
            case 5: self.emit(f"sub.f64 %{a} %{b} alpha=0.5", torch.sub(value[a], value[b], alpha=0.5))
            case 6: self.unary("tanh", self.reduce(rng.choice(tuple(REDUCTIONS)), a))
            case 7: self.softmax(a)
            case 8:
                test = self.emit(f"gt.bool %{a} 0.11", value[a] > 0.11)
                self.emit(f"where.f64 %{test} %{b} -0.3", torch.where(value[test], value[b], -0.3))
            case 9: self.binary("mul", a, self.unary("rsqrt", self.plus(self.reduce("mean", self.unary("square", a)), 0.3)))

    def finish(self):
        """The text and what its outputs are: whatever nothing uses, and sums over rows."""
        used = {int(w[1:]) for line in self.lines for w in line.split() if w[0] == "%"}
        last = self.whole()
        for i in range(len(self.lines)):
            if i not in used and i != last:
                last = self.binary("add", last, i)
        outputs = {(self.unary(self.rng.choice(("silu", "neg")), last), False)}
        for _ in range(self.rng.randrange(4)):
            rows = [i for i in range(len(self.inputs), len(self.values)) if self.values[i].shape == (*self.region[:-1], 1)
                    and self.values[i].is_floating_point()]
            outputs.add((self.rng.choice(rows), False) if rows and self.rng.random() < 0.3 else (self.whole(), True))
        if self.rng.random() < 0.2:  # nothing but sums
            outputs = {(i, True) for i, _ in outputs if self.values[i].shape == self.region}
        outputs = sorted(outputs)
        text = "\n".join([f"%{i} = {line}" for i, line in enumerate(self.lines)] +
                         [f"output %{i}" + " summed" * summed for i, summed in outputs])
        return text, [self.values[i].flatten(0, -2).sum(0) if summed else self.values[i] for i, summed in outputs]


def close(mine, want):
    want = torch.zeros_like(mine) if want is None else want
    scale = max(1.0, want.abs().max().item())
    torch.testing.assert_close(mine / scale, want / scale, rtol=1e-8, atol=1e-9)


def gradients(outputs, inputs, given, again):
    """The first derivatives, and `again` the second ones after them."""
    first = torch.autograd.grad(outputs, inputs, given, allow_unused=True, create_graph=again)
    if not again:
        return first
    whole = sum((t * torch.linspace(-1, 1, t.numel(), device=t.device).view(t.shape)).sum() for t in first if t is not None)
    if not torch.is_tensor(whole) or not whole.requires_grad:
        return first
    return *first, *torch.autograd.grad(whole, inputs, allow_unused=True)


@pytest.mark.parametrize("seed", range(80))
def test_as_eager(seed, device):
    rng = random.Random(seed)
    maker = Maker(rng, device)
    for _ in range(rng.randrange(2, 9)):
        maker.step()
    text, want = maker.finish()
    x = [t.detach().requires_grad_(t.requires_grad) for t in maker.inputs]
    mine = chain(x, text)
    for m, w in zip(mine, want):
        assert m.shape == w.shape
        close(m.detach(), w.detach())
    at = [i for i, w in enumerate(want) if w.requires_grad]
    leaves, exact = ([t for t in many if t.requires_grad] for many in (x, maker.inputs))
    if not at or not leaves:
        return
    given = [torch.randn_like(want[i]) for i in at]
    again = seed % 4 == 0
    found = gradients([mine[i] for i in at], leaves, given, again)
    for m, w in zip(found, gradients([want[i] for i in at], exact, given, again)):
        if m is not None:
            close(m.detach(), w if w is None else w.detach())
        else:
            assert w is None or not w.any()
