"""LangGraph's checkpoints in our database: a cache, written in groups like everything else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any, Final

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    get_checkpoint_id,
    get_checkpoint_metadata,
)

from pipeline.store.transport import Command, Execute, Insert, Row, Transport

__all__ = ["START_OVER", "StoreSaver"]

#: Key among a run's configurable values that makes it start over, as if its thread had no checkpoint: nothing
#: is read for it. LangGraph keeps keys with these underscores out of what is stored.
START_OVER: Final = "__start_over"


class StoreSaver(BaseCheckpointSaver[int]):
    """Keeps checkpoints whole, one row each: a thread's state is ids and small values.

    A checkpoint may be lost with the last few milliseconds before a crash; the stage memo makes that cheap.
    Graphs with ``DeltaChannel`` (values spread over ancestors) lose history to `prune`; ours have none.
    """

    def __init__(self, transport: Transport) -> None:
        super().__init__()
        self._transport = transport

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return the checkpoint that `config` names, or the newest of its thread and namespace."""
        if config["configurable"].get(START_OVER):
            return None
        thread, namespace = _place(config)
        name = get_checkpoint_id(config)
        for row in self._transport.select("checkpoints_of_thread", [thread]):
            if row[1] == namespace and name in (None, row[2]):
                return self._read(row)
        return None

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Yield matching checkpoints, newest first."""
        wanted = config["configurable"] if config else {}
        parameters = [
            wanted.get("thread_id"),
            wanted.get("checkpoint_ns"),
            wanted.get("checkpoint_id"),
            get_checkpoint_id(before) if before else None,
        ]
        left = limit
        for row in self._transport.select("checkpoint_list", parameters):
            if left is not None and left <= 0:
                return
            thread, namespace, name, kind, data = row
            metadata = self.serde.loads_typed((kind, data))
            if filter and any(metadata.get(key) != value for key, value in filter.items()):
                continue
            # Deleted since by another thread: not there any more, so not listed.
            if (found := self.get_tuple(_config(thread, namespace, name))) is None:
                continue
            if left is not None:
                left -= 1
            yield found

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Queue a checkpoint; `config` names its parent."""
        thread, namespace = _place(config)
        described = get_checkpoint_metadata(config, metadata)
        state = self.serde.dumps_typed(checkpoint)
        about = self.serde.dumps_typed(described)
        row = (
            thread,
            namespace,
            checkpoint["id"],
            get_checkpoint_id(config),
            described.get("run_id"),
            *state,
            *about,
        )
        self._transport.write([Insert("checkpoints", [row], replace=True)])
        return _config(thread, namespace, checkpoint["id"])

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Queue what a task wrote: results once, errors and interrupts as they change."""
        thread, namespace = _place(config)
        name = config["configurable"]["checkpoint_id"]
        once: list[Row] = []
        latest: list[Row] = []
        for index, (channel, value) in enumerate(writes):
            position = WRITES_IDX_MAP.get(channel, index)
            data = self.serde.dumps_typed(value)
            row = (thread, namespace, name, task_id, position, task_path, channel, *data)
            (once if position >= 0 else latest).append(row)
        commands: list[Command] = []
        if once:
            commands.append(Insert("checkpoint_writes", once))
        if latest:
            commands.append(Insert("checkpoint_writes", latest, replace=True))
        if commands:
            self._transport.write(commands)

    def delete_thread(self, thread_id: str) -> None:
        """Delete every checkpoint and write of a thread."""
        self._execute([thread_id], "delete_thread_writes", "delete_thread_checkpoints")

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete every checkpoint, with its writes, that those runs made."""
        for run_id in run_ids:
            self._execute([run_id], "delete_run_writes", "delete_run_checkpoints")

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy every checkpoint and write of a thread to another."""
        parameters = [source_thread_id, target_thread_id]
        self._execute(parameters, "copy_thread_checkpoints", "copy_thread_writes")

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Delete all but the newest checkpoint per namespace (``keep_latest``), or all (``delete``).

        Raises:
            ValueError: If `strategy` is neither.
        """
        if strategy not in ("keep_latest", "delete"):
            raise ValueError(f"unknown strategy {strategy!r}: use 'keep_latest' or 'delete'")
        for thread_id in thread_ids:
            if strategy == "delete":
                self.delete_thread(thread_id)
            else:
                self._execute([thread_id], "prune_writes", "prune_checkpoints")

    # Reading may have to wait for a commit, so it leaves the event loop; queueing a row does not.

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """See `get_tuple`."""
        if config["configurable"].get(START_OVER):
            return None
        return await asyncio.to_thread(self.get_tuple, config)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """See `list`."""
        found = self.list(config, filter=filter, before=before, limit=limit)
        end = object()
        while (item := await asyncio.to_thread(next, found, end)) is not end:
            yield item  # type: ignore[misc]

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """See `put`."""
        return self.put(config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """See `put_writes`."""
        self.put_writes(config, writes, task_id, task_path)

    async def adelete_thread(self, thread_id: str) -> None:
        """See `delete_thread`."""
        await asyncio.to_thread(self.delete_thread, thread_id)

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """See `delete_for_runs`."""
        await asyncio.to_thread(self.delete_for_runs, run_ids)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """See `copy_thread`."""
        await asyncio.to_thread(self.copy_thread, source_thread_id, target_thread_id)

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """See `prune`."""
        await asyncio.to_thread(self.prune, thread_ids, strategy=strategy)

    def _execute(self, parameters: Sequence[str], *statements: str) -> None:
        commands = [Execute(statement, [*parameters]) for statement in statements]
        self._transport.write(commands, wait=True)

    def _read(self, row: Row) -> CheckpointTuple:
        thread, namespace, name, parent, kind, data, metadata_kind, metadata = row
        writes = self._transport.select("writes_of_thread", [thread])
        return CheckpointTuple(
            config=_config(thread, namespace, name),
            checkpoint=self.serde.loads_typed((kind, data)),
            metadata=self.serde.loads_typed((metadata_kind, metadata)),
            parent_config=_config(thread, namespace, parent) if parent else None,
            pending_writes=[
                (task, channel, self.serde.loads_typed((value_kind, value)))
                for of_namespace, of_name, task, channel, value_kind, value in writes
                if (of_namespace, of_name) == (namespace, name)
            ],
        )


def _place(config: RunnableConfig) -> tuple[str, str]:
    configurable = config["configurable"]
    return configurable["thread_id"], configurable.get("checkpoint_ns", "")


def _config(thread: str, namespace: str, name: str) -> RunnableConfig:
    return {
        "configurable": {"thread_id": thread, "checkpoint_ns": namespace, "checkpoint_id": name},
    }
