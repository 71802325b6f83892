"""For every rule of legality a program that breaks it and one, as close as possible, that does not.

One module per area; a new module is found by itself.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from tests.emulator.legality.cases.construction import Case

CASES: list[Case] = [
    case
    for module in sorted(found.name for found in iter_modules(__path__) if found.name != "construction")
    for case in import_module(f"{__name__}.{module}").CASES
]
