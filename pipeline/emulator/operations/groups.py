"""Replica groups: which ranks a collective joins, and how they meet.

A program holds a replica group as integers: the ranks per group, then the ranks of one group after the other,
``(2, 0, 1, 2, 3)`` for ``[[0, 1], [2, 3]]``; source-target pairs are flattened.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pipeline.emulator.operations.call import Call, Participant
from pipeline.emulator.operations.errors import MeetingError

if TYPE_CHECKING:
    from pipeline.emulator.program import Scalar

__all__ = [
    "groups_of",
    "malformed_group",
    "malformed_pairs",
    "meeting_groups",
    "meeting_pairs",
    "pairs_of",
    "same_instruction",
    "view_of",
]

_SHOWN = 8  # ranks in a message


def groups_of(value: Scalar) -> list[tuple[int, ...]]:
    """Return the groups that a ``replica_group`` scalar encodes; none if it is malformed."""
    if not isinstance(value, tuple) or len(value) < 2 or value[0] < 1:
        return []
    size, ranks = value[0], value[1:]
    return [ranks[start : start + size] for start in range(0, len(ranks), size)]


def pairs_of(value: Scalar) -> list[tuple[int, int]]:
    """Return the (source, target) pairs that a ``source_target_pairs`` scalar encodes."""
    flat = value if isinstance(value, tuple) else ()
    return list(zip(flat[::2], flat[1::2], strict=False))


def malformed_group(call: Call) -> Iterator[str]:
    """Yield what is wrong with a call's replica group."""
    value = call.scalar("replica_group")
    groups = groups_of(value)
    ranks = [rank for group in groups for rank in group]
    if not groups or len(groups[-1]) != len(groups[0]):
        yield (
            f"replica_group {_shown(value)}: give lists of equally many ranks, ReplicaGroup([[0, 1], [2, 3]])"
        )
    elif min(ranks) < 0:
        yield f"replica_group {[list(g) for g in groups[:_SHOWN]]}: rank {min(ranks)} is negative"
    elif len(set(ranks)) < len(ranks):
        twice = next(rank for rank in ranks if ranks.count(rank) > 1)
        yield (
            f"replica_group {[list(g) for g in groups[:_SHOWN]]}: rank {twice} stands in it twice; "
            "the lists of ranks must not overlap"
        )


def malformed_pairs(call: Call) -> Iterator[str]:
    """Yield what is wrong with a call's source-target pairs."""
    value = call.scalar("source_target_pairs")
    pairs = pairs_of(value)
    if not pairs or not isinstance(value, tuple) or len(value) % 2:
        yield f"source_target_pairs {_shown(value)}: give at least one (source, target) pair"
        return
    targets = [target for _, target in pairs]
    if min(min(pair) for pair in pairs) < 0:
        yield f"source_target_pairs {pairs[:_SHOWN]}: ranks are not negative"
    elif len(set(targets)) < len(targets):
        twice = next(rank for rank in targets if targets.count(rank) > 1)
        yield (
            f"source_target_pairs {pairs[:_SHOWN]}: rank {twice} is the target of two sources, must be of one"
        )


def same_instruction(participants: Sequence[Participant]) -> Call:
    """Return the call at which all participants stand.

    Raises:
        MeetingError: If they stand at different ones.
    """
    first = participants[0]
    for other in participants[1:]:
        if other.call is first.call:
            continue
        mine, theirs = first.call, other.call
        who = f"rank {first.registers.rank}", f"rank {other.registers.rank}"
        if mine.operation.name != theirs.operation.name:
            raise MeetingError(
                f"{who[0]} waits at {mine.operation.name}, {who[1]} at {theirs.operation.name}: every rank "
                "must run the same collectives in the same order"
            )
        if mine.scalars != theirs.scalars:
            raise MeetingError(
                f"{who[0]} and {who[1]} give different options: replica_group, op, "
                "collective_dim and channel must be the same on every rank"
            )
        for parameter, a, b in zip(
            mine.operation.tensor_parameters, mine.operands, theirs.operands, strict=True
        ):
            if (a is None) != (b is None) or (
                a is not None and b is not None and (a.shape, a.dtype) != (b.shape, b.dtype)
            ):
                raise MeetingError(
                    f"{parameter.name} is not alike on {who[0]} and {who[1]}: shapes "
                    "and data types must be the same on every rank"
                )
    return first.call


def meeting_groups(participants: Sequence[Participant]) -> list[list[Participant]]:
    """Return the participants by replica group, each group in its own order.

    Raises:
        MeetingError: If they are not at the same collective, or the groups are not a partition of the ranks.
    """
    call = same_instruction(participants)
    by_rank = {participant.registers.rank: participant for participant in participants}
    groups = groups_of(call.scalar("replica_group"))
    listed: set[int] = set()
    for rank in (rank for group in groups for rank in group):
        if rank not in by_rank:
            raise MeetingError(
                f"replica_group names rank {rank}, the run has ranks 0 to {len(by_rank) - 1}: run with as "
                "many ranks as the groups name"
            )
        if rank in listed:
            raise MeetingError(f"replica_group names rank {rank} twice: groups must not overlap")
        listed.add(rank)
    for rank in by_rank:
        if rank not in listed:
            raise MeetingError(
                f"rank {rank} runs it and is in no list of replica_group: every rank must be in one"
            )
    return [[by_rank[rank] for rank in group] for group in groups]


def meeting_pairs(participants: Sequence[Participant]) -> list[tuple[Participant, Participant]]:
    """Return who sends to whom by source-target pairs.

    Raises:
        MeetingError: If they are not at the same collective, or a pair names a rank nobody plays or a target
            twice.
    """
    call = same_instruction(participants)
    by_rank = {participant.registers.rank: participant for participant in participants}
    pairs = pairs_of(call.scalar("source_target_pairs"))
    targets: set[int] = set()
    for source, target in pairs:
        for rank in (source, target):
            if rank not in by_rank:
                raise MeetingError(
                    f"source_target_pairs names rank {rank}, the run has ranks 0 to "
                    f"{len(by_rank) - 1}: run with as many ranks as the pairs name"
                )
        if target in targets:
            raise MeetingError(f"two sources send to rank {target}")
        targets.add(target)
    return [(by_rank[source], by_rank[target]) for source, target in pairs]


def view_of(participant: Participant, name: str) -> Any:
    """Return a participant's array of the tensor argument called `name`; None where it is absent."""
    return participant.views[participant.call.operation.tensor_slots[name]]


def _shown(value: Scalar) -> str:
    return str(value)[:60]
