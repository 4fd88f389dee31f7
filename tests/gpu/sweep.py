# SPDX-License-Identifier: Apache-2.0
"""Where a fused kernel pays: the memory-bound operators over tokens x hidden, beside eager and PyTorch's own kernel.

    python sweep.py [--json OUT] [--rounds 9]

The JSON is the "fused_kernels" of a file in resources/devices: for each pattern and direction the points
[bytes that one kernel must move, width of a row, fused us, PyTorch's own us or null, eager us], as core/fusion reads
them to predict.
"""
import argparse
import json
import pathlib

import torch

import bench

TOKENS = (1, 16, 64, 256, 1024, 4096, 16384)
WIDTHS = (1024, 2048, 4096, 8192)


def cases():
    for tokens in TOKENS:
        for width in WIDTHS:
            yield bench.norm_case("rms_norm", tokens, width), tokens, width
            yield bench.norm_case("add_rms_norm", tokens, width), tokens, width
            yield bench.swiglu_case(tokens, 3 * width), tokens, 3 * width
        yield bench.norm_case("rms_norm", 32 * tokens, 128), 32 * tokens, 128
        yield bench.rope_case(tokens), tokens, 5120  # 32 + 8 heads of 128
        yield bench.qk_norm_rope_case(tokens), tokens, 5120


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--json")
    parser.add_argument("--rounds", type=int, default=9)
    arguments = parser.parse_args()
    torch.ops.load_library(bench.LIBRARY)
    torch.manual_seed(7)
    name = torch.cuda.get_device_name()
    print(f"{name}, torch {torch.__version__}; microseconds, median of {arguments.rounds}", flush=True)
    patterns, behind = {}, []
    for case, rows, width in cases():
        for row in bench.run_case(case, arguments.rounds, ("compiled", "liger", "ours fast")):
            us = row["us"]
            native = us.get("native")
            patterns.setdefault(case.op, {}).setdefault(row["direction"], []).append(
                [row["bytes"], width, round(us["ours"], 1), native and round(native, 1), round(us["eager"], 1)])
            best = min(us["eager"], native or us["eager"])
            if us["ours"] > best:
                behind.append(f"{case.op} {row['direction']} {rows} x {width}: {us['ours']:.1f} us, "
                              f"PyTorch {best:.1f}")
    for pattern, directions in patterns.items():
        for direction, points in directions.items():
            print(f"{pattern} {direction}")
            for size, width, ours, native, eager in points:
                print(f"  {size / 1e6:>10.3f} MB, {width:>6} wide{ours:>9.1f}{native or 0:>9.1f}{eager:>9.1f}  eager / fused "
                      f"{eager / ours:5.1f}")
    print("behind PyTorch:", *(behind or ["nowhere"]), sep="\n  ")
    if arguments.json:
        text = {"measured": f"{name}, torch {torch.__version__}, bf16, L2 emptied before each call", "patterns": patterns}
        pathlib.Path(arguments.json).write_text(json.dumps(text))


if __name__ == "__main__":
    main()
