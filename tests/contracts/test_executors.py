"""Whatever builds and runs kernels has the members of the executor protocol, with its signatures."""

from __future__ import annotations

import importlib
import inspect
import pkgutil

import pytest

import pipeline.execute
from pipeline.execute.executor import Executor


def executors() -> dict[str, type]:
    found: dict[str, type] = {}
    for entry in pkgutil.iter_modules(pipeline.execute.__path__):
        module = importlib.import_module(f"pipeline.execute.{entry.name}")
        for name, value in vars(module).items():
            ours = isinstance(value, type) and value.__module__ == module.__name__
            if ours and value is not Executor and {"build", "run"} <= vars(value).keys():
                found[name] = value
    return found


EXECUTORS = executors()
METHODS = ("build", "run", "study", "profile", "close")
PROPERTIES = ("id", "isolation")


def test_the_emulator_is_an_executor() -> None:
    assert "EmulatorExecutor" in EXECUTORS


def test_the_protocol_has_no_member_that_is_not_compared_here() -> None:
    assert {name for name in vars(Executor) if not name.startswith("_")} == {*METHODS, *PROPERTIES}


@pytest.mark.parametrize("name", EXECUTORS)
def test_an_executor_takes_what_the_protocol_says(name: str) -> None:
    for method in METHODS:
        assert inspect.signature(getattr(EXECUTORS[name], method)) == inspect.signature(
            getattr(Executor, method)
        )
    for member in PROPERTIES:
        assert isinstance(getattr(EXECUTORS[name], member), property)
