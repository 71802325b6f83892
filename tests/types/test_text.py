"""A message is one bounded line that every encoding takes, whoever wrote it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.types import CheckReport, CheckStatus, Destination, Fault, Finding, Owner, Route, Severity


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("as it is", "as it is"),
        ("two\nlines\r\n\tand \u2028 more\x85", "two lines and more"),
        ("half a pair \ud800", "half a pair ?"),
        ("", ""),
    ],
)
def test_a_fault_keeps_its_text_as_one_line(text: str, line: str) -> None:
    assert Fault(owner=Owner.TASK, code="c", message=text).message == line


def test_megabytes_are_cut() -> None:
    message = Fault(owner=Owner.TASK, code="c", message="word " * 1_000_000).message
    assert len(message) <= 2000
    assert message.startswith("word word ")
    assert message.endswith(" …")


@given(st.text(st.characters(exclude_categories=()), max_size=3000))
def test_whatever_is_said_is_one_line_that_can_be_encoded(text: str) -> None:
    finding = Finding(check="c", severity=Severity.INFO, message=text)
    report = CheckReport(check="c", status=CheckStatus.UNKNOWN, reason=text)
    route = Route(destination=Destination.HOLD, reason=text, policy="p")
    for said in (finding.message, report.reason, route.reason):
        assert len(said.splitlines()) <= 1
        assert len(said) <= 2000
        assert Fault.model_validate_json(Fault(owner=Owner.TASK, code="c", message=said).model_dump_json())
