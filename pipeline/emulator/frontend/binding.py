"""How one version of NKI takes the arguments of an instruction: what parameters it has, which it requires."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pipeline.emulator.operations import REQUIRED, Operation
from pipeline.emulator.toolchain import find

__all__ = ["Binding"]


@dataclass(frozen=True, slots=True)
class Binding:
    """The parameters of an operation as one version has them.

    Attributes:
        slots: The slot of every parameter that the version has, and of the trailing ``name``.
        order: Slots in the order of positional arguments.
        defaults: One per slot of the newest version, `REQUIRED` where this one has none.
        signature: What a message shows.
    """

    slots: dict[str, int]
    order: tuple[int, ...]
    defaults: tuple[Any, ...]
    signature: str

    @classmethod
    def of(cls, operation: Operation, version: str) -> Binding:
        """Return the binding of an operation in a version that has it."""
        known = find(operation.module, operation.name)
        parameters = operation.parameters
        taken = {parameter.name: parameter.default is REQUIRED for parameter in parameters}
        # A collective takes lists, and is one instruction for each of their tensors.
        if known is not None and known.keywords and operation.module == "nki.isa":
            taken = {k.name: k.default is None for k in known.keywords_in(version)} | {"name": False}
        slots = {p.name: slot for slot, p in enumerate(parameters) if p.name in taken}
        defaults = [REQUIRED if taken.get(p.name, False) else p.default for p in parameters]
        shown = [
            name if defaults[slot] is REQUIRED else f"{name}={defaults[slot]}" for name, slot in slots.items()
        ]
        signature = f"nisa.{operation.name}({', '.join(shown)})"
        slots["name"] = len(parameters)
        return cls(slots, tuple(slots.values()), (*defaults, None), signature)
