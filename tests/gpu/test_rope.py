# SPDX-License-Identifier: Apache-2.0
import pytest
import torch
from checking import assert_close, differing, poison, rotary_tables
from peers import rope as eager

ops = torch.ops.fusescope
DTYPES = [torch.bfloat16, torch.float16, torch.float32]
# batch, tokens, heads of q, heads of k, head_dim
SHAPES = [(1, 1, 1, 1, 2), (2, 3, 4, 2, 6), (1, 1, 32, 8, 128), (2, 17, 16, 8, 128), (3, 5, 5, 1, 64), (1, 40, 4, 4, 256),
          (2, 9, 3, 2, 96), (1, 300, 6, 2, 128), (2, 11, 2, 1, 80), (1, 2, 1, 1, 4096), (0, 4, 2, 2, 64), (2, 0, 2, 2, 64),
          (2, 5, 70, 3, 128)]


def truth(q, k, cos, sin, dq, dk, unsqueeze_dim=1):
    """In fp64: q_embed, k_embed, and the gradients of q and k."""
    q, k = q.detach().double().requires_grad_(), k.detach().double().requires_grad_()
    out = eager(q, k, cos.double(), sin.double(), unsqueeze_dim)
    return *(t.detach() for t in out), *torch.autograd.grad(out, (q, k), (dq.double(), dk.double()))


def layouts(shape, dtype, device):
    """q and k as [batch, heads, tokens, head_dim], laid out as frameworks lay them out: (name, q, k)."""
    batch, tokens, hq, hk, dim = shape

    def randn(*size):
        return torch.randn(*size, device=device).to(dtype)

    yield "heads before tokens", randn(batch, hq, tokens, dim), randn(batch, hk, tokens, dim)
    yield "views of tokens before heads", randn(batch, tokens, hq, dim).transpose(1, 2), randn(batch, tokens, hk, dim).transpose(1, 2)
    packed = randn(batch, tokens, (hq + 2 * hk) * dim)
    q, k = packed[..., :hq * dim], packed[..., hq * dim:(hq + hk) * dim]
    yield "packed", q.unflatten(-1, (hq, dim)).transpose(1, 2), k.unflatten(-1, (hk, dim)).transpose(1, 2)
    wide = randn(batch, tokens, hq + hk, dim + 1)[..., 1:].transpose(1, 2)
    yield "misaligned by one element", wide[:, :hq], wide[:, hq:]
    every = randn(batch, hq + hk, tokens, 2 * dim)[..., ::2]
    yield "every second element", every[:, :hq], every[:, hq:]


def gradients(shape, dtype, device, first):
    """Gradients as attention leaves them: in memory either heads or tokens first."""
    batch, tokens, hq, hk, dim = shape
    if first == "heads":
        return tuple(torch.randn(batch, h, tokens, dim, device=device).to(dtype) for h in (hq, hk))
    return tuple(torch.randn(batch, tokens, h, dim, device=device).to(dtype).transpose(1, 2) for h in (hq, hk))


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_values(device, shape, dtype, fast):
    batch, tokens, _, _, dim = shape
    for i, (name, q, k) in enumerate(layouts(shape, dtype, device)):
        cos, sin = rotary_tables(batch if i % 2 else 1, tokens, dim, dtype, device)
        if batch == 0:
            cos, sin = rotary_tables(1, tokens, dim, dtype, device)
        dq, dk = gradients(shape, dtype, device, "heads" if i % 2 else "tokens")
        want = truth(q, k, cos, sin, dq, dk)
        poison(device)
        for dim_of_heads in (1, 2):
            def turn(t):
                return t if dim_of_heads == 1 else t.transpose(1, 2)
            leaves = q.detach().requires_grad_(), k.detach().requires_grad_()
            out = ops.rope(turn(leaves[0]), turn(leaves[1]), cos, sin, dim_of_heads, fast)
            grads = torch.autograd.grad(out, leaves, (turn(dq), turn(dk)))
            for what, have, wanted in zip(("q", "k", "dq", "dk"), (*map(turn, out), *grads), want):
                assert have.dtype == dtype
                assert_close(have, wanted, name=f"{what}, {name}, unsqueeze_dim {dim_of_heads}")


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [s for s in SHAPES if 0 not in s])
def test_bits_of_the_framework(shape, dtype):
    batch, tokens, _, _, dim = shape
    for name, q, k in layouts(shape, dtype, "cuda"):
        cos, sin = rotary_tables(batch, tokens, dim, dtype, "cuda")
        dq, dk = gradients(shape, dtype, "cuda", "heads")
        leaves = q.detach().requires_grad_(), k.detach().requires_grad_()
        ours, theirs = ops.rope(*leaves, cos, sin), eager(*leaves, cos, sin)
        mine, others = torch.autograd.grad(ours, leaves, (dq, dk)), torch.autograd.grad(theirs, leaves, (dq, dk))
        for a, b in zip((*ours, *mine), (*theirs, *others)):
            assert torch.equal(a, b), name


@pytest.mark.parametrize("fast", [False, True])
def test_tables_with_different_halves(device, fast):
    shape = (2, 5, 4, 2, 128)
    _, q, k = next(layouts(shape, torch.float32, device))
    cos, sin = torch.randn(2, 5, 128, device=device), torch.randn(2, 5, 128, device=device)
    dq, dk = gradients(shape, torch.float32, device, "heads")
    leaves = q.requires_grad_(), k.requires_grad_()
    out = ops.rope(*leaves, cos, sin, 1, fast)
    grads = torch.autograd.grad(out, leaves, (dq, dk))
    for have, want in zip((*out, *grads), truth(q, k, cos, sin, dq, dk)):
        assert_close(have, want)


@pytest.mark.parametrize("dtype", DTYPES)
def test_odd_tables(device, dtype):
    """Tables with strides of their own: a slice of longer ones, one expanded over the batches, columns of a wider one."""
    _, q, k = next(layouts((2, 6, 4, 2, 64), dtype, device))
    cos, sin = rotary_tables(1, 20, 64, dtype, device)
    want = eager(q.double(), k.double(), cos[:, 8:14].double(), sin[:, 8:14].double())
    wide = torch.cat((cos, sin), dim=-1)
    for c, s in ((cos[:, 8:14], sin[:, 8:14]), (cos[:, 8:14].expand(2, -1, -1), sin[:, 8:14].expand(2, -1, -1)),
                 (wide[:, 8:14, :64], wide[:, 8:14, 64:]), (cos[:, 8:14].clone(), sin[:, 8:14]),
                 (cos[:, 8:14].mT.contiguous().mT, sin[:, 8:14])):
        for have, wanted in zip(ops.rope(q, k, c, s), want):
            assert_close(have, wanted)


def test_memory_order_of_the_results(device):
    """As eager's: a view stays a view of memory in the same order, and the gradients come in the order of q and k."""
    shape = (2, 5, 4, 2, 64)
    for name, q, k in layouts(shape, torch.bfloat16, device):
        cos, sin = rotary_tables(2, 5, 64, torch.bfloat16, device)
        leaves = q.detach().requires_grad_(), k.detach().requires_grad_()
        ours, theirs = ops.rope(*leaves, cos, sin), eager(*leaves, cos, sin)
        assert [t.stride() for t in ours] == [t.stride() for t in theirs], name
        meta = ops.rope(q.to("meta"), k.to("meta"), cos.to("meta"), sin.to("meta"))
        for a, b in zip(meta, ours):
            assert a.shape == b.shape and a.dtype == b.dtype
    view = torch.randn(2, 5, 4, 64, device=device).transpose(1, 2)
    for q_first, k_first in ((False, True), (True, False)):
        dq, dk = ops.rope_backward(view, view[:, :2], *rotary_tables(1, 5, 64, torch.float32, device), 1, q_first, k_first, False)
        assert dq.transpose(1, 2).is_contiguous() == q_first and dq.is_contiguous() != q_first
        assert dk.transpose(1, 2).is_contiguous() == k_first and dk.is_contiguous() != k_first


def test_extreme_values(device):
    inf, nan = float("inf"), float("nan")
    q = torch.tensor([[3e38, 3e38, 1e-40, -1e-40], [inf, 0, 1, 2], [1, nan, 2, 3], [0, -0.0, 0, 0]], device=device)
    cos, sin = torch.full((1, 4, 4), 0.7, device=device), torch.full((1, 4, 4), 0.7, device=device)
    out, _ = ops.rope(q[None, None], q[None, None], cos, sin)
    want, _ = eager(q[None, None], q[None, None], cos, sin)
    if device == "cuda":
        assert differing(out, want) == 0
    out, want = out[0, 0], want[0, 0]
    assert torch.equal(torch.isnan(out[1:]), torch.isnan(want[1:]))
    assert torch.equal(torch.isinf(out[1:]), torch.isinf(want[1:]))


def test_gradients_against_differences():
    q = torch.randn(2, 3, 4, 6, dtype=torch.float64, requires_grad=True)
    k = torch.randn(2, 1, 4, 6, dtype=torch.float64, requires_grad=True)
    cos, sin = torch.randn(2, 4, 6, dtype=torch.float64), torch.randn(2, 4, 6, dtype=torch.float64)
    torch.autograd.gradcheck(lambda a, b: ops.rope(a, b, cos, sin), (q, k))
    torch.autograd.gradcheck(lambda a: ops.rope(a, k.detach(), cos, sin)[0], (q,))


@pytest.mark.gpu
def test_repeats_bit_for_bit():
    _, q, k = next(layouts((2, 1000, 16, 8, 128), torch.bfloat16, "cuda"))
    cos, sin = rotary_tables(2, 1000, 128, torch.bfloat16, "cuda")
    first = ops.rope(q, k, cos, sin)
    for _ in range(20):
        for a, b in zip(first, ops.rope(q, k, cos, sin)):
            assert torch.equal(a, b)


@pytest.mark.gpu
def test_many_streams():
    cos, sin = rotary_tables(1, 64, 128, torch.bfloat16, "cuda")
    inputs = [next(layouts((1, 64, 4 + i, 2, 128), torch.bfloat16, "cuda"))[1:] for i in range(16)]
    torch.cuda.synchronize()
    outputs = []
    for q, k in inputs:
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            outputs.append(ops.rope(q, k, cos, sin))
    torch.cuda.synchronize()
    for (q, k), out in zip(inputs, outputs):
        for a, b in zip(out, eager(q, k, cos, sin)):
            assert torch.equal(a, b)


@pytest.mark.gpu
@pytest.mark.large
@pytest.mark.parametrize("offset", [0, 1])
def test_more_than_two_to_the_31_elements(offset):
    tokens = (1 << 31) // (32 * 128) + 5
    memory = torch.randn(tokens * 32 * 128 + 1, device="cuda", dtype=torch.bfloat16)
    q = memory[offset:offset + tokens * 32 * 128].view(1, tokens, 32, 128).transpose(1, 2)
    cos, sin = rotary_tables(1, tokens, 128, torch.bfloat16, "cuda")
    out, _ = ops.rope(q, q[:, :1], cos, sin)
    tail = slice(tokens - 5, tokens)
    for a, b in zip((out[:, :, tail],), eager(q[:, :, tail], q[:, :1, tail], cos[:, tail], sin[:, tail])):
        assert torch.equal(a, b)


def test_refuses_what_does_not_fit(device):
    q, k = torch.randn(1, 4, 3, 8, device=device), torch.randn(1, 2, 3, 8, device=device)
    cos, sin = torch.randn(1, 3, 8, device=device), torch.randn(1, 3, 8, device=device)
    with pytest.raises(RuntimeError, match="cos of shape"):
        ops.rope(q, k, cos[:, :2], sin)
    with pytest.raises(RuntimeError, match="unsqueeze_dim"):
        ops.rope(q, k, cos, sin, 3)
    with pytest.raises(RuntimeError, match="even head_dim"):
        ops.rope(q[..., :7], k[..., :7], cos[..., :7], sin[..., :7])
    with pytest.raises(RuntimeError, match="may differ in heads alone"):
        ops.rope(q, k[:, :, :2], cos, sin)
    with pytest.raises(RuntimeError, match="sin as"):
        ops.rope(q, k, cos, sin.double())


def test_operator_contract(device):
    """Schema, fake tensors, autograd registration and tracing with dynamic shapes, by PyTorch's own checks."""
    q = torch.randn(2, 6, 4, 64, device=device).transpose(1, 2).requires_grad_()
    k = torch.randn(2, 2, 6, 64, device=device, requires_grad=True)
    cos, sin = torch.randn(1, 6, 64, device=device), torch.randn(1, 6, 64, device=device)
    torch.library.opcheck(ops.rope.default, (q, k, cos, sin, 1, False))
    torch.library.opcheck(ops.rope.default, (q.detach(), k.detach(), cos, sin, 1, False))
    torch.library.opcheck(ops.rope.default, (q.detach().transpose(1, 2), k.detach().transpose(1, 2), cos, sin, 2, True))
