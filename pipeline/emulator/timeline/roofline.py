"""The roofline bound: no program runs faster than its traffic and its matmuls allow.

S. Williams, A. Waterman, D. Patterson, "Roofline: an insightful visual performance model for multicore
architectures", CACM 52(4), 2009. Peaks of the chips: facts/nki.md section 2.2.
"""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.emulator.targets import Target
from pipeline.emulator.timeline.counts import Counts

__all__ = ["Roofline", "roofline"]


@dataclass(frozen=True, slots=True)
class Roofline:
    """Lower bounds on the time of a program on the NeuronCores that it runs on, in seconds.

    Attributes:
        hbm_seconds: HBM bytes moved / HBM bandwidth.
        minimum_hbm_seconds: The same for inputs and outputs once each: what a perfect program would take.
        tensor_seconds: Sum over rate classes of flops / peak flop rate, transposes included.
        useful_tensor_seconds: The same without transposes.
    """

    hbm_seconds: float
    minimum_hbm_seconds: float
    tensor_seconds: float
    useful_tensor_seconds: float

    @property
    def seconds(self) -> float:
        """The bound of this program: the larger of traffic and matmuls."""
        return max(self.hbm_seconds, self.tensor_seconds)

    @property
    def bound(self) -> str:
        """Which one it is: ``"hbm"`` or ``"tensor"``."""
        return "hbm" if self.hbm_seconds >= self.tensor_seconds else "tensor"


def roofline(counts: Counts, target: Target) -> Roofline:
    """Return the bounds for a program's counts on a chip."""
    bandwidth = target.hbm_bytes_per_second * counts.cores
    useful = _tensor_seconds(counts.tensor_flops, counts, target)
    return Roofline(
        hbm_seconds=(counts.hbm_read_bytes + counts.hbm_write_bytes) / bandwidth,
        minimum_hbm_seconds=counts.minimum_bytes / bandwidth,
        tensor_seconds=useful + _tensor_seconds(counts.transpose_flops, counts, target),
        useful_tensor_seconds=useful,
    )


def _tensor_seconds(flops: dict[str, int], counts: Counts, target: Target) -> float:
    # A chip without a rate class refuses what it counts, and the bound of such a program means nothing.
    peaks = [target.tensor_flops.get(rate, target.tensor_flops["bf16"]) for rate in flops]
    return sum(amount / peak for amount, peak in zip(flops.values(), peaks, strict=True)) / counts.cores
