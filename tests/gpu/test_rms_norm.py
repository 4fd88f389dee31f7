# SPDX-License-Identifier: Apache-2.0
import threading

import pytest
import torch
from checking import assert_close, differing, layouts, poison

ops = torch.ops.fusescope
DTYPES = [torch.bfloat16, torch.float16, torch.float32]
SHAPES = [(1, 1), (3, 7), (5, 128), (2, 3, 64), (4, 2, 8, 128), (7, 256), (33, 1000), (9, 4096), (3, 5120), (2, 8200), (300, 1024),
          (3, 16384), (2, 40000), (130, 64), (5, 30, 128), (140, 256), (400, 1024), (66, 8192), (0, 128), (4, 0, 64), (3, 0)]
EPS = 1e-6


def eager(x, weight, eps=EPS):
    """transformers' Qwen3RMSNorm, from its definition: fp32 inside, rounded, then the weight."""
    h = x.to(torch.float32)
    h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + eps)
    return weight * h.to(x.dtype)


def truth(x, weight, dy=None, eps=EPS):
    """In fp64: y, and dx, dweight when dy is given."""
    x, weight = x.detach().double().requires_grad_(), weight.detach().double().requires_grad_()
    y = weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps))
    if dy is None:
        return y.detach()
    return (y.detach(), *torch.autograd.grad(y, (x, weight), dy.double()))


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_values(device, shape, dtype, fast):
    for name, x in layouts(shape, dtype, device):
        weight = torch.rand(shape[-1], device=device).add(0.5).to(dtype)
        dy = torch.randn(shape, device=device).to(dtype)
        want_y, want_dx, want_dw = truth(x, weight, dy)
        poison(device)
        leaf, w = x.detach().requires_grad_(), weight.clone().requires_grad_()
        y = ops.rms_norm(leaf, w, EPS, fast)
        dx, dw = torch.autograd.grad(y, (leaf, w), dy)
        assert y.dtype == dtype and dx.dtype == dtype and dw.dtype == dtype
        assert_close(y, want_y, name=f"y, {name}")
        assert_close(dx, want_dx, name=f"dx, {name}", factor=2, scale=dy.double().norm() / 10)
        assert_close(dw, want_dw, name=f"dweight, {name}", factor=2)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_fp32_weight_promotes(device, dtype):
    x, weight = torch.randn(40, 4096, device=device).to(dtype), torch.rand(4096, device=device)
    y = ops.rms_norm(x, weight)
    assert y.dtype == torch.float32
    assert_close(y, truth(x, weight), dtype=dtype)
    dy = torch.randn_like(y)
    _, rstd = ops.rms_norm_forward(x, weight, EPS, False)
    dx, dw = ops.rms_norm_backward(dy, x, weight, rstd, EPS, False)
    assert dx.dtype == dtype and dw.dtype == torch.float32
    _, want_dx, want_dw = truth(x, weight, dy)
    assert_close(dx, want_dx, factor=2)
    assert_close(dw, want_dw, dtype=dtype)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", DTYPES[:2])  # in fp32 the order of the sum alone moves most last bits: test_values
@pytest.mark.parametrize("shape", [(64, 4096), (4096, 128), (100, 1000), (31, 5120)])
def test_rounds_as_the_framework(shape, dtype):
    """Bit for bit, but where the order of the fp32 sum moves rstd by its last bit and a rounding with it."""
    x, weight = torch.randn(shape, device="cuda").to(dtype), torch.rand(shape[-1], device="cuda").to(dtype)
    x, weight = x.requires_grad_(), weight.requires_grad_()
    dy = torch.randn(shape, device="cuda").to(dtype)
    ours, theirs = ops.rms_norm(x, weight), eager(x, weight)
    limit = 2e-3
    assert differing(ours, theirs) <= limit
    dx = torch.autograd.grad(ours, x, dy)[0], torch.autograd.grad(theirs, x, dy)[0]
    assert differing(*dx) <= 10 * limit


def test_extreme_values(device):
    x = torch.tensor([[0.0, 0, 0, 0], [3e38, 3e38, 0, 0], [1e-30, 0, 0, 0], [float("inf"), 1, 2, 3], [float("nan"), 1, 2, 3]],
                     device=device, dtype=torch.float32)
    weight = torch.ones(4, device=device)
    out = ops.rms_norm(x, weight)
    if device == "cuda":
        assert differing(out, eager(x, weight)) == 0
    assert bool(torch.isnan(out[4]).all()) and bool(torch.isnan(out[3, 0]))
    assert out[0].tolist() == [0, 0, 0, 0]


def test_gradients_against_differences():
    x = torch.randn(5, 12, dtype=torch.float64, requires_grad=True)
    weight = torch.rand(12, dtype=torch.float64, requires_grad=True)
    torch.autograd.gradcheck(lambda a, b: ops.rms_norm(a, b, 1e-3), (x, weight), atol=1e-5)


@pytest.mark.gpu
def test_repeats_bit_for_bit():
    x, weight = torch.randn(3000, 4096, device="cuda", dtype=torch.bfloat16), torch.rand(4096, device="cuda").bfloat16()
    dy = torch.randn_like(x)
    y, rstd = ops.rms_norm_forward(x, weight, EPS, False)
    dx, dw = ops.rms_norm_backward(dy, x, weight, rstd, EPS, False)
    for _ in range(20):
        assert torch.equal(y, ops.rms_norm_forward(x, weight, EPS, False)[0])
        again = ops.rms_norm_backward(dy, x, weight, rstd, EPS, False)
        assert torch.equal(dx, again[0]) and torch.equal(dw, again[1])


@pytest.mark.gpu
def test_many_streams():
    weight = torch.rand(1024, device="cuda").bfloat16()
    inputs = [torch.randn(500 + i, 1024, device="cuda").bfloat16() for i in range(16)]
    torch.cuda.synchronize()
    outputs = []
    for x in inputs:
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            outputs.append(ops.rms_norm(x, weight))
    torch.cuda.synchronize()
    for x, y in zip(inputs, outputs):
        assert_close(y, truth(x, weight))


@pytest.mark.gpu
def test_many_threads_with_rows_of_different_widths():
    # Each width lets the one kernel have another amount of shared memory.
    widths, failures, start = (2560, 4096, 6144, 8192), [], threading.Barrier(4)
    made = []
    for width in widths:
        x, weight = torch.randn(600, width, device="cuda").bfloat16(), torch.rand(width, device="cuda").bfloat16()
        y, rstd = ops.rms_norm_forward(x, weight, EPS, False)
        made.append((y, x, weight, rstd, *ops.rms_norm_backward(y, x, weight, rstd, EPS, False)))
    torch.cuda.synchronize()

    def work(dy, x, weight, rstd, dx, dweight):
        try:
            start.wait()
            with torch.cuda.stream(torch.cuda.Stream()):
                for _ in range(200):
                    again = ops.rms_norm_backward(dy, x, weight, rstd, EPS, False)
                torch.cuda.current_stream().synchronize()
            assert torch.equal(again[0], dx) and torch.equal(again[1], dweight)
        except Exception as e:  # reported by the thread that joins
            failures.append(e)

    threads = [threading.Thread(target=work, args=m) for m in made]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not failures, failures[0]


@pytest.mark.gpu
@pytest.mark.large
def test_more_than_two_to_the_31_elements():
    rows = (1 << 31) // 4096 + 3
    x = torch.randn(rows, 4096, device="cuda", dtype=torch.bfloat16)
    weight = torch.rand(4096, device="cuda").bfloat16()
    y, rstd = ops.rms_norm_forward(x, weight, EPS, False)
    tail = slice(rows - 5, rows)
    assert_close(y[tail], truth(x[tail], weight))
    dx, _ = ops.rms_norm_backward(y, x, weight, rstd, EPS, False)
    assert_close(dx[tail], truth(x[tail], weight, y[tail])[1], factor=2)


@pytest.mark.parametrize("rows", [3, 300])
def test_a_frozen_weight(rows, device):
    """As it is without a gradient of the weight, which nobody computes: the same bits."""
    x, weight = torch.randn(rows, 96, device=device).bfloat16().requires_grad_(), torch.rand(96, device=device).bfloat16()
    dy = torch.randn(rows, 96, device=device).bfloat16()
    dx, = torch.autograd.grad(ops.rms_norm(x, weight), x, dy)
    both = torch.autograd.grad(ops.rms_norm(x, weight.requires_grad_()), (x, weight), dy)
    assert torch.equal(dx, both[0])
    rstd = ops.rms_norm_forward(x.detach(), weight.detach(), EPS, False)[1]
    assert ops.rms_norm_backward(dy, x.detach(), weight.detach(), rstd, EPS, False, False)[1].numel() == 0
    y, total = ops.add_rms_norm(x, x.detach(), weight.detach())
    dx, = torch.autograd.grad((y, total), x, (dy, dy))
    both = torch.autograd.grad(ops.add_rms_norm(x, x.detach(), weight), (x, weight), (dy, dy))
    assert torch.equal(dx, both[0])


def test_refuses_what_does_not_fit(device):
    x = torch.randn(3, 8, device=device)
    with pytest.raises(RuntimeError, match="weight of shape"):
        ops.rms_norm(x, torch.ones(7, device=device))
    with pytest.raises(RuntimeError, match="at least one dimension"):
        ops.rms_norm(torch.tensor(1.0, device=device), torch.ones(1, device=device))
    for x_type, w_type in ((torch.float16, torch.bfloat16), (torch.float32, torch.bfloat16)):
        for where in device, "meta":
            with pytest.raises(RuntimeError, match="or float, found"):
                ops.rms_norm(torch.empty(3, 8, device=where, dtype=x_type), torch.empty(8, device=where, dtype=w_type))


@pytest.mark.gpu
def test_refuses_a_weight_elsewhere():
    with pytest.raises(RuntimeError, match="weight on cuda:0, found cpu"):
        ops.rms_norm(torch.randn(3, 8, device="cuda"), torch.ones(8))


def test_without_a_gradient_the_same_bits(device):
    x, weight = torch.randn(5, 96, device=device).bfloat16(), torch.rand(96, device=device).bfloat16()
    poison(device)
    assert torch.equal(ops.rms_norm(x, weight, EPS, False), ops.rms_norm_forward(x, weight, EPS, False)[0])
    with torch.inference_mode():
        assert torch.equal(ops.rms_norm(x, weight, EPS, False), ops.rms_norm_forward(x, weight, EPS, False)[0])


def test_meta_and_compile_shapes():
    y = ops.rms_norm(torch.empty(2, 3, 64, device="meta", dtype=torch.bfloat16), torch.empty(64, device="meta"))
    assert y.shape == (2, 3, 64) and y.dtype == torch.float32


def test_operator_contract(device):
    """Schema, fake tensors, autograd registration and tracing with dynamic shapes, by PyTorch's own checks."""
    x = torch.randn(6, 64, device=device, requires_grad=True)
    weight = torch.rand(64, device=device, requires_grad=True)
    torch.library.opcheck(ops.rms_norm.default, (x, weight, EPS, False))
    torch.library.opcheck(ops.rms_norm.default, (x.detach(), weight.detach(), EPS, False))
