"""The tables of docs/emulator.md, drawn from the registries they describe.

``python -m pipeline.emulator.reference`` prints them; with the page's path it puts each between its marks,
``<!-- begin NAME -->`` and ``<!-- end NAME -->``.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Final

from pipeline.emulator.dtypes import DTYPES
from pipeline.emulator.frontend.inventory import DOCUMENTED
from pipeline.emulator.frontend.modules import installed_modules
from pipeline.emulator.frontend.session import Session
from pipeline.emulator.frontend.trace import DEFAULT_VERSION
from pipeline.emulator.legality import RULES
from pipeline.emulator.legality.refusals import REFUSES
from pipeline.emulator.operations import (
    ACTIVATIONS,
    OPERATIONS,
    OPERATORS,
    Operation,
    availability,
)
from pipeline.emulator.program import DEFAULT_LIMITS
from pipeline.emulator.targets import TARGETS
from pipeline.emulator.toolchain_tables import (
    CHANGE_HEAD,
    LANGUAGE_HEAD,
    VERSION_HEAD,
    changes,
    language,
    versions,
)

__all__ = ["REFUSES", "TABLES", "VALID_RANGES", "main", "refresh"]


#: Documented domains of activation functions; one that is absent has no bound.
VALID_RANGES: Final[dict[str, str]] = {
    "log": "[2^-64, 2^64]",
    "sin": "[-π, π]",
    "arctan": "[-π/2, π/2]",
    "sqrt": "[2^-116, 2^118]",
    "rsqrt": "[2^-87, 2^97]",
    "reciprocal": "±[2^-42, 2^42]",
}


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    cells = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in cells)


def _code(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _places(targets: frozenset[str]) -> str:
    return "all" if targets == frozenset(TARGETS) else ", ".join(sorted(targets))


def _fidelity(operation: Operation) -> str:
    return "by operator" if callable(operation.fidelity) else operation.fidelity.value


def _operations() -> str:
    return _table(
        ("operation", "engines, default first", "targets", "since NKI", "fidelity", "cost known"),
        (
            (
                f"`{operation.name}`",
                ", ".join(operation.engines),
                _places(availability(operation).targets),
                availability(operation).since,
                _fidelity(operation),
                "no" if operation.cycles is None else "yes",
            )
            for operation in sorted(OPERATIONS.values(), key=lambda operation: operation.name)
        ),
    )


def _operators() -> str:
    return _table(
        ("operator", "family", "reduces", "instead"),
        (
            (f"`{operator.name}`", operator.family, "yes" if operator.reducible else "", operator.remedy)
            for operator in OPERATORS.values()
        ),
    )


def _activations() -> str:
    return _table(
        ("function", "fidelity", "valid range"),
        (
            (f"`{activation.name}`", activation.fidelity.value, VALID_RANGES.get(activation.name, "any"))
            for activation in ACTIVATIONS.values()
        ),
    )


def _dtypes() -> str:
    return _table(
        ("dtype", "bytes", "kind", "mantissa bits", "targets", "since NKI"),
        (
            (
                f"`{dtype.name}`",
                str(dtype.itemsize),
                dtype.kind,
                str(dtype.mantissa_bits or ""),
                _places(dtype.targets),
                dtype.since,
            )
            for dtype in DTYPES.values()
        ),
    )


def _targets() -> str:
    return _table(
        (
            "target",
            "generation",
            "SBUF per partition",
            "PSUM per partition",
            "HBM",
            "tensor bf16",
            "tensor fp32",
        ),
        (
            (
                f"`{target.name}`",
                target.generation,
                f"{target.sbuf_bytes_per_partition >> 10} KiB",
                f"{target.psum_bytes_per_partition >> 10} KiB in banks of {target.psum_bank_bytes >> 10} KiB",
                f"{target.hbm_bytes_per_second / 1e9:g} GB/s",
                f"{target.tensor_flops['bf16'] / 1e12:g} Tflop/s",
                f"{target.tensor_flops['fp32'] / 1e12:g} Tflop/s",
            )
            for target in TARGETS.values()
        ),
    )


def _known_names() -> dict[str, set[str]]:
    """Return the public names of each emulated module."""
    with installed_modules(Session(TARGETS["trn2"], DEFAULT_VERSION, instruction_limit=1)):
        return {
            module: {name for name in vars(sys.modules[module]) if not name.startswith("_")}
            for module in DOCUMENTED
        }


def _emulated() -> str:
    return _table(
        ("module", "emulated"),
        ((f"`{module}`", _code(sorted(names))) for module, names in _known_names().items()),
    )


def _unsupported() -> str:
    known = _known_names()
    return _table(
        ("module", "documented, not emulated"),
        ((f"`{module}`", _code(sorted(names - known[module]))) for module, names in DOCUMENTED.items()),
    )


def _rules() -> str:
    return _table(
        ("rule", "refuses", "targets", "severity", "source"),
        (
            (f"`{rule.id}`", REFUSES[rule.id], _places(rule.targets), rule.severity.value, rule.source)
            for rule in RULES.values()
        ),
    )


def _limits() -> str:
    return _table(
        ("limit", "of one program"),
        ((f"`{name}`", f"{value:,}") for name, value in asdict(DEFAULT_LIMITS).items()),
    )


#: Every table by the name that the page's marks give it.
TABLES: Final[dict[str, Callable[[], str]]] = {
    "targets": _targets,
    "versions": lambda: _table(VERSION_HEAD, versions()),
    "changes": lambda: _table(CHANGE_HEAD, changes()),
    "language": lambda: _table(LANGUAGE_HEAD, language()),
    "dtypes": _dtypes,
    "operations": _operations,
    "operators": _operators,
    "activations": _activations,
    "emulated": _emulated,
    "unsupported": _unsupported,
    "rules": _rules,
    "limits": _limits,
}


def refresh(page: str) -> str:
    """Return the text of a page with every table between its marks drawn again.

    Raises:
        KeyError: If a mark names no table.
    """

    def draw(match: re.Match[str]) -> str:
        name = match["name"]
        return f"<!-- begin {name} -->\n{TABLES[name]()}\n<!-- end {name} -->"

    return re.sub(r"<!-- begin (?P<name>\w+) -->\n.*?<!-- end (?P=name) -->", draw, page, flags=re.DOTALL)


def main(arguments: Sequence[str]) -> None:
    """Print every table, or refresh the page that is named."""
    if arguments:
        page = Path(arguments[0])
        page.write_text(refresh(page.read_text(encoding="utf-8")), encoding="utf-8")
        return
    for name, draw in TABLES.items():
        sys.stdout.write(f"{name}\n\n{draw()}\n\n")


if __name__ == "__main__":
    main(sys.argv[1:])
