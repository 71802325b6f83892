"""Claims are told apart from code."""

import pytest

from pipeline.judge.claims import separate_claims

CODE = '''"""Fast.

Really."""
x = 1  # one
def f():
    'doc'; y = "# kept"
    """a""" "b"
    z = f"{y}"
    # alone
    return """kept
too"""
'''


def test_comments_and_free_standing_strings_are_taken_out_and_lines_keep_their_numbers() -> None:
    separated = separate_claims(CODE)
    assert separated is not None
    lines, claims = separated
    assert lines == [
        "",
        "",
        "",
        "x = 1",
        "def f():",
        '    ; y = "# kept"',
        "",
        '    z = f"{y}"',
        "",
        '    return """kept',
        'too"""',
        "",
    ]
    assert [(claim.line, claim.text) for claim in claims] == [
        (1, '"""Fast.\n\nReally."""'),
        (4, "# one"),
        (6, "'doc'"),
        (7, '"""a"""'),
        (7, '"b"'),
        (9, "# alone"),
    ]


def test_code_that_says_nothing_about_itself_is_unchanged() -> None:
    assert separate_claims("a = 1\nb = 2") == (["a = 1", "b = 2"], [])
    assert separate_claims("") == ([""], [])


@pytest.mark.parametrize("code", ["'''open", "(", "  a\n b", "a = 'x"])
def test_what_is_no_python_is_left_whole(code: str) -> None:
    assert separate_claims(code) is None


def test_deep_nesting_does_no_harm() -> None:
    separate_claims("(" * 100_000 + ")" * 100_000)
    separate_claims("a = " + "-" * 100_000 + "1")
