# SPDX-License-Identifier: Apache-2.0
"""Every operator beside its peers and beside a copy of the same bytes: one table, and JSON with --json.

    python bench.py [--only rms_norm,swiglu] [--json OUT] [--rounds N] [--no-compile]
"""
import argparse
import json
import os
import pathlib
import sys

import torch

import peers
import regions
import timing

LIBRARY = os.environ.get("FUSESCOPE_KERNELS_LIBRARY") or str(
    pathlib.Path(__file__).resolve().parents[2] / "build/kernels/bin/libfusescope_kernels.so")
BF16 = torch.bfloat16


def tensor(*shape, dtype=BF16):
    return torch.randn(*shape, device="cuda", dtype=torch.float32).to(dtype)


class Case:
    """One operator at one shape: functions of the same inputs, and the bytes that one kernel must move. Where
    arithmetic bounds it, also the operations of the forward and the backward; `note` is printed below the table."""

    def __init__(self, op, shape, inputs, functions, forward_bytes, backward_bytes=None, flops=(None, None), note=""):
        self.op, self.shape, self.inputs, self.functions = op, shape, inputs, functions
        self.forward_bytes, self.backward_bytes, self.flops, self.note = forward_bytes, backward_bytes, flops, note


def norm_case(op, rows, width):
    x, weight = tensor(rows, width).requires_grad_(), torch.rand(width, device="cuda").to(BF16).requires_grad_()
    ops, size = torch.ops.fusescope, 2 * rows * width
    if op == "rms_norm":
        functions = {"ours": ops.rms_norm, "ours fast": lambda x, w: ops.rms_norm(x, w, 1e-6, True),
                     "eager": peers.rms_norm, "native": peers.native_rms_norm, "compiled": torch.compile(peers.rms_norm),
                     "liger": peers.liger("rms_norm"), "quack": peers.quack("rms_norm")}
        return Case(op, f"{rows}x{width}", (x, weight), functions, 2 * size, 3 * size)
    residual = tensor(rows, width).requires_grad_()
    functions = {"ours": ops.add_rms_norm, "ours fast": lambda *a: ops.add_rms_norm(*a, 1e-6, True),
                 "eager": peers.add_rms_norm, "compiled": torch.compile(peers.add_rms_norm),
                 "quack": peers.quack("add_rms_norm")}
    return Case(op, f"{rows}x{width}", (x, residual, weight), functions, 4 * size, 4 * size)


def swiglu_case(rows, width):
    ops, size = torch.ops.fusescope, 2 * rows * width
    inputs = tensor(rows, width).requires_grad_(), tensor(rows, width).requires_grad_()
    functions = {"ours": ops.swiglu, "ours fast": lambda g, u: ops.swiglu(g, u, True), "eager": peers.swiglu,
                 "compiled": torch.compile(peers.swiglu), "liger": peers.liger("swiglu")}
    return Case("swiglu", f"{rows}x{width}", inputs, functions, 3 * size, 5 * size)


def rope_case(tokens):
    ops, size = torch.ops.fusescope, 2 * tokens * 40 * 128
    q = tensor(1, tokens, 32, 128).transpose(1, 2).requires_grad_()
    k = tensor(1, tokens, 8, 128).transpose(1, 2).requires_grad_()
    cos, sin = peers.rope_tables(tokens, 128, BF16)
    functions = {"ours": ops.rope, "eager": peers.rope, "compiled": torch.compile(peers.rope)}
    return Case("rope", f"{tokens}", (q, k, cos, sin), functions, 2 * size, 2 * size)


def qk_norm_rope_case(tokens):
    ops, size = torch.ops.fusescope, 2 * tokens * 40 * 128
    q, k = tensor(1, tokens, 32, 128).requires_grad_(), tensor(1, tokens, 8, 128).requires_grad_()
    weights = [torch.rand(128, device="cuda").to(BF16).requires_grad_() for _ in range(2)]
    cos, sin = peers.rope_tables(tokens, 128, BF16)
    functions = {"ours": ops.qk_norm_rope, "ours fast": lambda *a: ops.qk_norm_rope(*a, 1e-6, True),
                 "eager": peers.qk_norm_rope, "compiled": torch.compile(peers.qk_norm_rope)}
    return Case("qk_norm_rope", f"{tokens}", (q, k, *weights, cos, sin), functions, 2 * size, 3 * size)


def region_cases(rows):
    """Regions compiled at run time, beside the operators of the catalogue for the same formula."""
    ops, width = torch.ops.fusescope, 4096
    x, y = (tensor(rows, width).requires_grad_() for _ in range(2))
    weight, bias = (torch.rand(width, device="cuda").to(BF16).requires_grad_() for _ in range(2))
    size = 2 * rows * width
    for name, body, inputs, eager, catalogue, forward, backward in (
            ("rms_norm", regions.RMS_NORM, (x, weight), peers.rms_norm, ops.rms_norm, 2, 3),
            ("softmax", regions.SOFTMAX, (x,), regions.softmax, None, 2, 3),
            ("layer_norm", regions.LAYER_NORM, (x, weight, bias), regions.layer_norm, None, 2, 3),
            ("swiglu", regions.SWIGLU, (x, y), peers.swiglu, ops.swiglu, 3, 5),
            ("geglu", regions.GEGLU, (x, y), regions.geglu, None, 3, 5),
            ("residual", regions.RESIDUAL, (x, y), lambda x, y: x + y * 0.22, None, 3, 3)):
        text = regions.region(body.partition("output")[0], len(inputs)) # the last line's alone, as eager has
        functions = {"ours": lambda *a, text=text: ops.pointwise_chain(a, text)[0],
                     "ours fast": lambda *a, text=text: ops.pointwise_chain(a, text, True)[0], "catalogue": catalogue,
                     "eager": eager, "compiled": torch.compile(eager), "quack": peers.quack(name)}
        yield Case(f"region {name}", f"{rows}x{width}", inputs, functions, forward * size, backward * size)


def qkv_case(tokens):
    """Three products in one; the bytes are not what bounds it, so the table's last columns say nothing here."""
    ops = torch.ops.fusescope
    x = tensor(tokens, 4096).requires_grad_()
    weights = [(tensor(n, 4096) / 64).requires_grad_() for n in (4096, 1024, 1024)]
    merged = torch.cat([w.detach() for w in weights]).requires_grad_()

    def three(x, merged, *weights):
        return tuple(torch.nn.functional.linear(x, w) for w in weights)

    functions = {"ours": lambda x, merged, *w: ops.qkv_projection(x, merged, 4096, 1024),
                 "ours apart": lambda x, merged, *w: ops.qkv_projection_separate(x, *w), "eager": three,
                 "merged": lambda x, merged, *w: torch.nn.functional.linear(x, merged)}
    size = 2 * (tokens * 4096 + 6144 * 4096 + tokens * 6144)
    return Case("qkv_projection", f"{tokens}", (x, merged, *weights), functions, size, 2 * size)


def attention_case(batch, queries, keys, training):
    """32 heads of q, 8 of k and v, head_dim 128: causal training, or one token after `keys`. "ours" is what `auto`
    takes; every backend that takes the case stands beside it."""
    ops = torch.ops.fusescope
    q, k, v = (tensor(batch, n, heads, 128).transpose(1, 2).requires_grad_(training)
               for n, heads in ((queries, 32), (keys, 8), (keys, 8)))
    functions = {"ours": lambda *a: ops.attention(*a, causal=training), "sdpa": lambda *a: peers.attention(*a, training)}
    for backend in ("cudnn", "flash", "efficient", "hopper"):
        def function(*a, backend=backend):
            return ops.attention(*a, causal=training, backend=backend)
        try:
            function(q, k, v)
            functions[backend] = function
        except RuntimeError as error:
            if "cannot be used" not in str(error):
                raise
    shape = f"{batch}x{queries}" + ("" if training else f"/{keys}")
    # The causal half counts; the backward has five products where the forward has two.
    operations = 4 * batch * 32 * queries * keys * 128 * (0.5 if training else 1)
    size = 2 * 128 * batch * (2 * 32 * queries + 2 * 8 * keys)
    return Case("attention", shape, (q, k, v), functions, size, 2 * size if training else None,
                (operations, 2.5 * operations),
                f"attention {shape}: auto takes {ops.attention_choice(q, k, v, None, training)}")


def loss_rows(tokens, rounds, without):
    """linear_cross_entropy forward and backward together, with the memory that each needs beyond its inputs."""
    ops = torch.ops.fusescope
    x, weight = tensor(tokens, 4096).requires_grad_(), (tensor(151936, 4096) / 64).requires_grad_()
    labels = torch.randint(0, 151936, (tokens,), device="cuda")
    functions = {"ours fast": lambda: ops.linear_cross_entropy(x, weight, labels, mode="fast", memory_limit=1 << 40),
                 "ours lean": lambda: ops.linear_cross_entropy(x, weight, labels, mode="lean"),
                 "eager": lambda: peers.linear_cross_entropy(x, weight, labels)}
    compiled, liger = torch.compile(peers.linear_cross_entropy), peers.liger("linear_cross_entropy")
    functions["compiled"] = lambda: compiled(x, weight, labels)
    if liger:
        functions["liger"] = lambda: liger(x, weight, labels)
    if quack := peers.quack("linear_cross_entropy"):
        functions["quack"] = lambda: quack(x, weight, labels)

    def both(function):
        x.grad = weight.grad = None
        function().backward()

    candidates = {n: (lambda f=f: both(f)) for n, f in functions.items() if n not in without}
    peak = {}
    for name, run in candidates.items():
        run()
        run()
        x.grad = weight.grad = None
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        run()
        torch.cuda.synchronize()
        peak[name] = round((torch.cuda.max_memory_allocated() - before) / 1e9, 2)
    times = timing.compare(candidates, max(rounds // 3, 5))
    x.grad = weight.grad = None
    return [{"op": "linear_cross_entropy", "shape": f"{tokens}", "direction": "both", "bytes": 0,
             "us": {n: round(t[0], 1) for n, t in times.items()}, "peak_GB": peak}]


def cases(only):
    wanted = lambda op: hasattr(torch.ops.fusescope, op) and (not only or op in only)
    for rows, width in ((16384, 4096), (524288, 128), (4096, 4096), (131072, 128), (4096, 1024), (512, 4096), (8, 4096), (1, 4096)):
        if wanted("rms_norm"):
            yield norm_case("rms_norm", rows, width)
    for rows in (16384, 4096, 512, 8):
        if wanted("add_rms_norm"):
            yield norm_case("add_rms_norm", rows, 4096)
    for rows in (16384, 4096, 512, 8):
        if wanted("swiglu"):
            yield swiglu_case(rows, 12288)
    for tokens in (16384, 4096, 512, 8):
        if wanted("rope"):
            yield rope_case(tokens)
    for tokens in (16384, 4096, 512, 8):
        if wanted("qk_norm_rope"):
            yield qk_norm_rope_case(tokens)
    for rows in (16384, 512, 8):
        if wanted("pointwise_chain"):
            yield from region_cases(rows)
    for tokens in (16384, 4096, 8):
        if wanted("qkv_projection"):
            yield qkv_case(tokens)
    for batch, queries, keys, training in ((1, 4096, 4096, True), (1, 16384, 16384, True), (1, 1, 4096, False),
                                           (8, 1, 4096, False)):
        if wanted("attention"):
            yield attention_case(batch, queries, keys, training)


def run_case(case, rounds, without):
    functions = {n: f for n, f in case.functions.items() if f is not None and n not in without}
    forward, backward = {}, {}
    leaves = [t for t in case.inputs if t.requires_grad]
    for name, function in functions.items():
        def run(function=function):
            with torch.no_grad():
                return function(*case.inputs)
        forward[name] = run
        out = function(*case.inputs)
        out = out if isinstance(out, (tuple, list)) else (out,)
        gradients = [torch.randn_like(o) for o in out]
        backward[name] = lambda out=out, g=gradients: torch.autograd.grad(
            out, leaves, g, retain_graph=True, allow_unused=True)
    rows = []
    for direction, candidates, size, flops in (("forward", forward, case.forward_bytes, case.flops[0]),
                                               ("backward", backward, case.backward_bytes, case.flops[1])):
        if size is None:
            continue
        times = timing.compare({"copy": timing.copy_of(size), **candidates}, rounds)
        rows.append({"op": case.op, "shape": case.shape, "direction": direction, "bytes": size,
                     "flops": flops, "note": case.note,
                     "us": {n: round(t[0], 2) for n, t in times.items()},
                     "p10_p90_us": {n: (round(t[1], 2), round(t[2], 2)) for n, t in times.items()}})
    return rows


def print_table(rows):
    names = []
    for row in rows:
        names += [n for n in row["us"] if n not in names]
    print(f"{'op':<22}{'shape':<14}{'':<10}" + "".join(f"{n:>11}" for n in names) + f"{'of copy':>9}{'TB/s':>7}")
    for row in rows:
        us = row["us"]
        ours = us.get("ours")
        line = f"{row['op']:<22}{row['shape']:<14}{row['direction']:<10}"
        line += "".join(f"{us[n]:>11.1f}" if n in us else f"{'':>11}" for n in names)
        if row.get("peak_GB"):
            line += "  extra GB " + " ".join(f"{n} {g}" for n, g in row["peak_GB"].items())
        if ours and row["bytes"]:
            line += f"{us['copy'] / ours:>9.1%}{row['bytes'] / ours / 1e6:>7.2f}"
        print(line)
        if row.get("flops"):
            print(f"{'':<36}{'TFLOP/s':<10}" + "".join(
                f"{row['flops'] / us[n] / 1e6:>11.1f}" if n in us and n != "copy" else f"{'':>11}" for n in names))
    for note in dict.fromkeys(row["note"] for row in rows if row.get("note")):
        print(note)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="")
    parser.add_argument("--json")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--without", default="", help="peers to leave out: eager,native,compiled,liger,quack")
    arguments = parser.parse_args()
    torch.ops.load_library(LIBRARY)
    torch.manual_seed(7)
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}; microseconds, median of {arguments.rounds}")
    rows = []
    only = [o for o in arguments.only.split(",") if o]
    for case in cases(only):
        rows += run_case(case, arguments.rounds, arguments.without.split(","))
        torch._dynamo.reset()
    if hasattr(torch.ops.fusescope, "linear_cross_entropy") and (not only or "linear_cross_entropy" in only):
        rows += loss_rows(4096, arguments.rounds, arguments.without.split(","))
    print_table(rows)
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    sys.exit(main())
