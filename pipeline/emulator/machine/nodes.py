"""A program cut into what the machine executes: straight runs of instructions, loops and meetings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from pipeline.emulator.operations import Call, Control, Kernel
from pipeline.emulator.program.instructions import Program
from pipeline.emulator.program.lifetimes import Lifetimes
from pipeline.emulator.program.resolution import Resolution

__all__ = ["INSTRUCTION_WORK", "Lone", "Loop", "Node", "Segment", "Step", "cut"]

#: What an instruction within a loop, or an iteration, costs of the budget beside its elements: about a
#: microsecond. Outside loops the number of instructions is limited.
INSTRUCTION_WORK: Final = 1000

#: One instruction: kernel, patterns, tensors it opens, patterns it uses first, tensors it closes, and the
#: patterns that die with them.
Step = tuple[Kernel, tuple[int, ...], Sequence[int], Sequence[int], Sequence[int], Sequence[int]]
_NONE: Final[tuple[int, ...]] = ()


@dataclass(slots=True)
class Segment:
    """Instructions that run one after the other.

    Attributes:
        steps: They.
        positions: Where each stands in the program.
        work: What they cost of the budget.
    """

    steps: list[Step] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)
    work: int = 0


@dataclass(slots=True)
class Lone:
    """An instruction that needs more than its views: run-time addresses, or others to meet.

    Attributes:
        step: It.
        call: It, resolved.
        position: Where it stands in the program.
        work: What it costs of the budget.
    """

    step: Step
    call: Call
    position: int
    work: int


@dataclass(slots=True)
class Loop:
    """A run-time loop.

    Attributes:
        begin: The instruction that begins it.
        body: What it repeats.
        position: Where it begins in the program.
        opening: Tensors and patterns that come into being before the outermost loop.
        closing: Tensors and patterns that go after it.
    """

    begin: Call
    body: list[Node]
    position: int
    opening: tuple[Sequence[int], Sequence[int]]
    closing: tuple[Sequence[int], Sequence[int]] = (_NONE, _NONE)


Node = Segment | Lone | Loop


def cut(
    program: Program,
    resolution: Resolution,
    lifetimes: Lifetimes,
    kernels: Sequence[Kernel],
    works: Sequence[int],
) -> list[list[Node]]:
    """Return what each core executes.

    Args:
        program: Validated.
        resolution: Its calls.
        lifetimes: Of its tensors.
        kernels: One per call.
        works: Cost of each call.
    """
    dynamic = [bool(pattern.offsets) for pattern in program.patterns]
    any_dynamic = any(dynamic)
    # Most instructions only compute: nothing comes into being, goes, or is to be decided.
    eventful = lifetimes.opened.keys() | lifetimes.views.keys() | lifetimes.closed.keys()
    simple = [_is_simple(call) for call in resolution.calls]
    stale = _stale_patterns(program, lifetimes)
    cores: list[list[Node]] = [[] for _ in range(program.cores)]
    stacks: list[list[Loop]] = [[] for _ in range(program.cores)]
    for position, (instruction, index) in enumerate(
        zip(program.instructions, resolution.indices, strict=True)
    ):
        stack = stacks[instruction.core]
        nodes = stack[-1].body if stack else cores[instruction.core]
        work = works[index] + (INSTRUCTION_WORK if stack else 0)
        if simple[index] and not any_dynamic and position not in eventful:
            step: Step = (kernels[index], instruction.tensors, _NONE, _NONE, _NONE, _NONE)
            _append(nodes, step, position, work)
            continue
        call = resolution.calls[index]
        opened, fresh = lifetimes.opened.get(position, _NONE), lifetimes.views.get(position, _NONE)
        closed = lifetimes.closed.get(position, _NONE)
        dying = [pattern for tensor in closed for pattern in stale[tensor]] if closed else _NONE
        control = call.operation.control
        if control is None:
            step = (kernels[index], instruction.tensors, opened, fresh, closed, dying)
            if call.operation.observes:
                step = (_observing(kernels[index], position), *step[1:])
            needs_more = call.operation.meeting is not None or (
                any_dynamic and any(dynamic[pattern] for pattern in instruction.tensors if pattern >= 0)
            )
            if needs_more:
                nodes.append(Lone(step, call, position, work))
            else:
                _append(nodes, step, position, work)
        elif control in (Control.FOR_BEGIN, Control.WHILE_BEGIN):
            loop = Loop(call, [], position, (opened, fresh))
            nodes.append(loop)
            stack.append(loop)
        else:
            stack.pop().closing = (closed, dying)
    return cores


def _is_simple(call: Call) -> bool:
    operation = call.operation
    return operation.control is None and operation.meeting is None and not operation.observes


def _append(nodes: list[Node], step: Step, position: int, work: int) -> None:
    """Add a step to the segment at the end of `nodes`, a new one if there is none."""
    segment = nodes[-1] if nodes else None
    if not isinstance(segment, Segment):
        segment = Segment()
        nodes.append(segment)
    segment.steps.append(step)
    segment.positions.append(position)
    segment.work += work


def _stale_patterns(program: Program, lifetimes: Lifetimes) -> dict[int, list[int]]:
    """Return, by tensor that goes, the patterns that go with it."""
    stale: dict[int, list[int]] = {tensor: [] for group in lifetimes.closed.values() for tensor in group}
    for group in lifetimes.views.values():
        for pattern in group:
            tensor = program.patterns[pattern].tensor
            if tensor in stale:
                stale[tensor].append(pattern)
    return stale


def _observing(kernel: Kernel, position: int) -> Kernel:
    """Return a kernel that lets the registers know where it stands while it runs."""

    def run(registers, *views):  # type: ignore[no-untyped-def]
        registers.position = position
        kernel(registers, *views)

    return run
