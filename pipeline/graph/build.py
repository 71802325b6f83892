"""Wire the nodes into a graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from langgraph.types import Command

from pipeline.graph import nodes
from pipeline.graph.services import Services
from pipeline.graph.state import State
from pipeline.types import Destination, Verdict

__all__ = ["build_graph"]

Graph = CompiledStateGraph[State, Services, State, State]
Choice = Callable[[State], str]


class Node(Protocol):
    """A node of the graph: a coroutine function that returns what changes in the state."""

    __name__: str

    async def __call__(self, state: State, runtime: Runtime[Services]) -> State:
        """Do one stage."""


def build_graph(checkpointer: BaseCheckpointSaver[Any]) -> Graph:
    """Return the compiled graph; one thread of it grades one submission."""
    graph = StateGraph(State, context_schema=Services)
    _add(graph, nodes.admit, _unless_stopped("build"), "build", "inspect")
    _add(graph, nodes.build, _unless_stopped("run"), "run", "inspect")
    _add(graph, nodes.run, _unless_stopped("profile"), "profile", "inspect")
    _add(graph, nodes.profile, _always("inspect"), "inspect")
    _add(graph, nodes.inspect, _unless_held, "judge", "route")
    _add(graph, nodes.judge, _always("assess"), "assess")
    _add(graph, nodes.assess, _always("route"), "route")
    _add(graph, nodes.route, _follow_route, "await_review", "finish", END)
    _add(graph, nodes.await_review, _always("finish"), "finish")
    _add(graph, nodes.finish, _always(END), END)
    graph.add_edge(START, "admit")
    return graph.compile(checkpointer=checkpointer)


def _add(graph: StateGraph[State, Services, State, State], node: Node, choose: Choice, *ends: str) -> None:
    """Add a node together with what follows it.

    The node says itself where to go on: a conditional edge would cost as much as half a node, since LangGraph
    runs it as a step of its own on a fresh copy of the state, and in a thread at that.
    """

    async def advance(state: State, runtime: Runtime[Services]) -> Command[str]:
        update = await node(state, runtime)
        after: State = {**state, **update}
        return Command(update=update, goto=choose(after))

    graph.add_node(node.__name__, advance, destinations=ends)


def _always(onward: str) -> Choice:
    def choose(state: State) -> str:
        return onward

    return choose


def _unless_stopped(onward: str) -> Choice:
    """What a failed stage makes pointless is skipped: a kernel that did not build is not run."""

    def choose(state: State) -> str:
        return "inspect" if state.get("verdict") else onward

    return choose


def _unless_held(state: State) -> str:
    return "route" if state["verdict"] == Verdict.INFRASTRUCTURE else "judge"


def _follow_route(state: State) -> str:
    match Destination(state["destination"]):
        case Destination.ACCEPT:
            return "finish"
        case Destination.HOLD:
            return END
        case Destination.REVIEW | Destination.SECOND_REVIEW:
            return "await_review"
