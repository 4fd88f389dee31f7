# SPDX-License-Identifier: GPL-3.0-or-later
"""What fusescope-runner is as a process: lines, order, cancelling, ending. On the CPU."""
import json
import os
import subprocess
import sys
import time

import pytest

from driver import PROGRAM, Runner, alive, region, rms_norm, slow, step, tensor


@pytest.fixture(scope="module")
def runner():
    with Runner() as one:
        yield one


def test_hello_says_what_it_is(runner):
    hello = runner.hello
    assert (hello["ev"], hello["protocol"]) == ("hello", 1)
    assert hello["torch"].startswith("2.") and "+cu" in hello["torch"]
    assert hello["kernels"] is True and hello["kernels_problem"] == ""
    assert hello["gpus"] == []


def test_device_is_the_hello_of_now(runner):
    answer = runner.ask("device")
    assert (answer["kind"], answer["result"]["gpus"]) == ("device", [])


def test_missing_kernels_are_said():
    with Runner(FUSESCOPE_KERNELS_LIBRARY="/nowhere/lib.so") as runner:
        assert runner.hello["kernels"] is False
        assert "/nowhere/lib.so" in runner.hello["kernels_problem"]
        code, message = runner.error(rms_norm())
        assert code == "unsupported" and "fusescope::rms_norm" in message


def test_a_library_that_is_none_is_said(tmp_path):
    library = tmp_path / "lib.so"
    library.write_text("not a library")
    with Runner(FUSESCOPE_KERNELS_LIBRARY=str(library)) as runner:
        assert runner.hello["kernels"] is False and "lib.so" in runner.hello["kernels_problem"]


@pytest.mark.parametrize("line, identity", [
    ("{", 0), ("[]", 0), ('{"id":7}', 7), ('{"id":8,"op":"dance"}', 8), ('{"op":"device"}', 0),
    ('{"id":9,"op":"fuse","params":{}}', 9),
    ('{"id":10,"op":"fuse","params":{"region":{"id":"r","inputs":[],"baseline":{"steps":[],"outputs":[]}}}}', 10),
])
def test_wrong_lines_are_answered(runner, line, identity):
    runner.write(line)
    answer = runner.answer()
    assert (answer["id"], answer["ev"], answer["code"]) == (identity, "error", "bad_request")
    assert answer["message"]


def test_overlong_line_is_answered_and_skipped(runner):
    runner.write('{"id":1,"op":"device","params":{"x":"' + "a" * (1 << 20) + '"}}')
    answer = runner.answer()
    assert (answer["id"], answer["code"]) == (0, "bad_request") and "1048576" in answer["message"]
    assert runner.ask("device")["ev"] == "result"


def test_lines_may_come_in_pieces(runner):
    for piece in b'{"id":5,"op":', b'"device"}\r\n\n{"id":6,"op":"dev', b'ice"}\n':
        runner.process.stdin.write(piece)
        runner.process.stdin.flush()
        time.sleep(0.05)
    assert [runner.answer()["id"] for _ in range(2)] == [5, 6]


def test_requests_are_answered_in_order(runner):
    first = runner.send("fuse", region=rms_norm(), rounds=3)
    second = runner.send("device")
    third = runner.send("fuse", region=rms_norm(8), rounds=3)
    assert [runner.answer()["id"] for _ in range(3)] == [first, second, third]


def test_progress_comes_before_the_result(runner):
    identity = runner.send("fuse", region=rms_norm(), rounds=3)
    stages = []
    while (line := runner.line())["ev"] == "progress":
        assert line["id"] == identity
        stages.append((line["stage"], line["fraction"]))
    assert line["ev"] == "result" and len(stages) >= 4
    fractions = [fraction for _, fraction in stages]
    assert fractions == sorted(fractions) and fractions[-1] <= 1


def test_cancel_ends_the_running_request(runner):
    identity = runner.send("fuse", region=slow(), rounds=100, time_limit_s=600)
    assert runner.line()["ev"] == "progress"
    begin = time.monotonic()
    runner.send("cancel", target=identity)
    answer = runner.answer()
    assert (answer["id"], answer["code"]) == (identity, "cancelled")
    assert time.monotonic() - begin < 5
    assert runner.result(rms_norm())["directions"]


def test_an_operator_that_does_not_end_ends_the_runner():
    # One operator, 120 products of 464 GFLOP each in fp64, which no core has a unit for as it may for bf16: 20 minutes
    # on two cores.
    endless = region([tensor("x", 6144, 6144, dtype="f64")], [step("aten::matrix_power", [0], 2**62 - 1)])
    with Runner() as runner:
        identity = runner.send("fuse", region=endless, time_limit_s=600)
        while runner.line()["stage"] != "baseline":
            pass
        # The stage is said before its first operator begins, and a cancel in between would be heeded.
        runner.work(1)
        begin = time.monotonic()
        runner.send("cancel", target=identity)
        answer = runner.answer()
        assert (answer["id"], answer["code"], answer["fatal"]) == (identity, "cancelled", True)
        assert time.monotonic() - begin < 15
        assert runner.line() is None and runner.process.wait(10) == 4


def test_cancel_removes_a_waiting_request(runner):
    first = runner.send("fuse", region=slow(), rounds=100, time_limit_s=600)
    second = runner.send("device")
    runner.send("cancel", target=second)
    answer = runner.answer()
    assert (answer["id"], answer["code"]) == (second, "cancelled")
    runner.send("cancel", target=first)
    assert runner.answer()["id"] == first
    runner.send("cancel", target=99999)  # is not there: nothing happens
    assert runner.ask("device")["ev"] == "result"


def test_too_many_waiting_requests_are_refused(runner):
    first = runner.send("fuse", region=slow(), rounds=100, time_limit_s=600)
    assert runner.line()["ev"] == "progress"
    waiting = [runner.send("device") for _ in range(257)]
    answer = runner.answer()
    assert (answer["id"], answer["code"]) == (waiting[-1], "bad_request")
    runner.send("cancel", target=first)
    assert [runner.answer()["id"] for _ in range(257)] == [first, *waiting[:-1]]


def test_time_limit(runner):
    code, message = runner.error(slow(), rounds=100, time_limit_s=1)
    assert code == "time_limit" and "1 s" in message


def test_what_an_operator_prints_is_no_answer(runner):
    noisy = region([tensor("x", 4)], [step("aten::_print", "this operator prints", outputs=0),
                                      step("aten::mul.Tensor", [0], 2)], outputs=[[1, 0]])
    assert runner.result(noisy)["directions"]  # driver.line() takes nothing but JSON


def test_what_a_library_prints_at_start_is_no_answer():
    with Runner(LD_PRELOAD=os.environ["FUSESCOPE_NOISY_LIBRARY"]) as runner:
        assert runner.hello["ev"] == "hello"


def test_end_of_stdin_ends_it():
    with Runner() as runner:
        assert runner.end() == 0


def test_end_of_stdin_ends_a_running_request():
    with Runner() as runner:
        runner.send("fuse", region=slow(), rounds=100, time_limit_s=600)
        assert runner.line()["ev"] == "progress"
        begin = time.monotonic()
        assert runner.end() == 0
        assert time.monotonic() - begin < 10


def test_closed_stdout_ends_it():
    with Runner() as runner:
        runner.process.stdout.close()
        runner.send("device")
        assert runner.process.wait(30) == 0


def test_death_of_the_parent_ends_it():
    # The parent's own end of the pipe is ours, so the runner does not see the end of its stdin.
    read, write = os.pipe()
    parent = subprocess.Popen(
        [sys.executable, "-c", "import subprocess, sys, time\n"
         "child = subprocess.Popen([sys.argv[1]], stdin=int(sys.argv[2]), stdout=subprocess.PIPE)\n"
         "child.stdout.readline()\n"
         "print(child.pid, flush=True)\n"
         "time.sleep(100)\n", PROGRAM, str(read)],
        pass_fds=[read], stdout=subprocess.PIPE, env={**os.environ, "CUDA_VISIBLE_DEVICES": ""})
    pid = int(parent.stdout.readline())
    assert alive(pid)
    parent.kill()
    parent.wait()
    for _ in range(100):
        if not alive(pid):
            break
        time.sleep(0.05)
    assert not alive(pid)
    parent.stdout.close()
    os.close(read)
    os.close(write)


def test_wrong_use():
    done = subprocess.run([PROGRAM, "--help"], capture_output=True, check=False)
    assert done.returncode == 2 and done.stdout == b"" and b"usage" in done.stderr


def test_calibrate_says_that_it_is_the_cpu(runner):
    result = runner.ask("calibrate")["result"]
    assert (result["device"], result["on_gpu"], result["launch_us"]) == ("CPU", False, 0)
    assert 1e8 < result["copy_Bps"] < 1e13 and result["bf16_matmul_flops"] > 1e6
    assert result["seconds"] < 20
    assert 0 <= result["copy_spread"] < 10 and 0 <= result["matmul_spread"] < 10 and result["launch_spread"] == 0


def test_torchscript_needs_consent(runner):
    answer = runner.ask("load_torchscript", path="/nowhere.pt", run_code=False)
    assert (answer["ev"], answer["code"]) == ("error", "bad_request")
    answer = runner.ask("load_torchscript", path="/nowhere.pt", run_code=True)
    assert (answer["ev"], answer["code"]) == ("error", "unsupported") and "nowhere" in answer["message"]


def test_torchscript_that_hangs_can_be_cancelled(runner, tmp_path):
    path = tmp_path / "nobody-writes.pt"
    os.mkfifo(path)
    identity = runner.send("load_torchscript", path=str(path), run_code=True)
    assert runner.line()["ev"] == "progress"
    begin = time.monotonic()
    runner.send("cancel", target=identity)
    assert runner.answer()["code"] == "cancelled"
    assert time.monotonic() - begin < 5


def test_torchscript_graph(runner, tmp_path):
    import torch

    class Half(torch.nn.Module):
        def forward(self, x):
            return torch.relu(x) * 0.5

    path = tmp_path / "half.pt"
    torch.jit.trace(Half(), torch.ones(3)).save(str(path))
    answer = runner.ask("load_torchscript", path=str(path), run_code=True)
    assert (answer["ev"], answer["kind"]) == ("result", "torchscript"), answer
    with open(answer["result"]["graph_json"], encoding="utf-8") as file:
        graph = json.load(file)["graph"]
    os.unlink(answer["result"]["graph_json"])
    kinds = [node["kind"] for node in graph["nodes"]]
    assert "aten::relu" in kinds and "aten::mul" in kinds and len(graph["outputs"]) == 1


def test_many_requests_leak_nothing(runner):
    def resident():
        with open(f"/proc/{runner.process.pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    descriptors = f"/proc/{runner.process.pid}/fd"
    for _ in range(20):
        assert runner.result(rms_norm())["directions"]
    before, open_before = resident(), len(os.listdir(descriptors))
    for i in range(200):
        if i % 10 == 0:
            runner.error(region([tensor("x", 3)], [step("aten::mm", [0], [0])]))
        assert runner.result(rms_norm())["directions"]
    assert len(os.listdir(descriptors)) == open_before
    assert resident() - before < 16 << 20
