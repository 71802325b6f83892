"""Are DMA transfers large enough to pay for themselves?"""

from __future__ import annotations

from typing import Final

from pipeline.checks.threshold import Threshold

__all__ = ["DMA_SIZE"]

DMA_SIZE: Final = Threshold(
    id="dma_size",
    title="DMA transfer size",
    version=1,
    fact="profile.dma_bytes_per_partition",
    direction="at_least",
    # Documented floor of efficient transfers; 4 KiB saturates, below 256 bytes is severe. facts/nki.md 2.9.
    bound=2048,
    advice="Each transfer pays a fixed cost, so move several tiles with one dma_copy: widen the free"
    " dimension, and keep the innermost dimension contiguous on both sides.",
    absent="the profile counted no transfer between HBM and SBUF",
)
