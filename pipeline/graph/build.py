"""Wire the nodes into a graph."""

from __future__ import annotations

from typing import Any, Literal

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from pipeline.graph import nodes
from pipeline.graph.services import Services
from pipeline.graph.state import State
from pipeline.types import Destination, Verdict

__all__ = ["build_graph"]

Graph = CompiledStateGraph[State, Services, State, State]


def build_graph(checkpointer: BaseCheckpointSaver[Any]) -> Graph:
    """Return the compiled graph; one thread of it grades one submission."""
    graph = StateGraph(State, context_schema=Services)
    for node in (
        nodes.admit,
        nodes.build,
        nodes.run,
        nodes.profile,
        nodes.inspect,
        nodes.judge,
        nodes.assess,
        nodes.route,
        nodes.await_review,
        nodes.finish,
    ):
        graph.add_node(node.__name__, node)
    graph.add_edge(START, "admit")
    graph.add_conditional_edges("admit", _unless_stopped("build"))
    graph.add_conditional_edges("build", _unless_stopped("run"))
    graph.add_conditional_edges("run", _unless_stopped("profile"))
    graph.add_edge("profile", "inspect")
    graph.add_conditional_edges("inspect", _unless_held)
    graph.add_edge("judge", "assess")
    graph.add_edge("assess", "route")
    graph.add_conditional_edges("route", _follow_route)
    graph.add_edge("await_review", "finish")
    graph.add_edge("finish", END)
    return graph.compile(checkpointer=checkpointer)


def _unless_stopped(onward: str) -> Any:
    """What a failed stage makes pointless is skipped: a kernel that did not build is not run."""

    def choose(state: State) -> str:
        return "inspect" if state.get("verdict") else onward

    return choose


def _unless_held(state: State) -> Literal["judge", "route"]:
    return "route" if state["verdict"] == Verdict.INFRASTRUCTURE else "judge"


def _follow_route(state: State) -> str:
    match Destination(state["destination"]):
        case Destination.ACCEPT:
            return "finish"
        case Destination.HOLD:
            return END
        case Destination.REVIEW | Destination.SECOND_REVIEW:
            return "await_review"
