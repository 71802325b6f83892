"""A fact: a number or a flag with an id and a provenance."""

from __future__ import annotations

from pipeline.types.model import Frozen
from pipeline.types.provenance import Provenance

__all__ = ["Fact"]


class Fact(Frozen):
    """One thing that is known about a submission; feedback cites it by `id`."""

    id: str
    """Dotted, stable and unique within a grading, e.g. ``run.worst_rel_l2`` or ``profile.hbm_read_bytes``."""
    value: bool | int | float | str
    unit: str = ""
    """SI or field unit: ``bytes``, ``flop``, ``s``, ``ratio``; empty for flags and names."""
    provenance: Provenance
    case: str | None = None
    """Name of the case it was taken on, where it belongs to one."""
    label: str = ""
    """What a reader calls it, e.g. ``HBM bytes read``."""

    @property
    def digits(self) -> str:
        """The value as feedback prints and cites it: floats to four digits, flags as yes or no."""
        if isinstance(self.value, bool):
            return "yes" if self.value else "no"
        return f"{self.value:.4g}" if isinstance(self.value, float) else str(self.value)

    @property
    def text(self) -> str:
        """The value with its unit, as a sentence uses it."""
        return self.digits if self.unit in ("", "ratio") else f"{self.digits} {self.unit}"
