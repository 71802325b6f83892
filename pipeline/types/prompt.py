"""A prompt: the fixed text that a judge is given around a submission."""

from __future__ import annotations

from pipeline.types.model import Frozen

__all__ = ["Prompt"]


class Prompt(Frozen):
    """One version of a prompt; a published version is never edited."""

    id: str
    version: str
    text: str
    """Markdown with ``{{placeholder}}`` marks, filled in one pass."""
    placeholders: tuple[str, ...]
