# SPDX-License-Identifier: Apache-2.0
import pytest
import torch
from checking import assert_close, differing, layouts, poison
from test_rms_norm import DTYPES, EPS, eager, truth

ops = torch.ops.fusescope
SHAPES = [(1, 2), (3, 7), (5, 128), (2, 3, 64), (33, 1000), (9, 4096), (3, 5120), (2, 16384), (1, 40000), (5, 30, 128), (400, 1024), (66, 8192), (0, 128)]


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_values(device, shape, dtype, fast):
    for name, x in layouts(shape, dtype, device):
        residual = torch.randn(shape, device=device).to(dtype)
        weight = torch.rand(shape[-1], device=device).add(0.5).to(dtype)
        dy, dsum = (torch.randn(shape, device=device).to(dtype) for _ in range(2))
        want_sum = (x.float() + residual.float()).to(dtype)
        want_y, want_dx, want_dw = truth(want_sum, weight, dy)
        want_dx = want_dx + dsum.double()
        poison(device)
        leaves = [t.detach().requires_grad_() for t in (x, residual, weight)]
        y, total = ops.add_rms_norm(*leaves, EPS, fast)
        dx, dr, dw = torch.autograd.grad((y, total), leaves, (dy, dsum))
        assert torch.equal(total, want_sum), name
        assert torch.equal(dx, dr)
        assert_close(y, want_y, name=f"y, {name}")
        assert_close(dx, want_dx, name=f"dx, {name}", factor=2, scale=dy.double().norm() / 10)
        assert_close(dw, want_dw, name=f"dweight, {name}", factor=2)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", DTYPES[:2])
def test_rounds_as_the_framework(dtype):
    x, residual = (torch.randn(64, 4096, device="cuda").to(dtype).requires_grad_() for _ in range(2))
    weight = torch.rand(4096, device="cuda").to(dtype)
    dy, dsum = (torch.randn(64, 4096, device="cuda").to(dtype) for _ in range(2))
    y, total = ops.add_rms_norm(x, residual, weight)
    their_total = x + residual
    their_y = eager(their_total, weight)
    limit = 2e-3
    assert torch.equal(total, their_total)
    assert differing(y, their_y) <= limit
    ours = torch.autograd.grad((y, total), x, (dy, dsum))[0]
    theirs = torch.autograd.grad((their_y, their_total), x, (dy, dsum))[0]
    assert differing(ours, theirs) <= 10 * limit


def test_one_output_alone_has_a_gradient(device):
    x, residual = (torch.randn(4, 64, device=device, requires_grad=True) for _ in range(2))
    weight = torch.rand(64, device=device)
    y, total = ops.add_rms_norm(x, residual, weight)
    dy = torch.randn_like(y)
    assert torch.equal(torch.autograd.grad(total, x, dy, retain_graph=True)[0], dy)
    want = truth((x + residual).detach(), weight, dy)[1]
    assert_close(torch.autograd.grad(y, residual, dy)[0], want)


def test_gradients_against_differences():
    x, residual = (torch.randn(5, 12, dtype=torch.float64, requires_grad=True) for _ in range(2))
    weight = torch.rand(12, dtype=torch.float64, requires_grad=True)
    torch.autograd.gradcheck(lambda a, b, c: ops.add_rms_norm(a, b, c, 1e-3), (x, residual, weight), atol=1e-5)


def test_refuses_what_does_not_fit(device):
    x, weight = torch.randn(3, 8, device=device), torch.ones(8, device=device)
    with pytest.raises(RuntimeError, match="residual like x"):
        ops.add_rms_norm(x, x[:2], weight)
    with pytest.raises(RuntimeError, match="residual like x"):
        ops.add_rms_norm(x, x.half(), weight)


def test_operator_contract(device):
    x, residual = (torch.randn(6, 64, device=device, requires_grad=True) for _ in range(2))
    weight = torch.rand(64, device=device, requires_grad=True)
    torch.library.opcheck(ops.add_rms_norm.default, (x, residual, weight, EPS, False))
    torch.library.opcheck(ops.add_rms_norm.default, (x.detach(), residual.detach(), weight.detach(), EPS, False))


def test_without_a_gradient_the_same_bits(device):
    x, residual = (torch.randn(5, 96, device=device).bfloat16() for _ in range(2))
    weight = torch.rand(96, device=device).bfloat16()
    poison(device)
    want = ops.add_rms_norm_forward(x, residual, weight, EPS, False)
    assert all(torch.equal(a, b) for a, b in zip(ops.add_rms_norm(x, residual, weight, EPS, False), want))
