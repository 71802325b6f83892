"""Why an import of Neuron's packages fails, and what to import instead."""

from __future__ import annotations

from pipeline.emulator.frontend.errors import KernelError, KernelErrorKind
from pipeline.emulator.frontend.inventory import missing_name
from pipeline.emulator.frontend.recorder import Session

__all__ = ["explain_import"]


def explain_import(error: ImportError, session: Session) -> KernelError | None:
    """Return what an import error amounts to where it concerns NKI, else None."""
    # Any text, or none: an ImportError can be raised by hand.
    package, _, rest = str(error.name or "").partition(".")
    if package == "neuronxcc":
        return KernelError(
            KernelErrorKind.COMPILE_ERROR,
            f"imports neuronxcc.nki, the legacy dialect, which NKI {session.version} refuses (an error since "
            "0.4.0); import nki, nki.language and nki.isa",
        )
    if package == "nki":
        # `from nki.x import y` turns our explanation into a bare ImportError; the session remembers it.
        if session.missing is not None and not isinstance(error, ModuleNotFoundError):
            return session.missing
        if rest:
            return missing_name("nki", rest.partition(".")[0], ("isa", "language", "typing"))
    return None
