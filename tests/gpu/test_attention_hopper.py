# SPDX-License-Identifier: Apache-2.0
"""The Hopper kernel of attention: its C interface, with memory around what it may read and write, and its gradients
and compiled graphs through the operator."""
import ctypes

import pytest
import torch
from checking import assert_close
from conftest import LIBRARY
from test_attention import inputs, run, truth

ops = torch.ops.fusescope
HALF = [torch.bfloat16, torch.float16]
OK, INVALID_ARGUMENT, UNSUPPORTED = 0, 1, 2
pytestmark = [pytest.mark.gpu, pytest.mark.skipif(
    not torch.cuda.is_available() or torch.cuda.get_device_capability() != (9, 0), reason="no Hopper GPU here")]

# Queries and keys: inside a tile of 128 or 192 queries and of 128 keys, at its end, and past it.
LENGTHS = [(128, 128), (256, 256), (1, 1), (1, 17), (1, 300), (17, 1), (17, 64), (64, 64), (64, 127), (127, 127),
           (128, 129), (129, 128), (129, 129), (192, 192), (193, 385), (255, 255), (255, 300), (300, 255), (300, 1000),
           (1000, 300), (1000, 1000), (1, 4096), (4096, 64), (64, 4096), (1000, 4096), (4096, 1000), (4096, 4096)]
HEADS = [(1, 4, 4), (2, 8, 4), (3, 8, 2), (1, 8, 1), (2, 16, 2), (1, 2, 1), (1, 32, 8)]  # batch, of q, of k and v
LAYOUTS = ["tokens first", "heads first", "padded", "packed"]


class Call(ctypes.Structure):
    """FsAttention."""
    _fields_ = ([(n, ctypes.c_void_p) for n in ("q", "k", "v", "out", "lse")] +
                [(n + "_stride", ctypes.c_int64 * 3) for n in ("q", "k", "v", "out")] +
                [(n, ctypes.c_int64) for n in ("batch", "q_heads", "kv_heads", "q_tokens", "kv_tokens", "head_dim")] +
                [("scale", ctypes.c_float), ("causal", ctypes.c_int32), ("dtype", ctypes.c_int32),
                 ("threads", ctypes.c_int32), ("blocks_per_sm", ctypes.c_int32), ("variant", ctypes.c_int32)])


@pytest.fixture(scope="module")
def library():
    lib = ctypes.CDLL(LIBRARY)
    lib.fusescope_last_error.restype = ctypes.c_char_p
    return lib


def call_of(q, k, v, out, lse, causal, variant=0):
    """Tensors as [batch, tokens, heads, head_dim]."""
    c = Call()
    for name, t in (("q", q), ("k", k), ("v", v), ("out", out)):
        setattr(c, name, t.data_ptr())
        setattr(c, name + "_stride", (ctypes.c_int64 * 3)(*t.stride()[:3]))
    c.lse = lse.data_ptr()
    c.batch, c.q_tokens, c.q_heads, c.head_dim = q.shape
    c.kv_tokens, c.kv_heads = k.shape[1:3]
    c.scale, c.causal, c.variant = 128 ** -0.5, causal, variant
    c.dtype = {torch.float32: 0, torch.float16: 1, torch.bfloat16: 2}[q.dtype]
    return c


def forward(library, call):
    status = library.fusescope_attention_hopper_forward(
        ctypes.byref(call), ctypes.c_void_p(torch.cuda.current_stream().cuda_stream))
    assert status == OK, library.fusescope_last_error()


def supported(library, call):
    return library.fusescope_attention_hopper_supported(ctypes.byref(call))


def surrounded(batch, tokens, heads, dtype, layout, around):
    """Memory full of `around`, and a view of part of it, which ends five tokens before the memory does."""
    behind = tokens + 5
    if layout == "heads first":
        memory = torch.full((batch, heads, behind, 128), around, device="cuda", dtype=dtype)
        return memory, memory[:, :, :tokens].transpose(1, 2)
    width = 136 if layout == "padded" else 128
    memory = torch.full((batch, behind, heads, width), around, device="cuda", dtype=dtype)
    return memory, memory[:, :tokens, :, :128]


def filled(batch, tokens, heads, dtype, layout, factor):
    view = surrounded(batch, tokens, heads, dtype, layout, float("nan"))[1]
    return view.copy_(torch.randn(view.shape, device="cuda") * factor)


def filled_inputs(batch, queries, keys, q_heads, kv_heads, dtype, layout, factor):
    if layout == "packed" and queries == keys:
        return filled(batch, queries, q_heads + 2 * kv_heads, dtype, layout, factor).split(
            [q_heads, kv_heads, kv_heads], dim=2)
    if layout == "packed":
        return (filled(batch, queries, q_heads, dtype, layout, factor),
                *filled(batch, keys, 2 * kv_heads, dtype, layout, factor).split([kv_heads, kv_heads], dim=2))
    return tuple(filled(batch, n, heads, dtype, layout, factor)
                 for n, heads in ((queries, q_heads), (keys, kv_heads), (keys, kv_heads)))


def reference(q, k, v, causal):
    """out and lse in fp64, a batch at a time."""
    out, lse = [], []
    for i in range(q.shape[0]):
        a, b, c = (t[i].transpose(0, 1).double() for t in (q, k, v))
        b, c = (t.repeat_interleave(a.shape[0] // t.shape[0], 0) for t in (b, c))
        scores = a @ b.mT * 128 ** -0.5
        if causal:
            scores.masked_fill_(torch.ones(scores.shape[1:], device="cuda", dtype=torch.bool).triu(1), -float("inf"))
        lse.append(scores.logsumexp(-1))
        out.append((scores.softmax(-1) @ c).transpose(0, 1))
    return torch.stack(out), torch.stack(lse)


def check(library, batch, queries, keys, q_heads, kv_heads, dtype, layout, causal, factor):
    q, k, v = filled_inputs(batch, queries, keys, q_heads, kv_heads, dtype, layout, factor)
    want, want_lse = reference(q, k, v, causal)
    whole, most = (5e-3, 1.5e-2) if dtype == torch.bfloat16 else (8e-4, 3e-3)
    for variant in (1, 2):
        first = None
        for _ in range(2):
            memory, out = surrounded(batch, queries, q_heads, dtype, layout, 512.0)
            out.fill_(float("nan"))
            lse = torch.full((want_lse.numel() + 64,), 777.0, device="cuda")
            forward(library, call_of(q, k, v, out, lse[:-64].fill_(float("nan")), causal, variant))
            have, have_lse = out.clone(), lse[:-64].view(want_lse.shape)
            out.fill_(512.0)
            assert bool((memory == 512).all()) and bool((lse[-64:] == 777).all()), "written outside"
            if first is None:
                first = have, have_lse
            assert torch.equal(first[0], have) and torch.equal(first[1], have_lse), "a repeat differs, or NaN"
        error, note = have.double() - want, (variant, causal, dtype, layout)
        assert float(error.norm() / want.norm()) < whole, note
        assert float(error.abs().max() / want.abs().max()) < most, note
        assert float(((have_lse - want_lse).abs() / (1 + 0.01 * want_lse.abs())).max()) < 3e-4, note


def cases(queries, keys):
    """(batch, heads of q, of k and v), element type, layout, causal, and whether the inputs are large: by turns."""
    number = 4 * LENGTHS.index((queries, keys))
    for causal in (False, True):
        for dtype in HALF:
            heads = HEADS[number % len(HEADS)]
            if queries * keys > 4e6:  # the reference is large
                heads = [(1, 4, 1), (2, 4, 2)][number % 2]
            yield heads, dtype, LAYOUTS[(number + number // 4) % 4], causal, number % 5 == 4
            number += 1


@pytest.mark.parametrize("queries,keys", LENGTHS)
def test_values(library, queries, keys):
    for (batch, *heads), dtype, layout, causal, large in cases(queries, keys):
        check(library, batch, queries, keys, *heads, dtype, layout, causal, 6 if large else 1)


@pytest.mark.parametrize("batch,tokens,q_heads,kv_heads,layout",
                         [(1, 3000, 32, 8, "packed"), (1, 2048, 32, 8, "tokens first"), (3, 700, 16, 2, "padded")])
def test_many_tiles(library, batch, tokens, q_heads, kv_heads, layout):
    check(library, batch, tokens, tokens, q_heads, kv_heads, torch.bfloat16, layout, True, 1)


def test_no_keys_and_what_is_refused(library):
    q, k, v = filled_inputs(1, 128, 128, 4, 4, torch.bfloat16, "tokens first", 1)
    out, lse = torch.full_like(q, float("nan")), torch.zeros(4 * 128, device="cuda")

    def changed(**changes):
        call = call_of(q, k, v, out, lse, True)
        for name, value in changes.items():
            setattr(call, name, value)
        return call

    forward(library, changed(kv_tokens=0))
    assert not out.any() and bool((lse == -float("inf")).all())
    forward(library, changed(q_tokens=0))
    assert supported(library, changed()) == supported(library, changed(variant=2)) == OK
    for changes in ({"head_dim": 64}, {"dtype": 0}, {"q": q.data_ptr() + 2}, {"scale": -1.0}, {"scale": 0.0},
                    {"k_stride": (ctypes.c_int64 * 3)(1, 516, 128)}):
        assert supported(library, changed(**changes)) == UNSUPPORTED, changes
    for changes in ({"kv_heads": 3}, {"causal": 2}, {"variant": 3}, {"out": None}, {"q_tokens": -1}):
        assert supported(library, changed(**changes)) == INVALID_ARGUMENT, changes


@pytest.mark.parametrize("dtype", HALF)
@pytest.mark.parametrize("shape", [(2, 8, 2, 300, 300, 128), (1, 4, 1, 129, 257, 128), (1, 4, 4, 64, 192, 128),
                                   (1, 4, 2, 257, 129, 128), (2, 4, 2, 300, 1, 128), (1, 2, 1, 1, 300, 128),
                                   (1, 8, 2, 1000, 1000, 128), (2, 4, 2, 200, 200, 124)])
@pytest.mark.parametrize("deterministic", [False, True])
def test_gradients(shape, dtype, deterministic):
    """Through the backward that is chosen, and through flash attention's, which is deterministic."""
    queries, keys = shape[3:5]
    q, k, v = inputs(shape, dtype, "cuda")
    dout = torch.randn_like(q)
    for causal in (False, True):
        torch.use_deterministic_algorithms(deterministic)
        try:
            have, again = (run("hopper", q, k, v, dout, None, causal) for _ in range(2))
        finally:
            torch.use_deterministic_algorithms(False)
        if have is None:
            assert causal and queries > keys and deterministic
            continue
        assert not deterministic or all(torch.equal(a, b) for a, b in zip(have, again))
        want, sizes = truth(q, k, v, dout, None, causal)
        for name, a, b, size, factor in zip(("out", "dq", "dk", "dv"), have, want, sizes, (1.5, 3, 3, 2)):
            assert_close(a, b, factor=factor, scale=size, name=f"{name}, causal {causal}")


def test_takes_what_the_kernel_would_not():
    """As a compiled graph may bring it: misaligned, expanded, head_dim not side by side."""
    wide = torch.randn(2, 8, 70, 129, device="cuda").bfloat16()[..., 1:]
    for q, k in ((wide[:, :4], wide[:, 4:6]), (wide[:, :4], wide[:1, 4:5].expand(2, 2, -1, -1)),
                 (wide[:, :4].mT.contiguous().mT, wide[:, 4:6])):
        have = ops.attention_hopper(q, k, k, True, 0.1, "own")
        want = ops.attention_hopper(*(t.contiguous() for t in (q, k, k)), True, 0.1, "own")
        assert all(torch.equal(a, b) for a, b in zip(have, want))


@pytest.mark.parametrize("dynamic", [False, True])
def test_compiled(dynamic):
    """Inductor, with the kernel in the graph: as without compiling."""
    def function(q, k, v):
        return ops.attention(q * 2, k, v, causal=True).transpose(1, 2).flatten(2) * 0.5

    compiled = torch.compile(function, fullgraph=True, dynamic=dynamic)
    for length in (300, 520) if dynamic else (300,):
        values = inputs((2, 8, 2, length, length, 128), torch.bfloat16, "cuda")
        results = []
        for f in (function, compiled):
            leaves = [t.transpose(1, 2).contiguous().transpose(1, 2).requires_grad_() for t in values]
            out = f(*leaves)
            results.append([out, *torch.autograd.grad(out.square().sum(), leaves)])
        for a, b in zip(*results):
            assert_close(b, a, factor=2)
    torch._dynamo.reset()


@pytest.mark.profiler
def test_compiled_runs_this_kernel():
    q, k, v = inputs((2, 8, 2, 300, 300, 128), torch.bfloat16, "cuda")
    compiled = torch.compile(lambda q, k, v: ops.attention(q * 2, k, v, causal=True), fullgraph=True)
    with torch.no_grad():
        compiled(q, k, v)
        with torch.profiler.profile() as profile:
            compiled(q, k, v)
    assert any("attentionHopper" in event.key for event in profile.key_averages())
    torch._dynamo.reset()
