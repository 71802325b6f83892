"""Cores and ranks taking turns, and meeting."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pipeline.emulator.machine.errors import MachineError
from pipeline.emulator.machine.execution import Arrival
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
    for (rank, core), arrival in waiting.items():
        if arrival.meeting is Meeting.CORES:
            group = [(rank, other) for other in range(program.cores)]
        else:
            group = [(other, core) for other in range(ranks)]
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
    node = arrivals[0].node
    try:
        node.step[0]([arrival.participant for arrival in arrivals])
    except MeetingError as error:
        line = program.instructions[node.position].line
        raise MachineError("meeting", f"{node.call.operation.name}: {error}", line) from None
