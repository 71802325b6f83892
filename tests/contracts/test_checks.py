"""Every file of checks/ that asks a question is listed, under an id of its own."""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType
from typing import Any

import pytest

import pipeline.checks
from pipeline.checks import CHECKS

MODULES = [
    importlib.import_module(f"pipeline.checks.{found.name}")
    for found in pkgutil.iter_modules(pipeline.checks.__path__)
]


def checks_in(module: ModuleType) -> set[str]:
    """Ids of the checks that a module makes: its classes with an id, and instances of shared ones."""
    found: set[str] = set()
    for name, value in vars(module).items():
        made_here = not isinstance(value, type) or value.__module__ == module.__name__
        if made_here and not name.startswith("__") and callable(getattr(value, "inspect", None)):
            identifier: Any = getattr(value, "id", None)
            if isinstance(identifier, str):
                found.add(identifier)
    return found


ASKING = {module.__name__.rpartition(".")[2]: module for module in MODULES if checks_in(module)}


def test_every_check_there_is_is_listed_and_every_one_listed_is_there() -> None:
    assert {identifier for module in ASKING.values() for identifier in checks_in(module)} == set(CHECKS)


@pytest.mark.parametrize("name", ASKING)
def test_a_file_holds_one_check_named_like_it_and_opens_with_its_question(name: str) -> None:
    assert checks_in(ASKING[name]) == {name}
    assert (ASKING[name].__doc__ or "").strip().splitlines()[0].endswith("?")
