# SPDX-License-Identifier: Apache-2.0
import pytest
import torch
import torch.nn.functional as F
from checking import RELATIVE, assert_close, layouts, poison, relative_error

ops = torch.ops.fusescope
DTYPES = [torch.bfloat16, torch.float16, torch.float32]
MODES = ["fast", "lean"]
IGNORED = -100
QWEN3 = 151936
# A loss scale, as training in fp16 needs it: without one the gradients of both sides underflow.
SCALE = {torch.bfloat16: 1.0, torch.float16: 2.0**12, torch.float32: 1.0}


def problem(tokens, hidden, vocab, dtype, device, ignored=0.2):
    x = torch.randn(tokens, hidden, device=device).to(dtype)
    weight = (torch.randn(vocab, hidden, device=device) * hidden**-0.5).to(dtype)
    labels = torch.randint(vocab, (tokens,), device=device)
    labels[torch.rand(tokens, device=device) < ignored] = IGNORED
    labels[0] = vocab - 1
    return x, weight, labels


def eager(x, weight, labels, items=None):
    """transformers' loss: fp32 logits from the rounded ones, a sum over num_items_in_batch or a mean."""
    logits = F.linear(x, weight)
    logits = logits if logits.dtype == torch.float64 else logits.float()
    loss = F.cross_entropy(logits.flatten(0, -2), labels.flatten(), ignore_index=IGNORED,
                           reduction="mean" if items is None else "sum")
    return loss if items is None else loss / items


def with_gradients(loss_of, x, weight, labels, *rest, scale=1.0):
    x, weight = x.detach().requires_grad_(), weight.detach().requires_grad_()
    loss = loss_of(x, weight, labels, *rest)
    return (loss.detach(), *torch.autograd.grad(loss * scale, (x, weight)))


def truth(x, weight, labels, *rest, scale=1.0):
    return with_gradients(eager, x.double(), weight.double(), labels, *rest, scale=scale)


def ours(mode="auto", items=None):
    return lambda x, weight, labels: ops.linear_cross_entropy(x, weight, labels, items, IGNORED, mode)


def check_against_truth(x, weight, labels, mode, name=""):
    """No farther from fp64 than the framework is, but for what rounding explains."""
    scale = SCALE[x.dtype]
    want = truth(x, weight, labels, scale=scale)
    theirs = with_gradients(eager, x, weight, labels, scale=scale)
    poison(x.device.type)
    got = with_gradients(ours(mode), x, weight, labels, scale=scale)
    limit = RELATIVE[x.dtype] * (5 if x.dtype == torch.float32 else 1)
    assert got[0].dtype == torch.float32
    assert_close(got[0], theirs[0], dtype=torch.float32, factor=10, name=f"loss, {name}")
    for what, mine, their, right in zip(("dx", "dweight"), got[1:], theirs[1:], want[1:]):
        assert mine.dtype == x.dtype and mine.shape == right.shape
        error, allowed = relative_error(mine, right), max(1.2 * relative_error(their, right), limit)
        assert error <= allowed, f"{what}, {name}: relative error {error:.3g}, allowed {allowed:.3g}"


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("tokens, hidden, vocab", [(1, 1, 1), (1, 64, 1000), (17, 64, 1000), (7, 65, 1001), (33, 3, 7), (130, 128, 515),
                                                   (5, 16, QWEN3)])
def test_values(device, tokens, hidden, vocab, dtype, mode):
    x, weight, labels = problem(tokens, hidden, vocab, dtype, device)
    if device == "cpu":
        want, got = truth(x, weight, labels), with_gradients(ours(mode), x, weight, labels)
        assert_close(got[0], want[0])
        for mine, right in zip(got[1:], want[1:]):
            assert_close(mine, right)
    else:
        check_against_truth(x, weight, labels, mode)


@pytest.mark.gpu
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("tokens, hidden, vocab", [(1, 4096, QWEN3), (17, 1024, QWEN3), (1000, 64, QWEN3), (1000, 4096, 1000),
                                                   (1000, 1024, QWEN3), (3000, 256, 32003)])
@pytest.mark.large
def test_values_of_models(tokens, hidden, vocab, dtype, mode):
    check_against_truth(*problem(tokens, hidden, vocab, dtype, "cuda"), mode)


@pytest.mark.gpu
@pytest.mark.large
@pytest.mark.parametrize("tokens, hidden", [(4096, 1024), (2048, 4096), (8192, 256)])
def test_lean_with_many_chunks(tokens, hidden):
    """Chunks that stay in dweight's memory, and with more tokens than elements of hidden others that are computed again."""
    x, weight, labels = problem(tokens, hidden, QWEN3, torch.bfloat16, "cuda")
    fast, lean = (with_gradients(ours(mode), x, weight, labels) for mode in MODES)
    theirs = with_gradients(eager, x, weight, labels)
    for got in (fast, lean):
        assert_close(got[0], theirs[0], factor=10, name="loss")
        assert_close(got[1], theirs[1], name="dx")
        assert_close(got[2], theirs[2], name="dweight")
    assert_close(lean[0], fast[0], factor=10)


@pytest.mark.parametrize("mode", MODES)
def test_layouts(device, mode):
    weight = torch.randn(50, 64, device=device)
    for name, x in layouts((3, 5, 64), torch.float32, device):
        labels = torch.randint(50, (3, 6), device=device)[:, 1:]
        for what, w in (("plain", weight), ("transposed", weight.t().contiguous().t()), ("wider", F.pad(weight, (3, 5))[:, 3:-5])):
            want, got = truth(x, w, labels), with_gradients(ours(mode), x, w, labels)
            for mine, right in zip(got, want):
                assert_close(mine, right, factor=5, name=f"{name}, weight {what}")


@pytest.mark.parametrize("mode", MODES)
def test_number_of_items(device, mode):
    x, weight, labels = problem(20, 16, 30, torch.float32, device)
    want = truth(x, weight, labels, 7)
    tensors = [torch.tensor(v, device=where) for v in (7, [7.0]) for where in ("cpu", device)]
    for items in [7, 7.0, *tensors, tensors[0].int()]:
        got = with_gradients(ours(mode, items), x, weight, labels)
        for mine, right in zip(got, want):
            assert_close(mine, right, factor=5)
    total = ops.linear_cross_entropy(x, weight, labels, 1.0, IGNORED, mode)
    assert_close(total, truth(x, weight, labels, 1)[0])


@pytest.mark.parametrize("mode", MODES)
def test_ignored_labels(device, mode):
    x, weight, labels = problem(20, 16, 30, torch.float32, device, ignored=0.5)
    renamed = torch.where(labels == IGNORED, 3, labels)
    labels = torch.where(renamed == 3, IGNORED, renamed)
    want = truth(x, weight, labels)
    got = with_gradients(lambda *a: ops.linear_cross_entropy(*a, None, 3, mode), x, weight, renamed)
    for mine, right in zip(got, want):
        assert_close(mine, right, factor=5)
    assert bool((got[1][labels == IGNORED] == 0).all())


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("tokens", [0, 9])
def test_all_ignored_is_as_the_frameworks(device, tokens, dtype, mode):
    x, weight = torch.randn(tokens, 16, device=device).to(dtype), torch.randn(30, 16, device=device).to(dtype)
    labels = torch.full((tokens,), IGNORED, device=device)
    want, got = (with_gradients(f, x, weight, labels) for f in (eager, ours(mode)))
    assert bool(torch.isnan(got[0])) and bool(torch.isnan(want[0]))
    assert torch.equal(got[1], want[1]) and torch.equal(got[2], want[2]) and not got[2].any()
    summed = with_gradients(ours(mode, 5.0), x, weight, labels)
    assert float(summed[0]) == 0 and not summed[1].any() and not summed[2].any()


@pytest.mark.parametrize("mode", MODES)
def test_a_large_offset_common_to_all_logits(device, mode):
    vocab = 1000
    x = torch.stack([torch.ones(40), torch.randint(-32, 32, (40,)) / 16], 1).to(device)
    weight = torch.stack([torch.full((vocab,), 4096.0), torch.randint(-32, 32, (vocab,)) / 16], 1).to(device)
    labels = torch.randint(vocab, (40,), device=device)
    assert_close(ops.linear_cross_entropy(x, weight, labels, None, IGNORED, mode), truth(x, weight, labels)[0])


@pytest.mark.gpu
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("value", [float("inf"), float("-inf"), float("nan")])
def test_what_is_not_finite_stays_so(mode, value):
    x, weight, labels = problem(20, 16, 1000, torch.bfloat16, "cuda", ignored=0)
    x[3, 5] = value
    got = with_gradients(ours(mode), x, weight, labels)
    assert bool(torch.isnan(got[0])) and bool(torch.isnan(got[1][3]).all()) and bool(torch.isfinite(got[1][4]).all())


@pytest.mark.gpu
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("label", [-1, 1000, 1 << 40])
def test_labels_outside_the_vocabulary(mode, label):
    x, weight, labels = problem(20, 16, 1000, torch.bfloat16, "cuda")
    labels[3] = label
    loss, state, dx, _ = ops.linear_cross_entropy_forward(x, weight, labels, None, None, IGNORED, mode, 0, True, True)
    assert bool(torch.isnan(loss)) and float(state[3]) == 1
    assert bool(torch.isnan(dx[3]).all()) and bool(torch.isfinite(dx[4]).all())


def test_labels_outside_the_vocabulary_are_refused_on_the_cpu():
    for label in (-1, 5):
        with pytest.raises(RuntimeError, match="outside the vocabulary"):
            ops.linear_cross_entropy(torch.randn(1, 3), torch.randn(5, 3), torch.tensor([label]))


@pytest.mark.parametrize("mode", MODES)
def test_one_gradient_alone(device, mode):
    x, weight, labels = problem(40, 32, 2000, torch.float32, device)
    want = truth(x, weight, labels)
    for which in range(2):
        leaves = [t.detach().requires_grad_(i == which) for i, t in enumerate((x, weight))]
        loss = ops.linear_cross_entropy(*leaves, labels, None, IGNORED, mode)
        loss.backward()
        assert_close(leaves[which].grad, want[1 + which], factor=5)
        assert leaves[1 - which].grad is None
    with torch.no_grad():
        assert_close(ops.linear_cross_entropy(*leaves, labels, None, IGNORED, mode), want[0])


@pytest.mark.parametrize("dtype", DTYPES)
def test_scaled_and_repeated_backward(device, dtype):
    x, weight, labels = problem(40, 32, 200, dtype, device)
    x, weight = x.requires_grad_(), weight.requires_grad_()
    want = truth(x, weight, labels, scale=768)
    loss = ops.linear_cross_entropy(x, weight, labels)
    for keep in (True, True, False):  # only the last may scale in place
        for mine, right in zip(torch.autograd.grad(loss * 768, (x, weight), retain_graph=keep), want[1:]):
            assert_close(mine, right, factor=5)
    with pytest.raises(RuntimeError, match="second derivative"):
        torch.autograd.grad(ops.linear_cross_entropy(x, weight, labels), x, create_graph=True)


def test_the_saved_gradient_becomes_the_result(device):
    """No copy of dweight between the operator and the leaf's grad: it is as large as the weight."""
    x, weight, labels = problem(8, 16, 30, torch.float32, device)
    weight.requires_grad_()
    seen = []
    weight.register_hook(lambda g: seen.append(g.data_ptr()))
    ops.linear_cross_entropy(x, weight, labels).backward()
    assert seen == [weight.grad.data_ptr()]


def test_tied_weights(device):
    """The gradient of the projection adds to the embedding's."""
    weight = torch.randn(30, 16, device=device)
    ids = torch.randint(30, (2, 9), device=device)

    def loss(head, w):
        return head(F.embedding(ids[:, :-1], w) * 3, w, ids[:, 1:])

    tied = weight.clone().requires_grad_()
    loss(ours(), tied).backward()
    want = weight.double().requires_grad_()
    loss(eager, want).backward()
    assert_close(tied.grad, want.grad, factor=5)


def test_gradients_against_differences():
    x, weight, labels = problem(6, 4, 5, torch.float64, "cpu")
    x, weight = x.requires_grad_(), weight.requires_grad_()
    for items in (None, torch.tensor(3.0), 11.0):
        torch.autograd.gradcheck(lambda a, b, n=items: ops.linear_cross_entropy(a, b, labels, n), (x, weight))


@pytest.mark.gpu
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_repeats_bit_for_bit(dtype, mode):
    # Under racecheck cuBLAS's fp32 products take minutes: few and narrow; what is ours walks over the logits.
    narrow = dtype == torch.float32
    x, weight, labels = problem(1500, 64 if narrow else 512, 50000, dtype, "cuda")
    first = with_gradients(ours(mode), x, weight, labels)
    for _ in range(2 if narrow else 10):
        assert all(torch.equal(a, b) for a, b in zip(first, with_gradients(ours(mode), x, weight, labels)))


@pytest.mark.gpu
@pytest.mark.parametrize("mode", MODES)
def test_many_streams(mode):
    problems = [problem(100 + i, 128, 5000, torch.bfloat16, "cuda") for i in range(12)]
    want = [with_gradients(ours(mode), *p) for p in problems]
    torch.cuda.synchronize()
    got = []
    for p in problems:
        with torch.cuda.stream(torch.cuda.Stream()):
            got.append(with_gradients(ours(mode), *p))
    torch.cuda.synchronize()
    for a, b in zip(got, want):
        assert all(torch.equal(u, v) for u, v in zip(a, b))


@pytest.mark.gpu
@pytest.mark.large
@pytest.mark.parametrize("mode", MODES)
def test_more_than_two_to_the_31_logits(mode):
    tokens = (1 << 31) // QWEN3 + 700
    x, weight, labels = problem(tokens, 64, QWEN3, torch.bfloat16, "cuda")
    got = with_gradients(ours(mode, 100.0), x, weight, labels)
    tail = slice(tokens - 300, tokens)
    assert_close(got[1][tail], truth(x[tail], weight, labels[tail], 100)[1])
    assert_close(got[2], with_gradients(eager, x, weight, labels, 100)[2])


@pytest.mark.gpu
@pytest.mark.large
@pytest.mark.parametrize("mode", MODES)
def test_more_than_two_to_the_31_elements_of_weight(mode):
    vocab = (1 << 31) // 4096 + 300
    x, weight, labels = problem(40, 4096, vocab, torch.bfloat16, "cuda")
    got = with_gradients(ours(mode), x, weight, labels)
    theirs = with_gradients(eager, x, weight, labels)
    assert_close(got[0], theirs[0], factor=10)
    assert_close(got[1], theirs[1])
    assert_close(got[2][-200:], theirs[2][-200:])


def peak_memory(call):
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    call()
    torch.cuda.synchronize()
    return torch.cuda.max_memory_allocated() - before


@pytest.mark.gpu
@pytest.mark.large
@pytest.mark.parametrize("mode, budget", [("fast", 2.6e9), ("lean", 1.6e9), ("auto", 2.6e9)])
def test_peak_memory(mode, budget):
    """Beside x and weight, with dx and dweight: forward, backward and the leaves' grads."""
    x, weight, labels = problem(4096, 4096, QWEN3, torch.bfloat16, "cuda")
    x, weight = x.requires_grad_(), weight.requires_grad_()

    def step():
        ops.linear_cross_entropy(x, weight, labels, None, IGNORED, mode).backward()

    ops.linear_cross_entropy(x[:8], weight[:8], labels[:8] * 0, None, IGNORED, mode)  # makes cuBLASLt's handle
    used = peak_memory(step)
    assert used <= budget, f"{used / 1e9:.3f} GB"
    with torch.no_grad():
        used = peak_memory(lambda: ops.linear_cross_entropy(x, weight, labels, None, IGNORED, mode))
    assert used <= 0.25e9, f"the loss alone: {used / 1e9:.3f} GB"


@pytest.mark.gpu
@pytest.mark.keeps_memory
def test_auto_keeps_to_the_limit():
    x, weight, labels = problem(2000, 256, 50000, torch.bfloat16, "cuda")
    x, weight = x.requires_grad_(), weight.requires_grad_()
    fast = peak_memory(lambda: ops.linear_cross_entropy(x, weight, labels, None, IGNORED, "auto", 10**10))
    lean = peak_memory(lambda: ops.linear_cross_entropy(x, weight, labels, None, IGNORED, "auto", 0))
    assert lean < fast


def test_refuses_what_does_not_fit(device):
    x, weight, labels = problem(3, 8, 5, torch.float32, device)
    refused = {
        "weight of shape": (x, weight[:, 1:], labels),
        "a label for each row": (x, weight, labels[1:]),
        "labels of int64": (x, weight, labels.int()),
        "weight is": (x, weight.half(), labels),
        "one num_items": (x, weight, labels, torch.ones(2, device=device)),
        "mode is": (x, weight, labels, None, IGNORED, "quick"),
    }
    for sentence, arguments in refused.items():
        with pytest.raises(RuntimeError, match=sentence):
            ops.linear_cross_entropy(*arguments)


def test_meta_and_compile_shapes():
    x, weight = torch.empty(2, 3, 64, device="meta", dtype=torch.bfloat16), torch.empty(99, 64, device="meta", dtype=torch.bfloat16)
    labels = torch.empty(2, 3, device="meta", dtype=torch.long)
    loss = ops.linear_cross_entropy(x, weight, labels)
    assert loss.shape == () and loss.dtype == torch.float32
    _, state, dx, dweight = ops.linear_cross_entropy_forward(x, weight, labels, None, 2.0, IGNORED, "auto", 0, True, False)
    assert state.shape == (4,) and dx.shape == x.shape and dweight.shape == (0,)


def test_compiled(device):
    x, weight, labels = problem(12, 16, 30, torch.float32, device)
    step = torch.compile(lambda x, w, y, n: ops.linear_cross_entropy(x * 2, w, y, n), backend="aot_eager", fullgraph=True)
    for items in (None, torch.tensor(5.0, device=device)):
        want = truth(2 * x, weight, labels, *([] if items is None else [5]))
        got = with_gradients(step, x, weight, labels, items)
        assert_close(got[0], want[0])
        assert_close(got[1], 2 * want[1], factor=5)
        assert_close(got[2], want[2], factor=5)


def test_operator_contract(device):
    """Schema, fake tensors, autograd registration and tracing with dynamic shapes, by PyTorch's own checks."""
    x, weight, labels = problem(6, 8, 10, torch.float32, device)
    state, dloss = torch.tensor([1.0, 1, 6, 0], device=device), torch.tensor(2.0, device=device)
    torch.library.opcheck(ops.linear_cross_entropy_backward_.default, (dloss, state, x.clone(), weight.clone()))
    torch.library.opcheck(ops.linear_cross_entropy_backward.default, (dloss, state, x, weight))
    x, weight = x.requires_grad_(), weight.requires_grad_()
    for mode in MODES:
        torch.library.opcheck(ops.linear_cross_entropy.default, (x, weight, labels, None, IGNORED, mode))
    torch.library.opcheck(ops.linear_cross_entropy.number, (x, weight, labels, 3.0))
