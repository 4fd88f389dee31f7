# SPDX-License-Identifier: Apache-2.0
"""The Hopper kernels of attention's backward: their C interface, with memory around what they may read and write, and
the operator made of them."""
import ctypes

import pytest
import torch
from checking import RELATIVE, relative_error
from conftest import LIBRARY
from test_attention import inputs, truth
from test_attention_hopper import (INVALID_ARGUMENT, LENGTHS, OK, UNSUPPORTED, cases, filled, filled_inputs,
                                   surrounded)

ops = torch.ops.fusescope
WORKSPACE_TOO_SMALL = 3
TENSORS = ("q", "k", "v", "out", "dout", "dq", "dk", "dv")
pytestmark = [pytest.mark.gpu, pytest.mark.skipif(
    not torch.cuda.is_available() or torch.cuda.get_device_capability() != (9, 0), reason="no Hopper GPU here")]


class Call(ctypes.Structure):
    """FsAttentionBackward."""
    _fields_ = ([(n, ctypes.c_void_p) for n in ("q", "k", "v", "out", "dout", "lse", "dq", "dk", "dv")] +
                [(n + "_stride", ctypes.c_int64 * 3) for n in TENSORS] +
                [(n, ctypes.c_int64) for n in ("batch", "q_heads", "kv_heads", "q_tokens", "kv_tokens", "head_dim")] +
                [("scale", ctypes.c_float), ("causal", ctypes.c_int32), ("dtype", ctypes.c_int32)])


@pytest.fixture(scope="module")
def library():
    lib = ctypes.CDLL(LIBRARY)
    lib.fusescope_last_error.restype = ctypes.c_char_p
    return lib


def call_of(tensors, lse, causal):
    """Tensors as [batch, tokens, heads, head_dim], in the order of TENSORS."""
    c = Call()
    for name, t in zip(TENSORS, tensors):
        setattr(c, name, t.data_ptr())
        setattr(c, name + "_stride", (ctypes.c_int64 * 3)(*t.stride()[:3]))
    q, k = tensors[:2]
    c.lse = lse.data_ptr()
    c.batch, c.q_tokens, c.q_heads, c.head_dim = q.shape
    c.kv_tokens, c.kv_heads = k.shape[1:3]
    c.scale, c.causal = 128 ** -0.5, causal
    c.dtype = {torch.float32: 0, torch.float16: 1, torch.bfloat16: 2}[q.dtype]
    return c


def workspace_of(library, call):
    size = ctypes.c_size_t()
    status = library.fusescope_attention_hopper_backward_atomic_workspace(ctypes.byref(call), ctypes.byref(size))
    return status, size.value


def backward(library, call, workspace, size):
    return library.fusescope_attention_hopper_backward_atomic(
        ctypes.byref(call), ctypes.c_void_p(workspace.data_ptr()), ctypes.c_size_t(size),
        ctypes.c_void_p(torch.cuda.current_stream().cuda_stream))


def problem(batch, queries, keys, q_heads, kv_heads, dtype, layout, causal, factor=1):
    """q, k, v, out and dout with NaN around them, lse, and what is wanted with the sizes that errors count by."""
    q, k, v = filled_inputs(batch, queries, keys, q_heads, kv_heads, dtype, layout, factor)
    dout = filled(batch, queries, q_heads, dtype, layout, 1)
    heads = [t.transpose(1, 2) for t in (q, k, v, dout)]
    (exact, *want), (_, *sizes) = truth(*heads, None, causal)
    scores = heads[0].double() @ heads[1].double().repeat_interleave(q_heads // kv_heads, 1).mT * 128 ** -0.5
    if causal:
        scores.masked_fill_(torch.ones(scores.shape[-2:], device="cuda", dtype=torch.bool).triu(1), -float("inf"))
    out = surrounded(batch, queries, q_heads, dtype, layout, float("nan"))[1].copy_(exact.transpose(1, 2))
    return (q, k, v, out, dout), scores.logsumexp(-1).float(), want, sizes


def check(library, batch, queries, keys, q_heads, kv_heads, dtype, layout, causal, factor=1):
    given, lse, want, sizes = problem(batch, queries, keys, q_heads, kv_heads, dtype, layout, causal, factor)
    first = None
    for _ in range(2):
        memories, results = zip(*(surrounded(batch, t.shape[1], t.shape[2], dtype, layout, 512.0)
                                  for t in (given[0], *given[1:3])))
        for t in results:
            t.fill_(float("nan"))
        call = call_of((*given, *results), lse, causal)
        status, size = workspace_of(library, call)
        rows = batch * q_heads * -(-queries // 64) * 64
        assert status == OK and rows * 520 <= size <= rows * 520 + 768
        workspace = torch.full((size + 64,), 0x7f, device="cuda", dtype=torch.uint8)  # as floats: 3.4e38
        assert backward(library, call, workspace, size) == OK, library.fusescope_last_error()
        have = [t.clone() for t in results]
        for t in results:
            t.fill_(512.0)
        assert all(bool((m == 512).all()) for m in memories), "written outside"
        assert bool((workspace[size:] == 0x7f).all()), "written behind the workspace"
        first = first or have
        note = (causal, dtype, layout)
        assert torch.equal(first[1], have[1]) and torch.equal(first[2], have[2]), ("dk or dv differs in a repeat", note)
        assert relative_error(have[0], first[0], sizes[0]) < RELATIVE[dtype] / 10, ("dq differs in a repeat", note)
        for name, a, b, of in zip(("dq", "dk", "dv"), have, want, sizes):
            error = relative_error(a.transpose(1, 2), b, of)
            assert error < RELATIVE[dtype], (name, error, note)


@pytest.mark.parametrize("queries,keys", LENGTHS)
def test_values(library, queries, keys):
    for (batch, *heads), dtype, layout, causal, large in cases(queries, keys):
        check(library, batch, queries, keys, *heads, dtype, layout, causal, 3 if large else 1)


@pytest.mark.parametrize("batch,tokens,q_heads,kv_heads,layout",
                         [(1, 3000, 16, 8, "packed"), (1, 2048, 32, 8, "tokens first"), (3, 700, 16, 2, "padded"),
                          (8, 300, 8, 8, "heads first")])
def test_many_tiles(library, batch, tokens, q_heads, kv_heads, layout):
    check(library, batch, tokens, tokens, q_heads, kv_heads, torch.bfloat16, layout, True)


def test_nothing_to_do_and_what_is_refused(library):
    given, lse, *_ = problem(1, 128, 128, 4, 4, torch.bfloat16, "tokens first", True)
    results = [torch.full_like(t, float("nan")) for t in given[:3]]

    def changed(**changes):
        call = call_of((*given, *results), lse, True)
        for name, value in changes.items():
            setattr(call, name, value)
        return call

    status, size = workspace_of(library, changed())
    workspace = torch.empty(size, device="cuda", dtype=torch.uint8)
    assert status == OK
    assert backward(library, changed(), workspace, size - 1) == WORKSPACE_TOO_SMALL
    assert bool(results[0].isnan().all()), "a refused call wrote"
    assert workspace_of(library, changed(q_tokens=0)) == (OK, 0)
    assert backward(library, changed(q_tokens=0), workspace, 0) == OK
    assert not results[1].any() and not results[2].any() and bool(results[0].isnan().all())
    assert backward(library, changed(kv_tokens=0), workspace, size) == OK
    assert not results[0].any()
    for changes in ({"head_dim": 64}, {"dtype": 0}, {"dout": given[4].data_ptr() + 2}, {"scale": -1.0}, {"scale": 0.0},
                    {"dk_stride": (ctypes.c_int64 * 3)(1, 516, 128)}):
        assert workspace_of(library, changed(**changes))[0] == UNSUPPORTED, changes
        assert backward(library, changed(**changes), workspace, size) == UNSUPPORTED, changes
    for changes in ({"kv_heads": 3}, {"causal": 2}, {"dq": None}, {"lse": None}, {"q_tokens": -1},
                    {"dv_stride": (ctypes.c_int64 * 3)(0, 0, 0)}):
        assert backward(library, changed(**changes), workspace, size) == INVALID_ARGUMENT, changes


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_is_not_finite_stays_so(value):
    """In the gradient of the output: it reaches what depends on it, and no other row of dq and no other head."""
    q, k, v = inputs((2, 4, 2, 200, 200, 128), torch.bfloat16, "cuda")
    dout = torch.randn_like(q)
    dout[1, 2, 70] = value
    out, lse = ops.attention_hopper(q, k, v, True, 0.1, "own")
    dq, dk, dv = ops.attention_hopper_backward_atomic(dout, q, k, v, out, lse, True, 0.1)
    assert bool(dq[1, 2, 70].isnan().all()) and bool((~dv[1, 1, :71].isfinite()).all())
    assert bool(dk[1, 1, :71].isnan().any())
    others = [(t[0], t[1, :1]) for t in (dq, dk, dv)]
    assert all(bool(part.isfinite().all()) for parts in others for part in parts)
    assert bool(dq[1, 2, :70].isfinite().all()) and bool(dq[1, 2, 71:].isfinite().all())


def test_many_streams():
    problems = [inputs((1, 8, 2, 300 + 64 * i, 300 + 64 * i, 128), torch.bfloat16, "cuda") for i in range(8)]

    def gradients(q, k, v):
        out, lse = ops.attention_hopper(q, k, v, True, 0.1, "own")
        return ops.attention_hopper_backward_atomic(out, q, k, v, out, lse, True, 0.1)

    want = [gradients(*p) for p in problems]
    torch.cuda.synchronize()
    have = []
    for p in problems:
        with torch.cuda.stream(torch.cuda.Stream()):
            have.append(gradients(*p))
    torch.cuda.synchronize()
    for a, b in zip(have, want):
        assert torch.equal(a[1], b[1]) and torch.equal(a[2], b[2])
        assert relative_error(a[0], b[0]) < 1e-3


def test_layouts_of_what_autograd_brings():
    """An expanded gradient, as of a sum, and heads outside tokens."""
    q, k, v = inputs((2, 8, 2, 130, 130, 128), torch.bfloat16, "cuda")
    out, lse = ops.attention_hopper(q, k, v, True, 0.1, "own")
    for dout in (torch.ones((), device="cuda", dtype=q.dtype).expand(q.shape), torch.randn_like(q),
                 torch.randn(2, 8, 130, 129, device="cuda").to(q.dtype)[..., 1:]):
        have = ops.attention_hopper_backward_atomic(dout, q, k, v, out, lse, True, 0.1)
        dense = [t.transpose(1, 2).contiguous().transpose(1, 2) for t in (dout, q, k, v, out)]
        want = ops.attention_hopper_backward_atomic(*dense, lse, True, 0.1)
        assert torch.equal(have[1], want[1]) and torch.equal(have[2], want[2])
        assert relative_error(have[0], want[0]) < 1e-3
    for bad in ((q, q, k, v, out, lse[:1]), (q, q, k, v, out, lse.cpu()), (q[:1], q, k, v, out, lse),
                (q, q, k, v[:, :1], out, lse), (q, q, k.cpu(), v, out, lse)):
        with pytest.raises(RuntimeError, match="fit"):
            ops.attention_hopper_backward_atomic(*bad, True, 0.1)


def test_says_that_it_is_not_deterministic():
    q, k, v = inputs((1, 2, 2, 64, 64, 128), torch.bfloat16, "cuda")
    out, lse = ops.attention_hopper(q, k, v, True, 0.1, "own")
    torch.use_deterministic_algorithms(True)
    try:
        with pytest.raises(RuntimeError, match="does not have a deterministic implementation"):
            ops.attention_hopper_backward_atomic(q, q, k, v, out, lse, True, 0.1)
    finally:
        torch.use_deterministic_algorithms(False)


def test_compiled():
    """Inductor, with both passes of ours in the graph: as without compiling."""
    def function(q, k, v):
        return ops.attention(q * 2, k, v).transpose(1, 2).flatten(2) * 0.5

    values = inputs((16, 8, 8, 256, 256, 128), torch.bfloat16, "cuda")  # 256 tiles of keys, of 264 in two rounds
    assert ops.attention_choice(*(t.requires_grad_() for t in values)).endswith("backward: own")
    results = []
    for f in (function, torch.compile(function, fullgraph=True)):
        leaves = [t.detach().requires_grad_() for t in values]
        out = f(*leaves)
        results.append([out.detach(), *torch.autograd.grad(out.square().sum(), leaves)])
    for a, b in zip(*results):
        assert relative_error(b, a) < 2 * RELATIVE[a.dtype]
    torch._dynamo.reset()


@pytest.mark.profiler
@pytest.mark.parametrize("causal", [False, True])
def test_chosen_where_it_is_fastest(causal):
    """By name of what runs: many keys take our own backward, few cuDNN's, and neither is far from the truth."""
    for batch, tokens, name in ((16, 1024, "attentionBackwardHopper"), (1, 256, "cudnn")):
        q, k, v = (t.requires_grad_() for t in inputs((batch, 16, 8, tokens, tokens, 128), torch.bfloat16, "cuda"))
        dout = torch.randn_like(q)
        out = ops.attention(q, k, v, None, causal)
        with torch.profiler.profile() as profile:
            grads = torch.autograd.grad(out, (q, k, v), dout)
        assert any(name in event.key for event in profile.key_averages()), name
        (_, *want), (_, *sizes) = truth(q, k, v, dout, None, causal)
        for a, b, size in zip(grads, want, sizes):
            assert relative_error(a, b, size) < RELATIVE[q.dtype]
