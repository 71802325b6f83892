"""What a submission says to people: its texts, and the phrases of those who address a grader."""

from __future__ import annotations

__all__: list[str] = []
