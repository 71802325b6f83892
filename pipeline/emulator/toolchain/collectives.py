"""`nki.collectives`: communication between ranks."""

from __future__ import annotations

from functools import partial
from typing import Final

from pipeline.emulator.toolchain.names import Kind, Name, function, names

__all__ = ["NAMES"]

_MODULE: Final = "nki.collectives"
_function = partial(function, _MODULE)

#: What every collective ends with: a DMA priority since 0.4, a name for scheduling since 0.5.
_TAIL: Final = "priority=None@0.4, name=None@0.5"
_BOTH: Final = "srcs, dsts, replica_group"
_COUNTS: Final = f"{_BOTH}, metadata_tensor, recv_counts_known=False, has_rdispls=False"

NAMES: Final[tuple[Name, ...]] = (
    *names(_MODULE, Kind.CLASS, ("ReplicaGroup",)),
    _function("all_reduce", f"{_BOTH}, op, {_TAIL}"),
    _function("all_gather", f"{_BOTH}, collective_dim, {_TAIL}"),
    _function("all_gather_v", f"{_COUNTS}, priority=None, name=None", since="0.6"),
    _function("reduce_scatter", f"{_BOTH}, collective_dim, op, {_TAIL}"),
    _function("all_to_all", f"{_BOTH}, collective_dim, {_TAIL}"),
    _function("all_to_all_v", f"{_COUNTS}, {_TAIL}"),
    _function("collective_permute", f"srcs, dsts, source_target_pairs, {_TAIL}"),
    _function(
        "collective_permute_implicit",
        f"srcs_by_channel, dsts_by_channel, replica_group, channel_ids=[0], {_TAIL}",
    ),
    _function(
        "collective_permute_implicit_reduce",
        f"srcs0_by_channel, srcs1_by_channel, dsts_by_channel, replica_group, op, channel_ids=[0], {_TAIL}",
    ),
    _function(
        "collective_permute_implicit_current_processing_rank_id",
        "iteration_id, replica_group, channel_id=0, name=None@0.5",
    ),
    _function("rank_id", "name=None@0.5"),
)
