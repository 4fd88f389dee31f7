# SPDX-License-Identifier: Apache-2.0
"""Loss curves of the eager model and of the fused one over steps on fixed data, beside eager's own noise.

    python losses.py [--layers 8] [--tokens 4096] [--steps 50] [--json OUT]

Eager's noise is how far its curves lie apart when nothing changes but the order in which sums are taken: the same run
again (cuDNN's and the embedding's backward add in any order), attention through another backend, and matrix products
that may not reduce their partial sums in bf16.
"""
import argparse
import gc
import itertools
import json
import pathlib

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

import step
import swap_qwen3


def curve(fusions, layers, tokens, steps, backend):
    model = step.build(layers)
    swap_qwen3.swap(model, fusions, False)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-5, fused=True)
    torch.manual_seed(1)
    batches = [torch.randint(0, 151936, (1, tokens), device="cuda") for _ in range(4)]
    losses = []
    with sdpa_kernel(backend):
        for i in range(steps):
            ids = batches[i % len(batches)]
            loss = model(input_ids=ids, labels=ids).loss
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            losses.append(loss.detach())
    losses = [float(v) for v in losses]
    del model, optimizer, loss
    gc.collect()
    torch.cuda.empty_cache()
    return losses


def apart(a, b):
    """Largest and mean distance of two curves, relative to the loss."""
    distances = [abs(x - y) / max(abs(x), 1e-12) for x, y in zip(a, b)]
    return max(distances), sum(distances) / len(distances)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--layers", type=int, default=8)
    parser.add_argument("--tokens", type=int, default=4096)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--json")
    arguments = parser.parse_args()
    torch.ops.load_library(step.LIBRARY)
    shape = arguments.layers, arguments.tokens, arguments.steps
    cudnn, flash = SDPBackend.CUDNN_ATTENTION, SDPBackend.FLASH_ATTENTION
    curves = {"eager": curve((), *shape, cudnn), "eager again": curve((), *shape, cudnn),
              "eager, flash": curve((), *shape, flash)}
    matmul = torch.backends.cuda.matmul
    matmul.allow_bf16_reduced_precision_reduction = False
    curves["eager, fp32 split-k"] = curve((), *shape, cudnn)
    matmul.allow_bf16_reduced_precision_reduction = True
    curves["fused"] = curve(step.ALL, *shape, cudnn)
    print(f"{torch.cuda.get_device_name()}, {arguments.layers} layers, T={arguments.tokens}, {arguments.steps} steps")
    for name, losses in curves.items():
        print(f"{name:<22} first {losses[0]:.5f} last {losses[-1]:.5f}", flush=True)
    for a, b in itertools.combinations(curves, 2):
        most, mean = apart(curves[a], curves[b])
        print(f"{a:>22} and {b:<22} apart: most {most:.2e}, mean {mean:.2e}", flush=True)
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(curves, indent=1))


if __name__ == "__main__":
    main()
