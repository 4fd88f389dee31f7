# SPDX-License-Identifier: Apache-2.0
"""What the C interface says of calls before it looks for a device. Nothing here is launched: the addresses are none."""
import ctypes
import subprocess
import sys

import pytest
from conftest import LIBRARY
from test_rms_norm_few_rows import Backward, Rows

INVALID_ARGUMENT = 1
BF16 = 2
SOMEWHERE = 4096


@pytest.fixture(scope="module")
def library():
    lib = ctypes.CDLL(LIBRARY)
    lib.fusescope_last_error.restype = ctypes.c_char_p
    return lib


def sentence_of_rows(library, x):
    """About x, or else about dy, which has a row more."""
    count, size = x.outer * x.inner, ctypes.c_size_t()
    dy, dx = Rows(SOMEWHERE, count + 1, 1, 128, 0), Rows(SOMEWHERE, count, 1, 128, 0)
    call = Backward(dy, x, dx, SOMEWHERE, SOMEWHERE, None, 128, BF16, BF16, 0, 0, 0, 0)
    assert library.fusescope_rms_norm_backward_workspace(ctypes.byref(call), ctypes.byref(size)) == INVALID_ARGUMENT
    return library.fusescope_last_error().decode()


def test_long_rows_of_rows_are_taken(library):
    # All but the last of 2^20 + 1 tokens of two batches: the batches lie 2^27 elements apart.
    tokens = (1 << 20) + 1
    assert "has 2097152 rows, dy has 2097153" in sentence_of_rows(library, Rows(SOMEWHERE, 2, tokens - 1, tokens * 128, 128))
    assert "has 2097152 rows, dy has 2097153" in sentence_of_rows(library, Rows(SOMEWHERE, 1 << 20, 2, 128, 1 << 27))


def test_strides_that_overflow_are_refused(library):
    for outer, inner, outer_stride, inner_stride in ((2, 1 << 20, 1 << 46, 128), (1 << 20, 2, 128, 1 << 46),
                                                     (4, 4, -1, 128), (4, 4, 512, 1 << 62)):
        sentence = sentence_of_rows(library, Rows(SOMEWHERE, outer, inner, outer_stride, inner_stride))
        assert f"strides {outer_stride} and {inner_stride} cannot be" in sentence


class LinearCrossEntropy(ctypes.Structure):
    """FsLinearCrossEntropyForward."""
    _fields_ = [("x", ctypes.c_void_p), ("x_stride", ctypes.c_int64), ("weight", ctypes.c_void_p),
                ("weight_stride", ctypes.c_int64), ("labels", ctypes.c_void_p),
                *((n, ctypes.c_int64) for n in ("tokens", "hidden", "vocab")), ("dtype", ctypes.c_int32),
                ("ignore_index", ctypes.c_int64), ("divisor", ctypes.c_int32), ("num_items", ctypes.c_double),
                *((n, ctypes.c_void_p) for n in ("num_items_device", "loss", "state", "dx", "dweight")),
                ("mode", ctypes.c_int32), ("memory_limit", ctypes.c_uint64), ("chunk", ctypes.c_int64),
                *((n, ctypes.c_int32) for n in ("threads", "blocks_per_sm", "variant"))]


@pytest.mark.parametrize("tokens", [1 << 62, 1 << 61, (1 << 63) - 1, 1 << 40])
def test_workspace_of_impossibly_many_tokens(library, tokens):
    call, size = LinearCrossEntropy(tokens=tokens, hidden=4096, vocab=151936, dtype=0), ctypes.c_size_t()
    status = library.fusescope_linear_cross_entropy_workspace(ctypes.byref(call), ctypes.byref(size), None)
    assert status == INVALID_ARGUMENT
    assert f"{tokens} tokens of 4096 elements, 151936 words cannot be" in library.fusescope_last_error().decode()


def test_workspace_of_a_chunk_of_any_size(library):
    def bytes_of(chunk):
        call = LinearCrossEntropy(tokens=8, hidden=64, vocab=1000, dtype=0, mode=2, chunk=chunk)
        size = ctypes.c_size_t()
        assert library.fusescope_linear_cross_entropy_workspace(ctypes.byref(call), ctypes.byref(size), None) == 0
        return size.value

    assert bytes_of((1 << 63) - 1) == bytes_of(1000)  # all of the vocabulary


HUNGRY = """
import ctypes, resource, sys, torch
library = ctypes.CDLL(sys.argv[1])
library.fusescope_last_error.restype = ctypes.c_char_p
text, chain = b"% " * (24 << 20), ctypes.c_void_p()  # a line of 24 million words, 16 bytes each and more on the way
pages = int(open("/proc/self/statm").read().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + (200 << 20),) * 2)
status = library.fusescope_pointwise_chain_create(text, ctypes.byref(chain))
assert (status, library.fusescope_last_error()) == (5, b"pointwise_chain: std::bad_alloc"), status
"""


def test_no_exception_leaves_the_library():
    subprocess.run([sys.executable, "-c", HUNGRY, LIBRARY], check=True)
