"""The collectives that every rank of a group joins alike: reductions, gathers, scatters, all-to-all.

One instruction handles one tensor of the lists that a kernel passes. Reductions are computed in float32,
ranks in the order of their group, and round once when written: the device's collective engine computes in
float32 too (neuronx-cc errors EVRF061 and EVRF063), in an order that is not documented.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np

from pipeline.emulator.operations.arguments import destination, source
from pipeline.emulator.operations.call import Call, Kernel, Operand, Participant
from pipeline.emulator.operations.collective_limits import (
    DESTINATION,
    FIRST_DIMENSION,
    GROUP,
    GROUP_SHAPE,
    HBM,
    INTEGER_SUM,
    ONE_DTYPE,
    ONE_MEMORY,
    PRIORITY,
    PRIORITY_LEVEL,
    REDUCTION,
    SBUF_TILE,
    SOURCE,
    moved_fidelity,
    mover,
    reduced_fidelity,
)
from pipeline.emulator.operations.conversion import Array, loader, writer
from pipeline.emulator.operations.groups import groups_of, meeting_groups, view_of
from pipeline.emulator.operations.limits import describe
from pipeline.emulator.operations.operators import OPERATORS
from pipeline.emulator.operations.table import Limit, Meeting, Operation, Parameter, ParameterKind

__all__ = ["OPERATIONS"]

_DIMENSION: Final = Parameter("collective_dim", ParameterKind.INTEGERS)


def _reducer(call: Call) -> Callable[[Sequence[Participant]], Array]:
    """Return a function that reduces ``src`` over a group in float32, in the order of the group."""
    tile = call.tensor("src")
    load = loader(tile, tile.shape)
    combine: Any = OPERATORS[str(call.scalar("op"))].function

    def reduce(group: Sequence[Participant]) -> Array:
        total = load(view_of(group[0], "src"))
        for participant in group[1:]:
            total = combine(total, load(view_of(participant, "src")))
        return total

    return reduce


def _bind_all_reduce(call: Call) -> Kernel:
    reduce, write = _reducer(call), writer(call.tensor("dst").dtype)

    def run(participants: Sequence[Participant]) -> None:
        for group in meeting_groups(participants):
            total = reduce(group)
            for participant in group:
                write(view_of(participant, "dst"), total)

    return run


def _bind_reduce_scatter(call: Call) -> Kernel:
    reduce, write = _reducer(call), writer(call.tensor("dst").dtype)

    def run(participants: Sequence[Participant]) -> None:
        for group in meeting_groups(participants):
            parts = reduce(group).reshape(len(group), -1)
            if len(group) == 1:
                parts = parts.copy()
            for participant, part in zip(group, parts, strict=True):
                write(view_of(participant, "dst"), part)

    return run


def _bind_all_gather(call: Call) -> Kernel:
    store = mover(call)
    axis = 1 if call.scalar("collective_dim") == 1 else 0

    def run(participants: Sequence[Participant]) -> None:
        for group in meeting_groups(participants):
            gathered = np.concatenate([view_of(participant, "src") for participant in group], axis=axis)
            for participant in group:
                store(view_of(participant, "dst"), gathered)

    return run


def _bind_all_to_all(call: Call) -> Kernel:
    store = mover(call)

    def run(participants: Sequence[Participant]) -> None:
        for group in meeting_groups(participants):
            # One row per sender, one column per receiver.
            parts = np.stack([view_of(sender, "src").reshape(len(group), -1) for sender in group])
            for place, receiver in enumerate(group):
                store(view_of(receiver, "dst"), parts[:, place])

    return run


def _group_size(call: Call) -> int:
    groups = groups_of(call.scalar("replica_group"))
    return len(groups[0]) if groups else 1


def _equal_sizes(call: Call) -> Iterator[str]:
    src, dst = call.tensor("src"), call.tensor("dst")
    if _extent(src) != _extent(dst):
        yield f"src is {_tile(src)}, dst is {_tile(dst)}: both must be of one size"


def _gathered_size(call: Call) -> Iterator[str]:
    yield from _multiple(call, "dst", "src", 1 if call.scalar("collective_dim") == 1 else 0)


def _scattered_size(call: Call) -> Iterator[str]:
    yield from _multiple(call, "src", "dst", 0)


def _multiple(call: Call, large: str, small: str, axis: int) -> Iterator[str]:
    """Yield what is wrong unless `large` is as large as the group's `small` ones along `axis`."""
    ranks, expected = _group_size(call), list(_extent(call.tensor(small)))
    expected[axis if len(expected) > 1 else 0] *= ranks
    if list(_extent(call.tensor(large))) != expected:
        yield (
            f"{large} is {_tile(call.tensor(large))}, {small} is {_tile(call.tensor(small))}: with {ranks} "
            f"ranks in a group {large} must be {ranks} times {small} along dimension {axis}"
        )


def _split_size(call: Call) -> Iterator[str]:
    yield from _equal_sizes(call)
    src, ranks = call.tensor("src"), _group_size(call)
    if src.shape[0] % ranks:
        yield (
            f"src {list(src.shape)} does not split into {ranks} equal parts along dimension 0, one for each "
            "rank of a group: pad it"
        )


def _gather_dimension(call: Call) -> Iterator[str]:
    dimension, memory = call.scalar("collective_dim"), call.tensor("src").memory
    if dimension not in ((0,) if memory == "hbm" else (0, 1)):
        only = "only 0 is supported on HBM" if memory == "hbm" else "0 and 1 are supported on SBUF"
        yield f"collective_dim={str(dimension)[:60]}: {only}"


def _extent(operand: Operand) -> tuple[int, ...]:
    """Return what must agree of a tensor: its elements in HBM, partitions and elements of each on chip."""
    if operand.memory == "hbm":
        return (operand.elements,)
    return operand.partitions, operand.free_elements


def _tile(operand: Operand) -> str:
    return f"hbm{list(operand.shape)}" if operand.memory == "hbm" else describe(operand)


_DOCSTRING: Final = "nki.collectives.{} docstring, NKI 0.6 (facts/nki.md section 4.5)"
_COMMON: Final = (GROUP_SHAPE, ONE_MEMORY, SBUF_TILE, ONE_DTYPE, PRIORITY_LEVEL)


def _size(name: str, check: Callable[[Call], Iterator[str]]) -> Limit:
    return Limit("collective-shape", check, _DOCSTRING.format(name))


OPERATIONS: Final = (
    Operation(
        "all_reduce",
        (SOURCE, DESTINATION, GROUP, REDUCTION, PRIORITY),
        engines=("dma",),
        bind=_bind_all_reduce,
        limits=(*_COMMON, INTEGER_SUM, _size("all_reduce", _equal_sizes)),
        fidelity=reduced_fidelity,
        source=_DOCSTRING.format("all_reduce"),
        module="nki.collectives",
        meeting=Meeting.RANKS,
    ),
    Operation(
        "all_gather",
        (SOURCE, DESTINATION, GROUP, _DIMENSION, PRIORITY),
        engines=("dma",),
        bind=_bind_all_gather,
        limits=(
            *_COMMON,
            Limit("collective-dimension", _gather_dimension, _DOCSTRING.format("all_gather")),
            _size("all_gather", _gathered_size),
        ),
        fidelity=moved_fidelity,
        source=_DOCSTRING.format("all_gather"),
        module="nki.collectives",
        meeting=Meeting.RANKS,
    ),
    Operation(
        "reduce_scatter",
        (SOURCE, DESTINATION, GROUP, _DIMENSION, REDUCTION, PRIORITY),
        engines=("dma",),
        bind=_bind_reduce_scatter,
        limits=(*_COMMON, FIRST_DIMENSION, INTEGER_SUM, _size("reduce_scatter", _scattered_size)),
        fidelity=reduced_fidelity,
        source=_DOCSTRING.format("reduce_scatter"),
        module="nki.collectives",
        meeting=Meeting.RANKS,
    ),
    Operation(
        "all_to_all",
        (source("src", HBM), destination("dst", HBM), GROUP, _DIMENSION, PRIORITY),
        engines=("dma",),
        bind=_bind_all_to_all,
        limits=(
            GROUP_SHAPE,
            ONE_DTYPE,
            PRIORITY_LEVEL,
            FIRST_DIMENSION,
            _size("all_to_all", _split_size),
        ),
        fidelity=moved_fidelity,
        source=_DOCSTRING.format("all_to_all"),
        module="nki.collectives",
        meeting=Meeting.RANKS,
    ),
)
