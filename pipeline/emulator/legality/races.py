"""Rules on memory that two cores share: accesses that nothing orders.

Between two meetings the cores run side by side, so an element that one writes and the other touches has no
defined value. A barrier orders accesses to the data it names. Access patterns are static, so this needs no
run; addresses of run time count as the whole tensor, and only as a warning. Loops in which cores meet are
followed twice, so that two iterations that race are found.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from pipeline.emulator.legality.overlap import shared_pair
from pipeline.emulator.legality.rules import Breach, Rule, Subject
from pipeline.emulator.operations import Control, Severity
from pipeline.emulator.program.instructions import Program

__all__ = ["RULES"]

_V3: Final = frozenset({"trn2", "trn3"})
#: How deeply nested loops are followed twice: each level doubles the work.
_REPEATED: Final = 3
_REMEDY: Final = "separate them with nisa.core_barrier on it, or give each core elements of its own"


@dataclass(slots=True)
class _Epoch:
    """What two cores do to one tensor between two meetings: by core, the first line of each pattern."""

    read: tuple[dict[int, int], dict[int, int]] = field(default_factory=lambda: ({}, {}))
    written: tuple[dict[int, int], dict[int, int]] = field(default_factory=lambda: ({}, {}))

    def touched(self, core: int) -> dict[int, int]:
        """Return everything a core touches."""
        return self.read[core] | self.written[core]

    def repeated(self) -> dict[int, int]:
        """Return what both cores write at one line alike: work that was not divided between them."""
        mine, theirs = self.written
        return {pattern: line for pattern, line in mine.items() if theirs.get(pattern) == line}


@dataclass(slots=True)
class _Loop:
    """A loop that is being followed: its instructions, how often cores meet in it, and how deeply."""

    positions: list[int] = field(default_factory=list)
    meetings: int = 0
    depth: int = 0


@dataclass(frozen=True, slots=True)
class _Race:
    """Two accesses that meet: who writes, at which lines."""

    writer: int
    write_line: int
    other_line: int
    other_writes: bool

    def tell(self, name: str, reason: str) -> Breach:
        act = "writes" if self.other_writes else "reads"
        return Breach(
            f"core {self.writer} writes {name} at line {self.write_line} and core {1 - self.writer} {act} "
            f"the same elements at line {self.other_line}{reason}: {_REMEDY}",
            self.other_line,
        )


def _epochs(subject: Subject, *, named: bool) -> dict[tuple[int, int], _Epoch]:
    """Return the epochs of each shared tensor.

    Args:
        subject: The program.
        named: Whether only meetings that name a tensor separate accesses to it, or every meeting does.

    Returns:
        By tensor and number of the epoch, those in which it is touched.
    """
    program, calls = subject.program, subject.resolution.calls
    slots = [
        [(slot, p.kind.written) for slot, p in enumerate(call.operation.tensor_parameters)] for call in calls
    ]
    meets = [call.operation.meeting is not None for call in calls]
    touched = [_touched(program, index) for index in range(len(program.patterns))]
    found: dict[tuple[int, int], _Epoch] = {}
    met = (Counter[int](), Counter[int]())
    for position in _followed(subject):
        instruction, index = program.instructions[position], subject.resolution.indices[position]
        core = instruction.core
        if meets[index]:
            # Counted once for each tensor, and under -1 for all.
            tensors = {program.patterns[pattern].tensor for pattern in instruction.tensors if pattern >= 0}
            met[core].update([*tensors, -1])
            continue
        for slot, written in slots[index]:
            pattern = instruction.tensors[slot]
            if pattern < 0:
                continue
            for place, tensor in touched[pattern]:
                key = (tensor, met[core][tensor if named else -1])
                epoch = found.get(key)
                if epoch is None:
                    epoch = found[key] = _Epoch()
                lines = (epoch.written if written and place == pattern else epoch.read)[core]
                if place not in lines:
                    lines[place] = instruction.line
    return found


def _followed(subject: Subject) -> Iterator[int]:
    """Yield the positions of the instructions, core by core, and twice those of loops in which cores meet.

    What comes last in one iteration and what comes first in the next have no meeting in between either.
    """
    calls, indices = subject.resolution.calls, subject.resolution.indices
    for core in range(subject.program.cores):
        open_loops: list[_Loop] = [_Loop()]
        for position, instruction in enumerate(subject.program.instructions):
            if instruction.core != core:
                continue
            operation = calls[indices[position]].operation
            if operation.control in (Control.FOR_BEGIN, Control.WHILE_BEGIN):
                open_loops.append(_Loop())
            elif operation.control is not None:
                loop, outer = open_loops.pop(), open_loops[-1]
                again = loop.meetings and loop.depth < _REPEATED
                outer.positions += loop.positions * (2 if again else 1)
                outer.depth = max(outer.depth, loop.depth + bool(loop.meetings))
                outer.meetings += loop.meetings
            else:
                open_loops[-1].positions.append(position)
                open_loops[-1].meetings += operation.meeting is not None
        yield from open_loops[0].positions


def _touched(program: Program, index: int) -> list[tuple[int, int]]:
    """Return a pattern and those of its index tensors, each with its tensor; only where cores share it."""
    pattern = program.patterns[index]
    places = [index, *(offset.source for offset in pattern.offsets if offset.kind != "register")]
    found = [(place, program.patterns[place].tensor) for place in places]
    return [(place, tensor) for place, tensor in found if program.tensors[tensor].core < 0]


def _race(subject: Subject, epoch: _Epoch) -> _Race | None:
    """Return two static accesses of different cores that meet, one of them a write; None if none do."""
    program, repeated = subject.program, epoch.repeated()
    for core in (0, 1):
        written = [
            pattern
            for pattern in epoch.written[core]
            if pattern not in repeated and not program.patterns[pattern].offsets
        ]
        others = [pattern for pattern in epoch.touched(1 - core) if not program.patterns[pattern].offsets]
        pair = shared_pair(program, written, others) if written and others else None
        if pair is not None:
            mine, theirs = pair
            writes = theirs in epoch.written[1 - core]
            line = epoch.touched(1 - core)[theirs]
            return _Race(core, epoch.written[core][mine], line, writes)
    return None


def _races(subject: Subject) -> Iterator[Breach]:
    if subject.program.cores < 2:
        return
    for (tensor, _), epoch in _epochs(subject, named=False).items():
        race = _race(subject, epoch)
        if race is not None:
            yield race.tell(subject.name(tensor), " with no meeting in between")


def _possible_races(subject: Subject) -> Iterator[Breach]:
    if subject.program.cores < 2:
        return
    certain: set[int] = set()
    for (tensor, _), epoch in _epochs(subject, named=False).items():
        if _race(subject, epoch) is not None:
            certain.add(tensor)
        for find in (_unknown_addresses, _undivided_work):
            yield from find(subject, tensor, epoch)
    for (tensor, _), epoch in _epochs(subject, named=True).items():
        race = _race(subject, epoch) if tensor not in certain else None
        if race is not None:
            yield race.tell(subject.name(tensor), ", and the meetings in between name other data")


def _unknown_addresses(subject: Subject, tensor: int, epoch: _Epoch) -> Iterator[Breach]:
    def chosen(lines: dict[int, int]) -> int | None:
        """Return a dynamic pattern, else any."""
        return next(filter(dynamic, lines), next(iter(lines), None))

    def dynamic(pattern: int) -> bool:
        return bool(subject.program.patterns[pattern].offsets)

    for core in (0, 1):
        written, touched = epoch.written[core], epoch.touched(1 - core)
        mine, theirs = chosen(written), chosen(touched)
        if mine is not None and theirs is not None and (dynamic(mine) or dynamic(theirs)):
            race = _Race(core, written[mine], touched[theirs], theirs in epoch.written[1 - core])
            yield race.tell(subject.name(tensor), " if addresses of run time meet")
            return


def _undivided_work(subject: Subject, tensor: int, epoch: _Epoch) -> Iterator[Breach]:
    for line in sorted(set(epoch.repeated().values())):
        yield Breach(
            f"both cores write the same elements of {subject.name(tensor)} here: harmless only where both "
            "write equal values; let nl.program_id divide the work",
            line,
        )


_SOURCE: Final = "nki.isa.core_barrier docstring, NKI 0.6"

RULES: Final = (
    Rule("core-race", _races, _SOURCE, _V3),
    Rule("core-race-possible", _possible_races, _SOURCE, _V3, Severity.WARNING),
)
