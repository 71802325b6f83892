"""How one version of NKI takes the arguments of an instruction: what parameters it has, which it requires."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

from pipeline.emulator.operations import REQUIRED, Operation, Parameter, ParameterKind
from pipeline.emulator.program import Scalar
from pipeline.emulator.toolchain import find

__all__ = ["Binding", "Place", "Role"]


class Role:
    """How an argument is taken; plain integers, as this is compared for every argument recorded."""

    TENSOR = 0
    OPERAND = 1
    SCALAR = 2
    ENGINE = 3
    LIST = 4
    NUMBERS = 5
    NAME = 6


class Place(NamedTuple):
    """Where the value of a parameter goes.

    Attributes:
        parameter: It.
        role: How it is taken.
        default: What need not be looked at, or `REQUIRED`.
        tensor: Its first slot among the tensors, -1 if it has none.
        scalar: The same among the scalars.
    """

    parameter: Parameter
    role: int
    default: Any
    tensor: int = -1
    scalar: int = -1


_NAME = Place(Parameter("name", ParameterKind.CHOICE, None), Role.NAME, None)


@dataclass(frozen=True, slots=True)
class Binding:
    """The parameters of an operation as one version has them.

    Attributes:
        places: By parameter that the version has, in the order of positional arguments; the trailing ``name``
            last.
        tensors: What an instruction holds without arguments: all tensors absent.
        scalars: The same of its scalars: their defaults.
        signature: What a message shows.
        forms: Places of the arguments of a call, by how many have no keyword and the keywords of the others;
            filled by whoever has checked such a call.
    """

    places: dict[str, Place]
    tensors: list[int]
    scalars: list[Scalar]
    signature: str
    forms: dict[tuple[object, ...], tuple[Place, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, operation: Operation, version: str) -> Binding:
        """Return the binding of an operation in a version that has it."""
        known = find(operation.module, operation.name)
        taken = {parameter.name: parameter.default is REQUIRED for parameter in operation.parameters}
        # A collective takes lists, and is one instruction for each of their tensors.
        if known is not None and known.keywords and operation.module == "nki.isa":
            taken = {k.name: k.default is None for k in known.keywords_in(version)}
        places: dict[str, Place] = {}
        tensors: list[int] = []
        scalars: list[Scalar] = []
        for parameter in operation.parameters:
            default = REQUIRED if taken.get(parameter.name) else parameter.default
            if parameter.name in taken:
                places[parameter.name] = Place(
                    parameter, _role(parameter), default, len(tensors), len(scalars)
                )
            absent = None if default is REQUIRED else cast("Scalar", default)
            if parameter.kind.in_tensors:
                tensors += [-1] * parameter.count
            if parameter.kind.in_scalars:
                scalars += [absent] * parameter.count
        shown = [
            name if place.default is REQUIRED else f"{name}={place.default}" for name, place in places.items()
        ]
        signature = f"nisa.{operation.name}({', '.join(shown)})"
        return cls({**places, "name": _NAME}, tensors, scalars, signature)


def _role(parameter: Parameter) -> int:
    if parameter.kind is ParameterKind.ENGINE:
        return Role.ENGINE
    if parameter.count > 1:
        return Role.LIST if parameter.kind.in_tensors else Role.NUMBERS
    if parameter.kind is ParameterKind.OPERAND:
        return Role.OPERAND
    return Role.TENSOR if parameter.kind.in_tensors else Role.SCALAR
