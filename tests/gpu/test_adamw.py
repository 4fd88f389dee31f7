# SPDX-License-Identifier: Apache-2.0
import copy
import ctypes
import math

import pytest
import torch
from checking import assert_close, differing
from conftest import LIBRARY
from optimizer import FusedAdamW

adamw_ = torch.ops.fusescope.adamw_
DTYPES = [torch.bfloat16, torch.float16, torch.float32]
# of parameters and gradients, of states
PAIRS = [(d, d) for d in DTYPES] + [(torch.bfloat16, torch.float32), (torch.float16, torch.float32)]
SIZES = [0, 1, 7, 8, 9, 1000, 4096 * 3 + 5]
OPTIONS = dict(lr=1e-3, beta1=0.9, beta2=0.999, eps=1e-8, weight_decay=0.01)


def tensors_of(sizes, dtype, state_dtype, device, step=3):
    """Lists of params, grads, exp_avgs, exp_avg_sqs and steps, as they are after some steps."""
    params = [torch.randn(n, device=device).mul(0.02).to(dtype) for n in sizes]
    grads = [torch.randn(n, device=device).to(dtype) for n in sizes]
    exp_avgs = [torch.randn(n, device=device).mul(0.3).to(state_dtype) for n in sizes]
    exp_avg_sqs = [torch.rand(n, device=device).add(0.01).to(state_dtype) for n in sizes]
    steps = [torch.tensor(float(step), device=device) for _ in sizes]
    return params, grads, exp_avgs, exp_avg_sqs, steps


def clone(lists):
    return tuple([t.clone() for t in tensors] for tensors in lists)


def truth(param, grad, exp_avg, exp_avg_sq, step, *, lr, beta1, beta2, eps, weight_decay, maximize=False, scale=1.0):
    """In fp64: the new param, exp_avg, exp_avg_sq."""
    param, grad, exp_avg, exp_avg_sq = (t.double() for t in (param, grad, exp_avg, exp_avg_sq))
    step = float(step)
    grad = (-grad if maximize else grad) / scale
    exp_avg = beta1 * exp_avg + (1 - beta1) * grad
    exp_avg_sq = beta2 * exp_avg_sq + (1 - beta2) * grad * grad
    denominator = exp_avg_sq.sqrt() / math.sqrt(1 - beta2 ** step) + eps
    return param * (1 - lr * weight_decay) - lr / (1 - beta1 ** step) * exp_avg / denominator, exp_avg, exp_avg_sq


def framework(lists, *, maximize=False, grad_scale=None, found_inf=None, **options):
    params, grads, exp_avgs, exp_avg_sqs, steps = lists
    torch._fused_adamw_(params, [g.clone() for g in grads], exp_avgs, exp_avg_sqs, [], steps, amsgrad=False,
                        maximize=maximize, grad_scale=grad_scale, found_inf=found_inf, **options)


def same_bits(ours, theirs):
    """Params and both states of all tensors; NaN equals NaN, and zeros have one sign."""
    for which, name in ((0, "param"), (2, "exp_avg"), (3, "exp_avg_sq")):
        a, b = (torch.cat([t.flatten() for t in lists[which]]) for lists in (ours, theirs))
        assert differing(a, b) == 0, name
        assert differing(a.signbit()[~a.isnan()], b.signbit()[~b.isnan()]) == 0, name


@pytest.mark.parametrize("maximize,weight_decay", [(False, 0.1), (True, 0.0)])
@pytest.mark.parametrize("dtype,state_dtype", PAIRS)
def test_values(device, dtype, state_dtype, maximize, weight_decay):
    lists = tensors_of(SIZES, dtype, state_dtype, device)
    options = {**OPTIONS, "weight_decay": weight_decay, "maximize": maximize}
    wanted = [truth(*one, **options) for one in zip(*lists)]
    adamw_(*lists, **options)
    for n, got, want in zip(SIZES, zip(lists[0], lists[2], lists[3]), wanted):
        for name, a, b in zip(("param", "exp_avg", "exp_avg_sq"), got, want):
            assert_close(a, b, name=f"{name} of {n}")


@pytest.mark.parametrize("dtype", DTYPES)
def test_framework_on_the_cpu(dtype):
    ours = tensors_of(SIZES, dtype, dtype, "cpu")
    theirs = clone(ours)
    adamw_(*ours, **OPTIONS)
    framework(theirs, **OPTIONS)
    for which in (0, 2, 3):
        for a, b in zip(ours[which], theirs[which]):
            assert_close(a, b)


def steps_of(optimizer, params, gradients):
    for gradient in gradients:
        for p, g in zip(params, gradient):
            p.grad = g.to(p.dtype)
        optimizer.step()


@pytest.mark.parametrize("dtype", DTYPES)
def test_five_steps(device, dtype):
    """Against torch.optim.AdamW in fp64, and on CUDA against its fused form, bit for bit."""
    start = [torch.randn(n, device=device).mul(0.02).to(dtype) for n in SIZES]
    gradients = [[torch.randn(n, device=device).to(dtype) for n in SIZES] for _ in range(5)]
    options = dict(lr=1e-2, betas=(0.9, 0.95), weight_decay=0.1)
    params = [t.clone().requires_grad_() for t in start]
    ours = FusedAdamW(params, **options)
    steps_of(ours, params, gradients)
    wide = [t.double().requires_grad_() for t in start]
    steps_of(torch.optim.AdamW(wide, foreach=False, **options), wide, gradients)
    for a, b in zip(params, wide):
        assert_close(a, b, factor=5)  # rounded five times
    if device == "cuda":
        again = [t.clone().requires_grad_() for t in start]
        theirs = torch.optim.AdamW(again, fused=True, **options)
        steps_of(theirs, again, gradients)
        for a, b in zip(params, again):
            assert torch.equal(a, b)
            for key in ("step", "exp_avg", "exp_avg_sq"):
                assert torch.equal(ours.state[a][key], theirs.state[b][key]), key


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("options", [dict(), dict(weight_decay=0.0, maximize=True), dict(eps=0.0), dict(beta1=0.0, beta2=0.0),
                                     dict(lr=0.0), dict(eps=1e-15, lr=1.0)], ids=str)
def test_bits_of_the_framework(dtype, options):
    """At the first step and at a late one, when the corrections have become 1; with and without a scale."""
    options = {**OPTIONS, **options}
    for step in (1, 7, 100000):
        for scale in (None, 1024.0, 0.3):
            given = dict(grad_scale=None if scale is None else torch.tensor([scale], device="cuda"))
            ours = tensors_of(SIZES, dtype, dtype, "cuda", step)
            for zero in (ours[0][3], *(ours[i][-1][:4096] for i in (1, 2, 3))):
                zero.zero_()
            theirs = clone(ours)
            adamw_(*ours, **options, **given)
            framework(theirs, **options, **given)
            same_bits(ours, theirs)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("eps", [1e-8, 1e-15, 1e-30])
def test_bits_at_every_magnitude(dtype, eps):
    """Each run of 8 elements, which one thread takes, has magnitudes of its own, from subnormal to infinite, zeros among
    them; and random bit patterns, where one value that needs care meets seven others."""
    count = 1 << 21

    def spread(least=-155, most=135):
        exponent = torch.randint(least, most, (count // 8,), device="cuda").repeat_interleave(8)
        value = torch.ldexp(torch.rand(count, device="cuda", dtype=torch.float64) + 1, exponent.double())
        sign = torch.randint(0, 2, (count,), device="cuda") * 2 - 1
        return (value * sign * (exponent > least + 5)).to(dtype)

    def patterns():
        word, wide = (torch.int32, 32) if dtype == torch.float32 else (torch.int16, 16)
        bits = torch.randint(-(1 << wide - 1), 1 << wide - 1, (count,), device="cuda", dtype=torch.int64)
        return bits.to(word).view(dtype)

    small, usual = dict(least=-155, most=-60), dict(least=-40, most=3)
    draws = [
        (spread(), spread(), spread(), spread().abs()),
        (spread(**usual), spread(**usual), spread(**usual), spread(**usual).abs()),
        (spread(**usual), spread(**small), spread(**small), spread(**small).abs()),
        (spread(**small), spread(**small), spread(**small), spread(**usual).abs()),
        (spread(), torch.zeros(count, device="cuda", dtype=dtype), spread(**small), torch.zeros(count, device="cuda", dtype=dtype)),
        (patterns(), patterns(), patterns(), patterns()),
    ]
    for step in (1, 50):
        for lr in (1e-3, 1e-5):
            for draw in draws:
                ours = (*([t.clone()] for t in draw), [torch.tensor(float(step), device="cuda")])
                theirs = clone(ours)
                options = {**OPTIONS, "lr": lr, "eps": eps}
                adamw_(*ours, **options)
                framework(theirs, **options)
                same_bits(ours, theirs)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_wide_states_have_the_bits_of_fp32(dtype):
    """The states are those of an fp32 step, the parameter is its parameter, rounded."""
    ours = tensors_of(SIZES, dtype, torch.float32, "cuda")
    theirs = tuple([t.float().clone() for t in tensors] for tensors in ours)
    adamw_(*ours, **OPTIONS)
    framework(theirs, **OPTIONS)
    same_bits(ours, ([t.to(dtype) for t in theirs[0]], *theirs[1:]))


@pytest.mark.parametrize("dtype", DTYPES)
def test_misaligned(device, dtype):
    """Any of the four one element off, all of them, and views into one buffer."""
    plain = tensors_of([1000, 4099], dtype, dtype, device)
    wanted = clone(plain)
    adamw_(*wanted, **OPTIONS)
    for shifted in ((0,), (1,), (2,), (3,), (0, 1, 2, 3)):
        lists = [list(tensors) for tensors in clone(plain)]
        for which in shifted:
            lists[which] = [torch.cat([t[:1], t])[1:] for t in lists[which]]
        adamw_(*lists, **OPTIONS)
        same_bits(lists, wanted)
    buffers = [torch.cat(tensors) for tensors in plain[:4]]
    views = [[b[:1000], b[1000:]] for b in buffers]
    adamw_(*views, plain[4], **OPTIONS)
    same_bits((*views, plain[4]), wanted)


def test_many_tensors(device):
    """More than two launches take, of random sizes, give the bits of one tensor; each has a step of its own."""
    sizes = torch.randint(0, 700, (1300,)).tolist() + [3 * 4096 * 8 + 3]
    lists = tensors_of(sizes, torch.bfloat16, torch.bfloat16, device)
    whole = tuple([torch.cat(tensors)] for tensors in lists[:4])
    adamw_(*whole, [lists[4][0]], **OPTIONS)
    adamw_(*lists, **OPTIONS)
    same_bits(lists, (*whole, lists[4]))
    for i, step in enumerate(lists[4]):
        step.fill_(1 + i % 5)
    lists = tuple(tensors[:40] for tensors in lists)
    alone = clone(lists)
    for one in zip(*alone):
        adamw_(*([t] for t in one), **OPTIONS)
    adamw_(*lists, **OPTIONS)
    same_bits(lists, alone)


def test_layouts(device):
    """Tensors without gaps, in one order of dimensions, are runs of memory."""
    def laid_out(seed):
        torch.manual_seed(seed)
        return [torch.rand(2, 3, 8, 5, device=device).contiguous(memory_format=torch.channels_last),
                torch.rand(33, 17, device=device).t(), torch.rand(64, 1, device=device).as_strided((64, 1), (1, 7)),
                torch.rand((), device=device)]
    lists = (*(laid_out(i) for i in range(4)), [torch.tensor(2.0, device=device) for _ in range(4)])
    wanted = [truth(*one, **OPTIONS) for one in zip(*lists)]
    adamw_(*lists, **OPTIONS)
    for got, want in zip(zip(lists[0], lists[2], lists[3]), wanted):
        for a, b in zip(got, want):
            assert_close(a, b)


def test_scaled_gradients(device):
    """A scale is taken out of the gradients, which stay as they are; an infinity found leaves everything as it was."""
    plain = tensors_of(SIZES, torch.bfloat16, torch.bfloat16, device)
    lists = clone(plain)
    adamw_(*lists, **OPTIONS)
    scaled = clone(plain)
    for g in scaled[1]:
        g.mul_(1024)
    kept = clone(scaled)
    zero, one = torch.zeros(1, device=device), torch.ones((), device=device)
    scale = torch.tensor(1024.0, device=device)
    adamw_(*scaled, **OPTIONS, grad_scale=scale, found_inf=one)
    same_bits(scaled, kept)
    adamw_(*scaled, **OPTIONS, grad_scale=scale, found_inf=zero)
    same_bits(scaled, lists)
    assert all(torch.equal(a, b) for a, b in zip(scaled[1], kept[1]))
    odd = clone(kept)
    adamw_(*odd, **OPTIONS, maximize=True, grad_scale=torch.tensor([700.0], device=device))
    for got, one in zip(zip(odd[0], odd[2], odd[3]), zip(*kept)):
        for a, b in zip(got, truth(*one, **OPTIONS, maximize=True, scale=700.0)):
            assert_close(a, b)


class Tensor(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p) for name in ("param", "grad", "exp_avg", "exp_avg_sq", "step")] + [("numel", ctypes.c_int64)]


class Call(ctypes.Structure):
    """FsAdamW, as kernels/adamw/adamw.h has it."""
    _fields_ = [("tensors", ctypes.POINTER(Tensor)), ("count", ctypes.c_int64), ("dtype", ctypes.c_int), ("state_dtype", ctypes.c_int),
                *((name, ctypes.c_double) for name in ("lr", "beta1", "beta2", "eps", "weight_decay", "step")),
                ("maximize", ctypes.c_int32), ("grad_scale", ctypes.c_void_p), ("found_inf", ctypes.c_void_p),
                ("chunk", ctypes.c_int64), ("threads", ctypes.c_int32), ("blocks_per_sm", ctypes.c_int32), ("variant", ctypes.c_int32)]


def call_of(lists, **fields):
    tensors = (Tensor * len(lists[0]))(*(Tensor(*(t.data_ptr() for t in one[:4]), None if one[4] is None else one[4].data_ptr(),
                                                one[0].numel()) for one in zip(*lists)))
    return Call(tensors=tensors, count=len(tensors), dtype=2, state_dtype=2, **{**OPTIONS, **fields})


def test_c_interface_refuses():
    library = ctypes.CDLL(LIBRARY)
    library.fusescope_last_error.restype = ctypes.c_char_p
    lists = tensors_of([9], torch.bfloat16, torch.bfloat16, "cpu")
    for fields, sentence in ((dict(beta1=1.0), b"beta1: expected a finite number in [0, 1), found 1"), (dict(lr=math.nan), b"lr"),
                             (dict(eps=-1.0), b"from 0"), (dict(chunk=12), b"multiple of 8"), (dict(state_dtype=1), b"fp32"),
                             (dict(count=-1), b"-1 tensors")):
        call = call_of(lists)
        for name, value in fields.items():
            setattr(call, name, value)
        assert library.fusescope_adamw(ctypes.byref(call), None) == 1
        assert sentence in library.fusescope_last_error()
    call = call_of(lists)
    call.tensors[0].grad = None
    assert library.fusescope_adamw(ctypes.byref(call), None) == 1
    assert b"tensor 0: expected data" in library.fusescope_last_error()
    call.count = 0
    assert library.fusescope_adamw(ctypes.byref(call), None) == 0


@pytest.mark.gpu
def test_every_launch_gives_the_same_bits():
    """Through the C interface: threads, vectors in flight, chunks, and the step as a number."""
    library = ctypes.CDLL(LIBRARY)
    plain = tensors_of([*SIZES, 100003], torch.bfloat16, torch.bfloat16, "cuda")
    wanted = clone(plain)
    adamw_(*wanted, **OPTIONS)
    for fields in (dict(), dict(variant=2), dict(variant=-1), dict(threads=32), dict(chunk=8), dict(chunk=4096, variant=2),
                   dict(threads=100, chunk=1 << 20)):
        for number in (False, True):
            lists = clone(plain)
            call = call_of((*lists[:4], [None] * len(lists[0]) if number else lists[4]), step=3.0, **fields)
            assert library.fusescope_adamw(ctypes.byref(call), ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)) == 0
            same_bits(lists, wanted)


@pytest.mark.gpu
def test_repeats_bit_for_bit():
    plain = tensors_of([3000 * 3072 + 5, 77], torch.bfloat16, torch.bfloat16, "cuda")
    first = clone(plain)
    adamw_(*first, **OPTIONS)
    for _ in range(10):
        again = clone(plain)
        adamw_(*again, **OPTIONS)
        same_bits(again, first)


@pytest.mark.gpu
@pytest.mark.large
@pytest.mark.parametrize("shift", [0, 1])
def test_more_than_two_to_the_31_elements(shift):
    """As vectors and, misaligned, as single elements."""
    count = (1 << 31) + 12345
    lists = [torch.empty(count + shift, device="cuda", dtype=torch.bfloat16)[shift:] for _ in range(4)]
    for t in lists:
        t.uniform_(0, 0.01)
    step = torch.tensor(3.0, device="cuda")
    slices = [slice(0, 100), slice(count // 2, count // 2 + 100), slice((1 << 31) - 50, (1 << 31) + 50), slice(count - 100, count)]
    parts = [[[t[s].clone()] for t in lists] for s in slices]
    adamw_(*([t] for t in lists), [step], **OPTIONS)
    for s, part in zip(slices, parts):
        adamw_(*part, [step], **OPTIONS)
        same_bits([[t[s]] for t in lists], part)


@pytest.mark.gpu
@pytest.mark.keeps_memory
def test_in_a_graph():
    """Nothing waits for the device, and the step is read there: a captured step goes on counting."""
    start = [torch.randn(n, device="cuda") for n in SIZES]
    gradient = [torch.randn(n, device="cuda") for n in SIZES]
    params, again = ([t.clone().requires_grad_() for t in start] for _ in range(2))
    ours, theirs = FusedAdamW(params), torch.optim.AdamW(again, fused=True)
    steps_of(theirs, again, [gradient] * 5)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        steps_of(ours, params, [gradient])
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        ours.step()
    for _ in range(4):
        graph.replay()
    for a, b in zip(params, again):
        assert torch.equal(a, b)


def test_refuses_what_does_not_fit(device):
    good = tensors_of([12, 8], torch.float32, torch.float32, device)

    def refused(match, which, tensor, at=1):
        lists = [list(tensors) for tensors in good]
        lists[which][at] = tensor
        with pytest.raises(RuntimeError, match=match):
            adamw_(*lists, **OPTIONS)

    like = torch.ones(8, device=device)
    refused(r"grads\[1\] of its parameter's shape \[8\], found \[9\]", 1, torch.ones(9, device=device))
    refused(r"grads\[1\] of type Float, found Half", 1, like.half())
    refused(r"exp_avgs\[0\] of type Float or Float, found Double", 2, torch.ones(12, device=device).double(), at=0)
    refused(r"exp_avg_sqs\[1\] of type Float, found BFloat16", 3, like.bfloat16())
    refused(r"one type", 0, like.bfloat16())
    refused(r"steps\[1\] as one float32, found Long", 4, torch.tensor(3, device=device))
    refused(r"steps\[1\] as one float32, found Float of shape \[8\]", 4, like)
    for which, name in ((0, "params"), (1, "grads"), (2, "exp_avgs"), (3, "exp_avg_sqs")):
        if device == "cuda":
            refused(rf"{name}\[1\] and its parameter as one run of memory|and its parameter as one run", which,
                    torch.ones(16, device=device)[::2])
    with pytest.raises(RuntimeError, match="expected 2 exp_avgs, one a parameter, found 1"):
        adamw_(good[0], good[1], good[2][:1], *good[3:], **OPTIONS)
    with pytest.raises(RuntimeError, match="grad_scale"):
        adamw_(*good, **OPTIONS, grad_scale=torch.ones(2, device=device))
    with pytest.raises(RuntimeError, match="float32, float16 or bfloat16, found Double"):
        adamw_(*([t.double() for t in tensors] for tensors in good[:4]), good[4], **OPTIONS)


def test_no_tensors():
    adamw_([], [], [], [], [], **OPTIONS)
    with pytest.raises(RuntimeError, match="expected 0 steps, one a parameter, found 1"):
        adamw_([], [], [], [], [torch.ones(())], **OPTIONS)


def test_state_dict_both_ways(device):
    """Two steps of one, two of the other, as four of either."""
    start = [torch.randn(n, device=device) for n in SIZES]
    gradients = [[torch.randn(n, device=device) for n in SIZES] for _ in range(4)]

    def steps(first, second):
        params = [t.clone().requires_grad_() for t in start]
        one = first(params, lr=1e-2)
        steps_of(one, params, gradients[:2])
        saved = copy.deepcopy(one.state_dict())
        params = [p.detach().clone().requires_grad_() for p in params]
        two = second(params, lr=1.0)
        two.load_state_dict(saved)
        steps_of(two, params, gradients[2:])
        assert two.param_groups[0]["lr"] == 1e-2
        assert all(set(two.state[p]) == {"step", "exp_avg", "exp_avg_sq"} and float(two.state[p]["step"]) == 4 for p in params)
        return params

    def fused(params, lr):
        return torch.optim.AdamW(params, lr=lr, fused=True)

    def looped(params, lr):
        return torch.optim.AdamW(params, lr=lr, foreach=False)

    wanted = steps(fused, fused)
    for first, second in ((FusedAdamW, fused), (fused, FusedAdamW), (FusedAdamW, FusedAdamW), (looped, FusedAdamW)):
        for a, b in zip(steps(first, second), wanted):
            assert_close(a, b, factor=5)


def test_optimizer_refuses():
    p = torch.zeros(3, requires_grad=True)
    with pytest.raises(ValueError, match="amsgrad=False"):
        FusedAdamW([p], amsgrad=True)
    with pytest.raises(ValueError, match="as numbers"):
        FusedAdamW([p], lr=torch.tensor(0.1))
    with pytest.raises(ValueError, match="amsgrad=False"):
        FusedAdamW([p]).add_param_group({"params": [torch.zeros(2, requires_grad=True)], "amsgrad": True})
    theirs = torch.optim.AdamW([p], amsgrad=True)
    with pytest.raises(ValueError, match="amsgrad=False"):
        FusedAdamW([p]).load_state_dict(theirs.state_dict())


def test_groups_and_grad_scaler(device):
    """Groups with their own options, parameters of two types in one, and a GradScaler: as torch.optim.AdamW's fused form."""
    def run(kind, **fused):
        torch.manual_seed(1)
        params = [torch.nn.Parameter(torch.randn(4, 5, device=device)), torch.nn.Parameter(torch.randn(7, device=device).half()),
                  torch.nn.Parameter(torch.randn(6, device=device)), torch.nn.Parameter(torch.zeros(2, device=device))]
        optimizer = kind([{"params": params[:2], "weight_decay": 0.3}, {"params": params[2:], "lr": 0.1}], lr=0.01, **fused)
        scaler = torch.amp.GradScaler(device, init_scale=256.0)
        for step in range(5):
            loss = sum((p.float() ** 2).sum() for p in params[:3]) * (float("inf") if step == 2 else 1.0)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
        assert float(optimizer.state[params[0]]["step"]) == 4 and params[3] not in optimizer.state
        return params

    for a, b in zip(run(FusedAdamW), run(torch.optim.AdamW, fused=True)):
        assert torch.equal(a, b) if device == "cuda" else torch.allclose(a, b, rtol=1e-3, atol=1e-4)


def test_closure_and_versions(device):
    """The closure runs with gradients; autograd sees that a parameter it has kept is no longer the same."""
    p = torch.randn(5, device=device, requires_grad=True)
    optimizer = FusedAdamW([p])

    def closure():
        optimizer.zero_grad()
        loss = (p ** 2).sum()
        loss.backward()
        return loss

    before = p._version
    assert optimizer.step(closure).item() > 0 and p._version == before + 1
    loss = (p ** 2).sum()
    optimizer.step()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_meta():
    lists = tensors_of([3, 4], torch.bfloat16, torch.float32, "meta")
    assert adamw_(*lists, **OPTIONS) is None
    with pytest.raises(RuntimeError, match="of its parameter's shape"):
        adamw_(lists[0], lists[1][::-1], *lists[2:], **OPTIONS)


def test_operator_contract(device):
    """The schema's mutations, fake tensors and tracing with dynamic shapes, by PyTorch's own checks."""
    lists = tensors_of([6, 9], torch.float32, torch.float32, device)
    torch.library.opcheck(torch.ops.fusescope.adamw_.default, lists, OPTIONS)
