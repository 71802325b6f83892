"""Cores and ranks taking turns, and meeting."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pipeline.emulator.machine.errors import MachineError
from pipeline.emulator.machine.execution import Arrival
from pipeline.emulator.machine.nodes import Lone
from pipeline.emulator.operations import Meeting
from pipeline.emulator.operations.errors import MeetingError
from pipeline.emulator.program.instructions import Program

__all__ = ["drive"]

#: One core of one rank.
_Place = tuple[int, int]


def drive(program: Program, ranks: Sequence[Sequence[Iterator[Arrival]]]) -> None:
    """Run all cores of all ranks to their end, in a fixed order.

    Args:
        program: That they run.
        ranks: Per rank its cores, core 0 first.

    Raises:
        MachineError: If an instruction fails, or cores wait for each other in vain.
    """
    running = {(rank, core): walk for rank, cores in enumerate(ranks) for core, walk in enumerate(cores)}
    waiting: dict[_Place, Arrival] = {}
    while running:
        for place in [place for place in running if place not in waiting]:
            arrival = next(running[place], None)
            if arrival is None:
                del running[place]
            else:
                waiting[place] = arrival
        if waiting:
            group = _complete(program, waiting, len(ranks))
            _meet(program, [waiting.pop(place) for place in group])


def _complete(program: Program, waiting: dict[_Place, Arrival], ranks: int) -> list[_Place]:
    """Return a group of which all have arrived at the same instruction.

    Raises:
        MachineError: If there is none: nobody can go on.
    """
    for (rank, _), arrival in waiting.items():
        if arrival.meeting is Meeting.CORES:
            group = [(rank, other) for other in range(program.cores)]
        else:
            # Both cores pass every collective: neither may go on before the other has had its own.
            group = [(other, each) for each in range(program.cores) for other in range(ranks)]
        name = arrival.node.call.operation.name
        if all(place in waiting and waiting[place].node.call.operation.name == name for place in group):
            return group
    (rank, core), arrival = next(iter(waiting.items()))
    who = f"core {core}" if arrival.meeting is Meeting.CORES else f"rank {rank}"
    raise MachineError(
        "deadlock",
        f"{arrival.node.call.operation.name}: {who} waits for others that never reach the same instruction; "
        "every core and rank must pass the same barriers, exchanges and collectives in the same order",
        program.instructions[arrival.node.position].line,
    )


def _meet(program: Program, arrivals: Sequence[Arrival]) -> None:
    if arrivals[0].meeting is Meeting.CORES:
        _run(program, arrivals)
        return
    ranks = len(arrivals) // program.cores
    for start in range(0, len(arrivals), ranks):
        # Two cores that ask for one collective of shared memory get it once.
        if not (start and _is_shared(program, arrivals[0].node, arrivals[start].node)):
            _run(program, arrivals[start : start + ranks])


def _is_shared(program: Program, first: Lone, second: Lone) -> bool:
    """Return whether two cores' instructions are the same one on memory that both see."""
    mine, theirs = program.instructions[first.position], program.instructions[second.position]
    tensors = [program.patterns[pattern].tensor for pattern in mine.tensors if pattern >= 0]
    return (
        mine.tensors == theirs.tensors
        and mine.scalars == theirs.scalars
        and all(program.tensors[tensor].core < 0 for tensor in tensors)
    )


def _run(program: Program, arrivals: Sequence[Arrival]) -> None:
    node = arrivals[0].node
    try:
        node.step[0]([arrival.participant for arrival in arrivals])
    except MeetingError as error:
        line = program.instructions[node.position].line
        raise MachineError("meeting", f"{node.call.operation.name}: {error}", line) from None
    except MemoryError:
        line = program.instructions[node.position].line
        raise MachineError("memory", "not enough memory for this instruction", line) from None
