# SPDX-License-Identifier: Apache-2.0
"""A whole training step of transformers' Qwen3 (8B shapes, random weights, AdamW) with the operators swapped in.

    python step.py [--layers 8] [--tokens 4096] [--sets eager,all] [--losses 50] [--steps 6] [--json OUT]

Sets: eager, native (F.rms_norm), parts (RMSNorm, silu*up and RoPE each through torch.compile); one fusion by name, `all`
of the model, `adamw` (the optimizer's step, in place of PyTorch's fused one), `compiled` (the whole model through
torch.compile), or such joined by +. Every set starts from the same weights and tokens.
"""
import argparse
import functools
import gc
import json
import os
import pathlib
import statistics
import time

import torch
import torch.nn.functional as F
import transformers
from transformers.models.qwen3 import modeling_qwen3 as qwen3

import clocks
import peers
import swap_qwen3
from optimizer import FusedAdamW

LIBRARY = os.environ.get("FUSESCOPE_KERNELS_LIBRARY") or str(
    pathlib.Path(__file__).resolve().parents[2] / "build/kernels/bin/libfusescope_kernels.so")
ALL = ("rms_norm", "add_rms_norm", "qk_norm_rope", "attention", "swiglu", "qkv_projection", "linear_cross_entropy")


def build(layers, seed=0):
    config = transformers.Qwen3Config(
        hidden_size=4096, intermediate_size=12288, num_hidden_layers=layers, num_attention_heads=32,
        num_key_value_heads=8, head_dim=128, vocab_size=151936, rms_norm_eps=1e-6, tie_word_embeddings=False,
        max_position_embeddings=40960, use_cache=False)
    config._attn_implementation = "sdpa"
    torch.manual_seed(seed)
    with torch.device("cuda"):
        model = transformers.Qwen3ForCausalLM(config).to(torch.bfloat16)
    return model.train()


class Patched:
    """Module functions of transformers replaced for a while."""

    def __init__(self, name):
        self.name, self.kept = name, {}

    def __enter__(self):
        def put(owner, attribute, value):
            self.kept[(owner, attribute)] = getattr(owner, attribute)
            setattr(owner, attribute, value)

        if self.name == "native":
            put(qwen3.Qwen3RMSNorm, "forward",
                lambda m, x: F.rms_norm(x, (x.shape[-1],), m.weight, m.variance_epsilon))
        if self.name == "parts":
            norm, silu_mul, rope = (torch.compile(f) for f in (peers.rms_norm, peers.swiglu, peers.rope))
            put(qwen3.Qwen3RMSNorm, "forward", lambda m, x: norm(x, m.weight, m.variance_epsilon))
            put(qwen3.Qwen3MLP, "forward", lambda m, x: m.down_proj(silu_mul(m.gate_proj(x), m.up_proj(x))))
            put(qwen3, "apply_rotary_pos_emb", rope)
        return self

    def __exit__(self, *_):
        for (owner, attribute), value in self.kept.items():
            setattr(owner, attribute, value)


def fusions_of(name):
    if name in ("eager", "native", "parts"):
        return ()
    return tuple(fusion for part in name.split("+") if part not in ("adamw", "compiled")
                 for fusion in (ALL if part == "all" else (part,)))


def print_kernels(step, rows=25):
    """The kernels of one step by their total time."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        step()
        torch.cuda.synchronize()
    events = sorted(profile.key_averages(), key=lambda e: -e.self_device_time_total)
    total = sum(e.self_device_time_total for e in events)
    print(f"    kernels {total / 1000:.2f} ms")
    for e in events[:rows]:
        print(f"    {e.self_device_time_total / 1000:8.3f} ms {e.count:5d}x  {e.key[:110]}")


def measure(name, layers, tokens, steps, losses, fast, profile):
    torch._dynamo.reset()
    with Patched(name):
        model = build(layers)
        swap_qwen3.swap(model, fusions_of(name), fast)
        run = torch.compile(model) if "compiled" in name.split("+") else model
        make = FusedAdamW if "adamw" in name.split("+") else functools.partial(torch.optim.AdamW, fused=True)
        optimizer = make(model.parameters(), lr=1e-5)
        torch.manual_seed(1)
        ids = torch.randint(0, 151936, (1, tokens), device="cuda")

        def step():
            loss = run(input_ids=ids, labels=ids).loss
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            return loss.detach()

        curve = [step() for _ in range(max(3, losses))]
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        times = []
        with clocks.Watch() as watch:
            for _ in range(steps):
                start = time.perf_counter()
                step()
                torch.cuda.synchronize()
                times.append(1000 * (time.perf_counter() - start))
        if profile:
            print_kernels(step)
        out = {"set": name, "ms": round(statistics.median(times), 2), "min_ms": round(min(times), 2),
               "peak_GB": round(torch.cuda.max_memory_allocated() / 1e9, 2),
               "clock": watch.reading, "loss": [round(float(v), 5) for v in curve]}
    del model, run, optimizer, step
    gc.collect()
    torch.cuda.empty_cache()
    return out


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--layers", type=int, default=8)
    parser.add_argument("--tokens", type=int, default=4096)
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--losses", type=int, default=3)
    parser.add_argument("--sets", default="eager,rms_norm,add_rms_norm+rms_norm,qk_norm_rope,attention,swiglu,qkv_projection,"
                        "linear_cross_entropy,all,adamw,all+adamw")
    parser.add_argument("--fast", action="store_true")
    parser.add_argument("--profile", action="store_true", help="also list the kernels of a step by their time")
    parser.add_argument("--json")
    arguments = parser.parse_args()
    torch.ops.load_library(LIBRARY)
    print(f"{torch.cuda.get_device_name()}, {arguments.layers} layers, B=1 T={arguments.tokens}; "
          f"ms a step, median of {arguments.steps}", flush=True)
    results = []
    for name in arguments.sets.split(","):
        result = measure(name, arguments.layers, arguments.tokens, arguments.steps, arguments.losses, arguments.fast,
                         arguments.profile)
        results.append(result)
        saved = results[0]["ms"] - result["ms"]
        clock = result["clock"]
        print(f"{name:<36}{result['ms']:>9.2f}{saved:>9.2f} saved{result['peak_GB']:>9.2f} GB   loss "
              f"{result['loss'][0]:.4f} {result['loss'][-1]:.4f}"
              + (f"   {clock['sm_MHz']} MHz, {clock['watts']} W, power-capped {clock['power_capped']:.0%}" if clock else ""),
              flush=True)
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
