# SPDX-License-Identifier: Apache-2.0
import math

import pytest
import torch
import torch._dynamo.testing
from checking import assert_close, poison
from torch._dispatch.python import enable_python_dispatcher
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv, StatelessSymbolicContext

ops = torch.ops.fusescope
DTYPES = [torch.bfloat16, torch.float16, torch.float32]
BACKENDS = ["cudnn", "flash", "efficient", "math", "hopper"]
# batch, heads of q, heads of k and v, queries, keys, head_dim
SHAPES = [(1, 1, 1, 1, 1, 8), (2, 4, 2, 1, 37, 64), (1, 8, 8, 17, 17, 128), (2, 6, 2, 33, 20, 80),
          (1, 4, 1, 20, 45, 96), (1, 2, 2, 130, 130, 32), (2, 3, 3, 7, 11, 20), (1, 4, 2, 64, 192, 128),
          (1, 2, 2, 40, 40, 256), (2, 2, 1, 9, 9, 1), (2, 4, 2, 70, 50, 125)]


@pytest.fixture(autouse=True)
def one_thread():
    """The tensors here are small: threads would only wait for one another."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def weights(q, k, mask=None, causal=False, scale=None):
    """What each query takes of each key, from the definition; all 0 for a query that sees nothing."""
    scores = q @ k.mT * (q.shape[-1] ** -0.5 if scale is None else scale)
    if causal:
        mask = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).tril()
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf) if mask.dtype == torch.bool else scores + mask
    sees = (scores > -math.inf).any(-1, keepdim=True)
    return torch.where(sees, scores, 0.0).softmax(-1) * sees


def for_each_head(q, *shared):
    return [t.repeat_interleave(q.shape[1] // max(t.shape[1], 1), 1) for t in shared]


def formula(q, k, v, mask=None, causal=False, scale=None):
    k, v = for_each_head(q, k, v)
    return weights(q, k, mask, causal, scale) @ v


def truth(q, k, v, dout, mask=None, causal=False, scale=None):
    """In fp64: out, dq, dk, dv, and of each the norm to measure its errors by: dq and dk are sums of terms that may
    cancel (with one key they are 0)."""
    leaves = [t.detach().double().requires_grad_() for t in (q, k, v)]
    q, k, v, dout = *(t.detach() for t in leaves), dout.double()
    mask = mask.detach().double() if mask is not None and mask.dtype != torch.bool else mask
    out = formula(*leaves, mask, causal, scale)
    grads = torch.autograd.grad(out, leaves, dout)
    k, v = for_each_head(q, k, v)
    terms = (dout @ v.mT).abs() + (dout * out.detach()).sum(-1, keepdim=True).abs()
    terms = weights(q, k, mask, causal, scale) * terms * (q.shape[-1] ** -0.5 if scale is None else abs(scale))
    return [out.detach(), *grads], [0.0, float((terms @ k.abs()).norm()), float((terms.mT @ q.abs()).norm()), 0.0]


def run(backend, q, k, v, dout, mask=None, causal=False, scale=None):
    """out, dq, dk, dv; nothing where the backend says that it cannot be used."""
    leaves = [t.detach().requires_grad_() for t in (q, k, v)]
    try:
        out = ops.attention(*leaves, mask, causal, scale, backend)
    except RuntimeError as error:
        assert backend != "auto" and "cannot be used: " in str(error), error
        return None
    return [out.detach(), *torch.autograd.grad(out, leaves, dout)]


def backends(device):
    return ["auto"] if device == "cpu" else ["auto", *BACKENDS]


def check(device, q, k, v, mask=None, causal=False, scale=None, note=""):
    """Every backend against fp64."""
    dout = torch.randn(q.shape, device=device).to(q.dtype)
    want, sizes = truth(q, k, v, dout, mask, causal, scale)
    poison(device, 4)
    for backend in backends(device):
        have = run(backend, q, k, v, dout, mask, causal, scale)
        if have is None:
            continue
        factors = (1, 1, 1, 1) if device == "cpu" else (1.5, 3, 3, 2)
        for name, a, b, size, factor in zip(("out", "dq", "dk", "dv"), have, want, sizes, factors):
            assert a.dtype == q.dtype and a.shape == b.shape
            assert_close(a, b, factor=factor, scale=size, name=f"{name} of {backend}, causal {causal} {note}")


def inputs(shape, dtype, device):
    batch, q_heads, kv_heads, queries, keys, dim = shape

    def randn(heads, tokens):
        return torch.randn(batch, heads, tokens, dim, device=device).to(dtype)

    return randn(q_heads, queries), randn(kv_heads, keys), randn(kv_heads, keys)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_values(device, shape, dtype):
    for causal in (False, True):
        check(device, *inputs(shape, dtype, device), causal=causal)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("d", [64, 128])
def test_layouts(device, d, dtype):
    """As frameworks lay them out, and as no kernel takes them."""
    b, hq, hk, s = 2, 4, 2, 24

    def randn(*size):
        return torch.randn(*size, device=device).to(dtype)

    def heads(t):
        return t.unflatten(-1, (-1, d)).transpose(1, 2)

    packed = randn(b, s, (hq + 2 * hk) * d)
    kv = randn(2, s, hk, d).transpose(1, 2)
    every = randn(b, hq, s, 2 * d)[..., ::2]
    wide = randn(b, hq + 2 * hk, s, d + 1)[..., 1:]
    one = randn(1, hk, s, d)
    for note, q, k, v in (
            ("views of tokens before heads", randn(b, s, hq, d).transpose(1, 2), kv, kv.clone()),
            ("packed", *map(heads, packed.split((hq * d, hk * d, hk * d), dim=-1))),
            ("misaligned", wide[:, :hq], wide[:, hq:hq + hk], wide[:, hq + hk:]),
            ("every second element", every, every[:, :hk], every[:, hk:2 * hk]),
            ("head_dim outside", randn(b, hq, d, s).mT, randn(b, hk, d, s).mT, kv),
            ("one k for all batches", randn(b, hq, s, d), one.expand(b, -1, -1, -1), one.expand(b, -1, -1, -1)),
            ("one head of k, expanded", randn(b, hq, s, d), randn(b, 1, s, d).expand(-1, hk, -1, -1), kv)):
        for causal in (False, True):
            check(device, q, k, v, causal=causal, note=note)


def masks(batch, heads, queries, keys, dtype, device):
    """(name, mask) pairs; every query sees a key."""
    def boolean(*size):
        seen = torch.rand(*size, device=device) > 0.4
        seen[..., 0] = True
        return seen

    def bias(*size):
        return torch.randn(*size, device=device).to(dtype)

    yield "queries x keys", boolean(queries, keys)
    yield "padding", boolean(batch, 1, 1, keys)
    yield "one for each head", boolean(1, heads, queries, keys)
    yield "all of it", boolean(batch, heads, queries, keys)
    yield "nothing hidden", torch.ones(1, 1, device=device, dtype=torch.bool)
    diagonal = torch.eye(queries, keys, device=device, dtype=torch.bool)
    diagonal[:, 0] = True
    yield "keys outside", (boolean(batch, 1, keys, queries) | diagonal.mT).mT
    yield "bias", bias(queries, keys)
    yield "bias for each batch", bias(batch, 1, queries, keys)
    yield "bias for each head", bias(heads, queries, keys)
    yield "bias of a key", bias(batch, 1, 1, keys)
    yield "bias of a query", bias(queries, 1)
    yield "bias, misaligned", bias(batch, 1, queries, keys + 1)[..., 1:]
    yield "bias, keys outside", bias(keys, queries).mT
    yield "bias with -inf", bias(batch, 1, queries, keys).masked_fill(~boolean(queries, keys), -math.inf)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(2, 4, 2, 1, 40, 64), (2, 4, 2, 24, 45, 64), (2, 3, 3, 33, 32, 40),
                                   (1, 4, 1, 70, 64, 64)])
def test_masks(device, shape, dtype):
    batch, heads, _, queries, keys, _ = shape
    q, k, v = inputs(shape, dtype, device)
    for note, mask in masks(batch, heads, queries, keys, dtype, device):
        check(device, q, k, v, mask, note=f"mask: {note}")


@pytest.mark.parametrize("dtype", DTYPES)
def test_gradient_of_the_mask(device, dtype):
    q, k, v = inputs((2, 4, 2, 16, 20, 32), dtype, device)
    for size in ((16, 20), (2, 1, 16, 20), (4, 1, 20), (2, 4, 16, 20)):
        mask = torch.randn(*size, device=device).to(dtype).requires_grad_()
        dout = torch.randn_like(q)
        want, = torch.autograd.grad(formula(*(t.double() for t in (q, k, v)), mask.double()), mask, dout.double())
        for backend in ["auto"] if device == "cpu" else ["auto", "efficient", "math"]:
            have, = torch.autograd.grad(ops.attention(q, k, v, mask, backend=backend), mask, dout)
            assert_close(have, want, factor=3, name=f"{size} {backend}")


def very_negative(length, queries, dtype, device):
    """Every score is -120, so that every row's log-sum-exp is below -ln(largest fp32)."""
    dim = 64
    q, k = (0.1 * torch.randn(1, 2, n, dim, device=device) for n in (queries, length))
    q[..., 0], k[..., 0] = 1.0, -120 * math.sqrt(dim)
    return q.to(dtype), k.to(dtype), torch.randn(1, 2, length, dim, device=device).to(dtype)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("length", [64, 192])
def test_known_nan_of_cudnn(device, length, dtype):
    """pytorch#196678: 64 modulo 128 keys and very negative scores, seen with masks. cudnn-frontend#1072: one query."""
    for queries in (length, 1, length + 64):
        q, k, v = very_negative(length, queries, dtype, device)
        square = torch.ones(queries, length, dtype=torch.bool, device=device).tril(max(length - queries, 0))
        for mask, causal in ((square, False), (None, False), (None, True)):
            dout = torch.randn_like(q)
            want, _ = truth(q, k, v, dout, mask, causal)
            for backend in backends(device):
                have = run(backend, q, k, v, dout, mask, causal)
                if have is None:
                    continue
                for name, a in zip(("out", "dq", "dk", "dv"), have):
                    assert bool(torch.isfinite(a).all()), (backend, name, queries, causal)
                assert_close(have[0], want[0], factor=2, name=backend)
                assert_close(have[3], want[3], factor=2, name=backend)


@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_that_see_nothing(device, dtype):
    """They are 0 and have no gradients, whichever backend computes them."""
    q, k, v = inputs((2, 4, 2, 20, 24, 64), dtype, device)
    mask = torch.rand(2, 1, 20, 24, device=device) > 0.3
    mask[:, :, 3] = False
    mask[1, :, 10:] = False
    check(device, q, k, v, mask)
    check(device, q, k, v, torch.zeros(2, 1, 1, 24, dtype=torch.bool, device=device))
    for backend in backends(device):
        have = run(backend, q, k, v, torch.randn_like(q), mask)
        if have is not None:
            assert not have[0][:, :, 3].any() and not have[1][:, :, 3].any(), backend
    # As additive -inf, cuDNN gives NaN; the others can be relied on.
    bias = torch.zeros(2, 1, 20, 24, device=device, dtype=dtype).masked_fill(~mask, -math.inf)
    for backend in ["auto"] if device == "cpu" else ["efficient", "math"]:
        have = run(backend, q, k, v, torch.randn_like(q), bias)
        assert not have[0][:, :, 3].any() and bool(torch.isfinite(have[0]).all()), backend
    if device == "cpu":  # The smallest number instead of -inf: all scores alike, so that the row is the mean of v.
        check(device, q, k, v, bias.clamp(min=torch.finfo(dtype).min))


@pytest.mark.parametrize("dtype", DTYPES)
def test_large_values(device, dtype):
    """Scores of thousands, and values near the largest of fp16. fp32 scores of 30,000 are exact to 0.002, and so are
    the weights made of them."""
    factor = 2000 if dtype == torch.float32 else 2
    q, k, v = inputs((1, 4, 2, 40, 56, 64), dtype, device)
    q, k, v = (100 * q).sign() * 64, (100 * k).sign() * 64, 1e4 * v.clamp(-3, 3)
    for causal in (False, True):
        for backend in backends(device):
            try:
                out = ops.attention(q, k, v, None, causal, None, backend)
            except RuntimeError as error:
                assert "cannot be used" in str(error)
                continue
            assert_close(out, formula(q.double(), k.double(), v.double(), causal=causal), factor=factor, name=backend)


def test_scale(device):
    for scale in (0.3, 1.0):
        for dtype in (torch.bfloat16, torch.float32):
            q, k, v = inputs((2, 4, 2, 12, 20, 20), dtype, device)
            check(device, q, k, v, scale=scale, note=f"scale {scale}")
    q, k, v = inputs((2, 4, 2, 12, 20, 64), torch.bfloat16, device)
    assert torch.equal(ops.attention(q, k, v), ops.attention(q, k, v, scale=0.125))


@pytest.mark.parametrize("shape", [(0, 4, 2, 3, 5, 64), (2, 0, 0, 3, 5, 64), (2, 4, 2, 0, 5, 64), (2, 4, 2, 3, 0, 64)])
def test_empty(device, shape):
    q, k, v = inputs(shape, torch.bfloat16, device)
    for backend in backends(device):
        for causal in (False, True):
            have = run(backend, q, k, v, torch.ones_like(q), None, causal)
            assert have[0].shape == q.shape and all(not t.any() for t in have)
            assert [t.shape for t in have[1:]] == [q.shape, k.shape, v.shape]


@pytest.mark.gpu
def test_repeats_bit_for_bit():
    """Forward: every backend. Gradients: `math`; flash and efficient add in any order unless told to be deterministic,
    and cuDNN is not used then."""
    q, k, v = inputs((2, 16, 4, 500, 500, 128), torch.bfloat16, "cuda")
    dout = torch.randn_like(q)
    for backend in backends("cuda"):
        first = run(backend, q, k, v, dout, causal=True)
        for _ in range(10 if first else 0):
            again = run(backend, q, k, v, dout, causal=True)
            assert torch.equal(first[0], again[0]), backend
            if backend == "math":
                assert all(torch.equal(a, b) for a, b in zip(first, again))
    torch.use_deterministic_algorithms(True)
    try:
        assert run("cudnn", q, k, v, dout, causal=True) is None
        for backend in ("auto", "flash", "efficient"):
            first = run(backend, q, k, v, dout, causal=True)
            for _ in range(5):
                again = run(backend, q, k, v, dout, causal=True)
                assert all(torch.equal(a, b) for a, b in zip(first, again)), backend
    finally:
        torch.use_deterministic_algorithms(False)


@pytest.mark.gpu
def test_shared_heads_are_not_copied():
    q, k, v = inputs((1, 32, 4, 1, 8192, 128), torch.bfloat16, "cuda")
    padding = torch.ones(1, 1, 1, 8192, dtype=torch.bool, device="cuda")
    for backend, mask in (("auto", None), ("cudnn", None), ("flash", None), ("efficient", None),
                          ("efficient", padding)):
        ops.attention(q, k, v, mask, False, None, backend)
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        ops.attention(q, k, v, mask, False, None, backend)
        assert torch.cuda.max_memory_allocated() - before < k.numel() * k.element_size(), backend


@pytest.mark.gpu
def test_long():
    """As in training; the truth head by head, since it needs the whole square of scores."""
    q, k, v = inputs((1, 8, 2, 8192, 8192, 128), torch.bfloat16, "cuda")
    want = torch.cat([formula(q[:, [h]].double(), k[:, [h // 4]].double(), v[:, [h // 4]].double(), causal=True)
                      for h in range(8)], dim=1)
    for backend in ("auto", *BACKENDS[:3], "hopper"):
        try:
            out = ops.attention(q, k, v, None, True, None, backend)
        except RuntimeError as error:
            assert "cannot be used" in str(error)
            continue
        assert_close(out, want, name=backend)


def test_gradients_against_differences():
    def randn(*size):
        return torch.randn(*size, dtype=torch.float64, requires_grad=True)

    q, k, v = randn(2, 4, 3, 5), randn(2, 2, 4, 5), randn(2, 2, 4, 5)
    torch.autograd.gradcheck(ops.attention, (q, k, v))
    torch.autograd.gradcheck(lambda *a: ops.attention(*a, causal=True, scale=0.7), (q, k, v))
    torch.autograd.gradcheck(ops.attention, (q, k, v, randn(4, 1, 4)))
    torch.autograd.gradcheck(lambda *a: ops.attention(*a, torch.tensor([True, False, True, True])), (q, k, v))
    torch.autograd.gradcheck(lambda a: ops.attention(a, k.detach(), v.detach()), (q,))


def choice(queries, keys, dim=128, dtype=torch.bfloat16, capability=90, cudnn=91900, grad=False, mask=None,
           causal=False):
    q = torch.empty(1, 8, queries, dim, dtype=dtype, device="meta", requires_grad=grad)
    k = torch.empty(1, 2, keys, dim, dtype=dtype, device="meta")
    if mask is not None:
        mask = torch.empty(queries, keys, device="meta", dtype=torch.bool if mask == "bool" else dtype,
                           requires_grad=mask == "trained")
    return ops.attention_choice(q, k, k, mask, causal, capability, cudnn)


def test_choice():
    f32, f64 = torch.float32, torch.float64
    for expected, given in (
            ("hopper", dict(queries=512, keys=512)), ("hopper", dict(queries=512, keys=512, grad=True, causal=True)),
            ("hopper", dict(queries=300, keys=192, dim=124, dtype=torch.float16, causal=True)),
            ("hopper", dict(queries=192, keys=192, grad=True)), ("hopper", dict(queries=8, keys=1, grad=True)),
            ("hopper", dict(queries=512, keys=512, grad=True, cudnn=0)), ("hopper", dict(queries=2, keys=4096)),
            ("cudnn", dict(queries=512, keys=512, dim=120)),
            ("cudnn", dict(queries=512, keys=512, dim=64, grad=True, causal=True)),
            ("cudnn", dict(queries=512, keys=512, capability=100)),
            ("cudnn", dict(queries=512, keys=512, capability=103)),
            ("cudnn", dict(queries=192, keys=192, dim=64, grad=True, causal=True)),
            ("flash", dict(queries=192, keys=192, dim=64, grad=True)),
            ("cudnn", dict(queries=192, keys=160, dim=64, grad=True)),
            ("hopper", dict(queries=256, keys=192, grad=True, causal=True)),
            ("efficient", dict(queries=256, keys=192, dim=64, grad=True, causal=True)),
            ("cudnn", dict(queries=192, keys=192, mask="bool")),
            ("cudnn", dict(queries=256, keys=256, mask="bool", grad=True)),
            ("cudnn", dict(queries=192, keys=192, mask="bool", grad=True, capability=100)),
            ("efficient", dict(queries=192, keys=192, mask="bool", grad=True)),
            ("efficient", dict(queries=7, keys=64, mask="bias", grad=True)),
            ("efficient", dict(queries=256, keys=256, mask="trained")),
            ("efficient", dict(queries=256, keys=256, mask="bool", capability=80)),
            ("efficient", dict(queries=256, keys=256, mask="bool", dim=256)),
            ("flash", dict(queries=256, keys=256, dim=256)),
            ("flash", dict(queries=256, keys=256, dim=64, cudnn=91001)),
            ("flash", dict(queries=256, keys=256, dim=64, cudnn=0)),
            ("flash", dict(queries=256, keys=256, capability=80)),
            ("flash", dict(queries=256, keys=256, capability=120)), ("cudnn", dict(queries=1, keys=4096)),
            ("flash", dict(queries=1, keys=4096, grad=True)), ("flash", dict(queries=8, keys=1, dim=64)),
            ("cudnn", dict(queries=1, keys=4096, mask="bool")),
            ("efficient", dict(queries=1, keys=4096, mask="bool", grad=True)),
            ("flash", dict(queries=100, keys=256, causal=True, capability=80)),
            ("efficient", dict(queries=256, keys=100, causal=True, capability=80)),
            ("efficient", dict(queries=256, keys=256, dim=512)),
            ("efficient", dict(queries=256, keys=256, dim=256, grad=True, capability=89)),
            ("efficient", dict(queries=256, keys=256, dtype=f32)), ("math", dict(queries=256, keys=256, dtype=f64)),
            ("math", dict(queries=256, keys=256, capability=75)), ("math", dict(queries=0, keys=256)),
            ("efficient", dict(queries=256, keys=256, capability=75, dtype=torch.float16))):
        backend, reason = choice(**given).split(": ", 1)
        assert backend == expected and reason, (given, backend, reason)
    assert "196678" in choice(192, 192, mask="bool", grad=True)
    with torch.no_grad():
        assert choice(192, 192, mask="bool", grad=True).startswith("cudnn")
    torch.use_deterministic_algorithms(True)
    try:
        assert choice(512, 512, 64, grad=True).startswith("flash") and choice(512, 512, 64).startswith("cudnn")
        assert choice(512, 512, grad=True).startswith("hopper") and choice(512, 512, grad=True).endswith("flash")
    finally:
        torch.use_deterministic_algorithms(False)
    q, seen = torch.empty(1, 8, 512, 128, dtype=torch.bfloat16, device="meta"), []

    def inside(x):
        seen.append(ops.attention_choice(x, q, q, None, True, 90, 91900))
        return x.sum()

    inside(q)
    torch.func.grad(inside)(q)
    assert [text.split(":")[0] for text in seen] == ["hopper", "cudnn"]


def test_choice_of_the_backward():
    """Of two heads of k, by hand. Causal, a tile of 128 keys costs two tiles of 64 queries less than the one before it:
    the sum of all must be 70% of 132 times the first. Else 90% of the rounds of 132 tiles must be full."""
    for expected, tokens, causal in (
            ("own", 16384, True),  # 128 tiles, 256 of queries: 2 * (256 + 254 + .. + 2) = 33024 of 33792
            ("own", 11776, True),  # 92 and 184: 17112 of 24288
            ("cudnn", 11520, True),  # 90 and 180: 16380 of 23760
            ("own", 8192, False), ("cudnn", 7040, False), ("cudnn", 12288, False),  # 128, 110 and 192 of 132, 132, 264
            ("own", 15232, False)):  # 238 of 264
        text = choice(tokens, tokens, grad=True, causal=causal)
        assert text.startswith("hopper") and text.endswith("; backward: " + expected), (tokens, causal, text)
        assert choice(tokens, tokens, grad=True, causal=causal, cudnn=91001).endswith("backward: own")
        assert "backward:" not in choice(tokens, tokens, causal=causal)
    assert choice(192, 192, grad=True).endswith("backward: own")  # 64 modulo 128 keys, pytorch#196678


def test_fake_tensors_of_a_gpu():
    """The shapes that tracing sees, for every backend, also where there is no GPU."""
    with FakeTensorMode():
        for dtype in (*DTYPES, torch.float64):
            for shape in ((2, 4, 2, 17, 33, 64), (2, 4, 4, 40, 9, 20)):
                q, k, v = inputs(shape, dtype, "cuda")
                for mask in (None, torch.ones(2, 1, 1, shape[4], dtype=torch.bool, device="cuda")):
                    for backend in ("auto", *BACKENDS):
                        for causal in (False, True) if mask is None else (False,):
                            try:
                                out = ops.attention(q, k, v, mask, causal, None, backend)
                            except RuntimeError as error:
                                assert "cannot be used" in str(error) and backend not in ("auto", "math"), error
                                continue
                            assert out.shape == q.shape and out.dtype == dtype and out.device.type == "cuda"


def assert_fits_loads(t):
    step = 16 // t.element_size()
    outer = t.stride()[:3]
    assert t.stride(3) == 1 and t.storage_offset() % step == 0 and all(n % step == 0 for n in outer), t.stride()


def fused(q, k, v, bias, causal, scale, heads):
    """A fused kernel's place, with what all of them ask for."""
    for t in (q, k, v):
        assert_fits_loads(t)
    assert q.shape[3] == k.shape[3] and q.shape[3] * q.element_size() % 16 == 0
    if bias is not None:
        assert_fits_loads(bias)
        assert bias.dtype == q.dtype and bias.shape[1] in heads
        assert bias.shape[::2] == (q.shape[0], q.shape[2]) and bias.shape[3] == k.shape[2]
    return formula(q, k, v, bias, causal, scale), *(8 * [None])


def cudnn_stand_in(q, k, v, bias, lse, dropout=0.0, causal=False, debug=False, scale=None):
    return fused(q, k, v, bias, causal, scale, (1, q.shape[1]))


def flash_stand_in(q, k, v, dropout=0.0, causal=False, debug=False, scale=None):
    assert not causal or q.shape[2] == k.shape[2]
    return fused(q, k, v, None, causal, scale, ())


def efficient_stand_in(q, k, v, bias, lse, dropout=0.0, causal=False, scale=None):
    assert q.shape[1] == k.shape[1]
    return fused(q, k, v, bias, causal, scale, (q.shape[1],))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_what_the_kernels_get(dtype):
    """The graph of each backend, traced for a GPU and run on the CPU with the definition in place of the kernels:
    padding, layouts, masks, shared heads and cut off keys, and their gradients."""
    aten = torch.ops.aten
    stand_ins = {aten._scaled_dot_product_cudnn_attention.default: cudnn_stand_in,
                 aten._scaled_dot_product_flash_attention.default: flash_stand_in,
                 aten._scaled_dot_product_efficient_attention.default: efficient_stand_in}

    def like(t):
        size = t.untyped_storage().nbytes() // t.element_size()
        return torch.empty(size, dtype=t.dtype, device="cuda").as_strided(t.shape, t.stride(), t.storage_offset())

    cases = []
    for shape in (SHAPES[1], SHAPES[3], SHAPES[4], SHAPES[6], SHAPES[9]):
        cases += [(*inputs(shape, dtype, "cpu"), None, causal) for causal in (False, True)]
    wide = torch.randn(2, 8, 10, 65).to(dtype)[..., 1:]
    cases.append((wide[:, :4], wide[:, 4:6], wide[:, 6:], None, True))
    for shape in ((2, 4, 2, 1, 40, 64), (2, 4, 2, 12, 21, 60)):
        q, k, v = inputs(shape, dtype, "cpu")
        cases += [(q, k, v, mask, False) for _, mask in masks(2, 4, *shape[3:5], dtype, "cpu")]
        cases.append((q, k, v, torch.rand(2, 1, *shape[3:5]) > 0.9, False))
    for q, k, v, mask, causal in cases:
        for backend in ("cudnn", "flash", "efficient", "math"):
            try:
                with FakeTensorMode():
                    arguments = [like(t) if t is not None else None for t in (q, k, v, mask)]
                    graph = make_fx(lambda *a: ops.attention(*a, causal, None, backend))(*arguments)
            except RuntimeError as error:
                assert "cannot be used" in str(error), error
                continue
            for node in graph.graph.nodes:
                if "device" in node.kwargs:
                    node.kwargs = {**node.kwargs, "device": torch.device("cpu")}
                node.target = stand_ins.get(node.target, node.target) if node.op == "call_function" else node.target
            graph.recompile()
            dout = torch.randn(q.shape).to(dtype)
            leaves = [t.detach().requires_grad_() for t in (q, k, v)]
            out = graph(*leaves, mask)
            want, sizes = truth(q, k, v, dout, mask, causal)
            have = [out, *torch.autograd.grad(out, leaves, dout)]
            for name, a, b, size in zip(("out", "dq", "dk", "dv"), have, want, sizes):
                assert_close(a, b, factor=4, scale=size, name=f"{name} of {backend}")


def test_lengths_stay_open():
    """What a graph for changing lengths is bound to: nothing for causal self-attention."""
    def guards(length_of_keys, causal, grad=True):
        shapes = ShapeEnv()
        mode = FakeTensorMode(shape_env=shapes)
        sizes = mode.from_tensor(torch.empty(3, 37, 53), symbolic_context=StatelessSymbolicContext(
            dynamic_sizes=[DimDynamic.DYNAMIC] * 3)).shape
        with mode, enable_python_dispatcher():
            q = torch.empty(sizes[0], sizes[1], 4, 64, dtype=torch.bfloat16, device="cuda", requires_grad=grad)
            k = torch.empty(sizes[0], sizes[length_of_keys], 2, 64, dtype=torch.bfloat16, device="cuda")
            out = ops.attention(q.transpose(1, 2), k.transpose(1, 2), k.transpose(1, 2), None, causal)
            assert out.shape[2] == sizes[1]
        return len(shapes.guards)

    assert guards(1, True) == 0 and guards(1, False, grad=False) == 0
    assert guards(1, False) == 1 and guards(2, False) == 1  # 64 modulo 128 keys, or not

    def guards_of_the_choice(dim, causal):
        shapes = ShapeEnv()
        mode = FakeTensorMode(shape_env=shapes)
        batch, length = mode.from_tensor(torch.empty(3, 37), symbolic_context=StatelessSymbolicContext(
            dynamic_sizes=[DimDynamic.DYNAMIC] * 2)).shape
        with mode, enable_python_dispatcher():
            q = torch.empty(batch, 4, length, dim, dtype=torch.bfloat16, device="cuda", requires_grad=True)
            k = torch.empty(batch, 2, length, dim, dtype=torch.bfloat16, device="cuda")
            text = ops.attention_choice(q, k, k, None, causal, 90, 91900)
        return len(shapes.guards), text

    for dim in (64, 128):
        assert guards_of_the_choice(dim, True)[0] == 0 and guards_of_the_choice(dim, False)[0] == 1
    assert guards_of_the_choice(128, True)[1].endswith("backward: own")


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("backward", ["own", "cudnn", "flash"])
def test_what_the_backward_of_hopper_gets(causal, backward):
    """Its graph, traced with meta tensors and run on the CPU with the definition in place of the kernels."""
    aten, scale = torch.ops.aten, 0.1
    q, k, v = inputs((2, 4, 2, 12, 12, 128), torch.float32, "cpu")
    dout = torch.randn_like(q).transpose(1, 2).contiguous().transpose(1, 2)

    def traced(q, k, v, dout):
        out, lse = ops.attention_hopper(q, k, v, causal, scale, backward)
        return out, lse, *torch.autograd.grad(out, (q, k, v), dout)

    def log_sum(q, k):
        scores = q @ for_each_head(q, k)[0].mT * scale
        hidden = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1) & causal
        return scores.masked_fill(hidden, -math.inf).logsumexp(-1)

    def gradients(have, q, k, v, out, lse, queries, keys):
        assert have is dout and (queries, keys) == (12, 12)
        assert_close(out, formula(q, k, v, None, causal, scale))
        assert_close(lse, log_sum(q, k))
        leaves = [t.detach().requires_grad_() for t in (q, k, v)]
        return torch.autograd.grad(formula(*leaves, None, causal, scale), leaves, dout)

    def cudnn(have, q, k, v, out, lse, seed, offset, bias, starts, key_starts, queries, keys, dropout, is_causal,
              scale):
        assert bias is starts is key_starts is None and (dropout, is_causal, scale) == (0.0, causal, 0.1)
        return gradients(have, q, k, v, out, lse.squeeze(-1), queries, keys)

    def flash(have, q, k, v, out, lse, starts, key_starts, queries, keys, dropout, is_causal, seed, offset, scale):
        assert starts is key_starts is None and (dropout, is_causal, scale) == (0.0, causal, 0.1)
        return gradients(have, q, k, v, out, lse, queries, keys)

    def own(have, q, k, v, out, lse, is_causal, scale):
        assert (is_causal, scale) == (causal, 0.1)
        return gradients(have, q, k, v, out, lse, 12, 12)

    def forward(q, k, v, *_):
        return formula(q, k, v, None, causal, scale), log_sum(q, k)

    stand_ins = {ops.attention_hopper.default: forward, ops.attention_hopper_backward_atomic.default: own,
                 aten._scaled_dot_product_cudnn_attention_backward.default: cudnn,
                 aten._scaled_dot_product_flash_attention_backward.default: flash}
    graph = make_fx(traced)(*(t.to("meta").requires_grad_() for t in (q, k, v)), dout.to("meta"))
    for node in graph.graph.nodes:
        if "device" in node.kwargs:
            node.kwargs = {**node.kwargs, "device": torch.device("cpu")}
        node.target = stand_ins.get(node.target, node.target) if node.op == "call_function" else node.target
    graph.recompile()
    want, sizes = truth(q, k, v, dout, None, causal, scale)
    out, _, *grads = graph(q, k, v, dout)
    for name, a, b, size in zip(("out", "dq", "dk", "dv"), (out, *grads), want, sizes):
        assert_close(a, b, scale=size, name=name)


def test_meta_tensors(device):
    q, k, v = inputs((2, 4, 2, 5, 9, 64), torch.bfloat16, device)
    out = ops.attention(q.to("meta"), k.to("meta"), v.to("meta"))
    assert out.is_meta and out.shape == q.shape and out.dtype == q.dtype
    # Eager models turn heads and tokens back after attention: that costs no copy.
    assert out.transpose(1, 2).is_contiguous()
    out, lse = ops.attention_hopper(q.to("meta"), k.to("meta"), v.to("meta"), False, 0.1, "own")
    assert out.is_meta and out.shape == q.shape and out.dtype == q.dtype and out.transpose(1, 2).is_contiguous()
    assert lse.is_meta and lse.shape == q.shape[:3] and lse.dtype == torch.float32 and lse.is_contiguous()


def test_refuses_what_does_not_fit(device):
    q, k, v = inputs((1, 4, 2, 3, 5, 8), torch.float32, device)
    mask = torch.ones(3, 5, dtype=torch.bool, device=device)
    for match, arguments in (
            ("multiple of the heads of k", (q[:, :3], k, v)), ("differ in heads and tokens alone", (q[..., :4], k, v)),
            ("k and v of one shape", (q, k, v[:, :, :4])), ("k is", (q, k.half(), v)),
            ("dimensions", (q[0], k, v)), ("not both", (q, k, v, mask, True)), ("broadcasts", (q, k, v, mask[:, :4])),
            ("a mask of bool or of q's type", (q, k, v, mask.half())),
            ("backend is", (q, k, v, None, False, None, "fast")),
            ("floating point", (q.int(), k.int(), v.int()))):
        with pytest.raises(RuntimeError, match=match):
            ops.attention(*arguments)
    with pytest.raises(RuntimeError, match='backward is "own", "cudnn" or "flash", found "fast"'):
        ops.attention_hopper(q, k, v, False, 0.1, "fast")


@pytest.mark.gpu
def test_backends_refuse_by_name():
    q, k, v = inputs((1, 4, 2, 6, 5, 8), torch.float32, "cuda")
    mask = torch.ones(6, 5, dtype=torch.bool, device="cuda")
    for backend in ("cudnn", "flash"):
        with pytest.raises(RuntimeError, match="float16 and bfloat16 alone"):
            ops.attention(q, k, v, backend=backend)
    with pytest.raises(RuntimeError, match="takes no mask"):
        ops.attention(q.half(), k.half(), v.half(), mask, backend="flash")
    with pytest.raises(RuntimeError, match="from the start"):
        ops.attention(q.half(), k.half(), v.half(), causal=True, backend="flash")


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("dim", [64, 128])
def test_compiled_as_one_graph(device, backend, dim):
    for masked in (False, True):
        q, k, v = inputs((2, 4, 2, 12, 12, dim), torch.bfloat16, device)
        mask = torch.rand(2, 1, 12, 12, device=device) > 0.3 if masked else None
        dout = torch.randn_like(q)

        def function(q, k, v, mask):
            return ops.attention(q * 2, k, v, mask, mask is None)

        results = []
        for f in (function, torch.compile(function, backend=backend, fullgraph=True)):
            leaves = [t.detach().requires_grad_() for t in (q, k, v)]
            out = f(*leaves, mask)
            results.append([out.detach(), *torch.autograd.grad(out, leaves, dout)])
        for a, b in zip(*results):
            assert_close(a, b)
    torch._dynamo.reset()


def test_compiled_for_any_length(device):
    """One graph for all lengths that the choice does not tell apart."""
    counter = torch._dynamo.testing.CompileCounterWithBackend("aot_eager")
    compiled = torch.compile(lambda q, k, v: ops.attention(q, k, v, None, True), backend=counter, fullgraph=True,
                             dynamic=True)
    for length in (12, 17, 64, 100):
        q, k, v = inputs((2, 4, 2, length, length, 64), torch.bfloat16, device)
        assert_close(compiled(q, k, v), formula(q.double(), k.double(), v.double(), causal=True), factor=1.5)
    assert counter.frame_count == 1
    torch._dynamo.reset()


def test_operator_contract(device):
    """Schema, fake tensors, autograd registration and tracing with dynamic shapes, by PyTorch's own checks."""
    q, k, v = (t.requires_grad_() for t in inputs((2, 4, 2, 6, 9, 64), torch.float32, device))
    mask = torch.randn(2, 1, 6, 9, device=device)
    torch.library.opcheck(ops.attention.default, (q, k, v, None, True))
    torch.library.opcheck(ops.attention.default, (q, k, v, mask > 0))
    torch.library.opcheck(ops.attention.default, (q, k, v, mask.requires_grad_()))
    if device == "cpu":
        torch.library.opcheck(ops.attention_reference.default, (q, k, v, mask, False, 0.125))


class Dropped(torch.autograd.Function):
    """Gives no gradient, not zeros."""

    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        return None


def test_hopper_without_a_gradient_of_its_output_calls_no_backward():
    q, k, v = (torch.empty(1, 2, 4, 128, device="meta", dtype=torch.bfloat16, requires_grad=True) for _ in range(3))
    out, _ = torch.ops.fusescope.attention_hopper(q, k, v, True, 0.1, "own")
    Dropped.apply(out).sum().backward()
    assert q.grad is None and k.grad is None and v.grad is None
