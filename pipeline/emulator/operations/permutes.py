"""Collectives in which each rank sends to one other: `collective_permute` and the implicit ring.

The ring's order on a device is the runtime's, from how its chips are connected; kernels ask for the rank
whose data they hold. Here it is the order of the replica group: a rank's successor is the next in its list,
the first after the last.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from pipeline.emulator.operations.arguments import source
from pipeline.emulator.operations.call import Call, Kernel, Participant, Registers
from pipeline.emulator.operations.collective_limits import (
    ANYWHERE,
    CHANNEL,
    CHANNEL_NUMBER,
    DESTINATION,
    GROUP,
    GROUP_SHAPE,
    HBM,
    ONE_DTYPE,
    ONE_MEMORY,
    PRIORITY,
    PRIORITY_LEVEL,
    REDUCTION,
    SBUF_TILE,
    SOURCE,
    moved_fidelity,
    mover,
)
from pipeline.emulator.operations.conversion import loader, writer
from pipeline.emulator.operations.errors import MeetingError
from pipeline.emulator.operations.groups import (
    groups_of,
    malformed_pairs,
    meeting_groups,
    meeting_pairs,
    pairs_of,
    view_of,
)
from pipeline.emulator.operations.operators import OPERATORS
from pipeline.emulator.operations.registers import register_number, value_of
from pipeline.emulator.operations.table import (
    Fidelity,
    Limit,
    Meeting,
    Operation,
    Parameter,
    ParameterKind,
    Severity,
)

if TYPE_CHECKING:
    from pipeline.emulator.program import Scalar

__all__ = ["OPERATIONS"]


def _bind_permute(call: Call) -> Kernel:
    store = mover(call)

    def run(participants: Sequence[Participant]) -> None:
        pairs = meeting_pairs(participants)
        sent = [view_of(sender, "src").copy() for sender, _ in pairs]
        for (_, receiver), values in zip(pairs, sent, strict=True):
            store(view_of(receiver, "dst"), values)

    return run


def _bind_ring(call: Call) -> Kernel:
    store = mover(call)

    def run(participants: Sequence[Participant]) -> None:
        for ring in meeting_groups(participants):
            sent = [view_of(participant, "src").copy() for participant in ring]
            for place, receiver in enumerate(ring):
                store(view_of(receiver, "dst"), sent[place - 1])

    return run


def _bind_ring_reduce(call: Call) -> Kernel:
    first, second, dst = call.tensor("src0"), call.tensor("src1"), call.tensor("dst")
    load0, load1, write = loader(first, dst.shape), loader(second, dst.shape), writer(dst.dtype)
    combine: Any = OPERATORS[str(call.scalar("op"))].function

    def run(participants: Sequence[Participant]) -> None:
        for ring in meeting_groups(participants):
            sent = [combine(load0(view_of(p, "src0")), load1(view_of(p, "src1"))) for p in ring]
            for place, receiver in enumerate(ring):
                write(view_of(receiver, "dst"), sent[place - 1])

    return run


def _bind_rank_id(call: Call) -> Kernel:
    number = register_number(call.scalar("dst"))

    def rank_id(registers: Registers) -> None:
        registers.virtual[number] = registers.rank

    return rank_id


def _bind_ring_rank(call: Call) -> Kernel:
    number, iteration = register_number(call.scalar("dst")), call.scalar("iteration_id")
    ring_of = {rank: group for group in groups_of(call.scalar("replica_group")) for rank in group}

    def rank_of_data(registers: Registers) -> None:
        ring = ring_of.get(registers.rank)
        if ring is None:
            raise MeetingError(
                f"rank {registers.rank} is in no list of replica_group: every rank must be in one"
            )
        place = ring.index(registers.rank) - value_of(iteration, registers)
        registers.virtual[number] = ring[place % len(ring)]

    return rank_of_data


def _equal_elements(call: Call) -> Iterator[str]:
    dst = call.tensor("dst")
    for parameter, operand in zip(call.operation.tensor_parameters, call.operands, strict=True):
        if operand is None:
            continue
        on_chip = operand.memory == "sbuf" and operand.partitions != dst.partitions
        if operand.elements != dst.elements or on_chip:
            yield (
                f"{parameter.name} has shape {list(operand.shape)}, dst {list(dst.shape)}: what is sent and "
                "what is received must be of one size"
            )


def _one_way(pairs: Scalar) -> list[int]:
    """Return the ranks that only send or only receive; none where the pairs form rings."""
    sources, targets = ({pair[end] for pair in pairs_of(pairs)} for end in (0, 1))
    return sorted(sources ^ targets)


def _circular(call: Call) -> Iterator[str]:
    pairs = call.scalar("source_target_pairs")
    ranks = _one_way(pairs)
    if ranks:
        yield (
            f"source_target_pairs {pairs_of(pairs)[:8]} form no ring: ranks {ranks[:8]} only send or only "
            "receive; Neuron's runtime supports circular patterns only"
        )


def _permute_fidelity(call: Call) -> Fidelity:
    return Fidelity.UNMODELLED if _one_way(call.scalar("source_target_pairs")) else moved_fidelity(call)


def _leaves_some(scalars: Sequence[Scalar]) -> bool:
    """Return whether a rank keeps what its ``dst`` holds, because nobody sends to it."""
    return bool(_one_way(scalars[0]))


def _ring_fidelity(call: Call) -> Fidelity:
    return max(Fidelity.APPROXIMATE, moved_fidelity(call), key=list(Fidelity).index)


_DOCSTRING: Final = "nki.collectives.{} docstring, NKI 0.6 (facts/nki.md section 4.5)"


def _size(name: str) -> Limit:
    return Limit("collective-shape", _equal_elements, _DOCSTRING.format(name))


OPERATIONS: Final = (
    Operation(
        "collective_permute",
        (
            source("src", HBM),
            Parameter("dst", ParameterKind.UPDATED, buffers=HBM),
            Parameter("source_target_pairs", ParameterKind.INTEGERS),
            PRIORITY,
        ),
        engines=("dma",),
        bind=_bind_permute,
        limits=(
            Limit("collective-pairs", malformed_pairs, _DOCSTRING.format("collective_permute")),
            Limit(
                "collective-ring",
                _circular,
                "neuron-runtime/about/collectives.rst, Permute; the docstring speaks of arbitrary shuffles",
                severity=Severity.WARNING,
            ),
            ONE_DTYPE,
            PRIORITY_LEVEL,
            _size("collective_permute"),
        ),
        fidelity=_permute_fidelity,
        leaves=_leaves_some,
        source=_DOCSTRING.format("collective_permute"),
        module="nki.collectives",
        meeting=Meeting.RANKS,
    ),
    Operation(
        "collective_permute_implicit",
        (SOURCE, DESTINATION, GROUP, CHANNEL, PRIORITY),
        engines=("dma",),
        bind=_bind_ring,
        limits=(
            GROUP_SHAPE,
            ONE_MEMORY,
            SBUF_TILE,
            ONE_DTYPE,
            PRIORITY_LEVEL,
            CHANNEL_NUMBER,
            _size("collective_permute_implicit"),
        ),
        fidelity=_ring_fidelity,
        source=_DOCSTRING.format("collective_permute_implicit"),
        module="nki.collectives",
        meeting=Meeting.RANKS,
    ),
    Operation(
        "collective_permute_implicit_reduce",
        (
            source("src0", ANYWHERE),
            source("src1", ANYWHERE),
            DESTINATION,
            GROUP,
            REDUCTION,
            CHANNEL,
            PRIORITY,
        ),
        engines=("dma",),
        bind=_bind_ring_reduce,
        limits=(
            GROUP_SHAPE,
            ONE_MEMORY,
            SBUF_TILE,
            ONE_DTYPE,
            PRIORITY_LEVEL,
            CHANNEL_NUMBER,
            _size("collective_permute_implicit_reduce"),
        ),
        fidelity=Fidelity.APPROXIMATE,
        source=_DOCSTRING.format("collective_permute_implicit_reduce"),
        module="nki.collectives",
        meeting=Meeting.RANKS,
    ),
    Operation(
        "collective_permute_implicit_current_processing_rank_id",
        (
            Parameter("dst", ParameterKind.REGISTER),
            Parameter("iteration_id", ParameterKind.INDEX),
            GROUP,
            Parameter("channel_id", ParameterKind.INTEGERS, 0),
        ),
        engines=("sync",),
        bind=_bind_ring_rank,
        limits=(GROUP_SHAPE, CHANNEL_NUMBER),
        fidelity=Fidelity.APPROXIMATE,
        source=_DOCSTRING.format("collective_permute_implicit_current_processing_rank_id"),
        module="nki.collectives",
    ),
    Operation(
        "rank_id",
        (Parameter("dst", ParameterKind.REGISTER),),
        engines=("sync",),
        bind=_bind_rank_id,
        source=_DOCSTRING.format("rank_id"),
        module="nki.collectives",
    ),
)
