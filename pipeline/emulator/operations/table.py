"""The shape of the operation table: one entry says everything about one operation.

The frontend builds the functions that kernels call from it, legality reads its limits, the machine its
semantics, the timeline its costs. Adding an operation is adding one entry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pipeline.emulator.operations.call import Call, Kernel
    from pipeline.emulator.program import Scalar

__all__ = [
    "ALL_TARGETS",
    "REQUIRED",
    "Control",
    "Fidelity",
    "Limit",
    "Meeting",
    "Operation",
    "Parameter",
    "ParameterKind",
    "Severity",
]

#: Targets of an operation that exists on every chip.
ALL_TARGETS: Final = frozenset({"trn1", "trn2", "trn3"})


class _Required:
    def __repr__(self) -> str:
        return "REQUIRED"


#: Marks a parameter without a default.
REQUIRED: Final = _Required()


class ParameterKind(StrEnum):
    """What an argument is, and where its value lives in an `Instruction`."""

    DESTINATION = "destination"  # written; tensors
    ACCUMULATOR = "accumulator"  # written, and read when it accumulates; tensors
    UPDATED = "updated"  # written in part, so that the rest of it stays what it was; tensors
    SOURCE = "source"  # read; tensors
    OPERAND = "operand"  # a number or a (P, 1) tile; tensors and scalars
    OPERATOR = "operator"  # an ALU operator's name; scalars
    ACTIVATION = "activation"  # an activation function's name; scalars
    NUMBER = "number"  # scalars
    FLAG = "flag"  # scalars
    CHOICE = "choice"  # an enum member's name; scalars
    INTEGERS = "integers"  # an integer, an axis tuple or a flattened pattern; scalars
    REGISTER = "register"  # a virtual register that is written; scalars
    INDEX = "index"  # an integer or a virtual register; scalars
    ENGINE = "engine"  # becomes `Instruction.engine`; neither tensors nor scalars

    @property
    def in_tensors(self) -> bool:
        """Whether the argument has an entry in `Instruction.tensors`."""
        return self in (
            ParameterKind.DESTINATION,
            ParameterKind.ACCUMULATOR,
            ParameterKind.UPDATED,
            ParameterKind.SOURCE,
            ParameterKind.OPERAND,
        )

    @property
    def in_scalars(self) -> bool:
        """Whether the argument has an entry in `Instruction.scalars`."""
        return self is ParameterKind.OPERAND or not (self.in_tensors or self is ParameterKind.ENGINE)

    @property
    def written(self) -> bool:
        """Whether the argument is a tensor the operation writes."""
        return self in (ParameterKind.DESTINATION, ParameterKind.ACCUMULATOR, ParameterKind.UPDATED)


class Control(StrEnum):
    """What an instruction does to the order of execution."""

    FOR_BEGIN = "for_begin"
    FOR_END = "for_end"
    WHILE_BEGIN = "while_begin"
    WHILE_END = "while_end"


class Meeting(StrEnum):
    """Whom an instruction waits for."""

    CORES = "cores"  # the other logical NeuronCore
    RANKS = "ranks"  # the other ranks of a collective


class Fidelity(StrEnum):
    """How far the emulated values can be trusted to be the device's, best first."""

    EXACT = "exact"  # same arithmetic; only the order in which a matmul sums may differ
    APPROXIMATE = "approximate"  # same function, but the device evaluates an approximation of it
    UNMODELLED = "unmodelled"  # the device's values here are not documented


class Severity(StrEnum):
    """Whether a violated limit makes a program illegal."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Limit:
    """One rule of legality.

    Attributes:
        rule: Stable id, the name under which reports and tests know it.
        check: Yields one message per breach in a `Call`: what, which limit, what to do.
        source: Where the rule is documented.
        targets: Chips it holds on.
        severity: Whether a breach makes the program illegal.
        since: First NKI version in which it holds.
        until: First NKI version in which it no longer holds, or None.
    """

    rule: str
    check: Callable[[Call], Iterator[str]]
    source: str
    targets: frozenset[str] = ALL_TARGETS
    severity: Severity = Severity.ERROR
    since: str = "0.3"
    until: str | None = None


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of an operation.

    Attributes:
        name: Keyword, as documented.
        kind: See `ParameterKind`.
        default: Value when the keyword is absent, or `REQUIRED`.
        buffers: Memories a tensor argument may lie in: a subset of ``hbm``, ``sbuf``, ``psum``.
        dtypes: Accepted element types of a tensor argument; empty means every type.
        choices: Accepted names of an operator, activation or enum argument; empty means every one.
        nullable: Whether a parameter that has no default may be given as None.
        aligned: Whether a tensor argument starts on a quadrant of partitions, as engines address them; the
            operation's own limits say where it starts if not.
        count: Most entries of a list argument; each takes a slot of its own, called ``name[0]`` and so on. 1
            for an argument that is no list.
        since: First NKI version that has it.
        until: First NKI version that no longer has it, or None.
    """

    name: str
    kind: ParameterKind
    default: Scalar | _Required = REQUIRED
    buffers: frozenset[str] = frozenset({"sbuf", "psum"})
    dtypes: frozenset[str] = frozenset()
    choices: frozenset[str] = frozenset()
    nullable: bool = False
    aligned: bool = True
    count: int = 1
    since: str = "0.3"
    until: str | None = None

    def spread(self) -> tuple[Parameter, ...]:
        """Return one parameter per slot: several for a list, of which the first alone must be given."""
        if self.count == 1:
            return (self,)
        return tuple(
            replace(self, name=f"{self.name}[{slot}]", count=1, default=self.default if slot == 0 else None)
            for slot in range(self.count)
        )


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of `nki.isa` or `nki.collectives`, or one mark of a run-time loop.

    Every function of `nki.isa` also takes a trailing ``name=None``, which is no part of the table.

    Attributes:
        name: Function name in `nki.isa`.
        parameters: In the order of the documented signature.
        engines: Engines that can run it, the default first.
        bind: Semantics: turns a `Call` into a function on NumPy arrays, once per distinct call.
        choose_engine: Engine when the kernel names none, from the dtypes and memories (``hbm``, ``sbuf``,
            ``psum``, None where absent) per tensor slot and the values per scalar slot; None means the first
            of `engines`.
        cycles: Engine cycles of one instruction, or None where no public figure exists.
        limits: Operation-specific legality.
        fidelity: Of the values; a function where it depends on the arguments.
        targets: Where it exists.
        since: First NKI version that has it.
        until: First NKI version that no longer has it, or None.
        source: Where signature, limits and cost come from.
        module: Where a kernel finds it; empty for what only the frontend records.
        control: What it does to the order of execution.
        meeting: Whom it waits for. Then `bind` gives a function of all its `Participant`s instead.
        leaves: Whether it leaves a part of its `UPDATED` arguments as it was, from the scalars; always where
            there is no function.
        observes: Whether its kernel reports what it saw in values (`Registers.observe`).
    """

    name: str
    parameters: tuple[Parameter, ...]
    engines: tuple[str, ...]
    bind: Callable[[Call], Kernel]
    choose_engine: Callable[[Sequence[str | None], Sequence[str | None], Sequence[Scalar]], str] | None = None
    cycles: Callable[[Call], float] | None = None
    limits: tuple[Limit, ...] = ()
    fidelity: Fidelity | Callable[[Call], Fidelity] = Fidelity.EXACT
    targets: frozenset[str] = ALL_TARGETS
    since: str = "0.3"
    until: str | None = None
    source: str = ""
    module: str = "nki.isa"
    control: Control | None = None
    meeting: Meeting | None = None
    leaves: Callable[[Sequence[Scalar]], bool] | None = None
    observes: bool = False
    tensor_parameters: tuple[Parameter, ...] = field(init=False)
    scalar_parameters: tuple[Parameter, ...] = field(init=False)
    tensor_slots: dict[str, int] = field(init=False)
    scalar_slots: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        tensors = tuple(part for p in self.parameters if p.kind.in_tensors for part in p.spread())
        scalars = tuple(part for p in self.parameters if p.kind.in_scalars for part in p.spread())
        object.__setattr__(self, "tensor_parameters", tensors)
        object.__setattr__(self, "scalar_parameters", scalars)
        object.__setattr__(self, "tensor_slots", {p.name: slot for slot, p in enumerate(tensors)})
        object.__setattr__(self, "scalar_slots", {p.name: slot for slot, p in enumerate(scalars)})

    def keeps(self, parameter: Parameter, scalars: Sequence[Scalar]) -> bool:
        """Return whether what a written argument held before stays in it: added to, or in a part of it.

        Args:
            parameter: Of the operation.
            scalars: Of the instruction.
        """
        if parameter.kind is ParameterKind.ACCUMULATOR:
            return bool(scalars[self.scalar_slots["accumulate"]])
        return parameter.kind is ParameterKind.UPDATED and (self.leaves is None or self.leaves(scalars))
