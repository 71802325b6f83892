"""Rules: of the language, and of the chip and its compiler."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from pipeline.emulator.frontend import language
from pipeline.emulator.legality import RULES
from pipeline.emulator.legality.refusals import REFUSES
from pipeline.emulator.reference.markdown import places, span, table

__all__ = ["TABLES"]


def _rules() -> str:
    return table(
        ("rule", "refuses", "targets", "severity", "source"),
        (
            (f"`{rule.id}`", REFUSES[rule.id], places(rule.targets), rule.severity.value, rule.source)
            for rule in RULES.values()
        ),
    )


def _language() -> str:
    return table(
        ("rule", "about", "versions", "severity", "source"),
        (
            (f"`{rule.id}`", rule.about, span(rule.since, rule.until), rule.severity.value, rule.source)
            for rule in language.RULES.values()
        ),
    )


TABLES: Final[dict[str, Callable[[], str]]] = {"language": _language, "rules": _rules}
