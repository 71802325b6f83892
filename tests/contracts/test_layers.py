"""Imports run down the layers of the design, and the emulator stands alone."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2] / "pipeline"

#: Highest first; a module may import its own layer and those below it.
LAYERS = (
    ("cli",),
    ("web",),
    ("api",),
    ("graph",),
    ("report",),
    ("review", "routing"),
    ("judge",),
    ("checks",),
    ("compare",),
    ("execute",),
    ("library",),
    ("store",),
    ("emulator",),
    ("stats",),
    ("errors", "config"),
    ("types",),
)
DEPTH = {name: depth for depth, layer in enumerate(LAYERS) for name in layer}
MODULES = sorted(path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py")


def layer_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imported_layers(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name.split(".")[1] for name in names if name.startswith("pipeline.")} & DEPTH.keys()


def test_every_module_belongs_to_a_layer() -> None:
    assert {layer_of(path) for path in MODULES} <= DEPTH.keys()


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_imports_only_its_own_layer_and_those_below(path: Path) -> None:
    above = {name for name in imported_layers(path) if DEPTH[name] < DEPTH[layer_of(path)]}
    assert not above, f"{path.relative_to(ROOT)} imports from above: {sorted(above)}"


@pytest.mark.parametrize(
    "path", sorted((ROOT / "emulator").rglob("*.py")), ids=lambda path: str(path.relative_to(ROOT))
)
def test_the_emulator_imports_nothing_of_ours(path: Path) -> None:
    assert imported_layers(path) <= {"emulator"}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_only_the_store_speaks_to_duckdb(path: Path) -> None:
    tree = ast.parse(path.read_text())
    imports = [n for n in ast.walk(tree) if isinstance(n, ast.Import | ast.ImportFrom)]
    names = {a.name for n in imports if isinstance(n, ast.Import) for a in n.names}
    names |= {n.module for n in imports if isinstance(n, ast.ImportFrom) and n.module}
    if any(name.split(".")[0] == "duckdb" for name in names):
        assert layer_of(path) in ("store", "cli"), f"{path} uses DuckDB outside the store"
