"""Collectives whose sizes only run time knows: `all_gather_v` and `all_to_all_v`.

Tensors are flat buffers of elements. The kernel's metadata tensor enters an instruction in parts, so that
what is read and what is written can be told apart: ``send`` holds its rows 0 and 1 (counts and
displacements), ``recv_counts`` is row 2 where the collective fills it, ``recv_displs`` row 3 where it is
given.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

from pipeline.emulator.operations.arguments import source
from pipeline.emulator.operations.call import Call, Kernel, Participant
from pipeline.emulator.operations.collective_limits import (
    ANYWHERE,
    GROUP,
    GROUP_SHAPE,
    HBM,
    ONE_DTYPE,
    PRIORITY,
    PRIORITY_LEVEL,
    moved_fidelity,
    mover,
)
from pipeline.emulator.operations.conversion import Array
from pipeline.emulator.operations.errors import MeetingError
from pipeline.emulator.operations.groups import groups_of, meeting_groups, view_of
from pipeline.emulator.operations.table import (
    Fidelity,
    Limit,
    Meeting,
    Operation,
    Parameter,
    ParameterKind,
    Severity,
)

__all__ = ["OPERATIONS"]

_COUNTS: Final = frozenset({"uint32"})
_INTRA_CHIP_RANKS: Final = 4  # of one chip under LNC=2


def _bind_all_gather_v(call: Call) -> Kernel:
    store = mover(call)

    def run(participants: Sequence[Participant]) -> None:
        for group in meeting_groups(participants):
            chunks = [_chunk(sender, 0) for sender in group]
            for receiver in group:
                _receive(receiver, group, chunks, store)

    return run


def _bind_all_to_all_v(call: Call) -> Kernel:
    store = mover(call)

    def run(participants: Sequence[Participant]) -> None:
        for group in meeting_groups(participants):
            # Everything is read before anything is written.
            incoming = [[_chunk(sender, place) for sender in group] for place in range(len(group))]
            for receiver, chunks in zip(group, incoming, strict=True):
                _receive(receiver, group, chunks, store)

    return run


def _chunk(sender: Participant, column: int) -> Array:
    """Return a copy of what a rank sends by one column of its metadata."""
    source_ = view_of(sender, "src").reshape(-1)
    count, start = (int(row) for row in view_of(sender, "send").reshape(2, -1)[:, column])
    if start + count > source_.size:
        raise MeetingError(
            f"rank {sender.registers.rank} sends elements {start} to "
            f"{start + count - 1} by column {column} of its metadata, src has {source_.size}"
        )
    return np.array(source_[start : start + count])


def _receive(
    receiver: Participant, group: Sequence[Participant], chunks: Sequence[Array], store: Any
) -> None:
    """Place each sender's chunk in the receiver's ``dst``, and say how long each is where it is asked."""
    destination_, counts = view_of(receiver, "dst"), view_of(receiver, "recv_counts")
    places, room = _layout(receiver, len(group), destination_.size)
    filled = destination_.reshape(-1).copy()
    for sender, chunk, place in zip(group, chunks, places, strict=True):
        limit = room if room is not None else destination_.size - place
        if chunk.size > limit:
            raise MeetingError(
                f"rank {receiver.registers.rank} gets {chunk.size} elements "
                f"from rank {sender.registers.rank} at {place}, where its dst has room for {max(0, limit)}"
            )
        store(filled[place : place + chunk.size], chunk)
    destination_[...] = filled.reshape(destination_.shape)
    if counts is not None:
        counts[...] = np.array([chunk.size for chunk in chunks], np.uint32).reshape(counts.shape)


def _layout(receiver: Participant, ranks: int, elements: int) -> tuple[list[int], int | None]:
    """Return where each sender's chunk begins, and the room of each where all have the same."""
    displacements = view_of(receiver, "recv_displs")
    if displacements is not None:
        return [int(place) for place in displacements.reshape(-1)], None
    room = elements // ranks
    return [place * room for place in range(ranks)], room


def _ranks(call: Call) -> int:
    groups = groups_of(call.scalar("replica_group"))
    return len(groups[0]) if groups else 1


def _metadata(call: Call) -> Iterator[str]:
    ranks = _ranks(call)
    columns = 1 if call.operation.name == "all_gather_v" else ranks
    for name, elements in (("send", 2 * columns), ("recv_displs", ranks), ("recv_counts", ranks)):
        part = call.operand(name)
        if part is None:
            continue
        if part.elements != elements:
            yield (
                f"{name} holds {part.elements} counts, must hold {elements} for groups of {ranks} ranks: "
                f"metadata_tensor has 3 rows of {ranks} on HBM, a leading dimension of 1 more on SBUF"
            )
        if part.memory == "sbuf" and part.partitions != 1:
            yield f"{name} spans {part.partitions} partitions: metadata_tensor must live on a single one"


def _slots(call: Call) -> Iterator[str]:
    dst, ranks = call.tensor("dst"), _ranks(call)
    if call.operand("recv_displs") is None and dst.elements % ranks:
        yield f"dst has {dst.elements} elements, which {ranks} ranks cannot share equally: pad it"


def _gather_displacements(call: Call) -> Iterator[str]:
    if call.operand("recv_displs") is not None:
        yield "has_rdispls=True is not supported: leave it out and read each chunk from its equal slot of dst"


def _gather_group(call: Call) -> Iterator[str]:
    if _ranks(call) != _INTRA_CHIP_RANKS:
        yield (
            f"replica_group has {_ranks(call)} ranks in a list, must have {_INTRA_CHIP_RANKS}: all_gather_v "
            "works within one chip"
        )


def _scatter_displacements(call: Call) -> Iterator[str]:
    if call.operand("recv_displs") is not None:
        yield f"has_rdispls=True is supported on trn3 only, not on {call.target.name}: leave it out"


def _scatter_group(call: Call) -> Iterator[str]:
    groups = groups_of(call.scalar("replica_group"))
    for ranks in groups:
        if list(ranks) != list(range(ranks[0], ranks[0] + len(ranks))) or len(ranks) % _INTRA_CHIP_RANKS:
            yield (
                f"replica_group holds {list(ranks[:8])}: on trn3 each list holds consecutive ranks, all "
                f"{_INTRA_CHIP_RANKS} of every device in it"
            )
            return
    if sum(map(len, groups)) <= _INTRA_CHIP_RANKS:
        yield "replica_group spans one device: on trn3 all_to_all_v needs more than one"


def _between_nodes(call: Call) -> Iterator[str]:
    yield (
        f"on {call.target.name} all_to_all_v supports groups between nodes only, each list holding the ranks "
        "of one index from different instances; a program does not say where its ranks are"
    )


def _scatter_fidelity(call: Call) -> Fidelity:
    # The release notes of 0.3 say that displacements have no effect on trn3, the docstring that they have.
    if call.operand("recv_displs") is not None:
        return Fidelity.UNMODELLED
    # Whether a rank's own column counts is not said; here it does, as in MPI.
    return max(Fidelity.APPROXIMATE, moved_fidelity(call), key=list(Fidelity).index)


def _optional_source(name: str) -> Parameter:
    return Parameter(name, ParameterKind.SOURCE, None, buffers=ANYWHERE, dtypes=_COUNTS)


_PARAMETERS: Final = (
    source("src", HBM),
    Parameter("dst", ParameterKind.UPDATED, buffers=HBM),
    GROUP,
    source("send", ANYWHERE, _COUNTS),
    Parameter("recv_counts", ParameterKind.DESTINATION, None, buffers=ANYWHERE, dtypes=_COUNTS),
    _optional_source("recv_displs"),
    PRIORITY,
)
_GATHER: Final = "nki.collectives.all_gather_v docstring, Current limitations, NKI 0.6"
_SCATTER: Final = "nki.collectives.all_to_all_v docstring, Current restrictions, NKI 0.6"


def _common(docstring: str) -> tuple[Limit, ...]:
    return (
        GROUP_SHAPE,
        ONE_DTYPE,
        PRIORITY_LEVEL,
        Limit("metadata-shape", _metadata, docstring),
        Limit("metadata-slots", _slots, docstring),
    )


OPERATIONS: Final = (
    Operation(
        "all_gather_v",
        _PARAMETERS,
        engines=("dma",),
        bind=_bind_all_gather_v,
        limits=(
            *_common(_GATHER),
            Limit("all-gather-v-displacements", _gather_displacements, _GATHER),
            Limit("all-gather-v-group", _gather_group, _GATHER),
        ),
        fidelity=moved_fidelity,
        since="0.6",
        source=_GATHER,
        module="nki.collectives",
        meeting=Meeting.RANKS,
    ),
    Operation(
        "all_to_all_v",
        _PARAMETERS,
        engines=("dma",),
        bind=_bind_all_to_all_v,
        limits=(
            *_common(_SCATTER),
            Limit("all-to-all-v-displacements", _scatter_displacements, _SCATTER, frozenset({"trn2"})),
            Limit("all-to-all-v-group", _scatter_group, _SCATTER, frozenset({"trn3"})),
            Limit(
                "all-to-all-v-nodes",
                _between_nodes,
                _SCATTER,
                frozenset({"trn2"}),
                Severity.WARNING,
            ),
        ),
        fidelity=_scatter_fidelity,
        source=_SCATTER,
        module="nki.collectives",
        meeting=Meeting.RANKS,
    ),
)
