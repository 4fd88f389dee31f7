# SPDX-License-Identifier: Apache-2.0
import pytest
import torch
from checking import assert_close, differing, poison, rotary_tables
from peers import qk_norm_rope as eager

ops = torch.ops.fusescope
DTYPES = [torch.bfloat16, torch.float16, torch.float32]
EPS = 1e-6
# batch, tokens, heads of q, heads of k, head_dim
SHAPES = [(1, 1, 1, 1, 2), (2, 3, 4, 2, 6), (1, 1, 32, 8, 128), (2, 17, 16, 8, 128), (3, 5, 5, 1, 64), (1, 40, 4, 4, 256),
          (2, 9, 3, 2, 96), (1, 300, 6, 2, 128), (2, 11, 2, 1, 80), (1, 2, 1, 1, 1000), (0, 4, 2, 2, 64), (2, 0, 2, 2, 128),
          (2, 5, 70, 3, 128)]


def truth(q, k, wq, wk, cos, sin, dq, dk, eps=EPS):
    """In fp64: the two results and the gradients of q, k and the weights."""
    leaves = [t.detach().double().requires_grad_() for t in (q, k, wq, wk)]

    def norm(x, weight):
        return weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps))

    def turn(x):
        half = x.shape[-1] // 2
        rotated = torch.cat((-x[..., half:], x[..., :half]), dim=-1)
        return x * cos.double().unsqueeze(2) + rotated * sin.double().unsqueeze(2)

    out = turn(norm(leaves[0], leaves[2])), turn(norm(leaves[1], leaves[3]))
    return *(t.detach() for t in out), *torch.autograd.grad(out, leaves, (dq.double(), dk.double()))


def layouts(shape, dtype, device):
    """q and k as [batch, tokens, heads, head_dim], laid out as frameworks lay them out: (name, q, k)."""
    batch, tokens, hq, hk, dim = shape

    def randn(*size):
        return torch.randn(*size, device=device).to(dtype)

    yield "contiguous", randn(batch, tokens, hq, dim), randn(batch, tokens, hk, dim)
    packed = randn(batch, tokens, (hq + 2 * hk) * dim)
    yield "packed", packed[..., :hq * dim].unflatten(-1, (hq, dim)), packed[..., hq * dim:(hq + hk) * dim].unflatten(-1, (hk, dim))
    yield "heads before tokens", randn(batch, hq, tokens, dim).transpose(1, 2), randn(batch, hk, tokens, dim).transpose(1, 2)
    wide = randn(batch, tokens, hq + hk, dim + 1)[..., 1:]
    yield "misaligned by one element", wide[:, :, :hq], wide[:, :, hq:]
    every = randn(batch, tokens, hq + hk, 2 * dim)[..., ::2]
    yield "every second element", every[:, :, :hq], every[:, :, hq:]


def weights(dim, dtype, device):
    return [torch.rand(dim, device=device).add(0.5).to(dtype) for _ in range(2)]


def gradients(shape, dtype, device, heads_first):
    """Gradients as attention leaves them: in memory either heads or tokens first."""
    batch, tokens, hq, hk, dim = shape
    if heads_first:
        return tuple(torch.randn(batch, h, tokens, dim, device=device).to(dtype).transpose(1, 2) for h in (hq, hk))
    return tuple(torch.randn(batch, tokens, h, dim, device=device).to(dtype) for h in (hq, hk))


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_values(device, shape, dtype, fast):
    batch, tokens, _, _, dim = shape
    for i, (name, q, k) in enumerate(layouts(shape, dtype, device)):
        cos, sin = rotary_tables(batch if i % 2 and batch else 1, tokens, dim, dtype, device)
        dq, dk = gradients(shape, dtype, device, i % 2 == 0)
        leaves = [t.detach().requires_grad_() for t in (q, k, *weights(dim, dtype, device))]
        want = truth(*leaves, cos, sin, dq, dk)
        poison(device)
        out = ops.qk_norm_rope(*leaves, cos, sin, EPS, fast)
        grads = torch.autograd.grad(out, leaves, (dq, dk))
        for what, have, wanted in zip(("q", "k"), out, want):
            assert have.dtype == dtype and have.is_contiguous()
            assert_close(have, wanted, name=f"{what}, {name}")
        for what, have, wanted, dy in zip(("dq", "dk"), grads, want[2:], (dq, dk)):
            assert have.dtype == dtype
            assert_close(have, wanted, name=f"{what}, {name}", factor=2, scale=dy.double().norm() / 10)
        for what, have, wanted, dy in zip(("dq_weight", "dk_weight"), grads[2:], want[4:], (dq, dk)):
            assert have.dtype == dtype
            assert_close(have, wanted, name=f"{what}, {name}", factor=2, scale=dy.double().norm() / 10)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(2, 64, 16, 8, 128), (1, 100, 5, 1, 64), (1, 50, 4, 2, 256), (2, 31, 3, 2, 96)])
def test_rounds_as_the_framework(shape, dtype):
    """Bit for bit, but where the order of the fp32 sum moves rstd by its last bit and a rounding with it."""
    batch, tokens, _, _, dim = shape
    limit = 4e-3 if dtype != torch.float32 else 1.0
    for name, q, k in layouts(shape, dtype, "cuda"):
        cos, sin = rotary_tables(batch, tokens, dim, dtype, "cuda")
        dq, dk = gradients(shape, dtype, "cuda", True)
        leaves = [t.detach().requires_grad_() for t in (q, k, *weights(dim, dtype, "cuda"))]
        ours, theirs = ops.qk_norm_rope(*leaves, cos, sin), eager(*leaves, cos, sin)
        for a, b in zip(ours, theirs):
            assert differing(a, b) <= limit, name
        mine, others = torch.autograd.grad(ours, leaves, (dq, dk)), torch.autograd.grad(theirs, leaves, (dq, dk))
        for a, b in zip(mine[:2], others[:2]):
            assert differing(a, b) <= 10 * limit, name
        for a, b in zip(mine[2:], others[2:]):
            assert_close(a, b, name=name)


@pytest.mark.parametrize("fast", [False, True])
def test_tables_with_different_halves(device, fast):
    shape = (2, 5, 4, 2, 128)
    _, q, k = next(layouts(shape, torch.float32, device))
    cos, sin = torch.randn(2, 5, 128, device=device), torch.randn(2, 5, 128, device=device)
    dq, dk = gradients(shape, torch.float32, device, True)
    leaves = [t.requires_grad_() for t in (q, k, *weights(128, torch.float32, device))]
    out = ops.qk_norm_rope(*leaves, cos, sin, EPS, fast)
    grads = torch.autograd.grad(out, leaves, (dq, dk))
    for have, want in zip((*out, *grads), truth(*leaves, cos, sin, dq, dk)):
        assert_close(have, want, factor=2)


@pytest.mark.parametrize("dim", [128, 80])
def test_into_one_packed_gradient(device, dim):
    """dq and dk as views of the packed projection's gradient; v's part of it stays as it was."""
    hq, hk, shape = 6, 2, (2, 9, 6, 2, dim)
    packed = torch.randn(2, 9, (hq + 2 * hk) * dim, device=device).bfloat16()
    parts = packed.unflatten(-1, (hq + 2 * hk, dim)).split((hq, hk, hk), dim=2)
    wq, wk = weights(dim, torch.bfloat16, device)
    cos, sin = rotary_tables(1, 9, dim, torch.bfloat16, device)
    dq_out, dk_out = gradients(shape, torch.bfloat16, device, True)
    _, _, q_rstd, k_rstd = ops.qk_norm_rope_forward(parts[0], parts[1], wq, wk, cos, sin, EPS, False)
    arguments = (dq_out, dk_out, parts[0], parts[1], wq, wk, cos, sin, q_rstd, k_rstd, EPS, False)
    want = ops.qk_norm_rope_backward(*arguments)
    gradient = torch.full_like(packed, 7)
    views = gradient.unflatten(-1, (hq + 2 * hk, dim)).split((hq, hk, hk), dim=2)
    have = ops.qk_norm_rope_backward_into(*arguments, views[0], views[1])
    for a, b in zip((views[0], views[1], *have), want):
        assert torch.equal(a, b)
    assert bool((views[2] == 7).all())


def test_extreme_values(device):
    rows = torch.zeros(5, 64, device=device)
    rows[1, :2] = 3e38
    rows[2, 0] = 1e-30
    rows[3, 0], rows[3, 1] = float("inf"), 1
    rows[4, 0] = float("nan")
    x = rows.view(1, 5, 1, 64)
    ones = torch.ones(64, device=device)
    cos, sin = rotary_tables(1, 5, 64, torch.float32, device)
    out, _ = ops.qk_norm_rope(x, x, ones, ones, cos, sin)
    want, _ = eager(x, x, ones, ones, cos, sin)
    if device == "cuda":
        assert differing(out[:, [0, 1, 4]], want[:, [0, 1, 4]]) == 0
    assert bool((out[0, 0] == 0).all()) and bool(torch.isnan(out[0, 4]).all())
    assert bool(torch.isnan(out[0, 3, 0, 0])) and bool(torch.isnan(out[0, 3, 0, 32]))


def test_gradients_against_differences():
    q, k = torch.randn(2, 3, 3, 6).double().requires_grad_(), torch.randn(2, 3, 1, 6).double().requires_grad_()
    wq, wk = torch.rand(6).double().requires_grad_(), torch.rand(6).double().requires_grad_()
    cos, sin = torch.randn(1, 3, 6).double(), torch.randn(1, 3, 6).double()
    torch.autograd.gradcheck(lambda *a: ops.qk_norm_rope(*a, cos, sin, 1e-2), (q, k, wq, wk), atol=1e-5)


@pytest.mark.gpu
def test_repeats_bit_for_bit():
    shape = (2, 1500, 16, 8, 128)
    _, q, k = next(layouts(shape, torch.bfloat16, "cuda"))
    wq, wk = weights(128, torch.bfloat16, "cuda")
    cos, sin = rotary_tables(1, 1500, 128, torch.bfloat16, "cuda")
    dq, dk = gradients(shape, torch.bfloat16, "cuda", True)
    first = ops.qk_norm_rope_forward(q, k, wq, wk, cos, sin, EPS, False)
    back = ops.qk_norm_rope_backward(dq, dk, q, k, wq, wk, cos, sin, *first[2:], EPS, False)
    for _ in range(20):
        again = ops.qk_norm_rope_forward(q, k, wq, wk, cos, sin, EPS, False)
        for a, b in zip((*first, *back), (*again, *ops.qk_norm_rope_backward(dq, dk, q, k, wq, wk, cos, sin, *again[2:], EPS, False))):
            assert torch.equal(a, b)


@pytest.mark.gpu
def test_many_streams():
    cos, sin = rotary_tables(1, 64, 128, torch.bfloat16, "cuda")
    wq, wk = weights(128, torch.bfloat16, "cuda")
    inputs = [next(layouts((1, 64, 4 + i, 2, 128), torch.bfloat16, "cuda"))[1:] for i in range(16)]
    torch.cuda.synchronize()
    outputs = []
    for q, k in inputs:
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            outputs.append(ops.qk_norm_rope(q, k, wq, wk, cos, sin))
    torch.cuda.synchronize()
    for (q, k), out in zip(inputs, outputs):
        for a, b in zip(out, eager(q, k, wq, wk, cos, sin)):
            assert_close(a, b)


@pytest.mark.gpu
@pytest.mark.large
@pytest.mark.parametrize("offset", [0, 1])
def test_more_than_two_to_the_31_elements(offset):
    tokens = (1 << 31) // (32 * 128) + 5
    memory = torch.randn(tokens * 32 * 128 + 1, device="cuda", dtype=torch.bfloat16)
    q = memory[offset:offset + tokens * 32 * 128].view(1, tokens, 32, 128)
    k = q[:, :, :1]
    wq, wk = weights(128, torch.bfloat16, "cuda")
    cos, sin = rotary_tables(1, tokens, 128, torch.bfloat16, "cuda")
    q_out, k_out, q_rstd, k_rstd = ops.qk_norm_rope_forward(q, k, wq, wk, cos, sin, EPS, False)
    dq, dk, _, _ = ops.qk_norm_rope_backward(q, k, q, k, wq, wk, cos, sin, q_rstd, k_rstd, EPS, False)
    tail = slice(tokens - 5, tokens)
    want = truth(q[:, tail], k[:, tail], wq, wk, cos[:, tail], sin[:, tail], q[:, tail], k[:, tail])
    assert_close(q_out[:, tail], want[0])
    assert_close(k_out[:, tail], want[1])
    assert_close(dq[:, tail], want[2], factor=2)
    assert_close(dk[:, tail], want[3], factor=2)


def test_refuses_what_does_not_fit(device):
    q, k = torch.randn(1, 3, 4, 8, device=device), torch.randn(1, 3, 2, 8, device=device)
    cos, sin, w = torch.randn(1, 3, 8, device=device), torch.randn(1, 3, 8, device=device), torch.ones(8, device=device)
    with pytest.raises(RuntimeError, match="k_weight of shape"):
        ops.qk_norm_rope(q, k, w, w[:6], cos, sin)
    with pytest.raises(RuntimeError, match="q_weight as"):
        ops.qk_norm_rope(q, k, w.double(), w, cos, sin)
    with pytest.raises(RuntimeError, match="4 dimensions"):
        ops.qk_norm_rope(q[0], k, w, w, cos, sin)
    with pytest.raises(RuntimeError, match="sin of shape"):
        ops.qk_norm_rope(q, k, w, w, cos, sin[:, :2])


def test_meta_shapes():
    def empty(*size):
        return torch.empty(*size, device="meta", dtype=torch.bfloat16)

    q, k, w, table = empty(2, 4, 3, 64).transpose(1, 2), empty(2, 3, 2, 64), empty(64), empty(1, 3, 64)
    out = ops.qk_norm_rope(q, k, w, w, table, table)
    assert [t.shape for t in out] == [q.shape, k.shape] and all(t.is_contiguous() for t in out)
    rstd = ops.qk_norm_rope_forward(q, k, w, w, table, table, EPS, False)[2:]
    assert [t.shape for t in rstd] == [(2, 3, 4), (2, 3, 2)] and rstd[0].dtype == torch.float32


def test_operator_contract(device):
    """Schema, fake tensors, autograd registration and tracing with dynamic shapes, by PyTorch's own checks."""
    q = torch.randn(2, 4, 6, 64, device=device).transpose(1, 2).requires_grad_()
    k = torch.randn(2, 6, 2, 64, device=device, requires_grad=True)
    wq, wk = torch.rand(64, device=device, requires_grad=True), torch.rand(64, device=device, requires_grad=True)
    cos, sin = torch.randn(1, 6, 64, device=device), torch.randn(1, 6, 64, device=device)
    torch.library.opcheck(ops.qk_norm_rope.default, (q, k, wq, wk, cos, sin, EPS, False))
    inputs = [t.detach() for t in (q, k, wq, wk, cos, sin)]
    torch.library.opcheck(ops.qk_norm_rope.default, (*inputs, EPS, False))
    with_rstd = ops.qk_norm_rope_forward(*inputs, EPS, False)
    assert all(torch.equal(a, b) for a, b in zip(ops.qk_norm_rope(*inputs, EPS, False), with_rstd))
    rstd = ops.qk_norm_rope_forward(*inputs, EPS, False)[2:]
    into = torch.empty(2, 6, 4, 64, device=device), torch.empty(2, 6, 2, 64, device=device)
    torch.library.opcheck(ops.qk_norm_rope_backward_into.default, (*inputs[:2], *inputs, *rstd, EPS, False, *into))
