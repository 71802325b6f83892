"""Where a number comes from."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["Provenance"]


class Provenance(StrEnum):
    """Numbers of different provenance are never ranked together."""

    #: By the device, in this run.
    MEASURED = "measured"
    #: By a device, elsewhere, and brought in.
    MEASURED_IMPORTED = "measured (imported)"
    #: By the timeline or a roofline formula.
    MODELLED = "modelled"
    #: Values computed by the CPU emulator.
    EMULATED = "emulated"
    #: Read off the traced program: exact for that program, on any machine.
    COUNTED = "counted"
