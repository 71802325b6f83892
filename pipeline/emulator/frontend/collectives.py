"""`nki.collectives`: exchange between the ranks of a run.

A list of tensors becomes one instruction for each pair of a source and a destination, a list of channels one
for each channel. What only concerns the lists is checked here; shapes, memories and groups are the table's.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import index as as_index
from typing import Any, Final

from pipeline.emulator.frontend.errors import KernelError, KernelErrorKind
from pipeline.emulator.frontend.instructions import IsaFunction
from pipeline.emulator.frontend.inventory import unexpected_keyword
from pipeline.emulator.frontend.objects import NKIObject
from pipeline.emulator.frontend.registers import VirtualRegister, allocate_register
from pipeline.emulator.frontend.session import active_session, note_failure
from pipeline.emulator.frontend.tensor import NkiTensor
from pipeline.emulator.frontend.values import MemoryRegion
from pipeline.emulator.operations import OPERATIONS
from pipeline.emulator.toolchain import find

__all__ = ["COLLECTIVES", "ReplicaGroup"]

_MODULE: Final = "nki.collectives"
_RECORD: Final = {
    name: IsaFunction(operation) for name, operation in OPERATIONS.items() if operation.module == _MODULE
}
_METADATA_ROWS: Final = (3, 4)


@dataclass
class ReplicaGroup(NKIObject):
    """Which ranks join a collective: lists of ranks that do not overlap.

    Attributes:
        replica_groups: Equally long lists of ranks, ``[[0, 1], [2, 3]]``.
    """

    replica_groups: Any


def all_reduce(
    srcs: Any, dsts: Any, replica_group: Any, op: Any, priority: Any = None, name: Any = None
) -> None:
    """Reduce tensors over the ranks of a group, the result on every rank."""
    group = _encoded("all_reduce", replica_group)
    for src, dst in _pairs("all_reduce", srcs, dsts):
        _RECORD["all_reduce"](src, dst, group, op, priority)


def all_gather(
    srcs: Any,
    dsts: Any,
    replica_group: Any,
    collective_dim: Any,
    priority: Any = None,
    name: Any = None,
) -> None:
    """Concatenate the tensors of all ranks of a group on every rank."""
    group = _encoded("all_gather", replica_group)
    for src, dst in _pairs("all_gather", srcs, dsts):
        _RECORD["all_gather"](src, dst, group, collective_dim, priority)


def reduce_scatter(
    srcs: Any,
    dsts: Any,
    replica_group: Any,
    collective_dim: Any,
    op: Any,
    priority: Any = None,
    name: Any = None,
) -> None:
    """Reduce tensors over the ranks of a group, one part of the result on each."""
    group = _encoded("reduce_scatter", replica_group)
    for src, dst in _pairs("reduce_scatter", srcs, dsts):
        _RECORD["reduce_scatter"](src, dst, group, collective_dim, op, priority)


def all_to_all(
    srcs: Any,
    dsts: Any,
    replica_group: Any,
    collective_dim: Any,
    priority: Any = None,
    name: Any = None,
) -> None:
    """Send a part of a tensor to each rank of a group and concatenate what comes from each."""
    group = _encoded("all_to_all", replica_group)
    for src, dst in _pairs("all_to_all", srcs, dsts):
        _RECORD["all_to_all"](src, dst, group, collective_dim, priority)


def all_gather_v(
    srcs: Any,
    dsts: Any,
    replica_group: Any,
    metadata_tensor: Any,
    recv_counts_known: Any = False,
    has_rdispls: Any = False,
    priority: Any = None,
    name: Any = None,
) -> None:
    """Send a piece of a tensor, as long as the metadata says, to every rank of a group."""
    group = _encoded("all_gather_v", replica_group)
    (pair,) = _pairs("all_gather_v", srcs, dsts, most=1)
    parts = _metadata("all_gather_v", metadata_tensor, recv_counts_known, has_rdispls)
    parts["send"] = parts["send"][..., 0:1]
    _RECORD["all_gather_v"](*pair, group, **parts, priority=priority)


def all_to_all_v(
    srcs: Any,
    dsts: Any,
    replica_group: Any,
    metadata_tensor: Any,
    recv_counts_known: Any = False,
    has_rdispls: Any = False,
    priority: Any = None,
    name: Any = None,
) -> None:
    """Send a piece of a tensor to each rank of a group, where and as long as the metadata says."""
    group = _encoded("all_to_all_v", replica_group)
    (pair,) = _pairs("all_to_all_v", srcs, dsts, most=1)
    parts = _metadata("all_to_all_v", metadata_tensor, recv_counts_known, has_rdispls)
    _RECORD["all_to_all_v"](*pair, group, **parts, priority=priority)


def collective_permute(
    srcs: Any, dsts: Any, source_target_pairs: Any, priority: Any = None, name: Any = None
) -> None:
    """Send a tensor from the source to the target of each pair of ranks."""
    (pair,) = _pairs("collective_permute", srcs, dsts, most=1)
    ranks = _ranks("collective_permute", "source_target_pairs", source_target_pairs)
    if any(len(part) != 2 for part in ranks):
        raise _refused("collective_permute", f"source_target_pairs {_show(source_target_pairs)} are no pairs")
    _RECORD["collective_permute"](*pair, tuple(rank for part in ranks for rank in part), priority)


def collective_permute_implicit(
    srcs_by_channel: Any,
    dsts_by_channel: Any,
    replica_group: Any,
    channel_ids: Any = (0,),
    priority: Any = None,
    name: Any = None,
) -> None:
    """Send tensors to the next rank of a ring and receive those of the one before, channel by channel."""
    where = "collective_permute_implicit"
    group = _encoded(where, replica_group)
    channels = _channels(where, channel_ids, srcs_by_channel=srcs_by_channel, dsts_by_channel=dsts_by_channel)
    for channel, tensors in enumerate(channels):
        _RECORD[where](*tensors, group, channel, priority)


def collective_permute_implicit_reduce(
    srcs0_by_channel: Any,
    srcs1_by_channel: Any,
    dsts_by_channel: Any,
    replica_group: Any,
    op: Any,
    channel_ids: Any = (0,),
    priority: Any = None,
    name: Any = None,
) -> None:
    """Send what two tensors reduce to to the next rank of a ring, channel by channel."""
    where = "collective_permute_implicit_reduce"
    group = _encoded(where, replica_group)
    channels = _channels(
        where,
        channel_ids,
        srcs0_by_channel=srcs0_by_channel,
        srcs1_by_channel=srcs1_by_channel,
        dsts_by_channel=dsts_by_channel,
    )
    for channel, tensors in enumerate(channels):
        _RECORD[where](*tensors, group, op, channel, priority)


def collective_permute_implicit_current_processing_rank_id(
    iteration_id: Any, replica_group: Any, channel_id: Any = 0, name: Any = None
) -> VirtualRegister:
    """Return a register with the rank whose data this rank holds after some steps of a ring."""
    where = "collective_permute_implicit_current_processing_rank_id"
    group, register = _encoded(where, replica_group), allocate_register()
    _RECORD[where](register, iteration_id, group, channel_id)
    return register


def rank_id(name: Any = None) -> VirtualRegister:
    """Return a register with the number of this rank."""
    register = allocate_register()
    _RECORD["rank_id"](register)
    return register


def _encoded(where: str, group: object) -> tuple[int, ...]:
    """Return a replica group as a program holds it: the ranks per group, then those of each."""
    if not isinstance(group, ReplicaGroup):
        raise _refused(
            where, f"replica_group must be a ReplicaGroup([[0, 1], ...]), not {type(group).__name__}"
        )
    groups = _ranks(where, "replica_group", group.replica_groups)
    if any(len(ranks) != len(groups[0]) for ranks in groups):
        raise KernelError(
            KernelErrorKind.UNSUPPORTED,
            f"ncc.{where}: replica_group {_show(group.replica_groups)} has lists of different lengths, which "
            "is not emulated: give each list as many ranks",
        )
    return len(groups[0]), *(rank for ranks in groups for rank in ranks)


def _ranks(where: str, what: str, lists: Any) -> list[tuple[int, ...]]:
    """Return non-empty lists of integers."""
    try:
        ranks = [tuple(as_index(rank) for rank in part) for part in lists]
    except TypeError:
        ranks = []
    if not ranks or not all(ranks):
        raise _refused(where, f"{what} must hold lists of ranks, not {_show(lists)}")
    return ranks


def _pairs(where: str, srcs: Any, dsts: Any, most: int = 0) -> list[tuple[NkiTensor, NkiTensor]]:
    """Return the pairs of a source and a destination; at most `most` where that is not 0."""
    sources, destinations = _tensors(where, "srcs", srcs), _tensors(where, "dsts", dsts)
    if len(sources) != len(destinations):
        raise _refused(where, f"has {len(sources)} srcs and {len(destinations)} dsts: pass as many of each")
    if most and len(sources) > most:
        raise _refused(where, f"takes exactly one tensor in srcs and dsts, {len(sources)} were given")
    if len(sources) > 1 and any(tensor.buffer is MemoryRegion.sbuf for tensor in (*sources, *destinations)):
        raise _refused(
            where, f"has {len(sources)} srcs; several tensors at once are supported on HBM only, not on SBUF"
        )
    return list(zip(sources, destinations, strict=True))


def _tensors(where: str, what: str, value: Any) -> list[NkiTensor]:
    if isinstance(value, NkiTensor):
        raise _refused(where, f"{what} must be a list of tensors: pass [{value!r}]")
    tensors = list(value) if isinstance(value, list | tuple) else []
    if not tensors or not all(isinstance(tensor, NkiTensor) for tensor in tensors):
        raise _refused(where, f"{what} must be a list of tensors, not {_show(value)}")
    return tensors


def _channels(where: str, channel_ids: Any, **by_channel: Any) -> list[tuple[NkiTensor, ...]]:
    """Return the tensors of each channel."""
    channels: dict[str, list[NkiTensor]] = {}
    for what, lists in by_channel.items():
        outer = list(lists) if isinstance(lists, list | tuple) else []
        if not outer or any(isinstance(inner, NkiTensor) for inner in outer):
            raise _refused(where, f"{what} must be a list of lists of tensors, one list for each channel")
        inner_lists = [_tensors(where, f"{what}[{place}]", inner) for place, inner in enumerate(outer)]
        if any(len(inner) != 1 for inner in inner_lists):
            raise _refused(where, f"{what} must hold exactly one tensor for each channel")
        channels[what] = [inner[0] for inner in inner_lists]
    numbers = list(channel_ids) if isinstance(channel_ids, list | tuple) else [channel_ids]
    count = len(next(iter(channels.values())))
    if numbers != list(range(count)) or any(len(tensors) != count for tensors in channels.values()):
        given = ", ".join(f"{len(tensors)} in {what}" for what, tensors in channels.items())
        raise _refused(
            where,
            f"has channel_ids={_show(channel_ids)} for channels {given}: number as many channels in each, "
            "from 0 on",
        )
    return list(zip(*channels.values(), strict=True))


def _metadata(
    where: str, metadata: Any, recv_counts_known: object, has_rdispls: object
) -> dict[str, NkiTensor]:
    """Return the rows of a metadata tensor by what the collective does with them."""
    for what, flag in (("recv_counts_known", recv_counts_known), ("has_rdispls", has_rdispls)):
        if not isinstance(flag, bool):
            raise _refused(where, f"{what} must be True or False, not {_show(flag)}")
    if not isinstance(metadata, NkiTensor):
        raise _refused(where, f"metadata_tensor must be a tensor, not {type(metadata).__name__}")
    on_chip = metadata.buffer is MemoryRegion.sbuf
    # On chip all of it lies in one partition, the leading dimension.
    shape = tuple(metadata.shape) if on_chip else (1, *metadata.shape)
    if len(shape) != 3 or shape[0] != 1 or shape[1] not in _METADATA_ROWS or (has_rdispls and shape[1] < 4):
        wanted = f"{4 if has_rdispls else 3}, ranks per group)"
        raise _refused(
            where,
            f"metadata_tensor has shape {tuple(metadata.shape)}, must be ({wanted} on HBM, (1, {wanted} on "
            "SBUF",
        )

    def rows(start: int, stop: int) -> NkiTensor:
        return metadata[:, start:stop, :] if on_chip else metadata[start:stop, :]

    parts = {"send": rows(0, 2)}
    if not recv_counts_known:
        parts["recv_counts"] = rows(2, 3)
    if has_rdispls:
        parts["recv_displs"] = rows(3, 4)
    return parts


def _refused(where: str, problem: str) -> KernelError:
    return KernelError(KernelErrorKind.COMPILE_ERROR, f"ncc.{where} {problem}")


def _show(value: object) -> str:
    return " ".join(repr(value)[:200].split())[:60]


def _exported(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return `function` as kernels find it: arguments that do not fit are the kernel's error."""
    name, signature = function.__name__, inspect.signature(function)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            _require_keywords(name, signature.parameters, kwargs)
            try:
                bound = signature.bind(*args, **kwargs)
            except TypeError as error:
                raise _refused(
                    name, f"{error}; it is ncc.{name}({', '.join(signature.parameters)})"
                ) from None
            return function(*bound.args, **bound.kwargs)
        except KernelError as error:
            note_failure(error)
            raise

    return call


def _require_keywords(name: str, parameters: Mapping[str, object], kwargs: Mapping[str, object]) -> None:
    version, known = active_session().version, find(_MODULE, name)
    available = {keyword.name for keyword in known.keywords_in(version)} if known else set(parameters)
    for keyword in kwargs:
        if keyword not in parameters:
            raise _refused(
                name,
                f"{unexpected_keyword(keyword, parameters)}; it is ncc.{name}({', '.join(parameters)})",
            )
        if keyword not in available:
            raise _refused(name, f"has no keyword {keyword!r} in NKI {version}; compile with a later version")


_FUNCTIONS: Final[Sequence[Callable[..., Any]]] = (
    all_reduce,
    all_gather,
    all_gather_v,
    reduce_scatter,
    all_to_all,
    all_to_all_v,
    collective_permute,
    collective_permute_implicit,
    collective_permute_implicit_reduce,
    collective_permute_implicit_current_processing_rank_id,
    rank_id,
)

#: What `nki.collectives` holds.
COLLECTIVES: Final[dict[str, Any]] = {
    **{function.__name__: _exported(function) for function in _FUNCTIONS},
    "ReplicaGroup": ReplicaGroup,
}
