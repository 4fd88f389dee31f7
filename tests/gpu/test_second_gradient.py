# SPDX-License-Identifier: Apache-2.0
"""Operators without a second derivative say so when it is asked for, instead of giving zeros."""
import pytest
import torch

ops = torch.ops.fusescope


def heads(count, device):
    return torch.randn(1, 3, count, 8, device=device)


def functions(device):
    """Name, a function of the one tensor that wants a gradient, and its shape."""
    w, residual = torch.rand(8, device=device), torch.randn(3, 8, device=device)
    k, table = heads(1, device), torch.randn(1, 3, 8, device=device)
    other = torch.randn(1, 2, 3, 8, device=device)
    yield "rms_norm", lambda x: ops.rms_norm(x, w), (3, 8)
    yield "add_rms_norm", lambda x: ops.add_rms_norm(x, residual, w)[0], (3, 8)
    yield "rope", lambda q: ops.rope(q, k, table, table, 2)[0], (1, 3, 2, 8)
    yield "qk_norm_rope", lambda q: ops.qk_norm_rope(q, k, w, w, table, table)[0], (1, 3, 2, 8)
    yield "swiglu", lambda x: ops.swiglu(x, residual), (3, 8)
    yield "swiglu_packed", ops.swiglu_packed, (3, 8)
    yield "projection of x", lambda x: ops.packed_projection(x, [residual]), (5, 8)
    yield "projection's weight", lambda v: ops.packed_projection(residual, [v]), (5, 8)
    yield "attention", lambda q: ops.attention(q, other, other), (1, 2, 3, 8)


@pytest.mark.parametrize("name", [name for name, _, _ in functions("cpu")])
def test_is_an_error(name, device):
    function, shape = {n: (f, s) for n, f, s in functions(device)}[name]
    x = torch.randn(shape, device=device).requires_grad_()
    first, = torch.autograd.grad(function(x).square().sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="derivative for .* is not implemented"):
        torch.autograd.grad(first.square().sum(), x)


def test_every_operator_has_told_autograd():
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    names = [n for n in torch._C._dispatch_get_all_op_names() if n.startswith("fusescope::")]
    assert len(names) > 30
    silent = [n for n in names if not has(n, "CompositeImplicitAutograd") and not has(n, "Autograd")]
    assert silent == ["fusescope::adamw_"]  # it returns nothing that could have a gradient
