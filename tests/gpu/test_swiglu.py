# SPDX-License-Identifier: Apache-2.0
import pytest
import torch
import torch.nn.functional as F
from checking import assert_close, differing, layouts, poison

ops = torch.ops.fusescope
DTYPES = [torch.bfloat16, torch.float16, torch.float32]
SHAPES = [(1, 1), (3, 7), (5, 128), (2, 3, 64), (4, 2, 8, 128), (33, 1000), (9, 12288), (2, 8200), (1, 3072), (3000, 8), (700, 1001),
          (0, 128), (4, 0, 64), (3, 0)]


def truth(gate, up, dh):
    """In fp64: h, dgate, dup."""
    gate, up = gate.detach().double().requires_grad_(), up.detach().double().requires_grad_()
    h = F.silu(gate) * up
    return (h.detach(), *torch.autograd.grad(h, (gate, up), dh.double()))


def eager(gate, up, dh):
    gate, up = gate.detach().requires_grad_(), up.detach().requires_grad_()
    h = F.silu(gate) * up
    return (h.detach(), *torch.autograd.grad(h, (gate, up), dh))


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_values(device, shape, dtype, fast):
    for (name, gate), (_, up) in zip(layouts(shape, dtype, device), layouts(shape, dtype, device)):
        dh = torch.randn(shape, device=device).to(dtype)
        want = truth(gate, up, dh)
        poison(device)
        gate, up = gate.detach().requires_grad_(), up.detach().requires_grad_()
        h = ops.swiglu(gate, up, fast)
        got = h, *torch.autograd.grad(h, (gate, up), dh)
        for what, a, b in zip(("h", "dgate", "dup"), got, want):
            assert a.dtype == dtype
            assert_close(a, b, name=f"{what}, {name}")


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_packed(device, shape, dtype, fast):
    """The same numbers as with gate and up apart."""
    width = shape[-1]
    for name, packed in layouts((*shape[:-1], 2 * width), dtype, device):
        dh = torch.randn(shape, device=device).to(dtype)
        gate, up = packed[..., :width], packed[..., width:]
        apart = ops.swiglu(gate, up, fast), *ops.swiglu_backward(dh, gate, up, fast)
        poison(device)
        leaf = packed.detach().requires_grad_()
        h = ops.swiglu_packed(leaf, fast)
        gradient = torch.autograd.grad(h, leaf, dh)[0]
        assert torch.equal(h, apart[0]), name
        assert torch.equal(gradient, torch.cat(apart[1:], -1)), name


@pytest.mark.parametrize("dtype", DTYPES)
def test_mixed_layouts(device, dtype):
    """One tensor with gaps between its rows makes the walk go by rows for all."""
    width = 264
    packed = torch.randn(4, 50, 2 * width, device=device).to(dtype)
    heads = torch.randn(50, 4, width, device=device).to(dtype).transpose(0, 1)
    flat, dh = torch.randn(4, 50, width, device=device).to(dtype), torch.randn(4, 50, width, device=device).to(dtype)
    for gate, up in [(packed[..., :width], flat), (flat, packed[..., width:]), (heads, packed[..., :width]), (flat, heads)]:
        got = ops.swiglu(gate, up), *ops.swiglu_backward(dh, gate, up, False)
        for a, b in zip(got, truth(gate, up, dh)):
            assert_close(a, b)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("scale", [1, 10, 60])
@pytest.mark.parametrize("shape", [(512, 12288), (100, 1000), (31, 77)])
def test_rounds_as_the_framework(shape, dtype, scale):
    gate, up, dh = (torch.randn(shape, device="cuda").mul(scale).to(dtype) for _ in range(3))
    got = ops.swiglu(gate, up), *ops.swiglu_backward(dh, gate, up, False)
    for name, a, b in zip(("h", "dgate", "dup"), got, eager(gate, up, dh)):
        assert differing(a, b) == 0, name


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_every_half_precision_gate(dtype):
    """All 65536 bit patterns, the infinities and NaNs among them, with the framework's bits and the sign of zeros."""
    gate = torch.arange(1 << 16, device="cuda", dtype=torch.int32).to(torch.int16).view(dtype)
    for value in (1.0, -0.625, 300.0):
        up = torch.full_like(gate, value)
        dh = torch.full_like(gate, 1.5)
        # Alone, so that one value that needs care does not take its neighbours with it, and side by side.
        for spread in (1, 8):
            g = torch.ones(gate.numel() * spread, device="cuda", dtype=dtype)
            g[::spread] = gate
            u, d = up.repeat_interleave(spread), dh.repeat_interleave(spread)
            got = ops.swiglu(g, u), *ops.swiglu_backward(d, g, u, False)
            for name, a, b in zip(("h", "dgate", "dup"), got, eager(g, u, d)):
                assert differing(a, b) == 0, name
                assert differing(a.signbit()[~a.isnan()], b.signbit()[~a.isnan()]) == 0, name


@pytest.mark.gpu
def test_fp32_gates_of_all_sizes():
    """Random bit patterns: denormals, huge values, NaNs."""
    gate = torch.randint(-(1 << 31), (1 << 31) - 1, (1 << 22,), device="cuda", dtype=torch.int64).to(torch.int32).view(torch.float32)
    near = torch.empty(1 << 22, device="cuda").uniform_(-90, 90)
    for g in (gate, near):
        up, dh = torch.randn_like(near), torch.randn_like(near)
        got = ops.swiglu(g, up), *ops.swiglu_backward(dh, g, up, False)
        for name, a, b in zip(("h", "dgate", "dup"), got, eager(g, up, dh)):
            assert differing(a, b) == 0, name


def test_extreme_values(device):
    gate = torch.tensor([0.0, -0.0, 1e-40, 80, -80, 89, -89, -104, 3e38, -3e38, float("inf"), -float("inf"), float("nan")], device=device)
    up = torch.ones_like(gate)
    h = ops.swiglu(gate, up)
    assert h[:2].tolist() == [0, 0] and bool(h[1].signbit()) and float(h[3]) == 80 and float(h[10]) == float("inf")
    assert bool(h[11:].isnan().all()) and bool(h[:11].isnan().logical_not().all())
    if device == "cuda":
        for a, b in zip((h, *ops.swiglu_backward(up, gate, up, False)), eager(gate, up, up)):
            assert differing(a, b) == 0


def test_gradients_against_differences():
    gate = torch.randn(5, 6, dtype=torch.float64, requires_grad=True)
    up = torch.randn(5, 6, dtype=torch.float64, requires_grad=True)
    packed = torch.randn(2, 3, 8, dtype=torch.float64, requires_grad=True)
    torch.autograd.gradcheck(ops.swiglu, (gate, up))
    torch.autograd.gradcheck(ops.swiglu_packed, (packed,))


@pytest.mark.gpu
def test_repeats_bit_for_bit():
    gate, up, dh = (torch.randn(3000, 3072, device="cuda", dtype=torch.bfloat16) for _ in range(3))
    first = ops.swiglu(gate, up), *ops.swiglu_backward(dh, gate, up, False)
    for _ in range(20):
        again = ops.swiglu(gate, up), *ops.swiglu_backward(dh, gate, up, False)
        assert all(torch.equal(a, b) for a, b in zip(first, again))


@pytest.mark.gpu
def test_many_streams():
    inputs = [torch.randn(500 + i, 2048, device="cuda").bfloat16() for i in range(16)]
    torch.cuda.synchronize()
    outputs = []
    for x in inputs:
        with torch.cuda.stream(torch.cuda.Stream()):
            outputs.append(ops.swiglu_packed(x))
    torch.cuda.synchronize()
    for x, h in zip(inputs, outputs):
        assert torch.equal(h, ops.swiglu_packed(x))


@pytest.mark.gpu
@pytest.mark.large
@pytest.mark.parametrize("width", [4096, 4095])
def test_more_than_two_to_the_31_elements(width):
    """Vectors and single elements, as one run and by rows."""
    rows = (1 << 31) // width + 5
    packed = torch.randn(rows, 2 * width, device="cuda", dtype=torch.bfloat16)
    h = ops.swiglu_packed(packed)
    gradient = ops.swiglu_packed_backward(h, packed, False)
    for part in (slice(0, 3), slice(rows // 2, rows // 2 + 3), slice(rows - 3, rows)):
        gate, up = packed[part, :width], packed[part, width:]
        want = truth(gate, up, h[part])
        assert_close(h[part], want[0])
        assert_close(gradient[part], torch.cat(want[1:], -1))
    del gradient, packed
    run = ops.swiglu(h, h)
    assert_close(run[-3:], truth(h[-3:], h[-3:], h[-3:])[0])


def test_refuses_what_does_not_fit(device):
    x = torch.randn(3, 8, device=device)
    with pytest.raises(RuntimeError, match="one shape"):
        ops.swiglu(x, x[:, :4])
    with pytest.raises(RuntimeError, match="one type"):
        ops.swiglu(x, x.half())
    with pytest.raises(RuntimeError, match="side by side"):
        ops.swiglu_packed(x[:, :5])
    with pytest.raises(RuntimeError, match="dh of shape"):
        ops.swiglu_packed_backward(x, x, False)


def test_meta():
    gate = torch.empty(2, 3, 64, device="meta", dtype=torch.bfloat16)
    assert ops.swiglu(gate, gate).shape == (2, 3, 64)
    h = ops.swiglu_packed(gate)
    assert h.shape == (2, 3, 32) and h.dtype == torch.bfloat16


def test_operator_contract(device):
    """Schema, fake tensors, autograd registration and tracing with dynamic shapes, by PyTorch's own checks."""
    gate, up = torch.randn(6, 64, device=device, requires_grad=True), torch.randn(6, 64, device=device, requires_grad=True)
    torch.library.opcheck(ops.swiglu.default, (gate, up, False))
    torch.library.opcheck(ops.swiglu_packed.default, (gate, False))
    torch.library.opcheck(ops.swiglu_backward.default, (gate.detach(), gate.detach(), up.detach(), False))
    torch.library.opcheck(ops.swiglu_packed_backward.default, (up.detach()[:, :32], gate.detach(), False))
