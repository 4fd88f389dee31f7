# SPDX-License-Identifier: Apache-2.0
"""What a call costs the CPU: microseconds of the calling thread for one operator on one row, the GPU not waited for.

    python launch.py [--json OUT]

Beside each operator stand PyTorch's own nearest one, `empty`, an allocation alone, and `aten op`, an operator of
PyTorch's (one allocation, one launch) called the same way: torch.ops.<name>.default. What an operator of ours costs
more than that is its binding's doing.
"""
import argparse
import json
import os
import pathlib
import statistics
import time

import torch
import torch.nn.functional as F

import peers

LIBRARY = os.environ.get("FUSESCOPE_KERNELS_LIBRARY") or str(
    pathlib.Path(__file__).resolve().parents[2] / "build/kernels/bin/libfusescope_kernels.so")
CALLS = 200  # fewer than the launches that a stream queues before it makes the CPU wait


def cost(run, rounds=31):
    """Median microseconds a call."""
    samples = []
    for _ in range(rounds):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(CALLS):
            run()
        samples.append(1e6 * (time.perf_counter() - start) / CALLS)
    return statistics.median(samples)


def candidates():
    ops = torch.ops.fusescope
    tensor = lambda *shape: torch.randn(*shape, device="cuda").to(torch.bfloat16)
    x, weight, wide, other = tensor(1, 4096), tensor(4096), tensor(1, 12288), tensor(1, 12288)
    q, k, head = tensor(1, 1, 32, 128), tensor(1, 1, 8, 128), tensor(128)
    cos, sin = peers.rope_tables(1, 128, torch.bfloat16)
    turned = q.transpose(1, 2), k.transpose(1, 2)
    call = lambda op: op.default
    return {
        "empty": lambda: torch.empty_like(x),
        "aten op": lambda f=call(torch.ops.aten.neg): f(x),
        "rms_norm": lambda f=call(ops.rms_norm): f(x, weight, 1e-6, False),
        "native rms_norm": lambda: F.rms_norm(x, (4096,), weight, 1e-6),
        "add_rms_norm": lambda f=call(ops.add_rms_norm): f(x, x, weight, 1e-6, False),
        "swiglu": lambda f=call(ops.swiglu): f(wide, other, False),
        "native silu": lambda: F.silu(wide),
        "native mul": lambda: wide * other,
        "qk_norm_rope": lambda f=call(ops.qk_norm_rope): f(q, k, head, head, cos, sin, 1e-6, False),
        "rope": lambda f=call(ops.rope): f(q, k, cos, sin, 2, False),
        "rope, heads first": lambda f=call(ops.rope): f(*turned, cos, sin, 1, False),
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--json")
    arguments = parser.parse_args()
    torch.ops.load_library(LIBRARY)
    print(f"{torch.cuda.get_device_name()}; CPU microseconds a call, median", flush=True)
    found = {}
    for name, run in candidates().items():
        with torch.no_grad():
            found[name] = round(cost(run), 2)
        print(f"{name:<20}{found[name]:>8.2f}", flush=True)
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
