# SPDX-License-Identifier: Apache-2.0
"""pointwise_chain beside its values: compilation, the caches, threads, and the C interface."""
import ctypes
import os
import subprocess
import sys
import threading

import pytest
import torch
import torch.nn.functional as F
from checking import differing
from conftest import LIBRARY
from regions import LAYER_NORM, NAMES, RMS_NORM, SOFTMAX, SWIGLU, operators, region, rms_norm

ops = torch.ops.fusescope
chain = ops.pointwise_chain
DTYPES = [torch.bfloat16, torch.float16, torch.float32]
OPERATORS = list(operators())


def half(*shape):
    return torch.randn(*shape, device="cuda").bfloat16()


# The sources, compiled on any machine that has NVRTC.


def binaries(capability):
    x, w = torch.randn(64, 512), torch.randn(512)
    for dtype in DTYPES if capability == 90 else DTYPES[:1]:
        t = NAMES[dtype]
        for _, body, inputs, _ in OPERATORS:
            yield [x.to(dtype)] * inputs, region(body, inputs, t)
        for body, inputs in ((SWIGLU, [x, x]), (RMS_NORM, [x, w]), (LAYER_NORM, [x, w, w]), (SOFTMAX, [x])):
            for change in (lambda v: v, lambda v: v[..., 1:], lambda v: v[..., ::2], lambda v: v[..., :40],
                           lambda v: v.repeat_interleave(80, -1)):
                yield [change(v.to(dtype)) for v in inputs], region(body, len(inputs), t)
    yield [x.bfloat16(), (x > 0)], "%0 = input bf16\n%1 = input bool\n%2 = where.bf16 %1 %0 0\noutput %2"
    yield [x.double(), x.long()], "%0 = input f64\n%1 = input i64\n%2 = add.f64 %0 %1\n%3 = sum.f64 %2\noutput %3"
    yield [x.long(), x.int()], "%0 = input i64\n%1 = input i32\n%2 = maximum.i64 %0 %1\n%3 = amax.i64 %2\noutput %3"


@pytest.mark.parametrize("capability", [80, 90])
def test_sources_compile(capability, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    count = 0
    for inputs, text in binaries(capability):
        for fast in (False, True) if capability == 90 else (False,):
            code = ops.pointwise_chain_binary(inputs, text, capability, fast)
            assert bytes(code[:4].tolist()) == b"\x7fELF"
            count += 1
    assert count > 60


def test_cache_on_disk(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    x, text = torch.randn(8, 64).bfloat16(), region("%1 = mul.{t} %0 0.4321")
    first = ops.pointwise_chain_binary([x], text, 90)
    file, = (tmp_path / "fusescope/kernels").iterdir()
    whole, inode = file.read_bytes(), file.stat().st_ino

    assert torch.equal(ops.pointwise_chain_binary([x], text, 90), first)
    assert file.stat().st_ino == inode  # read, not written again

    for damaged in (whole[:-7], whole[:200], b"", whole[:-9] + bytes([whole[-9] ^ 1]) + whole[-8:], b"\x00" * len(whole)):
        file.write_bytes(damaged)
        assert torch.equal(ops.pointwise_chain_binary([x], text, 90), first)
        assert file.read_bytes() == whole
    assert [f.name for f in file.parent.iterdir()] == [file.name]
    assert file.stat().st_mode & 0o077 == 0


def test_cache_takes_code_from_nobody_else(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    x, text = torch.randn(8, 64), region("%1 = mul.f32 %0 0.1234", 1, "f32")
    first = ops.pointwise_chain_binary([x], text, 90)
    file, = (tmp_path / "fusescope/kernels").iterdir()
    whole = file.read_bytes()

    def found():
        assert torch.equal(ops.pointwise_chain_binary([x], text, 90), first)
        return file.stat(follow_symlinks=False).st_ino

    kept = found()
    file.chmod(0o620)
    written = found()  # a file that others may write is replaced
    assert written != kept and file.read_bytes() == whole and found() == written
    elsewhere = tmp_path / "elsewhere"
    file.rename(elsewhere)
    file.symlink_to(elsewhere)
    found()
    assert not file.is_symlink() and file.read_bytes() == whole
    file.unlink()
    os.mkfifo(file)  # nobody will write into it
    found()
    assert file.read_bytes() == whole


def test_cache_tells_how_the_compiler_was_asked(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    ops.pointwise_chain_binary([torch.randn(8)], region("%1 = mul.f32 %0 0.5678", 1, "f32"), 90)
    file, = (tmp_path / "fusescope/kernels").iterdir()
    assert b"\nNVRTC 1" in file.read_bytes() and b" --gpu-architecture=sm_90 --std=c++17\n" in file.read_bytes()


def test_cache_that_cannot_be_written(tmp_path, monkeypatch):
    (tmp_path / "fusescope").write_text("a file where the folder should be")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert ops.pointwise_chain_binary([torch.randn(8)], region("%1 = mul.f32 %0 0.8765", 1, "f32"), 90).numel() > 0


def together(count, work):
    """Runs work(i) in many threads that start at the same time."""
    start, failures = threading.Barrier(count), []

    def run(i):
        try:
            start.wait()
            work(i)
        except Exception as e:  # reported by the thread that joins
            failures.append(e)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(count)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not failures, failures[0]


def test_many_threads_compile_at_once(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    x, found = torch.randn(8, 64), {}

    def work(i):
        found[i] = ops.pointwise_chain_binary([x], region(f"%1 = mul.f32 %0 0.{i % 3}7", 1, "f32"), 90)

    together(9, work)
    assert all(torch.equal(found[i], found[i % 3]) for i in range(9))
    assert len(list((tmp_path / "fusescope/kernels").iterdir())) == 3


def test_source_can_be_read():
    text = ops.pointwise_chain_source([torch.randn(8, 64).bfloat16()] * 2, region(SWIGLU, 2))
    assert "fusescope_region" in text and "silu(" in text and "#include" not in text


# The C interface, for what the Torch operator does not offer: outputs with strides, in place, launch hints.


class ChainTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("size", ctypes.c_int64 * 8), ("stride", ctypes.c_int64 * 8),
                ("dims", ctypes.c_int32), ("dtype", ctypes.c_int)]


class ChainCall(ctypes.Structure):
    _fields_ = [("chain", ctypes.c_void_p), ("inputs", ctypes.POINTER(ChainTensor)), ("outputs", ctypes.POINTER(ChainTensor)),
                ("rounding", ctypes.c_int), ("threads", ctypes.c_int32), ("blocks_per_sm", ctypes.c_int32), ("variant", ctypes.c_int32)]


def call_c(function, inputs, outputs, text, threads=0, variant=0, blocks=0, last=()):
    library = ctypes.CDLL(LIBRARY)
    library.fusescope_last_error.restype = ctypes.c_char_p

    def tensors(many):
        array = (ChainTensor * len(many))()
        for c, t in zip(array, many):
            c.data, c.dims, c.dtype = t.data_ptr(), t.dim(), list(NAMES).index(t.dtype)
            c.size[:t.dim()], c.stride[:t.dim()] = t.shape, t.stride()
        return array

    handle = ctypes.c_void_p()
    assert library.fusescope_pointwise_chain_create(text.encode(), ctypes.byref(handle)) == 0
    call = ChainCall(handle, tensors(inputs), tensors(outputs), 0, threads, blocks, variant)
    status = getattr(library, function)(ctypes.byref(call), *last)
    library.fusescope_pointwise_chain_destroy(handle)
    if status != 0:
        raise RuntimeError(library.fusescope_last_error().decode())


def workspace_of(inputs, outputs, text, **hint):
    size = ctypes.c_size_t(1)
    call_c("fusescope_pointwise_chain_workspace", inputs, outputs, text, last=(ctypes.byref(size),), **hint)
    return size.value


def launch(inputs, outputs, text, **hint):
    size = workspace_of(inputs, outputs, text, **hint)
    memory = torch.full((size // 4,), torch.nan, device="cuda")
    stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
    call_c("fusescope_pointwise_chain", inputs, outputs, text,
           last=(ctypes.c_void_p(memory.data_ptr()), ctypes.c_size_t(size), stream), **hint)


def test_refuses_outputs_that_cannot_be():
    x, text = torch.randn(3, 4, 8), region("%1 = exp.f32 %0", 1, "f32")
    for output, sentence in ((x[:1].expand(3, 4, 8), "its elements overlap"), (x[:, :, 1:], r"expected shape \[3, 4, 8\], found"),
                             (x.double(), "expected f32, found f64")):
        with pytest.raises(RuntimeError, match=sentence):
            call_c("fusescope_pointwise_chain_prepare", [x], [output], text)


SUMS = "%0 = input f32; %1 = input f32; %2 = mul.f32 %0 %1; %3 = sum.f32 %2; %4 = sub.f32 %2 %3; output %4; output %4 summed"


def test_sums_need_a_workspace():
    x, y = torch.randn(6, 40), torch.randn(40)
    assert workspace_of([x, y], [torch.empty(6, 40), torch.empty(40)], SUMS) >= 40 * 4
    assert workspace_of([x, y], [torch.empty(6, 40)], SUMS.replace("; output %4 summed", "")) == 0
    with pytest.raises(RuntimeError, match="output %4: expected the elements of a sum over rows side by side, found stride 2"):
        workspace_of([x, y], [torch.empty(6, 40), torch.empty(80)[::2]], SUMS)
    with pytest.raises(RuntimeError, match=r"output %4: expected shape \[40\], found \[6, 40\]"):
        workspace_of([x, y], [torch.empty(6, 40), torch.empty(6, 40)], SUMS)


@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_large_blocks_of_sums_compile(kind):
    # Each of the 32 warps leaves its part of a row in shared memory.
    half, x = (torch.empty(1000, 256, dtype=next(t for t in NAMES if NAMES[t] == name)) for name in ("bf16", kind))
    text = f"%0 = input bf16; %1 = input {kind}; %2 = mul.{kind} %0 %1; %3 = sin.{kind} %2; output %2 summed; output %3 summed"
    for threads in (96, 1000):
        size = ctypes.c_size_t()
        call_c("fusescope_pointwise_chain_binary", [half, x], [x[0]] * 2, text, threads=threads,
               last=(ctypes.c_int32(90), None, ctypes.c_size_t(0), ctypes.byref(size)))
        assert size.value > 1000


@pytest.mark.gpu
def test_a_workspace_too_small_is_refused():
    x, y = torch.randn(6, 40, device="cuda"), torch.randn(40, device="cuda")
    outputs = [torch.zeros(6, 40, device="cuda"), torch.zeros(40, device="cuda")]
    size = workspace_of([x, y], outputs, SUMS)
    memory = torch.empty(size, device="cuda", dtype=torch.uint8)
    for address, given in ((memory.data_ptr(), size - 1), (None, size), (None, 0)):
        with pytest.raises(RuntimeError, match=f"expected a workspace of {size} bytes, found {given if address else 0}"):
            call_c("fusescope_pointwise_chain", [x, y], outputs, SUMS,
                   last=(ctypes.c_void_p(address), ctypes.c_size_t(given), ctypes.c_void_p(0)))
    torch.cuda.synchronize()
    assert not any(t.any() for t in outputs)


def test_the_stride_of_a_single_one_may_be_anything():
    x = torch.randn(4).as_strided((1, 4), (1 << 60, 1))
    size = ctypes.c_size_t()
    source = "fusescope_pointwise_chain_source"
    call_c(source, [x], [torch.empty(1, 4)], region("%1 = exp.f32 %0", 1, "f32"), last=(None, 0, ctypes.byref(size)))
    assert size.value > 1000
    expanded = torch.empty(0).as_strided((2, 0), (1 << 60, 1))
    with pytest.raises(RuntimeError, match="stride 1152921504606846976 cannot be"):
        call_c(source, [expanded], [torch.empty(2, 0)], region("%1 = exp.f32 %0", 1, "f32"),
               last=(None, 0, ctypes.byref(size)))


@pytest.mark.gpu
def test_outputs_with_strides_and_in_place():
    x, y, weight = half(6, 5, 64), half(6, 5, 64), half(64)
    want, normed = F.silu(x) * y, rms_norm(x, weight)
    transposed = [t.permute(2, 0, 1) for t in (x, y, torch.empty_like(x))]
    launch(transposed[:2], transposed[2:], region(SWIGLU, 2))
    assert torch.equal(transposed[2].permute(1, 2, 0), want)
    for wide, out in ((w := torch.full((6, 5, 200), 7.0, device="cuda").bfloat16(), w[..., 64:128]),
                      (w := torch.full((6, 5, 128), 7.0, device="cuda").bfloat16(), w[..., ::2])):
        launch([x, y], [out], region(SWIGLU, 2))
        assert torch.equal(out, want) and int((wide == 7).sum()) >= wide.numel() - out.numel()
        r = torch.empty(6, 5, 3, device="cuda")[..., 1:2]
        launch([x, weight], [out, r], region(RMS_NORM, 2))
        assert differing(out, normed[0]) <= 2e-3 and differing(r, normed[1]) <= 1
    same = x.clone()
    launch([same, y], [same], region(SWIGLU, 2))
    assert torch.equal(same, want)


@pytest.mark.gpu
@pytest.mark.parametrize("threads", [0, 32, 96, 512])
@pytest.mark.parametrize("variant", [-1, 0, 1, 2, 3, 8])
def test_launch_hints(variant, threads):
    for shape in ((300, 64), (70, 4000), (3000, 1024)):
        x, y, weight = half(*shape), half(*shape), half(shape[-1])
        out, r = torch.empty_like(x), torch.empty(shape[0], 1, device="cuda")
        launch([x, y], [out], region(SWIGLU, 2), threads=threads, variant=variant)
        assert torch.equal(out, F.silu(x) * y)
        launch([x, weight], [out, r], region(RMS_NORM, 2), threads=threads, variant=variant)
        assert differing(out, rms_norm(x, weight)[0]) <= 2e-3


@pytest.mark.gpu
@pytest.mark.parametrize("blocks", [0, 1, 3, 8])
@pytest.mark.parametrize("variant", [-1, 0, 1, 2, 8])
def test_launch_hints_of_sums(variant, blocks):
    for shape in ((1, 64), (300, 64), (7, 11, 128), (70, 4000), (3000, 1024), (5, 40000)):
        x, y = torch.randn(*shape, device="cuda"), torch.randn(shape[-1], device="cuda")
        out, summed = torch.full_like(x, torch.nan), torch.full_like(y, torch.nan)
        launch([x, y], [out, summed], SUMS, variant=variant, blocks=blocks)
        want = (x.double() * y) - (x.double() * y).sum(-1, keepdim=True)
        torch.testing.assert_close(out.double(), want, rtol=1e-4, atol=1e-3)
        torch.testing.assert_close(summed.double(), want.flatten(0, -2).sum(0), rtol=1e-4, atol=5e-2)
        alone = torch.full_like(x, torch.nan)  # without the sum, a hint makes the grid stay as well
        launch([x, y], [alone], SUMS.replace("; output %4 summed", ""), variant=variant, blocks=blocks)
        torch.testing.assert_close(alone.double(), want, rtol=1e-4, atol=1e-3)


# Threads, streams, graphs, processes.


@pytest.mark.gpu
def test_many_threads_and_streams():
    x = half(300, 1024)
    torch.cuda.synchronize()

    def work(i):
        scale = 0.25 * (1 + i % 5)  # five regions, each wanted by several threads that find nothing compiled
        text = region(f"%1 = silu.{{t}} %0\n%2 = mul.{{t}} %1 {scale}\n%3 = sum.f32 %2\noutput %2\noutput %3")
        with torch.cuda.stream(torch.cuda.Stream()):
            for _ in range(20):
                out = chain([x], text)[0]
            torch.cuda.current_stream().synchronize()
            assert differing(out, F.silu(x) * scale) == 0

    together(20, work)


@pytest.mark.gpu
@pytest.mark.keeps_memory
def test_in_a_graph():
    x, weight = half(64, 1024), half(1024)
    want = chain([x, weight], region(RMS_NORM, 2))[0]  # compiled before the capture
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = chain([x, weight], region(RMS_NORM, 2))[0]
    out.zero_()
    graph.replay()
    assert torch.equal(out, want)


CHILD = """
import sys, torch
torch.ops.load_library(sys.argv[1])
x = torch.arange(4096, device="cuda").view(64, 64).bfloat16()
out, = torch.ops.fusescope.pointwise_chain([x], "%0 = input bf16; %1 = mul.bf16 %0 0.5; output %1")
assert torch.equal(out, x * 0.5)
"""


@pytest.mark.gpu
def test_cache_serves_the_next_process(tmp_path):
    def run():
        subprocess.run([sys.executable, "-c", CHILD, LIBRARY], check=True, env=dict(os.environ, XDG_CACHE_HOME=str(tmp_path)))

    run()
    file, = (tmp_path / "fusescope/kernels").iterdir()
    whole, inode = file.read_bytes(), file.stat().st_ino
    run()
    assert file.stat().st_ino == inode
    file.write_bytes(whole[:len(whole) // 2])
    run()
    assert file.read_bytes() == whole


def checksum(data, start=0xcbf29ce484222325):
    for byte in data:
        start = (start ^ byte) * 0x100000001b3 & 0xffffffffffffffff
    return start


BLAMED = CHILD + """
y = torch.ops.fusescope.rms_norm(x, torch.ones(64, device="cuda").bfloat16())
assert torch.isfinite(y).all()
"""


@pytest.mark.gpu
def test_code_that_the_driver_refuses_is_compiled_again_and_nobody_blamed(tmp_path):
    def run():
        subprocess.run([sys.executable, "-c", BLAMED, LIBRARY], check=True, env=dict(os.environ, XDG_CACHE_HOME=str(tmp_path)))

    run()
    file, = (tmp_path / "fusescope/kernels").iterdir()
    whole = file.read_bytes()
    header, rest = whole.split(b"\n", 1)
    words = header.split()
    key, code = rest[:int(words[3])], bytes(int(words[4]))  # code of zeros, with a header that fits
    assert checksum(rest) == int(words[5], 16)
    words[5] = b"%x" % checksum(key + code)
    file.write_bytes(b" ".join(words) + b"\n" + key + code)
    run()
    assert file.read_bytes() == whole
