"""Rules on how the two cores of a rank, and the ranks of a run, meet.

Both cores must follow one control flow (get-started/about/lnc.rst, Final Notes): the same barriers,
exchanges, collectives and run-time loops, in the same order. The instructions in between may differ in
addresses and values; where they differ in kind or number it is a warning, as libraries let one core alone
store a result.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from typing import Final

from pipeline.emulator.legality.rules import Breach, Rule, Subject
from pipeline.emulator.operations import Call, Meeting, Severity

__all__ = ["RULES"]

_V3: Final = frozenset({"trn2", "trn3"})
_ONE_FLOW: Final = "get-started/about/lnc.rst, Final Notes; NKI 0.3.0 release notes, known issues"
#: Which option of core 0's exchange must fit which of core 1's.
_ROUTES: Final = (
    ("send_to_rank", "recv_from_rank"),
    ("recv_from_rank", "send_to_rank"),
    ("pipe_id", "pipe_id"),
    ("dma_engine", "dma_engine"),
)


class _Streams:
    """A program's instructions by core, as positions."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.calls = subject.resolution.calls
        self.indices = subject.resolution.indices
        self.of_core: tuple[list[int], ...] = ([], [])
        for position, instruction in enumerate(subject.program.instructions):
            self.of_core[instruction.core].append(position)

    def call(self, position: int) -> Call:
        return self.calls[self.indices[position]]

    def line(self, position: int) -> int:
        return self.subject.program.instructions[position].line

    def splits(self, position: int) -> bool:
        """Return whether both cores must pass an instruction: a meeting, or a mark of a run-time loop."""
        operation = self.call(position).operation
        return operation.meeting is not None or operation.control is not None

    def epochs(self, core: int) -> Iterator[list[int]]:
        """Yield the positions between two points that both cores must pass."""
        epoch: list[int] = []
        for position in self.of_core[core]:
            if self.splits(position):
                yield epoch
                epoch = []
            else:
                epoch.append(position)
        yield epoch


def _same_meetings(subject: Subject) -> Iterator[Breach]:
    """Report the first point that the cores do not pass together."""
    if subject.program.cores < 2:
        return
    streams = _Streams(subject)
    passed = ([p for p in positions if streams.splits(p)] for positions in streams.of_core)
    for places in zip_longest(*passed):
        fault = _missing(streams, places) or _misfit(streams, places)
        if fault is not None:
            yield fault
            return


def _missing(streams: _Streams, places: tuple[int | None, ...]) -> Breach | None:
    """Return the breach where only one core passes a point, or they pass different ones."""
    names = [None if place is None else streams.call(place).operation.name for place in places]
    if names[0] == names[1]:
        return None
    shown = [
        "has ended" if place is None else f"is at {name} (line {streams.line(place)})"
        for place, name in zip(places, names, strict=True)
    ]
    line = max(streams.line(place) for place in places if place is not None)
    return Breach(
        f"core 0 {shown[0]} while core 1 {shown[1]}: both cores must pass the same barriers, exchanges, "
        "collectives and run-time loops in the same order; do not branch on nl.program_id around them",
        line,
    )


def _misfit(streams: _Streams, places: tuple[int | None, ...]) -> Breach | None:
    """Return the breach where two cores meet at the same operation but not for the same thing."""
    here, there = places
    if here is None or there is None:
        return None
    name = streams.call(here).operation.name
    if name == "sendrecv":
        return _misfit_routes(streams, here, there)
    return _misfit_data(streams, here, there) if name == "core_barrier" else None


def _misfit_routes(streams: _Streams, here: int, there: int) -> Breach | None:
    mine, theirs = streams.call(here), streams.call(there)
    for name, matching in _ROUTES:
        sent, expected = mine.scalar(name), theirs.scalar(matching)
        # Whom core 0 sends to, or receives from, must receive from it, or send to it.
        fits = sent == expected if name == matching else (sent == 1) == (expected == 0)
        if not fits:
            return Breach(
                f"sendrecv: core 0 has {name}={str(sent)[:60]} (line {streams.line(here)}), core 1 has "
                f"{matching}={str(expected)[:60]} (line {streams.line(there)}): they do not fit together; "
                "each core sends to 1 - nl.program_id(0) and receives from it",
                streams.line(there),
            )
    return None


def _misfit_data(streams: _Streams, here: int, there: int) -> Breach | None:
    tensors = streams.subject.program.tensors
    mine, theirs = _tensor(streams, here), _tensor(streams, there)
    if mine == theirs or tensors[mine].core >= 0 or tensors[theirs].core >= 0:
        return None
    return Breach(
        f"core_barrier: core 0 waits for {streams.subject.name(mine)} (line {streams.line(here)}), core 1 "
        f"for {streams.subject.name(theirs)} (line {streams.line(there)}): name the same data on both",
        streams.line(there),
    )


def _tensor(streams: _Streams, position: int) -> int:
    program = streams.subject.program
    return program.patterns[program.instructions[position].tensors[0]].tensor


def _divergence(subject: Subject) -> Iterator[Breach]:
    if subject.program.cores < 2:
        return
    streams = _Streams(subject)
    for mine, theirs in zip(streams.epochs(0), streams.epochs(1), strict=False):
        for here, there in zip_longest(mine, theirs):
            names = [
                "nothing" if place is None else streams.call(place).operation.name for place in (here, there)
            ]
            if names[0] != names[1]:
                line = max(streams.line(place) for place in (here, there) if place is not None)
                yield Breach(
                    f"core 0 runs {len(mine)} instructions where core 1 runs {len(theirs)}, and where core 0 "
                    f"runs {names[0]} core 1 runs {names[1]}: NKI expects the same control flow on both "
                    "cores; let nl.program_id choose addresses, not instructions",
                    line,
                )
                break


def _two_cores(subject: Subject) -> Iterator[Breach]:
    cores = subject.program.cores
    for index, call in enumerate(subject.resolution.calls):
        if call.operation.meeting is not Meeting.CORES:
            continue
        barrier = call.operation.name == "core_barrier"
        named = call.scalar("cores") if barrier else (0, 1)
        if cores < 2 and named == (0, 1):
            problem = "the kernel runs on one core, which would wait forever: launch it with kernel[2]"
        elif cores == 2 and barrier and named in ((0,), 0):
            problem = f"cores={named} names one core of two, the other does not wait: pass cores=(0, 1)"
        else:
            continue
        yield from (Breach(f"{call.operation.name}: {problem}", line) for line in subject.uses[index])


def _alone(subject: Subject) -> Iterator[Breach]:
    for index, call in enumerate(subject.resolution.calls):
        alone = call.operation.name == "core_barrier" and call.scalar("cores") in ((0,), 0)
        if alone and subject.program.cores < 2:
            for line in subject.uses[index]:
                yield Breach(
                    f"core_barrier: cores={call.scalar('cores')} on a kernel of one core: only cores=(0, 1) "
                    "is documented; leave the barrier out where nl.num_programs() is 1",
                    line,
                )


def _barrier_data(subject: Subject) -> Iterator[Breach]:
    program = subject.program
    if program.cores < 2:
        return
    for index, call in enumerate(subject.resolution.calls):
        if call.operation.name != "core_barrier":
            continue
        for line, position in subject.uses[index].items():
            tensor = program.patterns[program.instructions[position].tensors[0]].tensor
            if program.tensors[tensor].core >= 0:
                yield Breach(
                    f"core_barrier: data ({subject.name(tensor)}) lies in {program.tensors[tensor].buffer}, "
                    "which the other core does not see: pass the shared_hbm tensor that both cores use",
                    line,
                )


def _variable_cores(subject: Subject) -> Iterator[Breach]:
    if subject.program.cores == 2:
        return
    for index, call in enumerate(subject.resolution.calls):
        name = call.operation.name
        if name == "all_gather_v" or (name == "all_to_all_v" and call.target.name == "trn3"):
            where = "" if name == "all_gather_v" else " on trn3"
            for line in subject.uses[index]:
                yield Breach(
                    f"{name} needs LNC=2{where}, the kernel runs on one core: launch it with kernel[2]", line
                )


def _interface(subject: Subject, *, written: bool) -> Iterator[Breach]:
    """Report collectives that read (or write) what the kernel is called with or returns."""
    program = subject.program
    if not any(call.operation.meeting is Meeting.RANKS for call in subject.resolution.calls):
        return
    outside = {**dict.fromkeys(program.outputs, "returned"), **dict.fromkeys(program.inputs, "a parameter")}
    for position, index in enumerate(subject.resolution.indices):
        call = subject.resolution.calls[index]
        if call.operation.meeting is not Meeting.RANKS:
            continue
        instruction = program.instructions[position]
        for slot, parameter in enumerate(call.operation.tensor_parameters):
            if instruction.tensors[slot] < 0 or parameter.kind.written is not written:
                continue
            tensor = program.patterns[instruction.tensors[slot]].tensor
            if tensor in outside and parameter.name.startswith(("src", "dst")):
                yield Breach(
                    f"{subject.argument(position, slot)} is {outside[tensor]}: collectives "
                    f"{'write' if written else 'read'} tensors that the kernel allocates; copy with "
                    f"nisa.dma_copy {'from' if written else 'to'} one",
                    instruction.line,
                )


def _source_interface(subject: Subject) -> Iterator[Breach]:
    yield from _interface(subject, written=False)


def _destination_interface(subject: Subject) -> Iterator[Breach]:
    yield from _interface(subject, written=True)


RULES: Final = (
    Rule("core-meeting", _same_meetings, _ONE_FLOW, _V3),
    Rule("core-divergence", _divergence, _ONE_FLOW, _V3, Severity.WARNING),
    Rule("two-cores", _two_cores, "nki.isa.core_barrier and sendrecv docstrings, NKI 0.6"),
    Rule(
        "barrier-alone",
        _alone,
        "nki.isa.core_barrier docstring; nki-library has such barriers, so it is a warning",
        severity=Severity.WARNING,
    ),
    Rule(
        "barrier-data",
        _barrier_data,
        "nki.isa.core_barrier docstring; nki-library waits for SBUF tiles too, so it is a warning",
        severity=Severity.WARNING,
    ),
    Rule("variable-cores", _variable_cores, "nki.collectives.all_gather_v and all_to_all_v docstrings"),
    Rule(
        "collective-source",
        _source_interface,
        "nki-samples, all-gather matmul ring; nki-library, collective tests (neuronx-cc, checkCollective)",
    ),
    Rule(
        "collective-destination",
        _destination_interface,
        "nki-library, collective tests: no collective reads or writes kernel parameters and results",
        severity=Severity.WARNING,
    ),
)
