"""What inspection noted, as findings of the check that reports it."""

from __future__ import annotations

from collections.abc import Iterable

from pipeline.execute.frames import InspectReply, Note
from pipeline.types import Finding, Severity

__all__ = ["list_findings"]


def list_findings(inspected: InspectReply) -> tuple[Finding, ...]:
    """Return what the language, the target's rules and the hazards of precision say of a submission.

    What holds for several shapes is said once.
    """
    legality = [note for reading in inspected.readings for note in reading.violations]
    hazards = [note for reading in inspected.readings for note in reading.hazards]
    # In the words of a fault, so that feedback says what stopped the build once.
    language = [_find("language_subset", note, f"{note.message.rstrip('.')}.") for note in inspected.language]
    return tuple(dict.fromkeys((*language, *_each("legal", legality), *_each("precision_hazards", hazards))))


def _each(check: str, notes: Iterable[Note]) -> list[Finding]:
    return [_find(check, note, f"{note.message} [{note.kind}]") for note in notes]


def _find(check: str, note: Note, message: str) -> Finding:
    lines = (note.line,) if note.line else ()
    return Finding(check=check, severity=Severity(note.severity), message=message, lines=lines)
