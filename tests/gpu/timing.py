# SPDX-License-Identifier: Apache-2.0
"""Times on the GPU: CUDA events, the candidates of one comparison in turn, median over rounds, L2 emptied before each."""
import statistics

import torch

_flush = None
_sleep_cycles = 2_000_000  # about 1 ms: the CPU gets ahead (autograd wakes a thread), so that no gap is measured


def empty_l2():
    """Reads 256 MB: what was in L2 is gone, and nothing is left to be written back while a candidate runs."""
    global _flush
    if _flush is None:
        _flush = torch.ones(64 << 20, device="cuda", dtype=torch.float32)
    torch.amax(_flush)


def compare(candidates, rounds=30, flush=True, head_start=True):
    """candidates: {name: function}. Returns {name: (median, p10, p90)} in microseconds."""
    samples = {name: [] for name in candidates}
    for name, run in candidates.items():
        for _ in range(3):
            run()
    torch.cuda.synchronize()
    for _ in range(rounds):
        for name, run in candidates.items():
            start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            if flush:
                empty_l2()
            if head_start:
                torch.cuda._sleep(_sleep_cycles)
            start.record()
            run()
            end.record()
            end.synchronize()
            samples[name].append(1000 * start.elapsed_time(end))
    out = {}
    for name, values in samples.items():
        values.sort()
        out[name] = (statistics.median(values), values[len(values) // 10], values[-1 - len(values) // 10])
    return out


def copy_of(total_bytes):
    """A device-to-device copy that moves so many bytes, read and written together."""
    half = max(int(total_bytes) // 2 // 16 * 16, 16)
    a = torch.ones(half, device="cuda", dtype=torch.uint8)
    b = torch.empty_like(a)
    return lambda: b.copy_(a)
