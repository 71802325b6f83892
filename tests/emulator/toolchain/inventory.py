"""The names of NKI 0.6 as its type stubs declare them, from the data file beside."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

DATA: dict[str, Any] = tomllib.loads(
    (Path(__file__).parent / "inventory_0_6.toml").read_text(encoding="utf-8")
)

#: Per owner (a module, or a class or enum in one): its functions with their signatures.
FUNCTIONS: dict[str, dict[str, str]] = {module: table["functions"] for module, table in DATA.items()} | {
    f"{module}.{owner}": members["functions"]
    for module, table in DATA.items()
    for owner, members in table.get("members", {}).items()
    if "functions" in members
}

#: Per owner: its names that are no functions.
VALUES: dict[str, list[str]] = {
    **{
        module: [*table.get("values", ()), *table.get("classes", ()), *table.get("enums", ())]
        for module, table in DATA.items()
    },
    **{
        f"{module}.{owner}": members["values"]
        for module, table in DATA.items()
        for owner, members in table.get("members", {}).items()
    },
    **{
        f"{module}.{enum}": members
        for module, table in DATA.items()
        for enum, members in table.get("enums", {}).items()
    },
}

OWNERS = sorted(FUNCTIONS.keys() | VALUES.keys())
