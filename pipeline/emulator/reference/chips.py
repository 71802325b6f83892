"""Chips, their data types, and what the trusted side spends on one program."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Final

from pipeline.emulator.dtypes import DTYPES
from pipeline.emulator.program import DEFAULT_LIMITS
from pipeline.emulator.reference.markdown import places, table
from pipeline.emulator.targets import TARGETS

__all__ = ["TABLES"]


def _targets() -> str:
    return table(
        (
            "target",
            "generation",
            "SBUF per partition",
            "PSUM per partition",
            "HBM",
            "tensor bf16",
            "tensor fp32",
        ),
        (
            (
                f"`{target.name}`",
                target.generation,
                f"{target.sbuf_bytes_per_partition >> 10} KiB",
                f"{target.psum_bytes_per_partition >> 10} KiB in banks of {target.psum_bank_bytes >> 10} KiB",
                f"{target.hbm_bytes_per_second / 1e9:g} GB/s",
                f"{target.tensor_flops['bf16'] / 1e12:g} Tflop/s",
                f"{target.tensor_flops['fp32'] / 1e12:g} Tflop/s",
            )
            for target in TARGETS.values()
        ),
    )


def _dtypes() -> str:
    return table(
        ("dtype", "bytes", "kind", "mantissa bits", "targets", "since NKI"),
        (
            (
                f"`{dtype.name}`",
                str(dtype.itemsize),
                dtype.kind,
                str(dtype.mantissa_bits or ""),
                places(dtype.targets),
                dtype.since,
            )
            for dtype in DTYPES.values()
        ),
    )


def _limits() -> str:
    return table(
        ("limit", "of one program"),
        ((f"`{name}`", f"{value:,}") for name, value in asdict(DEFAULT_LIMITS).items()),
    )


TABLES: Final[dict[str, Callable[[], str]]] = {"targets": _targets, "dtypes": _dtypes, "limits": _limits}
