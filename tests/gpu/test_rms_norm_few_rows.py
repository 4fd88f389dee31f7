# SPDX-License-Identifier: Apache-2.0
"""The norms' backward for few rows, one launch for dx and dweight, through the C interface: it can be asked for there,
or for two launches, and dx may lie where dy does."""
import ctypes

import pytest
import torch
from checking import assert_close, poison
from conftest import LIBRARY
from test_rms_norm import DTYPES, EPS, ops, truth

ONE_LAUNCH, TWO_LAUNCHES = 1, 2
pytestmark = pytest.mark.gpu


class Rows(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p)] + [(n, ctypes.c_int64) for n in ("outer", "inner", "outer_stride", "inner_stride")]


class Backward(ctypes.Structure):
    """FsRmsNormBackward of rms_norm.h."""
    _fields_ = ([(n, Rows) for n in ("dy", "x", "dx")] + [(n, ctypes.c_void_p) for n in ("weight", "rstd", "dweight")] +
                [("width", ctypes.c_int64)] +
                [(n, ctypes.c_int32) for n in ("dtype", "weight_dtype", "rounding", "threads", "blocks_per_sm", "variant")])


def rows_of(t):
    return Rows(t.data_ptr(), t.shape[0], 1, t.stride(0), 0)


def prepared(dy, x, weight, rstd, dx, dweight, variant=0, threads=0, blocks_per_sm=0):
    """(a function that runs the backward on the current stream, the bytes of workspace that it asked for)."""
    library = ctypes.CDLL(LIBRARY)
    number = {torch.float32: 0, torch.float16: 1, torch.bfloat16: 2}
    call = Backward(rows_of(dy), rows_of(x), rows_of(dx), weight.data_ptr(), rstd.data_ptr(),
                    None if dweight is None else dweight.data_ptr(), x.shape[1], number[x.dtype], number[weight.dtype], 0,
                    threads, blocks_per_sm, variant)
    size = ctypes.c_size_t()
    assert library.fusescope_rms_norm_backward_workspace(ctypes.byref(call), ctypes.byref(size)) == 0
    workspace = torch.full((size.value,), 255, dtype=torch.uint8, device=x.device)  # as floats: NaN

    def run(keep=(dy, x, weight, rstd, dx, dweight)):
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        status = library.fusescope_rms_norm_backward(ctypes.byref(call), ctypes.c_void_p(workspace.data_ptr()),
                                                     ctypes.c_size_t(size.value), stream)
        assert status == 0

    return run, size.value


def inputs(rows, width, dtype, weight_dtype=None):
    x, weight = torch.randn(rows, width, device="cuda").to(dtype), torch.rand(width, device="cuda").add(0.5)
    weight = weight.to(weight_dtype or dtype)
    _, rstd = ops.rms_norm_forward(x, weight, EPS, False)
    dy = torch.randn(rows, width, device="cuda").to(torch.promote_types(dtype, weight.dtype))
    return dy, x, weight, rstd


@pytest.mark.parametrize("variant", [ONE_LAUNCH, TWO_LAUNCHES])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("rows,width", [(1, 1024), (2, 64), (16, 1000), (63, 128), (64, 4096), (65, 1016), (300, 1024), (300, 8192),
                                        (1024, 2048), (7, 8)])
def test_values(rows, width, dtype, variant):
    for weight_dtype in {dtype, torch.float32}:
        dy, x, weight, rstd = inputs(rows, width, dtype, weight_dtype)
        _, want_dx, want_dweight = truth(x, weight, dy)
        poison("cuda")
        dx, dweight = torch.empty_like(x), torch.empty_like(weight)
        run, workspace = prepared(dy, x, weight, rstd, dx, dweight, variant)
        fits = width * dtype.itemsize <= 1024 * 16 # a thread has 16 bytes of a row
        assert (workspace == 0) == (variant == ONE_LAUNCH and fits)
        run()
        assert_close(dx, want_dx, factor=2, scale=dy.double().norm() / 10)
        assert_close(dweight, want_dweight, dtype=dtype, factor=2)
        first = dx.clone(), dweight.clone()
        for _ in range(20):
            run()
            assert torch.equal(dx, first[0]) and torch.equal(dweight, first[1])


def test_dweight_that_is_not_wanted():
    dy, x, weight, rstd = inputs(16, 1024, torch.bfloat16)
    dx = torch.empty_like(x)
    prepared(dy, x, weight, rstd, dx, None, ONE_LAUNCH)[0]()
    assert_close(dx, truth(x, weight, dy)[1], factor=2)


@pytest.mark.parametrize("of", ["dy", "x"])
def test_dx_in_place(of):
    """Two launches, whatever is asked for: in one, some blocks would read what others have overwritten."""
    dy, x, weight, rstd = inputs(64, 4096, torch.bfloat16)
    _, want_dx, want_dweight = truth(x, weight, dy)
    dweight = torch.empty_like(weight)
    run, workspace = prepared(dy, x, weight, rstd, dy if of == "dy" else x, dweight, ONE_LAUNCH)
    assert workspace > 0
    run()
    assert_close(dy if of == "dy" else x, want_dx, factor=2)
    assert_close(dweight, want_dweight, factor=2)
