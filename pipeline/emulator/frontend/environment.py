"""What environment variables say: those of AWS's own simulator, with its values.

Source: facts/nki.md sections 1.2 and 5 (the public page on `nki.simulate`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

__all__ = ["PRECISION_VARIABLE", "SIMULATOR_VARIABLE", "TARGET_VARIABLE", "keeps_float32", "target_of"]

TARGET_VARIABLE: Final = "NEURON_PLATFORM_TARGET_OVERRIDE"
PRECISION_VARIABLE: Final = "NKI_PRECISE_FP"
SIMULATOR_VARIABLE: Final = "NKI_SIMULATOR"

#: Every name of a chip that the override takes. ``inf2`` has the NeuronCore of ``trn1``.
_CHIPS: Final = {
    **{"trn1": "trn1", "inf2": "trn1", "gen2": "trn1"},
    **{"trn2": "trn2", "gen3": "trn2"},
    **{"trn3": "trn3", "gen4": "trn3"},
}


def target_of(environment: Mapping[str, str]) -> str | None:
    """Return the chip that the environment asks for, or None.

    Raises:
        ValueError: If it asks for one that there is not.
    """
    name = environment.get(TARGET_VARIABLE, "").strip()
    if not name:
        return None
    try:
        return _CHIPS[name.lower()]
    except KeyError:
        raise ValueError(
            f"{TARGET_VARIABLE}={name} is no chip that is emulated; use one of {', '.join(_CHIPS)}"
        ) from None


def keeps_float32(environment: Mapping[str, str]) -> bool:
    """Return whether the environment asks for every narrow float to be kept as float32.

    Raises:
        ValueError: If the variable is neither 0 nor 1.
    """
    value = environment.get(PRECISION_VARIABLE, "").strip() or "1"
    if value not in ("0", "1"):
        raise ValueError(f"{PRECISION_VARIABLE}={value}; use 1 (round at every write) or 0 (keep float32)")
    return value == "0"
