# SPDX-License-Identifier: Apache-2.0
"""torch.compile over many layers. Inductor writes what leads to an operator's arguments into its log, along every path,
when it meets the operator for the first time: with both results of add_rms_norm going on, twice as much a layer."""
import subprocess
import sys
import textwrap

import torch
from checking import RELATIVE, relative_error
from conftest import LIBRARY

# In a process of its own: Inductor is not to know the operators yet.
HEAD = f"""
import torch
torch.ops.load_library({LIBRARY!r})
ops = torch.ops.fusescope
"""


def run(code):
    result = subprocess.run([sys.executable, "-c", HEAD + textwrap.dedent(code)], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return result


def test_inductor_knows_the_operators_before_it_meets_them():
    result = run("""
        torch.compile(lambda x, w: ops.rms_norm(x, w, 1e-6), backend="inductor")(torch.ones(2, 8), torch.ones(8))
        from torch._inductor import lowering
        from torch._library.utils import get_layout_constraint_tag
        for name in ("rms_norm_backward", "add_rms_norm_forward", "linear_cross_entropy_forward", "adamw_", "pointwise_chain"):
            op = getattr(ops, name).default
            assert op in lowering.lowerings, name
            # As Inductor decides it on its own.
            tag = get_layout_constraint_tag(op, with_default=True)
            assert lowering._maybe_layout_constraints[op] == lowering.tag_to_layout_constraint(tag) is not None, name
        assert ops.attention.default not in lowering.lowerings  # made of others
    """)
    assert "Inductor could not be told" not in result.stderr


def test_inductor_without_the_functions_of_newer_versions():
    """As PyTorch 2.6 and 2.7: the strides of the traced graph."""
    result = run("""
        from torch._inductor import lowering
        from torch._library import utils
        del lowering.tag_to_layout_constraint
        ops.rms_norm(torch.ones(2, 8, device="meta"), torch.ones(8, device="meta"), 1e-6)
        op = ops.add_rms_norm_backward.default
        assert lowering._maybe_layout_constraints[op] == lowering.constrain_to_fx_strides
    """)
    assert not result.stderr


def test_what_goes_wrong_is_said_once():
    result = run("""
        import warnings
        warnings.simplefilter("error")
        from torch._inductor import lowering
        def make_fallback(*_, **__):
            raise RuntimeError("not today")
        lowering.make_fallback = make_fallback
        exec = None  # a user's own
        for _ in range(3):
            assert ops.rms_norm(torch.ones(2, 8, device="meta"), torch.ones(8, device="meta"), 1e-6).shape == (2, 8)
    """)
    assert result.stderr.count("could not be told") == 1 and "not today" in result.stderr
    assert "Traceback" not in result.stderr


def test_meta_tensors_do_not_load_inductor():
    run("""
        import sys
        assert ops.rms_norm(torch.ones(2, 8, device="meta"), torch.ones(8, device="meta"), 1e-6).shape == (2, 8)
        assert "torch._inductor.lowering" not in sys.modules
    """)


def test_a_stack_of_layers_ends(device):
    """2^24 paths lead to the last operator of the forward and to the last one of the backward."""
    def stack(x, w):
        x = torch.ops.fusescope.rms_norm(x, w, 1e-6)
        residual = x
        for _ in range(24):
            x, residual = torch.ops.fusescope.add_rms_norm(x, residual, w, 1e-6)
        return torch.ops.fusescope.swiglu(x, residual)

    torch._dynamo.reset()
    x, w = torch.randn(4, 64, device=device), torch.rand(64, device=device)
    results = []
    for f in (stack, torch.compile(stack, fullgraph=True)):
        leaves = x.clone().requires_grad_(), w.clone().requires_grad_()
        out = f(*leaves)
        results.append([out.detach(), *torch.autograd.grad(out.square().sum(), leaves)])
    for a, b in zip(*results):  # w's gradients of 25 layers are summed in another order
        assert relative_error(b, a) < RELATIVE[a.dtype]
