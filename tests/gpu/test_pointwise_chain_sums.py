# SPDX-License-Identifier: Apache-2.0
"""Sums over rows of pointwise_chain (`output %N summed`), and the backwards that use them."""
import pytest
import torch
from checking import assert_close, layouts, poison, relative_error
from regions import LAYER_NORM, RMS_NORM, SOFTMAX, layer_norm, region, rms_norm
from torch.testing._internal.optests import opcheck

ops = torch.ops.fusescope
chain = ops.pointwise_chain
KINDS = {torch.float32: "f32", torch.bfloat16: "bf16", torch.float16: "f16", torch.float64: "f64"}
# A row in some lanes of a warp, in a block, and one that a block walks over; one row or several for each block.
SHAPES = [(1, 1), (3, 1), (5, 7), (1, 128), (4099, 128), (7, 3, 64), (513, 1024), (33, 4096), (300, 4104), (5, 20000),
          (300, 20000), (3, 70001)]
PRODUCT = "%2 = mul.{t} %0 %1\noutput %2 summed"
CENTRED = "%2 = mean.{t} %0\n%3 = sub.{t} %0 %2\n%4 = mul.{t} %3 %1\noutput %4\noutput %4 summed\noutput %2"
gpu = pytest.mark.gpu


def over_rows(t):
    return t.double().flatten(0, -2).sum(0)


def sizes(shape, device):
    return shape if device == "cuda" or torch.Size(shape).numel() < 1 << 17 else (*shape[:-1], shape[-1] // 8)


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_of_products(shape, dtype, device):
    x, y = (torch.randn(sizes(shape, device), device=device, dtype=torch.float64).to(dtype) for _ in range(2))
    poison(device)
    out, = chain([x, y], region(PRODUCT, 2, KINDS[dtype]))
    # Terms as the element type holds them.
    terms = (x.double() * y.double()).to(dtype)
    assert out.shape == x.shape[-1:] and out.dtype == dtype
    error = relative_error(out, over_rows(terms), scale=over_rows(terms.abs()).norm().item())
    assert error <= {torch.float64: 1e-14, torch.float32: 1e-6, torch.float16: 1e-3, torch.bfloat16: 4e-3}[dtype]


@pytest.mark.parametrize("shape", [(6, 40), (70, 512), (5, 4096), (2, 40000)], ids=str)
def test_beside_rows_and_their_reductions(shape, device):
    x = torch.randn(sizes(shape, device), device=device)
    y = torch.randn(x.shape[-1:], device=device)
    poison(device)
    whole, summed, mean = chain([x, y], region(CENTRED, 2, "f32"))
    want = (x.double() - x.double().mean(-1, keepdim=True)) * y
    torch.testing.assert_close(whole.double(), want, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(mean.double(), x.double().mean(-1, keepdim=True), rtol=1e-4, atol=1e-6)
    assert_close(summed, over_rows(want), factor=2, scale=over_rows(want.abs()).norm().item())


@pytest.mark.parametrize("shape", [(9, 64), (2, 5, 96)], ids=str)
def test_of_any_layout(shape, device):
    for name, x in layouts(shape, torch.bfloat16, device):
        y = torch.randn(shape[-1], device=device, dtype=torch.bfloat16)
        out, = chain([x, y], region(PRODUCT, 2))
        assert_close(out, over_rows(x * y), name=name, scale=over_rows((x * y).abs()).norm().item())


def test_of_no_rows(device):
    poison(device)
    for shape in ((0, 5), (3, 0, 4100)):
        x = torch.randn(shape, device=device)
        out, = chain([x, x.clone()], region(PRODUCT, 2, "f32"))
        assert torch.equal(out, torch.zeros(shape[-1], device=device))
    x = torch.randn(3, 0, device=device)
    assert chain([x, x.clone()], region(PRODUCT, 2, "f32"))[0].shape == (0,)


def test_nan_and_infinity_stay_in_their_columns(device):
    x = torch.ones(40, 16, device=device)
    x[3, 2], x[7, 5], x[9, 6], x[11, 6] = torch.nan, torch.inf, torch.inf, -torch.inf
    out, = chain([x, torch.ones_like(x)], region(PRODUCT, 2, "f32"))
    want = torch.full((16,), 40.0, device=device)
    want[2], want[5], want[6] = torch.nan, torch.inf, torch.nan
    assert torch.equal(out.isnan(), want.isnan()) and torch.equal(out[~want.isnan()], want[~want.isnan()])


@pytest.mark.parametrize("shape", [(70, 64), (1000, 128), (300, 256), (40, 1024)], ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_many_at_once(dtype, shape, device):
    count = 8
    x = [torch.randn(shape, device=device, dtype=torch.float64).to(dtype) for _ in range(count)]
    body = "\n".join(f"%{count + i} = mul.{{t}} %{i} %{(i + 1) % count}" for i in range(count))
    text = region(body + "".join(f"\noutput %{count + i} summed" for i in range(count)), count, KINDS[dtype])
    assert ops.pointwise_chain_binary([t.cpu() for t in x], text, 90).numel() > 0
    poison(device)
    for i, out in enumerate(chain(x, text)):
        terms = x[i] * x[(i + 1) % count]
        assert_close(out, over_rows(terms), scale=over_rows(terms.abs()).norm().item())


def test_after_many_reductions(device):
    # Each of the 100 takes shared memory, which there is for fewer.
    x, w = torch.randn(40, 1024, device=device, dtype=torch.float64), torch.randn(1024, device=device, dtype=torch.float64)
    lines, want = ["%2 = mul.f64 %0 %1"], x * w
    for at in range(2, 202, 2):
        lines += [f"%{at + 1} = mean.f64 %{at}", f"%{at + 2} = add.f64 %{at} %{at + 1}"]
        want = want + want.mean(-1, keepdim=True)
    text = region("\n".join(lines) + "\noutput %202 summed", 2, "f64")
    assert ops.pointwise_chain_binary([x.cpu(), w.cpu()], text, 90).numel() > 0
    torch.testing.assert_close(chain([x, w], text)[0], want.sum(0), rtol=1e-9, atol=0)


def test_contract(device):
    opcheck(chain.default, ([torch.randn(4, 40, device=device), torch.randn(40, device=device)], region(CENTRED, 2, "f32")))


def test_refused(device):
    x = torch.randn(4, 8, device=device)
    for text, sentence in ((region("%1 = sum.f32 %0\noutput %1 summed", 1, "f32"), "over whose rows it is summed"),
                           (region("%1 = gt.bool %0 0\noutput %1 summed", 1, "f32"), "floating numbers, found bool"),
                           (region("%1 = neg.f32 %0\noutput %1 twice", 1, "f32"), "'output %N summed'"),
                           (region("%1 = neg.f32 %0\noutput %1 summed\noutput %1 summed", 1, "f32"), "written twice")):
        with pytest.raises(RuntimeError, match=sentence):
            chain([x], text)
        with pytest.raises(RuntimeError, match=sentence):
            chain([x.to("meta")], text)


@gpu
def test_repeats_bit_for_bit():
    for shape in ((4099, 128), (1000, 4096), (40, 40000)):
        x, y = (torch.randn(shape, device="cuda") for _ in range(2))
        first = chain([x, y], region(PRODUCT, 2, "f32"))[0]
        for _ in range(5):
            poison("cuda", 8)
            assert torch.equal(chain([x, y], region(PRODUCT, 2, "f32"))[0], first)


@gpu
def test_on_many_streams():
    x, y = (torch.randn(2000, 4096, device="cuda") for _ in range(2))
    first = chain([x, y], region(PRODUCT, 2, "f32"))[0]
    torch.cuda.synchronize()
    streams, results = [torch.cuda.Stream() for _ in range(6)], []
    for i in range(30):
        with torch.cuda.stream(streams[i % 6]):
            results.append(chain([x, y], region(PRODUCT, 2, "f32"))[0])
    torch.cuda.synchronize()
    assert all(torch.equal(r, first) for r in results)


@pytest.mark.keeps_memory
@gpu
def test_under_a_cuda_graph():
    x = torch.randn(300, 4096, device="cuda")
    text = region(PRODUCT, 2, "f32")
    want = chain([x, x.clone()], text)[0]
    y = x.clone()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = chain([x, y], text)[0]
    for _ in range(3):
        out.fill_(torch.nan)
        graph.replay()
        assert torch.equal(out, want)


# Backwards.

WEIGHTED = {
    "rms_norm": (RMS_NORM, 1, rms_norm),
    "layer_norm": (LAYER_NORM, 2, lambda *t: (layer_norm(*t),)),
    "bias": ("%2 = add.{t} %0 %1\n%3 = gelu.{t} %2", 1, lambda x, b: (torch.nn.functional.gelu(x + b),)),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("shape", [(1, 64), (2, 70, 128), (30, 4096), (4, 24000)], ids=str)
@pytest.mark.parametrize("name", WEIGHTED)
def test_gradients_of_rows(name, shape, dtype, device):
    body, weights, eager = WEIGHTED[name]
    shape = sizes(shape, device)
    x = [torch.randn(s, device=device, dtype=torch.float64).to(dtype).requires_grad_()
         for s in (shape, *[shape[-1:]] * weights)]
    outputs = chain(x, region(body, len(x), KINDS[dtype]))
    exact = [t.detach().double().requires_grad_() for t in x]
    want = eager(*exact)
    given = [torch.randn(o.shape, dtype=torch.float64).to(o.dtype).to(device) for o in outputs]
    poison(device)
    mine = torch.autograd.grad(outputs, x, given)
    theirs = torch.autograd.grad([w.double() for w in want], exact, [g.double() for g in given])
    for m, t, leaf in zip(mine, theirs, x):
        assert m.shape == leaf.shape and m.dtype == dtype
        assert_close(m, t, factor=8, scale=max(t.abs().max().item(), 1))


def test_sums_instead_of_whole_gradients(device):
    x, w, b = (torch.randn(s, device=device) for s in ((6, 40), (40,), (1, 40)))
    text, _, of, _ = ops.pointwise_chain_gradient([x, w, b], region(LAYER_NORM, 3, "f32"))
    assert of == [0, 1, 2] and text.count("summed") == 2
    # The value that one input needs whole and another one summed is computed once.
    text, _, of, value = ops.pointwise_chain_gradient([x, w], region("%2 = add.f32 %0 %1\n%3 = sin.f32 %2", 2, "f32"))
    assert of == [0, 1] and value == [0, 1] and text.count("output") == 2 and text.count("cos") == 1
    # Of one row there is nothing to sum.
    assert "summed" not in ops.pointwise_chain_gradient([x[:1], w], region("%2 = mul.f32 %0 %1", 2, "f32"))[0]


def test_softmax_takes_one_more_sum(device):
    # (g - sum(g * y)) * y, and nothing for the largest that is subtracted.
    x = torch.randn(4, 30, device=device)
    text = ops.pointwise_chain_gradient([x], region(SOFTMAX, 1, "f32"))[0]
    assert text.count("sum.") == 2 and text.count("amax.") == 1 and text.count("div.") == 1
    # A sum, or a largest, that serves something else as well keeps its own gradient.
    for output in ("%5", "%2"):
        body = SOFTMAX + f"output %7\noutput {output}"
        exact = x.double().requires_grad_()
        e = torch.exp(exact - exact.amax(-1, keepdim=True))
        other = e.sum(-1, keepdim=True) if output == "%5" else exact.amax(-1, keepdim=True)
        want, = torch.autograd.grad([e / e.sum(-1, keepdim=True), other], exact, [torch.ones_like(e), torch.ones_like(other)])
        leaf = x.clone().requires_grad_()
        mine, = torch.autograd.grad(sum(o.sum() for o in chain([leaf], region(body, 1, "f32"))), leaf)
        torch.testing.assert_close(mine.double(), want, rtol=1e-4, atol=1e-5)


@gpu
@pytest.mark.parametrize("values", ["moderate", "any bits", "negative", "softmax"])
def test_division_by_a_rows_value_is_exact(values):
    rows, width = 2048, 2048
    x = torch.randn(rows, width, device="cuda").abs() * torch.exp2(torch.randint(-60, 60, (rows, width), device="cuda").float())
    b = torch.rand(rows, 1, device="cuda").add(1) * torch.exp2(torch.randint(-23, 23, (rows, 1), device="cuda").float())
    if values == "any bits":
        x = torch.randint(-2**31, 2**31 - 1, (rows, width), device="cuda", dtype=torch.int64).int().view(torch.float32)
        b[::2] = torch.randint(-2**31, 2**31 - 1, (rows // 2, 1), device="cuda", dtype=torch.int64).int().view(torch.float32)
    elif values == "negative":
        x, b = -x, -b
    elif values == "softmax":
        x = torch.exp(torch.randn(rows, width, device="cuda") * 30 - 60)
        x[:, ::3], x[:, 1::7] = 0.0, -0.0
        b = x.sum(-1, keepdim=True)
    out, = chain([x, b], region("%2 = div.f32 %0 %1", 2, "f32"))
    want = x / b
    same = (out.view(torch.int32) == want.view(torch.int32)) | (out.isnan() & want.isnan())
    assert same.all(), (x[~same][:4], b.expand_as(x)[~same][:4], out[~same][:4], want[~same][:4])
