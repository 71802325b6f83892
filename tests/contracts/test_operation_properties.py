"""Every operation of the table has a property: a hypothesis test whose code names it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.emulator.operations import OPERATIONS

TESTS = Path(__file__).parents[1] / "emulator"
#: Where operations are run one by one. Elsewhere kernels use them, and show nothing of each.
FOLDERS = ("machine", "operations")


def definitions(module: ast.Module) -> dict[str, ast.AST]:
    """What each name stands for that the module itself defines."""
    found: dict[str, ast.AST] = {}
    for node in module.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found[node.name] = node
        elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found.update((name.id, node.value) for name in targets if isinstance(name, ast.Name))
    return found


def is_property(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef) and any(
        isinstance(decorator, ast.Call) and ast.unparse(decorator.func).split(".")[-1] == "given"
        for decorator in node.decorator_list
    )


def strings(node: ast.AST, known: dict[str, ast.AST], seen: set[str]) -> Iterator[str]:
    """The strings in a definition and in all that it uses of its module."""
    for part in ast.walk(node):
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield part.value
        elif isinstance(part, ast.Name) and part.id in known and part.id not in seen:
            seen.add(part.id)
            yield from strings(known[part.id], known, seen)


def named_by_properties(source: str) -> set[str]:
    """The strings that the hypothesis tests of a module use, through helpers and constants of the module."""
    known = definitions(ast.parse(source))
    return {
        text
        for name, node in known.items()
        if name.startswith("test_") and is_property(node)
        for text in strings(node, known, {name})
    }


NAMED = {
    text
    for folder in FOLDERS
    for path in (TESTS / folder).glob("test_*.py")
    for text in named_by_properties(path.read_text())
}


# Marks of run-time loops compute nothing.
@pytest.mark.parametrize(
    "name", [name for name, operation in OPERATIONS.items() if operation.control is None]
)
def test_an_operation_has_a_hypothesis_test(name: str) -> None:
    assert name in NAMED, f"no test with @given below tests/emulator/{{{','.join(FOLDERS)}}} names {name}"


def test_only_what_a_hypothesis_test_uses_counts() -> None:
    source = """
OPERATION = "iota"
def helper(): return run("memset")
def unused(): return run("max8")
@given(st.integers())
def test_property(n): assert helper() == OPERATION
def test_example(): assert run("topk") == unused()
"""
    assert named_by_properties(source) & set(OPERATIONS) == {"iota", "memset"}
