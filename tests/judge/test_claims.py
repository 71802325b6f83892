"""Claims are told apart from code."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.judge.claims import Claim, separate_claims

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


@pytest.mark.parametrize("code", ["'''open", "(", "a)", "a = 'x"])
def test_what_is_no_python_is_left_whole(code: str) -> None:
    assert separate_claims(code) is None


def test_deep_nesting_does_no_harm() -> None:
    separate_claims("(" * 100_000 + ")" * 100_000)
    separate_claims("a = " + "-" * 100_000 + "1")


@pytest.mark.parametrize(
    ("code", "lines", "claims"),
    [
        ("def f(): 'doc'", ["def f():"], ["'doc'"]),
        ("class A: 'doc'; x = 1", ["class A: ; x = 1"], ["'doc'"]),
        ("if a[1:2]: 'said'\nelse: 'more'", ["if a[1:2]:", "else:"], ["'said'", "'more'"]),
        ("f = lambda: 'value'", ["f = lambda: 'value'"], []),
        ("else: f = lambda: 'value'", ["else: f = lambda: 'value'"], []),
        ("if x := 'value': pass", ["if x := 'value': pass"], []),
        ("x: 'annotation' = 'value'", ["x: 'annotation' = 'value'"], []),
        ("f('argument')\n['item']", ["f('argument')", "['item']"], []),
        ("x = [  # why\n  'a',  # b\n]", ["x = [", "  'a',", "]"], ["# why", "# b"]),
        ("x = 1; 'said'; y = 2", ["x = 1; ; y = 2"], ["'said'"]),
        ("'said' \\\n  'more'", [" \\", ""], ["'said'", "'more'"]),
        ("'a'.join(x)", ["'a'.join(x)"], []),
        ("return 'value'", ["return 'value'"], []),
        ("'said' 'also'  # and this", [""], ["'said'", "'also'", "# and this"]),
    ],
)
def test_a_string_is_a_claim_only_where_it_is_a_statement(
    code: str, lines: list[str], claims: list[str]
) -> None:
    assert separate_claims(code) == (lines, [Claim(*said) for said in number(code, claims)])


def number(code: str, claims: list[str]) -> list[tuple[int, str]]:
    return [(code[: code.index(claim)].count("\n") + 1, claim) for claim in claims]


@given(
    st.lists(
        st.sampled_from(
            [
                "'a'",
                '"""b\nc"""',
                "# d",
                "\n",
                ";",
                ":",
                "x",
                "=",
                " ",
                "    ",
                "(",
                ")",
                "def f()",
                "if",
                "\\\n",
            ]
        ),
        max_size=20,
    ).map("".join)
)
def test_nothing_is_lost_between_code_and_claims_and_lines_keep_their_numbers(code: str) -> None:
    separated = separate_claims(code)
    if separated is None:
        return
    lines, claims = separated
    assert len(lines) == code.count("\n") + 1
    said = "".join(claim.text for claim in claims)
    assert sorted("".join("".join((*lines, said)).split())) == sorted("".join(code.split()))
    for claim in claims:
        assert claim.text.split("\n")[0] in code.split("\n")[claim.line - 1]
