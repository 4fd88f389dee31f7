# SPDX-License-Identifier: Apache-2.0
import pytest
import torch
import torch.nn.functional as F
from checking import RELATIVE, assert_close, differing, layouts, poison

ops = torch.ops.fusescope
DTYPES = [torch.bfloat16, torch.float16, torch.float32]
# x's shape, features of q, features of k and of v
SHAPES = [((1, 1), 1, 1), ((3, 7), 5, 3), ((2, 3, 64), 32, 16), ((7, 256), 128, 64), ((40, 96), 72, 0), ((1, 128), 256, 128),
          ((2, 5, 33), 31, 8), ((0, 64), 32, 16), ((4, 0, 64), 32, 16), ((5, 0), 8, 4)]


def weights_of(q, kv, width, dtype, device):
    return [torch.randn(n, width, device=device).mul(0.1).to(dtype) for n in (q, kv, kv)]


def truth(x, weights, gradients):
    """In fp64: the parts of y, dx, the parts of dweight."""
    x = x.detach().double().requires_grad_()
    weights = [w.detach().double().requires_grad_() for w in weights]
    parts = [F.linear(x, w) for w in weights]
    slopes = torch.autograd.grad(parts, [x, *weights], [g.double() for g in gradients])
    return [p.detach() for p in parts], slopes[0], slopes[1:]


def assert_near(got, want, dtype, name):
    # fp32 sums of many products: their rounding grows with the depth, not with the element type.
    assert_close(got, want, dtype=dtype, factor=4 if dtype == torch.float32 else 1, name=name)


@pytest.mark.parametrize("form", ["packed", "separate", "neighbours"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape, q, kv", SHAPES)
def test_values(device, shape, q, kv, dtype, form):
    for name, x in layouts(shape, dtype, device):
        parts = weights_of(q, kv, shape[-1], dtype, device)
        packed = torch.cat(parts)
        gradients = [torch.randn(*shape[:-1], n, device=device).to(dtype) for n in (q, kv, kv)]
        want, want_dx, want_dw = truth(x, parts, gradients)
        poison(device)
        x = x.detach().requires_grad_()
        if form == "packed":
            leaves = [packed.requires_grad_()]
            out = ops.qkv_projection(x, packed, q, kv)
        else:
            # Neighbours: three tensors that lie one after the other, which one product covers.
            leaves = list(packed.split([q, kv, kv])) if form == "neighbours" else parts
            leaves = [w.detach().requires_grad_() for w in leaves]
            out = ops.qkv_projection_separate(x, *leaves)
        dx, *dw = torch.autograd.grad(out, [x, *leaves], gradients)
        dw = dw if len(dw) == 3 else dw[0].split([q, kv, kv])
        for what, a, b in zip("qkv", out, want):
            assert a.dtype == dtype
            assert_near(a, b, dtype, f"{what}, {name}")
        # Up to two additions to what was rounded already.
        assert_close(dx, want_dx, dtype=dtype, factor=4, name=f"dx, {name}")
        for a, b in zip(dw, want_dw):
            assert_near(a, b, dtype, f"dweight, {name}")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("separate", [False, True])
def test_gate_up(device, dtype, separate):
    x = torch.randn(6, 48, device=device).to(dtype)
    weight = torch.randn(80, 48, device=device).to(dtype)
    if separate:
        gate, up = ops.gate_up_projection_separate(x, weight[:40].clone(), weight[40:].clone())
    else:
        gate, up = ops.gate_up_projection(x, weight)
    assert_near(gate, x.double() @ weight[:40].double().T, dtype, "gate")
    assert_near(up, x.double() @ weight[40:].double().T, dtype, "up")
    packed = ops.packed_projection(x, [weight])
    assert torch.equal(packed, torch.cat([gate, up], -1)) or separate
    assert ops.swiglu(gate, up).shape == ops.swiglu_packed(packed).shape == (6, 40)


def test_results_are_views_of_one_tensor(device):
    x, weight = torch.randn(5, 16, device=device), torch.randn(24, 16, device=device)
    for out in (ops.qkv_projection(x, weight, 12, 6), ops.qkv_projection_separate(x, weight[:12], weight[12:18], weight[18:])):
        q, k, v = out
        assert q.untyped_storage().data_ptr() == k.untyped_storage().data_ptr() == v.untyped_storage().data_ptr()
        assert (q.stride(), k.stride(), v.stride()) == ((24, 1),) * 3
        assert (k.storage_offset(), v.storage_offset()) == (12, 18)


def test_results_may_change_in_place(device):
    x, weight = torch.randn(5, 16, device=device, requires_grad=True), torch.randn(24, 16, device=device, requires_grad=True)
    q, k, v = ops.qkv_projection(x, weight, 12, 6)
    kept = k.detach().clone()
    q.mul_(3)
    assert torch.equal(k, kept)
    got = torch.autograd.grad((q.sum() + (k * v).sum()), (x, weight))
    a, b, c = F.linear(x, weight).split([12, 6, 6], -1)
    want = torch.autograd.grad((a * 3).sum() + (b * c).sum(), (x, weight))
    for one, other in zip(got, want):
        assert_close(one, other, factor=4)


@pytest.mark.parametrize("cut_gradient", [(24,), (12, 6, 6), (4, 20)])
@pytest.mark.parametrize("cut_weight", [(24,), (12, 6, 6), (18, 6)])
@pytest.mark.parametrize("side_by_side", [False, True])
def test_gradients_and_weights_cut_differently(device, cut_gradient, cut_weight, side_by_side):
    dy, x, weight = torch.randn(7, 24, device=device), torch.randn(7, 16, device=device), torch.randn(24, 16, device=device)
    dys, weights = dy.split(cut_gradient, -1), weight.split(cut_weight)
    if not side_by_side:
        dys, weights = [d.clone() for d in dys], [w.clone() for w in weights]
    poison(device)
    dx = ops.packed_projection_input_gradient(dys, weights)
    dw = ops.packed_projection_weight_gradient(dys, x)
    assert_close(dx, dy.double() @ weight.double(), factor=4)
    assert_close(dw, dy.double().T @ x.double(), factor=4)


def test_gradients_in_odd_layouts(device):
    x, weight = torch.randn(3, 4, 16, device=device), torch.randn(20, 16, device=device)
    for name, dy in [*layouts((3, 4, 20), torch.float32, device), ("expanded", torch.randn(20, device=device).expand(3, 4, 20))]:
        assert_close(ops.packed_projection_input_gradient([dy], [weight]), dy.double() @ weight.double(), factor=4, name=name)
        want = dy.double().flatten(0, 1).T @ x.double().flatten(0, 1)
        assert_close(ops.packed_projection_weight_gradient([dy], x), want, factor=4, name=name)


def test_only_what_is_asked_for(device):
    """Frozen weights or a frozen input: no product for their gradient."""
    x, weight = torch.randn(5, 16, device=device), torch.randn(24, 16, device=device)
    for needs_x, needs_w in [(True, False), (False, True)]:
        a, b = x.detach().requires_grad_(needs_x), weight.detach().requires_grad_(needs_w)
        q, k, v = ops.qkv_projection(a, b, 12, 6)
        (q.sum() + v.sum()).backward()  # k is not used
        assert (a.grad is not None) == needs_x and (b.grad is not None) == needs_w
        if needs_w:
            assert_close(b.grad[:12], x.double().sum(0).expand(12, 16), factor=4)
            assert b.grad[12:18].abs().max() == 0


def test_gradients_against_differences():
    x = torch.randn(2, 3, 5, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(8, 5, dtype=torch.float64, requires_grad=True)
    apart = [torch.randn(n, 5, dtype=torch.float64, requires_grad=True) for n in (4, 3, 2)]
    torch.autograd.gradcheck(lambda a, b: ops.qkv_projection(a, b, 4, 2), (x, weight))
    torch.autograd.gradcheck(ops.qkv_projection_separate, (x, *apart))
    torch.autograd.gradcheck(ops.gate_up_projection, (x, weight))
    torch.autograd.gradcheck(lambda a, *b: ops.packed_projection(a, b), (x, *apart))


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("rows", [1, 7, pytest.param(4096, marks=pytest.mark.large)])
def test_against_the_framework(dtype, rows):
    """No farther from fp64 than F.linear, at a model's size."""
    hidden, q, kv = 4096, 4096, 1024
    x = torch.randn(rows, hidden, device="cuda").to(dtype)
    weight = torch.randn(q + 2 * kv, hidden, device="cuda").mul(0.02).to(dtype)
    want = F.linear(x.double(), weight.double())
    out = torch.cat(ops.qkv_projection(x, weight, q, kv), -1)
    ours, theirs = (float((y.double() - want).norm() / want.norm()) for y in (out, F.linear(x, weight)))
    print(f"{dtype} {rows} rows: {ours:.3g}, framework {theirs:.3g}, differing {differing(out, F.linear(x, weight)):.3g}")
    assert ours <= 1.5 * theirs + 1e-7
    assert ours <= RELATIVE[dtype]


@pytest.mark.gpu
def test_fp32_is_not_tf32_unless_allowed():
    x, weight = torch.randn(512, 2048, device="cuda"), torch.randn(1024, 2048, device="cuda")
    want = x.double() @ weight.double().T

    def error():
        return float((ops.packed_projection(x, [weight]).double() - want).norm() / want.norm())

    before = torch.backends.cuda.matmul.allow_tf32
    try:
        torch.backends.cuda.matmul.allow_tf32 = False
        assert error() < 2e-6
        torch.backends.cuda.matmul.allow_tf32 = True
        assert 2e-5 < error() < 1e-3
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before


@pytest.mark.gpu
@pytest.mark.parametrize("rows", [5, 300, 3000])
def test_repeats_bit_for_bit(rows):
    x, weight = torch.randn(rows, 1024, device="cuda").bfloat16(), torch.randn(4096, 1024, device="cuda").bfloat16()
    y = ops.packed_projection(x, [weight])
    dx = ops.packed_projection_input_gradient(y.split([2048, 1024, 1024], -1), [weight])
    dw = ops.packed_projection_weight_gradient([y], x)
    for _ in range(20):
        assert torch.equal(y, ops.packed_projection(x, [weight]))
        assert torch.equal(dx, ops.packed_projection_input_gradient([y], [weight]))
        assert torch.equal(dw, ops.packed_projection_weight_gradient([y], x))


@pytest.mark.gpu
def test_many_streams():
    weight = torch.randn(1536, 512, device="cuda").bfloat16()
    inputs = [torch.randn(300 + i, 512, device="cuda").bfloat16() for i in range(16)]
    torch.cuda.synchronize()
    outputs = []
    for x in inputs:
        with torch.cuda.stream(torch.cuda.Stream()):
            outputs.append(ops.packed_projection(x, [weight]))
    torch.cuda.synchronize()
    for x, y in zip(inputs, outputs):
        assert torch.equal(y, ops.packed_projection(x, [weight]))


@pytest.mark.gpu
@pytest.mark.keeps_memory
def test_captured_in_a_graph():
    x, weight = torch.randn(256, 512, device="cuda").bfloat16(), torch.randn(1024, 512, device="cuda").bfloat16()
    ops.packed_projection(x, [weight])
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = ops.packed_projection(x, [weight])
    x.copy_(torch.randn_like(x))
    graph.replay()
    torch.cuda.synchronize()
    assert torch.equal(y, ops.packed_projection(x, [weight]))


@pytest.mark.gpu
@pytest.mark.large
def test_more_than_two_to_the_31_elements():
    rows, hidden, width = (1 << 31) // 2048 + 100, 64, 2048
    x = torch.randn(rows, hidden, device="cuda", dtype=torch.bfloat16)
    weight = torch.randn(width, hidden, device="cuda").bfloat16()
    y = ops.packed_projection(x, [weight])
    tail = slice(rows - 5, rows)
    assert_close(y[tail], x[tail].double() @ weight.double().T)
    dx = ops.packed_projection_input_gradient([y], [weight])
    assert_close(dx[tail], y[tail].double() @ weight.double())


def test_extreme_values(device):
    x = torch.tensor([[float("inf"), 1], [float("nan"), 1], [3e38, 3e38], [0, 0]], device=device)
    weight = torch.tensor([[1.0, 1], [1, -1]], device=device)
    y = ops.packed_projection(x, [weight])
    assert y[0].tolist() == [float("inf")] * 2 and bool(y[1].isnan().all()) and y[2, 0] == float("inf") and y[3].tolist() == [0, 0]


def test_refuses_what_does_not_fit(device):
    x, weight = torch.randn(3, 8, device=device), torch.randn(12, 8, device=device)
    with pytest.raises(RuntimeError, match="features, 8"):
        ops.packed_projection(x, [torch.randn(4, 7, device=device)])
    with pytest.raises(RuntimeError, match="x's type"):
        ops.packed_projection(x, [weight.half()])
    with pytest.raises(RuntimeError, match="2 \\* 4"):
        ops.qkv_projection(x, weight, 8, 4)
    with pytest.raises(RuntimeError, match="gate and up"):
        ops.gate_up_projection(x, weight[:5])
    with pytest.raises(RuntimeError, match="as many columns"):
        ops.packed_projection_input_gradient([x], [weight])
    with pytest.raises(RuntimeError, match="rows of the gradients"):
        ops.packed_projection_weight_gradient([x], weight)


def test_meta():
    x, weight = torch.empty(2, 3, 64, device="meta"), torch.empty(96, 64, device="meta")
    q, k, v = ops.qkv_projection(x, weight, 48, 24)
    assert q.shape == (2, 3, 48) and k.shape == v.shape == (2, 3, 24)


def test_operator_contract(device):
    """Schema, fake tensors, autograd registration and tracing with dynamic shapes, by PyTorch's own checks."""
    x, weight = torch.randn(6, 16, device=device, requires_grad=True), torch.randn(24, 16, device=device, requires_grad=True)
    apart = [torch.randn(n, 16, device=device, requires_grad=True) for n in (12, 6, 6)]
    check = torch.library.opcheck
    check(ops.packed_projection.default, (x, [weight]))
    check(ops.packed_projection.default, (x, apart))
    check(ops.qkv_projection.default, (x, weight, 12, 6))
    check(ops.qkv_projection_separate.default, (x, *apart))
    check(ops.gate_up_projection.default, (x, weight))
    check(ops.gate_up_projection_separate.default, (x, *apart[1:]))
    dy = torch.randn(6, 24, device=device)
    check(ops.packed_projection_input_gradient.default, ([dy], [weight.detach()]))
    check(ops.packed_projection_weight_gradient.default, ([dy], x.detach()))


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("in_place", [False, True])
def test_compiled(device, dynamic, in_place):
    """torch.compile traces through the views, also where one is then changed in place."""
    def layer(x, weight):
        q, k, v = ops.qkv_projection(x, weight, 12, 6)
        if in_place:
            q.mul_(2)
            k.add_(1)
        return q.square(), k, v

    x, weight = torch.randn(6, 16, device=device, requires_grad=True), torch.randn(24, 16, device=device, requires_grad=True)
    torch._dynamo.reset()
    compiled = torch.compile(layer, backend="aot_eager", fullgraph=True, dynamic=dynamic)
    for rows in (6, 9):
        x = torch.randn(rows, 16, device=device, requires_grad=True)
        got, want = compiled(x, weight), layer(x, weight)
        gradients = [torch.randn_like(w) for w in want]
        for a, b in zip([*got, *torch.autograd.grad(got, (x, weight), gradients)],
                        [*want, *torch.autograd.grad(want, (x, weight), gradients)]):
            assert_close(a, b.detach(), factor=4)
