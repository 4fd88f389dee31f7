# SPDX-License-Identifier: GPL-3.0-or-later
"""What fusescope-runner measures: programs, arguments, values, errors, memory. On the CPU."""
import math

import pytest

from driver import Runner, dtype, number, region, rms_norm, rms_norm_steps, step, tensor


@pytest.fixture(scope="module")
def runner():
    with Runner() as one:
        yield one


def directions(result):
    return {one["direction"]: one for one in result["directions"]}


def only(result):
    assert len(result["directions"]) == 1
    return result["directions"][0]


# --- what is said ---------------------------------------------------------------------------------------------------

def test_rms_norm_against_the_fused_operator(runner):
    result = runner.result(rms_norm(), rounds=5)
    assert (result["region"], result["pattern"]) == ("r", "rms_norm")
    assert result["on_gpu"] is False and result["device"] == "CPU (reference kernels)"
    assert result["fp64_note"] == "" and result["copy_Bps"] > 1e7 and result["busy"] is False
    both = directions(result)
    assert list(both) == ["forward", "backward"]
    for one in both.values():
        assert one["fused_name"] == "fusescope::rms_norm"
        assert one["baseline"]["bitwise"] is True and one["baseline"]["relative_to_baseline"] == 0
        for side in one["baseline"], one["fused"]:
            # bf16 keeps 8 bits: a rounding is wrong by up to 2^-9, a few of them after each other by a few of that.
            assert 1e-5 < side["relative_error"] < 2 ** -6
            assert 0 < side["us"]["p10"] <= side["us"]["median"] <= side["us"]["p90"]
            assert side["graph_us"]["median"] == 0 and side["launches"] == 0
            assert side["peak_bytes"] >= 64 * 256 * 2
        assert 0 < one["fused"]["relative_to_baseline"] < 2 ** -6


def test_fp32_is_near_fp64(runner):
    for one in runner.result(rms_norm(to="f32"))["directions"]:
        for side in one["baseline"], one["fused"]:
            assert side["relative_error"] < 1e-6, one["direction"]


def test_two_results_of_one_operator(runner):
    inputs = [tensor("x", 4, 64, gradient=True), tensor("residual", 4, 64, gradient=True),
              tensor("w", 64, fill="near_one", gradient=True)]
    inputs[2]["scale"] = 0.1
    result = runner.result(region(
        inputs, [step("aten::add.Tensor", [1], [0]), *rms_norm_steps([0, 0], [2], 1)],
        [step("fusescope::add_rms_norm", [0], [1], [2], number(1e-6), False, outputs=2)],
        outputs=[[8, 0], [0, 0]], fused_outputs=[[0, 0], [0, 1]], backward=True))
    for one in result["directions"]:
        assert one["fused"]["relative_error"] < 2 ** -6 and one["baseline"]["relative_error"] < 2 ** -6


def test_a_chain_of_the_users_own(runner):
    text = ("%0 = input bf16\n%1 = input bf16\n%2 = to.f32 %0\n%3 = pow.f32 %2 2\n%4 = mean.f32 %3\n"
            "%5 = add.f32 %4 1e-6\n%6 = rsqrt.f32 %5\n%7 = mul.f32 %2 %6\n%8 = to.bf16 %7\n%9 = mul.bf16 %1 %8\n"
            "output %9\n")
    chain = rms_norm()
    chain["fused"] = {"steps": [step("fusescope::pointwise_chain", {"refs": [[0], [1]]}, text)], "outputs": [[0, 0]]}
    both = directions(runner.result(chain))
    assert list(both) == ["forward", "backward"]
    for one in both.values():
        assert one["fused_name"] == "fusescope::pointwise_chain"
        assert one["fused"]["relative_error"] < 2 ** -6 and one["fused"]["relative_to_baseline"] < 2 ** -6


def test_a_loss(runner):
    inputs = [tensor("x", 32, 64, gradient=True), tensor("w", 100, 64, gradient=True),
              tensor("labels", 32, dtype="i64", fill="index", bound=100)]
    result = runner.result(region(
        inputs, [step("aten::linear", [0], [1]), step("aten::to.dtype", [0, 0], dtype("f32")),
                 step("aten::cross_entropy_loss", [1, 0], [2])],
        [step("fusescope::linear_cross_entropy", [0], [1], [2])], backward=True))
    for one in result["directions"]:
        assert one["fused"]["relative_error"] < 2 ** -6 and one["baseline"]["relative_error"] < 2 ** -6


def test_without_a_fused_form(runner):
    one = only(runner.result(region([tensor("x", 8)], [step("aten::relu", [0])], reason="no kernel")))
    assert "fused" not in one and one["baseline"]["us"]["median"] > 0


def test_the_same_twice(runner):
    first, second = (only(runner.result(rms_norm(backward=False))) for _ in range(2))
    assert first["fused"]["max_abs_error"] == second["fused"]["max_abs_error"]


# --- values, worked out by hand ---------------------------------------------------------------------------------------

def test_differences(runner):
    # 0, 1, 2, 3 against 1, 2, 3, 4: off by 1 everywhere, ||1|| / ||x|| = sqrt(4 / 14).
    one = only(runner.result(region([tensor("x", 4, dtype="f32", fill="position")], [step("aten::mul.Tensor", [0], 1)],
                                    [step("aten::add.Tensor", [0], 1)])))
    assert one["fused"]["max_abs_to_baseline"] == one["fused"]["max_abs_error"] == 1
    assert one["fused"]["relative_to_baseline"] == pytest.approx(math.sqrt(4 / 14), rel=1e-12)
    assert one["fused"]["bitwise"] is False and one["baseline"]["relative_error"] == 0


def test_gradients(runner):
    # d(3x) = 3, d(4x) = 4 for the same gradient of the output.
    one = directions(runner.result(region([tensor("x", 100, dtype="f32", gradient=True)],
                                          [step("aten::mul.Tensor", [0], 3)], [step("aten::mul.Tensor", [0], 4)],
                                          backward=True)))["backward"]
    assert one["fused"]["relative_to_baseline"] == pytest.approx(1 / 3, rel=1e-6)
    assert one["baseline"]["relative_error"] < 1e-7


def test_unused_input_has_a_gradient_of_zeros(runner):
    inputs = [tensor("x", 4, dtype="f32", gradient=True), tensor("y", 4, dtype="f32", gradient=True)]
    one = directions(runner.result(region(inputs, [step("aten::relu", [0])],
                                          [step("aten::mul.Tensor", [1], 0), step("aten::add.Tensor", [0], [0, 0]),
                                           step("aten::relu", [1, 0])], backward=True)))["backward"]
    assert one["fused"]["max_abs_to_baseline"] == one["fused"]["max_abs_error"] == 0


def test_infinite_and_nan_in_both_is_equal(runner):
    # log(0) is -inf; -inf * 0 is not a number.
    one = only(runner.result(region([tensor("x", 4, dtype="f32", fill="position")],
                                    [step("aten::log", [0]), step("aten::mul.Tensor", [0, 0], [0])])))
    assert one["baseline"]["relative_error"] < 1e-6


def test_nan_in_one_alone_is_seen(runner):
    one = only(runner.result(region([tensor("x", 4, dtype="f32", fill="constant")], [step("aten::relu", [0])],
                                    [step("aten::mul.Tensor", [0], number("nan"))])))
    assert one["fused"]["max_abs_to_baseline"] == one["fused"]["relative_to_baseline"] == 1e300


@pytest.mark.parametrize("fill, more, steps, expected", [
    ("position", {}, [step("aten::sum", [0])], 2 * (0 + 1 + 2)),
    ("constant", {"scale": 7}, [step("aten::sum", [0])], 2 * 3 * 7),
    ("causal", {}, [step("aten::exp", [0]), step("aten::sum", [0, 0])], 1 + 2),  # exp(0) on and below the diagonal
    ("uniform", {"scale": 5}, [step("aten::ge.Scalar", [0], 0), step("aten::lt.Scalar", [0], 5),
                               step("aten::mul.Tensor", [0, 0], [1, 0]), step("aten::sum", [2, 0])], 6),
    ("near_one", {"scale": 0.25}, [step("aten::sub.Tensor", [0], 1), step("aten::abs", [0, 0]),
                                   step("aten::le.Scalar", [1, 0], 0.25), step("aten::sum", [2, 0])], 6),
])
def test_fills(runner, fill, more, steps, expected):
    # The fused form gives the expected number; it has to agree with the baseline.
    steps = [[name, count, label, [[a, number(v) if isinstance(v, float) else v] for a, v, *_ in args]]
             for name, count, label, args in steps]
    constant = [step("aten::full", {"ints": []}, expected, dtype=dtype("f32"))]
    tail = [*steps, step("aten::to.dtype", [len(steps) - 1, 0], dtype("f32"))]
    one = only(runner.result(region([tensor("x", 2, 3, dtype="f32", fill=fill, **more)], tail, constant)))
    assert one["fused"]["max_abs_to_baseline"] == 0


def test_indices_stay_below_their_bound(runner):
    embedding = region([tensor("table", 5, 8, dtype="f32"), tensor("i", 1000, dtype="i64", fill="index", bound=5)],
                       [step("aten::embedding", [0], [1])])
    assert only(runner.result(embedding))["baseline"]["relative_error"] < 1e-7


def test_strides(runner):
    # A transposed x is not contiguous: view() refuses it, t() makes it contiguous again.
    x = tensor("x", 3, 4, dtype="f32", strides=[1, 3])
    code, message = runner.error(region([x], [step("aten::view", [0], {"ints": [12]}, label="flat")]))
    assert code == "unsupported" and "step 0, aten::view (flat)" in message
    assert only(runner.result(region([x], [step("aten::t", [0]), step("aten::view", [0, 0], {"ints": [12]})])))
    expanded = tensor("x", 3, 4, dtype="f32", strides=[0, 1], fill="position")
    same = [step("aten::sum.dim_IntList", [0], {"ints": [0]})]
    by_hand = [step("aten::arange", 4, dtype=dtype("f32")), step("aten::mul.Tensor", [0, 0], 3)]
    assert only(runner.result(region([expanded], same, by_hand)))["fused"]["bitwise"] is True


@pytest.mark.parametrize("name", ["bool", "u8", "i32", "i64", "f16", "bf16", "f32", "f64", "f8e4m3"])
def test_types(runner, name):
    fill = "constant" if name == "bool" else "normal"
    copy = region([tensor("x", 5, dtype=name, fill=fill)], [step("aten::clone", [0])])
    one = only(runner.result(copy))
    assert one["baseline"]["bitwise"] is True and one["baseline"]["max_abs_error"] == 0


@pytest.mark.parametrize("sizes", [[], [0], [0, 4], [4, 0]])
def test_empty_and_scalar_shapes(runner, sizes):
    assert only(runner.result(region([tensor("x", *sizes, dtype="f32")], [step("aten::relu", [0])])))


# --- arguments --------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("steps", [
    [step("aten::chunk", [0], 2, -1, outputs=2), step("aten::cat", {"refs": [[0, 1], [0, 0]]}, -1)],
    [step("aten::split.Tensor", [0], 2, dim=1, outputs=2), step("aten::mul.Tensor", [0, 0], [0, 1])],
    [step("aten::index.Tensor", [0], {"refs": [None, [1]]})],
    [step("aten::mean.dim", [0], -1, True)],  # int[1]? takes a single number
    [step("aten::sum", [0], dtype=None)],
    [step("aten::max.dim", [0], 1, outputs=2)],
    [step("aten::masked_fill.Scalar", [0], [2], number("-inf"))],
    [step("aten::zeros_like", [0], device="cuda", layout=0, pin_memory=False, memory_format="preserve_format")],
    [step("aten::_to_copy", [0], dtype=dtype("f16"))],
    [step("aten::arange.start_step", 0, 4, 1, dtype=dtype("f32"), device=None)],
    [step("aten::mul.Tensor", [0], 2)],  # a number where a tensor is wanted
    [step("aten::scaled_dot_product_attention", [3], [3], [3], is_causal=True)],
    [step("aten::native_layer_norm", [0], {"ints": [4]}, None, None, number(1e-5), outputs=3)],
    [step("aten::einsum", "ij,kj->ik", {"refs": [[0], [0]]})],
])
def test_arguments_of_all_kinds(runner, steps):
    inputs = [tensor("x", 3, 4, dtype="f32"), tensor("i", 2, dtype="i64", fill="index", bound=4),
              tensor("m", 3, 4, dtype="bool", fill="causal"), tensor("q", 1, 2, 4, 8, dtype="f32")]
    result = runner.result(region(inputs, steps))
    assert result["fp64_note"] == ""
    assert only(result)["baseline"]["relative_error"] < 1e-3


@pytest.mark.parametrize("bad, words", [
    (step("aten::no_such_operator", [0], label="mine"), ["aten::no_such_operator (mine)", "registered"]),
    (step("aten::mul.NoSuchOverload", [0], 2), ["aten::mul.NoSuchOverload"]),
    (step("aten::mul.Tensor", [0], 2, colour=3), ["colour"]),
    (step("aten::mul.Tensor", [0]), ["'other'"]),
    (step("aten::mul.Tensor", [0], "text"), ["'other' of type Tensor", "'text'"]),
    (step("aten::relu", [0], 1, 2), ["at most 1 arguments"]),
    (step("aten::relu", [0], self=[0]), ["'self'"]),
    (step("aten::transpose.int", [0], number(0.5), 1), ["'dim0' of type int", "0.5"]),
    (step("aten::cat", {"refs": [[0], None]}), ["'tensors'"]),
    (step("aten::chunk", [0], 2, outputs=5), ["expected 5 results, found 2"]),
    (step("aten::mm", [0], [0]), ["aten::mm", "3"]),  # 3x4 by 3x4: Torch says why not
])
def test_wrong_steps_are_named(runner, bad, words):
    code, message = runner.error(region([tensor("x", 3, 4, dtype="f32")], [bad]))
    assert code == "unsupported" and "step 0" in message
    for word in words:
        assert word in message, message
    assert runner.result(rms_norm(4, backward=False))


def test_different_shapes_of_the_fused_form(runner):
    code, message = runner.error(region([tensor("x", 3, 4, dtype="f32")], [step("aten::relu", [0])],
                                        [step("aten::sum", [0])]))
    assert code == "bad_request" and "[3, 4]" in message


def test_programs_that_write_into_their_inputs(runner):
    # Each gets inputs of its own: both add 1 once.
    inputs = [tensor("x", 4, dtype="f32")]
    one = only(runner.result(region(inputs, [step("aten::add_.Tensor", [0], 1)], [step("aten::add.Tensor", [0], 1)])))
    assert one["fused"]["bitwise"] is True


def test_fp64_may_be_missing(runner):
    # bf16 bits seen as whole numbers: in fp64 there are four times as many.
    bits = region([tensor("x", 8)], [step("aten::view.dtype", [0], dtype("i16")), step("aten::mul.Tensor", [0, 0], 2)])
    result = runner.result(bits)
    assert "other shapes" in result["fp64_note"]
    assert only(result)["baseline"]["us"]["median"] > 0 and only(result)["baseline"]["relative_error"] == 0


# --- memory -----------------------------------------------------------------------------------------------------------

def test_too_large_for_the_limit(runner):
    code, message = runner.error(rms_norm(4096, 4096), memory_limit_bytes=1e6)
    assert code == "out_of_memory" and "GB" in message
    assert runner.result(rms_norm(8))


def test_too_large_for_the_machine(runner):
    code, _ = runner.error(region([tensor("x", 1 << 40)], [step("aten::relu", [0])]))
    assert code == "out_of_memory"
    assert runner.result(rms_norm(8))


def test_limit_met_in_the_middle(runner):
    # 4 KB in, 16 GB out.
    big = region([tensor("x", 1024, dtype="f32")], [step("aten::repeat", [0], {"ints": [4 << 20]}, label="big")])
    code, message = runner.error(big, memory_limit_bytes=1e9)
    assert code == "out_of_memory" and "big" in message
    assert runner.result(rms_norm(8))


def test_peak_memory_counts_saved_tensors(runner):
    # exp() keeps its result for the backward: forward allocates the result alone, 4 MB.
    x = tensor("x", 1 << 20, dtype="f32", gradient=True)
    both = directions(runner.result(region([x], [step("aten::exp", [0]), step("aten::sum", [0, 0])], backward=True)))
    assert 4 << 20 <= both["forward"]["baseline"]["peak_bytes"] < 5 << 20
    assert 4 << 20 <= both["backward"]["baseline"]["peak_bytes"] < 9 << 20


# --- a whole layer ----------------------------------------------------------------------------------------------------

def layer(fused):
    """A tiny decoder layer: norm, attention of one head, residual, norm, SwiGLU, residual."""
    steps = []

    def add(*args, **named):
        steps.append(step(*args, **named))
        return [len(steps) - 1, 0]

    def norm(x, weight):
        if fused:
            return add("fusescope::rms_norm", x, weight, number(1e-6), False)
        steps.extend(rms_norm_steps(x, weight, len(steps), "f32"))
        return [len(steps) - 1, 0]

    x, norm1, norm2, wq, wk, wv, wo, wg, wu, wd = ([i] for i in range(10))
    y = norm(x, norm1)
    q, k, v = (add("aten::unsqueeze", add("aten::linear", y, w), 1) for w in (wq, wk, wv))
    y = add("aten::linear", add("aten::squeeze.dim", add("aten::scaled_dot_product_attention", q, k, v, is_causal=True),
                                1), wo)
    x = add("aten::add.Tensor", x, y)
    y = norm(x, norm2)
    gate, up = add("aten::linear", y, wg), add("aten::linear", y, wu)
    y = add("fusescope::swiglu", gate, up) if fused else add("aten::mul.Tensor", add("aten::silu", gate), up)
    add("aten::add.Tensor", x, add("aten::linear", y, wd))
    return steps


def test_a_whole_layer(runner):
    weights = [(32,), (32,), (32, 32), (32, 32), (32, 32), (32, 32), (64, 32), (64, 32), (32, 64)]
    inputs = [tensor("x", 2, 16, 32, dtype="f32", gradient=True)]
    for i, sizes in enumerate(weights):
        inputs.append(tensor(f"w{i}", *sizes, dtype="f32", fill="near_one" if len(sizes) == 1 else "normal",
                             gradient=True))
        inputs[-1]["scale"] = 0.1
    whole = region(inputs, layer(False), layer(True), pattern="layer", backward=True)
    answer = runner.ask("layer", region=whole, rounds=3)
    assert answer["ev"] == "result" and answer["kind"] == "fuse", answer
    both = directions(answer["result"])
    for one in both.values():
        assert one["baseline"]["relative_error"] < 1e-5 and one["fused"]["relative_error"] < 1e-5
    assert both["backward"]["fused"]["us"]["median"] > 0
