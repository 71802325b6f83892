"""What a hostile author can hide from a judge, or make it pass on."""

from __future__ import annotations

import pytest

from pipeline.judge.claims import separate_claims
from pipeline.judge.privacy import redact_code


@pytest.mark.parametrize(
    "statement",
    [
        'f"{nisa.dma_copy(dst=out, src=x)}"',
        "F'''a\n{work()}'''",
        "rf'{work()}'",
        'fR"{work()}" "and"',
        '"first" f"{work()}"',
        't"{work()}"',
    ],
)
def test_code_that_runs_inside_a_free_standing_string_is_shown_as_code(statement: str) -> None:
    separated = separate_claims(f"def kernel(x):\n    {statement}\n    return x")
    assert separated is not None
    shown, claims = separated
    assert "\n".join(shown) == f"def kernel(x):\n    {statement}\n    return x"
    assert claims == []


@pytest.mark.parametrize("statement", ['"{work()}"', 'b"{work()}"', 'f"work()"', "'''a {b}'''"])
def test_a_free_standing_string_without_fields_is_a_claim(statement: str) -> None:
    separated = separate_claims(f"def kernel(x):\n    {statement}\n    return x")
    assert separated is not None
    assert [claim.text for claim in separated[1]] == [statement]


@pytest.mark.parametrize(
    "code",
    [
        '__author__ = (\n    "Jane Doe"\n)',
        '__authors__ = [\n    "Jane Doe",\n    # also\n    "John Roe",\n]',
        '__author__ = f"Jane Doe {year}"',
        "__credits__ = {\n  'a': ('Jane Doe',\n  'John Roe')}",
    ],
)
def test_no_author_leaves_over_several_lines(code: str) -> None:
    sent = redact_code(f"{code}\nx = 'Jane stays outside'")
    assert "Doe" not in sent
    assert "Roe" not in sent
    assert "Jane stays outside" in sent
    assert sent.count("\n") == code.count("\n") + 1
