"""Why an import of Neuron's packages fails, and what to import instead."""

from __future__ import annotations

import sys

from pipeline.emulator.frontend.errors import KernelError
from pipeline.emulator.frontend.inventory import LEGACY, legacy_dialect, missing_name
from pipeline.emulator.frontend.session import Session

__all__ = ["explain_import"]


def explain_import(error: ImportError, session: Session) -> KernelError | None:
    """Return what an import error amounts to where it concerns NKI, else None."""
    # Any text, or none: an ImportError can be raised by hand.
    name = str(error.name or "")
    package = name.partition(".")[0]
    if package == LEGACY:
        return legacy_dialect(session.version)
    if package == "nki":
        # `from nki.x import y` turns our explanation into a bare ImportError; the session remembers it.
        if session.missing is not None and not isinstance(error, ModuleNotFoundError):
            return session.missing
        return _missing_module(name)
    return None


def _missing_module(name: str) -> KernelError | None:
    """Return the error for the first part of a dotted name that is no module of ours."""
    parent, *rest = name.split(".")
    while rest:
        child = rest.pop(0)
        if f"{parent}.{child}" not in sys.modules:
            modules = [known for known in sys.modules if known.rpartition(".")[0] == parent]
            return missing_name(parent, child, [known.rpartition(".")[2] for known in modules])
        parent = f"{parent}.{child}"
    return None
