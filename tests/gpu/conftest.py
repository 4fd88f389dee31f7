# SPDX-License-Identifier: Apache-2.0
"""Loads the operators; tests marked `gpu` are left out, with the reason, where there is no CUDA device."""
import os
import pathlib

import pytest
import torch

LIBRARY = os.environ.get("FUSESCOPE_KERNELS_LIBRARY") or str(
    pathlib.Path(__file__).resolve().parents[2] / "build/kernels/bin/libfusescope_kernels.so")
torch.ops.load_library(LIBRARY)


def pytest_collection_modifyitems(items):
    if torch.cuda.is_available():
        return
    skip = pytest.mark.skip(reason="no CUDA device here")
    for item in items:
        if item.get_closest_marker("gpu"):
            item.add_marker(skip)


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(20240917)


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def device(request):
    return request.param
