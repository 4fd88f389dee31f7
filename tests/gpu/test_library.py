# SPDX-License-Identifier: Apache-2.0
"""The library file itself."""
import re
import shutil
import subprocess

import pytest
import torch


def dynamic_section():
    if not shutil.which("readelf"):
        pytest.skip("readelf is not installed (package binutils)")
    library = next(path for path in torch.ops.loaded_libraries if "fusescope" in path)
    return subprocess.run(["readelf", "-dW", library], capture_output=True, text=True, check=True).stdout


def test_shares_the_cxx_library_with_torch():
    # With a copy of its own linked in, printing a shape in an error message ended the process.
    assert "libstdc++.so.6" in re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic_section())


def test_names_no_folder_of_the_machine_it_was_built_on():
    assert not re.search(r"\((RPATH|RUNPATH)\)", dynamic_section())
