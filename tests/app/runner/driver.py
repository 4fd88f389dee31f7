# SPDX-License-Identifier: GPL-3.0-or-later
"""Starts fusescope-runner and speaks its protocol; regions for it, as JSON (core/region/region_json.h)."""
import json
import os
import selectors
import subprocess
import time

PROGRAM = os.environ["FUSESCOPE_RUNNER"]


class Runner:
    def __init__(self, **environment):
        # On the CPU also where a GPU is: that one is tested by tests/gpu. One thread: on a busy machine the threads of
        # an operator wait for each other.
        env = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1", **environment}
        self.process = subprocess.Popen([PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.process.stdout, selectors.EVENT_READ)
        self.pending = b""
        self.last_id = 0
        self.hello = self.line()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()

    def line(self, timeout=120):
        """The next line, which has to be JSON: stdout carries nothing else. None at the end."""
        end = time.monotonic() + timeout
        while b"\n" not in self.pending:
            assert self.selector.select(max(0, end - time.monotonic())), "the runner says nothing"
            got = os.read(self.process.stdout.fileno(), 1 << 16)
            if not got:
                assert not self.pending, "half a line"
                return None
            self.pending += got
        line, self.pending = self.pending.split(b"\n", 1)
        return json.loads(line)

    def write(self, text):
        self.process.stdin.write(text.encode() + b"\n")
        self.process.stdin.flush()

    def send(self, op, **params):
        self.last_id += 1
        self.write(json.dumps({"id": self.last_id, "op": op, "params": params}))
        return self.last_id

    def answer(self, timeout=120):
        """The next result or error; what comes before it is progress."""
        while True:
            line = self.line(timeout)
            if line is None or line["ev"] in ("result", "error"):
                return line

    def work(self, seconds, timeout=120):
        """Waits until the process has used so much more of a processor."""
        end, enough = time.monotonic() + timeout, cpu_seconds(self.process.pid) + seconds
        while cpu_seconds(self.process.pid) < enough:
            assert time.monotonic() < end, "the runner does not work"
            time.sleep(0.02)

    def ask(self, op, **params):
        identity = self.send(op, **params)
        answer = self.answer()
        assert answer["id"] == identity
        return answer

    def fuse(self, region, **params):
        params.setdefault("rounds", 3)
        return self.ask("fuse", region=region, **params)

    def result(self, region, **params):
        answer = self.fuse(region, **params)
        assert answer["ev"] == "result", answer
        return answer["result"]

    def error(self, region, **params):
        answer = self.fuse(region, **params)
        assert answer["ev"] == "error", answer
        assert answer["fatal"] is False
        return answer["code"], answer["message"]

    def end(self):
        self.process.stdin.close()
        return self.process.wait(30)


def number(value):
    return {"f": value}


def dtype(name):
    return {"dtype": name}


def step(op, *values, outputs=1, label="", **named):
    args = [["", value] for value in values] + [[name, value, True] for name, value in named.items()]
    return [op, outputs, label, args]


def tensor(name, *sizes, dtype="bf16", fill="normal", **more):
    return {"name": name, "dtype": dtype, "sizes": list(sizes), "fill": fill, "scale": 1, **more}


def region(inputs, baseline, fused=None, outputs=None, fused_outputs=None, **more):
    """Outputs are those of the last steps unless named."""
    def program(steps, refs):
        return {"steps": steps, "outputs": refs or [[len(steps) - 1, 0]]}

    whole = {"id": "r", "pattern": "selection", "title": "", "inputs": inputs, "baseline": program(baseline, outputs)}
    whole["fused"] = program(fused, fused_outputs) if fused else {"steps": [], "outputs": []}
    return {**whole, **more}


def rms_norm_steps(x, weight, first=0, to="bf16"):
    """Qwen3RMSNorm as it is exported, from step number `first` on."""
    return [
        step("aten::to.dtype", x, dtype("f32")),
        step("aten::pow.Tensor_Scalar", [first, 0], 2),
        step("aten::mean.dim", [first + 1, 0], {"ints": [-1]}, True),
        step("aten::add.Tensor", [first + 2, 0], number(1e-6)),
        step("aten::rsqrt", [first + 3, 0]),
        step("aten::mul.Tensor", [first, 0], [first + 4, 0]),
        step("aten::to.dtype", [first + 5, 0], dtype(to)),
        step("aten::mul.Tensor", weight, [first + 6, 0]),
    ]


def rms_norm(rows=64, width=256, backward=True, to="bf16"):
    return region([tensor("x", rows, width, dtype=to, gradient=True),
                   tensor("w", width, dtype=to, fill="uniform", gradient=True)],
                  rms_norm_steps([0], [1], to=to), [step("fusescope::rms_norm", [0], [1], number(1e-6), False)],
                  pattern="rms_norm", backward=backward)


def slow(steps=3000, rows=1024):
    """Takes minutes: many matrix products."""
    chain = [step("aten::mm", [0] if i == 0 else [i - 1, 0], [0]) for i in range(steps)]
    return region([tensor("x", rows, rows, dtype="f32")], chain)


def stat_of(pid):
    """What /proc says of a process, from its state on: the name before may hold spaces."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        return file.read().rsplit(")", 1)[1].split()


def alive(pid):
    try:
        return stat_of(pid)[0] != "Z"
    except FileNotFoundError:
        return False


def cpu_seconds(pid):
    return sum(map(int, stat_of(pid)[11:13])) / os.sysconf("SC_CLK_TCK")


