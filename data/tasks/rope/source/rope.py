"""Rotary position embedding, half-split, out of place.

x and out are [tokens, heads, size], cos and sin [tokens, size / 2].
"""

import torch
import triton
import triton.language as tl


@triton.jit
def _rope_kernel(
    x_ptr,
    cos_ptr,
    sin_ptr,
    out_ptr,
    heads,
    half,
    stride_token,
    stride_head,
    HEADS: tl.constexpr,
    HALF: tl.constexpr,
):
    # One program: one token, HEADS heads. The token's table rows are loaded once for all of them.
    token = tl.program_id(0)
    head = tl.program_id(1) * HEADS + tl.arange(0, HEADS)[:, None]
    column = tl.arange(0, HALF)[None, :]
    in_table = column < half
    inside = (head < heads) & in_table

    cos = tl.load(cos_ptr + token * half + column, mask=in_table, other=1.0)
    sin = tl.load(sin_ptr + token * half + column, mask=in_table, other=0.0)

    base = token.to(tl.int64) * stride_token + head * stride_head + column
    first = tl.load(x_ptr + base, mask=inside, other=0.0).to(tl.float32)
    second = tl.load(x_ptr + base + half, mask=inside, other=0.0).to(tl.float32)

    # float32 until the store, which rounds to the dtype of out.
    tl.store(out_ptr + base, (first * cos - second * sin).to(out_ptr.dtype.element_ty), mask=inside)
    tl.store(out_ptr + base + half, (second * cos + first * sin).to(out_ptr.dtype.element_ty), mask=inside)


def rope(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """Return x rotated by the angles whose cosines and sines are given; x stays as it is."""
    tokens, heads, size = x.shape
    assert size % 2 == 0, "a head has an even number of elements"
    assert cos.shape == sin.shape == (tokens, size // 2)
    assert x.is_contiguous() and cos.is_contiguous() and sin.is_contiguous()
    out = torch.empty_like(x)
    if x.numel() == 0:
        return out
    block = min(16, triton.next_power_of_2(heads))
    _rope_kernel[(tokens, triton.cdiv(heads, block))](
        x,
        cos,
        sin,
        out,
        heads,
        size // 2,
        x.stride(0),
        x.stride(1),
        HEADS=block,
        HALF=triton.next_power_of_2(size // 2),
        num_warps=4,
    )
    return out
