# SPDX-License-Identifier: Apache-2.0
"""The formulas as the framework and other libraries offer them, to compare with."""
import torch
import torch.nn.functional as F


def rms_norm(x, weight, eps=1e-6):
    h = x.to(torch.float32)
    h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + eps)
    return weight * h.to(x.dtype)


def native_rms_norm(x, weight, eps=1e-6):
    return F.rms_norm(x, (x.shape[-1],), weight, eps)


def add_rms_norm(x, residual, weight, eps=1e-6):
    total = x + residual
    return rms_norm(total, weight, eps), total


def rotate_half(x):
    half = x.shape[-1] // 2
    return torch.cat((-x[..., half:], x[..., :half]), dim=-1)


def rope(q, k, cos, sin, unsqueeze_dim=1):
    cos, sin = cos.unsqueeze(unsqueeze_dim), sin.unsqueeze(unsqueeze_dim)
    return q * cos + rotate_half(q) * sin, k * cos + rotate_half(k) * sin


def qk_norm_rope(q, k, q_weight, k_weight, cos, sin, eps=1e-6):
    return rope(rms_norm(q, q_weight, eps), rms_norm(k, k_weight, eps), cos, sin, unsqueeze_dim=2)


def attention(q, k, v, causal):
    return F.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=True)


def swiglu(gate, up):
    return F.silu(gate) * up


def linear_cross_entropy(x, weight, labels):
    return F.cross_entropy(F.linear(x, weight).float(), labels, ignore_index=-100)


def liger(name):
    """A function of Liger's, or None where it is not installed."""
    try:
        if name == "rms_norm":
            from liger_kernel.ops.rms_norm import LigerRMSNormFunction
            return lambda x, w: LigerRMSNormFunction.apply(x, w, 1e-6, 0.0, "llama", False)
        if name == "swiglu":
            from liger_kernel.ops.swiglu import LigerSiLUMulFunction
            return LigerSiLUMulFunction.apply
        if name == "linear_cross_entropy":
            from liger_kernel.ops.fused_linear_cross_entropy import LigerFusedLinearCrossEntropyFunction

            def loss(x, weight, labels):
                out = LigerFusedLinearCrossEntropyFunction.apply(x, weight, labels)
                return out[0] if isinstance(out, tuple) else out
            return loss
    except ImportError:
        return None
    return None


def quack(name):
    """A function of QuACK's, or None where it is not installed. It rounds once, as our `fast` variants do."""
    try:
        import quack as library
    except ImportError:
        return None
    if name == "rms_norm":
        return lambda x, w: library.rmsnorm(x, w, eps=1e-6)
    if name == "add_rms_norm":
        return lambda x, r, w: library.rmsnorm(x, w, residual=r, eps=1e-6, prenorm=True)
    if name == "softmax":
        return library.softmax
    if name == "linear_cross_entropy":
        from quack.linear_cross_entropy import chunked_linear_cross_entropy
        return lambda x, weight, labels: chunked_linear_cross_entropy(x, weight, labels, tuned=False)
    return None


def rope_tables(tokens, head_dim, dtype, device="cuda", base=1e6):
    inverse = 1.0 / (base ** (torch.arange(0, head_dim, 2, device=device, dtype=torch.float) / head_dim))
    angles = torch.outer(torch.arange(tokens, device=device, dtype=torch.float), inverse)
    angles = torch.cat((angles, angles), dim=-1)[None]
    return angles.cos().to(dtype), angles.sin().to(dtype)
