# SPDX-License-Identifier: Apache-2.0
"""What the operator tests share: how far apart two tensors may be, inputs in odd layouts, poisoned memory."""
import torch

# Relative error ||out - ref|| / ||ref|| that rounding of the element type explains: some roundings of 2^-p at random.
RELATIVE = {torch.float32: 2e-6, torch.float16: 1.5e-3, torch.bfloat16: 1e-2}


def relative_error(out, ref, scale=0.0):
    """||out - ref|| / max(||ref||, scale) in fp64; infinite when out has a value that ref has not (NaN, Inf)."""
    out = out.detach().double()
    ref = ref.detach().double().to(out.device)
    assert out.shape == ref.shape, (out.shape, ref.shape)
    if ref.numel() == 0:
        return 0.0
    finite = torch.isfinite(ref)
    good = torch.where(finite, torch.isfinite(out), (out == ref) | (torch.isnan(out) & torch.isnan(ref))).all()
    norm = torch.where(finite, ref, 0.0).norm()
    distance = torch.where(finite, out - ref, 0.0).norm()
    good, norm, distance = torch.stack([good.double(), norm, distance]).tolist()  # one wait for the device
    if not good:
        return float("inf")
    norm = max(norm, float(scale))
    return distance / (norm if norm > 0 else 1.0)


def assert_close(out, ref, dtype=None, factor=1.0, name="result", scale=0.0):
    """`scale`: the norm of what was added up, where the sum may cancel."""
    error = relative_error(out, ref, scale)
    limit = RELATIVE[dtype or out.dtype] * factor
    assert error <= limit, f"{name}: relative error {error:.3g}, allowed {limit:.3g}"


def differing(out, ref):
    """Share of the elements that are not the same bits' value (NaN equals NaN)."""
    if out.numel() == 0:
        return 0.0
    return float(((out != ref) & ~(torch.isnan(out) & torch.isnan(ref))).double().mean())


def poison(device, megabytes=64):
    """Fills memory that the allocator hands out next with NaN, so that an element nobody wrote is seen."""
    if device == "cpu":
        return
    blocks = [torch.full((size,), float("nan"), device=device) for size in (1 << 10, 1 << 16, megabytes << 18)]
    del blocks


def layouts(shape, dtype, device):
    """The same kind of values laid out as frameworks lay them out: (name, tensor) pairs, all of `shape`."""
    rows, width = shape[:-1], shape[-1]
    yield "contiguous", torch.randn(*shape, device=device).to(dtype)
    yield "columns of a wider tensor", torch.randn(*rows, width + 24, device=device).to(dtype)[..., 8:8 + width]
    yield "misaligned by one element", torch.randn(*rows, width + 1, device=device).to(dtype)[..., 1:]
    if len(shape) >= 3:
        swapped = list(shape)
        swapped[-2], swapped[-3] = swapped[-3], swapped[-2]
        yield "heads before tokens", torch.randn(*swapped, device=device).to(dtype).transpose(-2, -3)
    yield "every second element", torch.randn(*rows, 2 * width, device=device).to(dtype)[..., ::2]


def rotary_tables(batch, tokens, head_dim, dtype, device):
    """cos and sin: positions of each batch shifted; the halves of the tables alike, as models have them."""
    frequency = 1e4 ** (-torch.arange(0, head_dim, 2, device=device).double() / head_dim)
    position = torch.arange(tokens, device=device) + 7 * torch.arange(batch, device=device)[:, None]
    angle = position[..., None] * frequency
    angle = torch.cat((angle, angle), dim=-1)
    return angle.cos().to(dtype), angle.sin().to(dtype)
