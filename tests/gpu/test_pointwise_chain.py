# SPDX-License-Identifier: Apache-2.0
import pytest
import torch
import torch.nn.functional as F
from checking import assert_close, differing, layouts, poison
from regions import GEGLU, LAYER_NORM, NAMES, RESIDUAL, RMS_NORM, SOFTMAX, SWIGLU, geglu, layer_norm, operators, region, rms_norm, softmax

ops = torch.ops.fusescope
chain = ops.pointwise_chain
DTYPES = [torch.bfloat16, torch.float16, torch.float32]
SHAPES = [(1, 1), (3, 7), (5, 128), (2, 3, 64), (4, 2, 8, 128), (33, 1000), (9, 4096), (600, 1024), (3, 16384), (2, 40000),
          (1, 300001), (0, 128), (4, 0, 64), (3, 0)]
OPERATORS = list(operators())


def values(dtype, count, device, seed=0):
    """Every value of a half-precision type; of others ordinary ones, any bits, and the special ones."""
    generator = torch.Generator().manual_seed(seed)
    if dtype in (torch.bfloat16, torch.float16):
        bits = torch.arange(-32768, 32768, dtype=torch.int32).to(torch.int16)
        return bits[torch.randperm(65536, generator=generator)].view(dtype).to(device)
    any_bits = torch.randint(-2**31, 2**31 - 1, (count,), generator=generator, dtype=torch.int64).to(torch.int32).view(torch.float32)
    special = torch.tensor([0.0, -0.0, 1, -1, 2, 0.5, 1e-45, -1e-40, 3e38, 80, -80, 88.8, -88.8, -104, torch.inf, -torch.inf, torch.nan])
    x = torch.cat([torch.randn(count, generator=generator) * 3, any_bits, special])
    return x.to(dtype).to(device)


# What can be said without a GPU: texts, shapes, the reference.


@pytest.mark.parametrize("name,body,inputs,eager", OPERATORS, ids=[o[0] for o in OPERATORS])
def test_reference_in_fp64(name, body, inputs, eager):
    x = [torch.randn(4, 33, dtype=torch.float64) for _ in range(inputs)]
    out, want = chain(x, region(body, inputs, "f64"), True)[0], eager(*x)
    assert out.dtype == want.dtype and out.shape == want.shape
    torch.testing.assert_close(out, want, rtol=1e-12, atol=1e-12, equal_nan=True)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name,body,inputs,eager", OPERATORS, ids=[o[0] for o in OPERATORS])
def test_reference_rounds_as_the_framework(name, body, inputs, eager, dtype):
    x = [torch.randn(4, 333).to(dtype) for _ in range(inputs)]
    out, want = chain(x, region(body, inputs, NAMES[dtype]))[0], eager(*(v.double() for v in x))
    if out.dtype.is_floating_point:
        want = want.to(out.dtype)
        assert differing(out, want) <= (1 if "1.7" in name else 0.01)  # in half precision that exponent is another
    torch.testing.assert_close(out, want, rtol=2e-2, atol=1e-5, equal_nan=True)


def test_shapes_without_memory():
    x, weight = torch.empty(2, 3, 64, device="meta", dtype=torch.bfloat16), torch.empty(64, device="meta", dtype=torch.bfloat16)
    y, r = chain([x, weight], region(RMS_NORM, 2))
    assert y.shape == (2, 3, 64) and y.dtype == torch.bfloat16 and r.shape == (2, 3, 1) and r.dtype == torch.float32
    out, = chain([torch.empty(5, 1, 4, device="meta"), torch.empty(3, 1, device="meta")], region("%2 = lt.bool %0 %1", 2, "f32"))
    assert out.shape == (5, 3, 4) and out.dtype == torch.bool


def test_operator_contract(device):
    x, weight = torch.randn(6, 64, device=device, dtype=torch.bfloat16), torch.rand(64, device=device, dtype=torch.bfloat16)
    torch.library.opcheck(chain.default, ([x, weight], region(RMS_NORM, 2)), test_utils=("test_schema", "test_faketensor"))


def test_compiles_with_changing_shapes():
    text = region(SWIGLU, 2)

    @torch.compile(backend="eager", dynamic=True, fullgraph=True)
    def f(x, y):
        return chain([x, y], text)[0]

    for rows in (3, 4, 7):
        x, y = torch.randn(rows, 16).bfloat16(), torch.randn(rows, 16).bfloat16()
        assert torch.equal(f(x, y), chain([x, y], text)[0])


def test_refuses_what_does_not_fit(device):
    x = torch.randn(3, 8, device=device)
    with pytest.raises(RuntimeError, match="line 2: %1: there is no operator 'silly'"):
        chain([x], "%0 = input f32\n%1 = silly.f32 %0\noutput %1")
    with pytest.raises(RuntimeError, match="has 1 inputs, found 2"):
        chain([x, x], region("%1 = exp.f32 %0", 1, "f32"))
    with pytest.raises(RuntimeError, match="%0: expected"):
        chain([x], region("%1 = exp.bf16 %0"))
    with pytest.raises(RuntimeError, match="no region takes"):
        chain([x.to(torch.uint8)], region("%1 = exp.f32 %0", 1, "f32"))
    with pytest.raises(RuntimeError, match="does not broadcast"):
        chain([x, torch.randn(7, device=device)], region("%2 = add.f32 %0 %1", 2, "f32"))
    with pytest.raises(RuntimeError, match="neither the region's"):
        chain([x, torch.randn(8, device=device)], region("%2 = exp.f32 %1\n%3 = add.f32 %0 %2\noutput %2\noutput %3", 2, "f32"))
    with pytest.raises(RuntimeError, match="at most 8"):
        chain([x.view(1, 1, 1, 1, 1, 1, 1, 3, 8)], region("%1 = exp.f32 %0", 1, "f32"))
    for alpha in ("1e30", "-9223372036854775808", "inf", "nan", "0.5"):
        with pytest.raises(RuntimeError, match="alpha .* for integers"):
            chain([x.long()], region(f"%1 = add.i64 %0 %0 alpha={alpha}", 1, "i64"))
    with pytest.raises(RuntimeError, match="lt of i32 and 3000000000, which i32 cannot hold"):
        chain([x.int()], region("%1 = lt.bool %0 3000000000", 1, "i32"))


# On a GPU: the bits of eager PyTorch.


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", DTYPES + [torch.float64])
@pytest.mark.parametrize("name,body,inputs,eager", OPERATORS, ids=[o[0] for o in OPERATORS])
def test_operators_have_eagers_bits(name, body, inputs, eager, dtype):
    x = [values(dtype, 1 << 18, "cuda", seed) for seed in range(inputs)]
    text = region(body, inputs, NAMES[dtype])
    want = eager(*x)
    out, = chain(x, text)
    assert out.dtype == want.dtype and differing(out, want) == 0
    aligned = x[0].numel() // 64 * 64  # in rows, with a row of each: broadcast and strided
    x = [v[:aligned].view(-1, 64) for v in x]
    assert differing(chain([v[:, 1:] for v in x], text)[0], eager(*(v[:, 1:] for v in x))) == 0
    if inputs == 2:
        assert differing(chain([x[0], x[1][7]], text)[0], eager(x[0], x[1][7])) == 0
        assert differing(chain([x[0], x[1][:, 3:4]], text)[0], eager(x[0], x[1][:, 3:4])) == 0


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_chains(device, shape, dtype, fast):
    if device == "cpu" and torch.Size(shape).numel() > 10000:
        pytest.skip("slow in the reference")
    t, limit = NAMES[dtype], 1 if fast else 0 if device == "cuda" else 0.01 if dtype != torch.float32 else 1
    for name, x in layouts(shape, dtype, device):
        y, weight, bias = torch.randn(shape, device=device).to(dtype), *torch.rand(2, shape[-1], device=device).to(dtype)
        poison(device)
        for label, text, inputs, want in (
                ("swiglu", SWIGLU, [x, y], F.silu(x) * y), ("geglu", GEGLU, [x, y], geglu(x, y)),
                ("residual", RESIDUAL, [x, y], x + y * 0.22)):
            out, = chain(inputs, region(text, len(inputs), t), fast)
            assert differing(out, want) <= limit, (label, name)
            assert_close(out, want, factor=2, name=f"{label}, {name}", scale=x.double().norm())
        # Behind a sum, whose order differs, the last bit of the factor may.
        behind = max(limit, 2e-3 if dtype != torch.float32 else 1)
        out, r = chain([x, weight], region(RMS_NORM, 2, t), fast)
        want, want_r = rms_norm(x, weight)
        assert differing(out, want) <= behind, ("rms_norm", name)
        assert_close(out, want, name=f"rms_norm, {name}", factor=2)
        assert_close(r, want_r, name=f"r, {name}")
        if shape[-1] > 0:
            out, = chain([x], region(SOFTMAX, 1, t), fast)
            assert differing(out, softmax(x)) <= max(behind, 0.01), ("softmax", name)
            assert_close(out, softmax(x), name=f"softmax, {name}", factor=2)
        out, = chain([x, weight, bias], region(LAYER_NORM, 3, t), fast)
        assert_close(out, layer_norm(x, weight, bias), name=f"layer_norm, {name}", factor=2)


@pytest.mark.parametrize("dtype", DTYPES)
def test_rope(device, dtype):
    """Both halves of every head, cos and sin broadcast over the heads, the inputs columns of a packed projection."""
    t, tokens, heads, width = NAMES[dtype], 37, 5, 64
    packed = torch.randn(2, tokens, heads * width * 3, device=device).to(dtype)
    x = packed[..., width * heads:2 * width * heads].view(2, tokens, heads, width).transpose(1, 2)
    cos, sin = torch.randn(2, 2, tokens, width // 2, device=device).to(dtype)
    cos, sin = cos[:, None], sin[:, None]
    body = """
        %4 = mul.{t} %0 %2
        %5 = mul.{t} %1 %3
        %6 = sub.{t} %4 %5
        %7 = mul.{t} %1 %2
        %8 = mul.{t} %0 %3
        %9 = add.{t} %7 %8
        output %6
        output %9
    """
    low, high = x[..., :width // 2], x[..., width // 2:]
    out = chain([low, high, cos, sin], region(body, 4, t))
    assert differing(out[0], low * cos - high * sin) == 0
    assert differing(out[1], high * cos + low * sin) == 0


@pytest.mark.parametrize("dtype", DTYPES)
def test_masks(device, dtype):
    t, scores, lengths = NAMES[dtype], torch.randn(3, 4, 9, 40, device=device).to(dtype), torch.tensor([40, 7, 0], device=device)
    text = f"""
        %0 = input {t}
        %1 = input i64      # the length of each sequence
        %2 = input i64      # positions
        %3 = input bool
        %4 = lt.bool %2 %1
        %5 = logical_and.bool %4 %3
        %6 = where.{t} %5 %0 -inf
        output %6
    """
    positions, visible = torch.arange(40, device=device), torch.ones(9, 40, device=device).tril(31).bool()
    mask = (positions < lengths[:, None, None, None]) & visible
    out, = chain([scores, lengths[:, None, None, None], positions, visible], text)
    assert differing(out, torch.where(mask, scores, float("-inf"))) == 0


def test_types_that_meet(device):
    half, single = torch.randn(6, 40, device=device).bfloat16(), torch.randn(40, device=device)
    count = torch.randint(-50, 50, (6, 1), device=device)
    text = """
        %0 = input bf16
        %1 = input f32
        %2 = input i64
        %3 = mul.f32 %0 %1
        %4 = add.f32 %3 %2
        %5 = gt.bool %0 %1
        %6 = to.i64 %4
        output %4
        output %5
        output %6
    """
    out = chain([half, single, count], text)
    want = half * single + count
    assert torch.equal(out[0], want) and torch.equal(out[1], half > single) and torch.equal(out[2], want.long())
    text = "%0 = input bf16; %1 = input i64; %2 = mul.bf16 %0 %1; output %2"
    assert differing(chain([half, count * 37], text)[0], half * (count * 37)) == 0
    text = "%0 = input i64; %1 = sum.i64 %0; %2 = amax.i64 %0; %3 = sub.i64 %1 %2 alpha=3; output %3"
    wide = torch.randint(-1000, 1000, (5, 77), device=device)
    assert torch.equal(chain([wide], text)[0], wide.sum(-1, True) - 3 * wide.amax(-1, True))


def test_reductions_alone(device):
    for dtype in DTYPES + [torch.float64]:
        for shape in ((5, 1), (4, 3, 33), (2, 5000), (70, 256)):
            x, t = torch.randn(shape, device=device).to(dtype), NAMES[dtype]
            x[0, ..., -1] = float("nan")
            for name, want in (("amax", x.amax(-1, True)), ("sum", x.sum(-1, True)), ("mean", x.mean(-1, True))):
                out, = chain([x], region(f"%1 = {name}.{{t}} %0", 1, t))
                assert out.shape == want.shape
                if name == "amax":
                    assert differing(out, want) == 0
                else:
                    assert_close(out, want, dtype=torch.float32 if dtype == torch.float64 else dtype, name=name, scale=x[1].double().norm())
    out, = chain([torch.empty(3, 0, device=device)], region("%1 = sum.f32 %0", 1, "f32"))
    assert out.flatten().tolist() == [0, 0, 0]


@pytest.mark.gpu
@pytest.mark.large
def test_more_than_two_to_the_31_elements():
    rows = (1 << 31) // 4096 + 3
    x = torch.randn(rows, 4097, device="cuda", dtype=torch.bfloat16)
    weight, scale = torch.rand(4096, device="cuda").bfloat16(), torch.rand(rows, 1, device="cuda").bfloat16()
    tail = slice(rows - 5, rows)
    flat, = chain([x.view(-1)], region("%1 = mul.{t} %0 0.3"))
    assert differing(flat.view(rows, -1)[tail], x[tail] * 0.3) == 0
    del flat
    columns = x[:, :4096]
    out, = chain([columns, scale], region("%2 = mul.{t} %0 %1", 2))
    assert differing(out[tail], columns[tail] * scale[tail]) == 0
    del out
    out, _ = chain([columns, weight], region(RMS_NORM, 2))
    assert differing(out[tail], rms_norm(columns[tail], weight)[0]) <= 2e-3


@pytest.mark.gpu
def test_repeats_bit_for_bit():
    x, weight = torch.randn(3000, 4096, device="cuda").bfloat16(), torch.rand(4096, device="cuda").bfloat16()
    first = chain([x, weight], region(RMS_NORM, 2))
    for _ in range(20):
        again = chain([x, weight], region(RMS_NORM, 2))
        assert all(torch.equal(a, b) for a, b in zip(first, again))
