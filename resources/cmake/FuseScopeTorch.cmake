# SPDX-License-Identifier: Apache-2.0
# LibTorch, as it lies inside the Python wheel. Torch's own CMake package looks for far more than these kernels need and
# takes ten seconds, so only headers and libraries are named here.
#   FUSESCOPE_TORCH_PYTHON  a Python that can import torch (default: python3)

find_program(FUSESCOPE_TORCH_PYTHON python3 DOC "A Python with PyTorch (2.6 or newer, built for CUDA)" REQUIRED)
execute_process(
    COMMAND "${FUSESCOPE_TORCH_PYTHON}" -c
            "import importlib.util as u; s = u.find_spec('torch'); print(s.submodule_search_locations[0] if s else '')"
    OUTPUT_VARIABLE FUSESCOPE_TORCH_DIR OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)

set(torch_missing "")
foreach(file IN ITEMS include/torch/library.h lib/libc10.so lib/libtorch_cpu.so lib/libc10_cuda.so)
    if(NOT EXISTS "${FUSESCOPE_TORCH_DIR}/${file}")
        string(APPEND torch_missing "  ${file}\n")
    endif()
endforeach()
if(torch_missing)
    message(FATAL_ERROR
            "PyTorch with CUDA was not found, and the kernels' Torch binding needs it. In '${FUSESCOPE_TORCH_DIR}' there is no\n"
            "${torch_missing}"
            "Name a Python that has it: cmake -DFUSESCOPE_TORCH_PYTHON=..., or run ./dev kernels, which sets one up.")
endif()

add_library(fusescope_torch INTERFACE)
target_include_directories(fusescope_torch SYSTEM INTERFACE
    "${FUSESCOPE_TORCH_DIR}/include" "${FUSESCOPE_TORCH_DIR}/include/torch/csrc/api/include")
# libtorch_cpu needs libraries that only Python's loader finds; nothing here refers to them.
target_link_options(fusescope_torch INTERFACE LINKER:--allow-shlib-undefined)
target_link_libraries(fusescope_torch INTERFACE
    "${FUSESCOPE_TORCH_DIR}/lib/libtorch_cpu.so" "${FUSESCOPE_TORCH_DIR}/lib/libc10.so"
    "${FUSESCOPE_TORCH_DIR}/lib/libc10_cuda.so"
    # Streams, strings and exceptions pass between Torch and what links it, so both must use the one C++ library of the
    # process. Some compilers are set up to link theirs in (-static-libstdc++): named here, the shared one comes first.
    "-l:libstdc++.so.6")
