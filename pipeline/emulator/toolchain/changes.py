"""What versions of NKI changed beyond names and keywords: rules and limits, each with the span it holds in.

A rule that every known version has is not here: it needs no date.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pipeline.emulator.toolchain.names import EVERYWHERE, V4
from pipeline.emulator.toolchain.versions import OLDEST, holds_in

__all__ = ["CHANGES", "Change", "holds"]


@dataclass(frozen=True, slots=True)
class Change:
    """A rule or limit that some versions have and others do not.

    Attributes:
        id: Stable name.
        rule: What holds, in one line.
        since: First version in which it holds.
        until: First version in which it no longer holds, or None.
        targets: Chips it holds on.
        source: Where it is documented.
    """

    id: str
    rule: str
    since: str = OLDEST
    until: str | None = None
    targets: frozenset[str] = EVERYWHERE
    source: str = ""


_NOTES: Final = "release notes of NKI"

_ALL: Final = (
    Change(
        "legacy-namespace",
        "importing neuronxcc.nki in a kernel is a compile error; before, a warning",
        since="0.4",
        source=f"{_NOTES} 0.4.0, Breaking Changes; 0.3.0, note on the postponed removal",
    ),
    Change(
        "perf-mode-string",
        "nc_matmul takes perf_mode as a string too",
        until="0.4",
        source="nki-library of 2026-04-13, which passes strings under 0.3; its release notes ask for enum "
        "members where kernels passed integers",
    ),
    Change(
        "enum-integer",
        "an instruction takes the number of an enum's member too",
        until="0.4",
        source="nki-library of 2026-04-13, whose core/subkernels pass dge_mode=3 under 0.3, against the "
        "release notes of 0.3.0, which no longer accept raw integers",
    ),
    Change(
        "dma-transpose-exact",
        "the destination of dma_transpose has exactly the transposed shape, rank included; before, a "
        "destination of lower rank was padded",
        since="0.4",
        source=f"{_NOTES} 0.4.0, Breaking Changes",
    ),
    Change(
        "dma-transpose-sixteen-rows",
        "dma_transpose by hardware queue takes src.shape[0] == 16 only; since then 1, 2, 4, 8 or 16",
        until="0.6",
        source=f"{_NOTES} 0.6.0, DmaTranspose relaxations",
    ),
    Change(
        "dma-transpose-full-columns",
        "dma_transpose takes src.shape[-1] == 128 only; since then at most 128",
        until="0.6",
        source=f"{_NOTES} 0.6.0, DmaTranspose relaxations",
    ),
    Change(
        "dma-transpose-full-columns-indirect",
        "dma_transpose of an indirect source takes src.shape[-1] == 128 only; since then at most 128",
        until="0.4",
        source=f"{_NOTES} 0.4.0, Improvements",
    ),
    Change(
        "dma-compute-skip",
        "dma_compute can skip indices out of bounds",
        since="0.4",
        source=f"{_NOTES} 0.4.0, New Features",
    ),
    Change(
        "sendrecv-sixteen-rows",
        "sendrecv takes a multiple of 16 partitions only",
        until="0.4",
        source=f"{_NOTES} 0.4.0, Improvements",
    ),
    Change(
        "matmul-e4m3fn",
        "nc_matmul takes float8_e4m3fn, not mixed with float8_e4m3",
        since="0.4",
        targets=V4,
        source=f"{_NOTES} 0.4.0, New Features",
    ),
    Change(
        "scalar-operators-square-relu",
        "tensor_scalar and tensor_scalar_reduce take square and relu as op0",
        since="0.4",
        targets=V4,
        source=f"{_NOTES} 0.4.0, New Features",
    ),
    Change(
        "induction-variable-register",
        "the variable of dynamic_range is a register: it can be a scalar_offset and cannot be written",
        since="0.4",
        source=f"{_NOTES} 0.4.0, Bug Fixes; 0.3.0, Known Issues",
    ),
    Change(
        "reshape-count",
        "reshape keeps the number of elements, or is an error",
        since="0.5",
        source=f"{_NOTES} 0.5.0, Improvements",
    ),
    Change(
        "rsqrt-sbuf",
        "nl.rsqrt runs on gpsimd and takes no PSUM tile; before, on the scalar engine",
        since="0.5",
        source=f"{_NOTES} 0.5.0, Improvements",
    ),
    Change(
        "matmul-moving-8192",
        "nc_matmul takes a moving tensor of 8192 elements with a bfloat16 destination; before, 4096",
        since="0.5",
        targets=V4,
        source=f"{_NOTES} 0.5.0, New Features",
    ),
    Change(
        "tensor-indirection",
        "compute instructions take .indirect() views of on-chip tensors",
        since="0.5",
        targets=V4,
        source=f"{_NOTES} 0.5.0, New Features",
    ),
    Change(
        "quantize-mx-doubled-scale",
        "the block scale of quantize_mx is twice that of the OCP specification's sample conversion",
        since="0.5",
        targets=V4,
        source=f"{_NOTES} 0.5.0, Improvements",
    ),
    Change(
        "nested-run-time-loops",
        "a run-time loop holds no other one; since then they nest",
        until="0.6",
        source="aws-neuron-sdk issue 1346, NCC_ICFG018 reproduced by AWS under 0.5.0 and gone under 0.6.0",
    ),
    Change(
        "copy-on-vector-engine",
        "nl.copy runs on the vector engine, bit for bit between equal dtypes; before, on the scalar engine "
        "through float32",
        since="0.6",
        source=f"{_NOTES} 0.6.0, New Features; 0.3.0, Known Issues",
    ),
    Change(
        "optional-reduce-result",
        "tensor_scalar_reduce keeps its result in the accumulator where reduce_res is None",
        since="0.6",
        source=f"{_NOTES} 0.6.0, New Features",
    ),
)

#: By id.
CHANGES: Final = {change.id: change for change in _ALL}


def holds(change: str, version: str, target: str) -> bool:
    """Whether a rule of `CHANGES` holds.

    Args:
        change: Its id.
        version: NKI version.
        target: ``"trn1"``, ``"trn2"`` or ``"trn3"``.

    Raises:
        KeyError: If there is no such rule or version.
    """
    found = CHANGES[change]
    return target in found.targets and holds_in(version, found.since, found.until)
