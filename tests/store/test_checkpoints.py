"""LangGraph's own conformance suite, and what it does not ask."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any, TypedDict

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver, empty_checkpoint
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

from pipeline.store import Store, open_store
from tests.store.examples import database

CAPABILITIES = {
    "put",
    "put_writes",
    "get_tuple",
    "list",
    "delete_thread",
    "delete_for_runs",
    "copy_thread",
    "prune",
}


@pytest.mark.parametrize("over_socket", [False, True])
async def test_the_saver_passes_every_part_of_the_conformance_suite(
    tmp_path: Path, over_socket: bool
) -> None:
    @checkpointer_test(name="StoreSaver")
    async def make() -> AsyncGenerator[BaseCheckpointSaver[Any], None]:
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        folder.mkdir()
        with open_store(database(folder)) as owner:
            if not over_socket:
                yield owner.checkpoints()
                return
            with open_store(database(folder)) as client:
                yield client.checkpoints()

    report = await validate(make)
    failures = [failure for result in report.results.values() for failure in result.failures]
    assert failures == []
    assert {name for name, result in report.results.items() if result.passed} == CAPABILITIES


def test_the_store_does_not_import_langgraph_until_checkpoints_are_asked_for() -> None:
    code = "import sys, pipeline.store; print([m for m in sys.modules if m.startswith('lang')])"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_a_result_written_twice_keeps_its_first_value_and_an_interrupt_its_last(store: Store) -> None:
    saver = store.checkpoints()
    config = saver.put(
        {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}, empty_checkpoint(), {"source": "loop"}, {}
    )
    for value in ("first", "last"):
        saver.put_writes(config, [("result", value)], "task-1")
        saver.put_writes(config, [("__interrupt__", value)], "task-2")
    found = saver.get_tuple(config)
    assert found is not None
    assert found.pending_writes == [("task-1", "result", "first"), ("task-2", "__interrupt__", "last")]
    store.flush()
    saver.put_writes(config, [("result", "after the commit")], "task-1")
    saver.put_writes(config, [("__interrupt__", "after the commit")], "task-2")
    found = saver.get_tuple(config)
    assert found is not None
    assert found.pending_writes == [
        ("task-1", "result", "first"),
        ("task-2", "__interrupt__", "after the commit"),
    ]


class State(TypedDict, total=False):
    grading_id: str
    answer: str


def ask(state: State) -> State:
    return {"answer": interrupt({"grading": state["grading_id"]})}


def compiled(store: Store) -> Any:
    graph = StateGraph(State).add_node("ask", ask).add_edge(START, "ask").add_edge("ask", END)
    return graph.compile(checkpointer=store.checkpoints())


def test_a_thread_that_waits_is_resumed_after_the_database_was_closed(tmp_path: Path) -> None:
    config = {"configurable": {"thread_id": "g-a"}}
    with open_store(database(tmp_path)) as store:
        compiled(store).invoke({"grading_id": "g-a"}, config, durability="exit")
    with open_store(database(tmp_path)) as store:
        graph = compiled(store)
        (waiting,) = graph.get_state(config).interrupts
        assert waiting.value == {"grading": "g-a"}
        assert graph.invoke(Command(resume="yes"), config, durability="exit")["answer"] == "yes"


async def test_a_thread_started_by_a_client_is_resumed_by_the_owner(tmp_path: Path) -> None:
    config = {"configurable": {"thread_id": "g-a"}}
    with open_store(database(tmp_path)) as owner, open_store(database(tmp_path)) as client:
        await compiled(client).ainvoke({"grading_id": "g-a"}, config, durability="exit")
        result = await compiled(owner).ainvoke(Command(resume="yes"), config, durability="exit")
        assert result["answer"] == "yes"


def test_pruning_keeps_the_newest_checkpoint_and_refuses_strategies_it_does_not_know(store: Store) -> None:
    saver = store.checkpoints()
    config: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
    for step in range(3):
        config = saver.put(config, empty_checkpoint(), {"source": "loop", "step": step}, {})
    saver.prune(["t"])
    assert [found.metadata["step"] for found in saver.list({"configurable": {"thread_id": "t"}})] == [2]
    with pytest.raises(ValueError, match="'keep_latest' or 'delete'"):
        saver.prune(["t"], strategy="everything")
