"""Comments and strings are found where Python's own tokenizer finds them."""

from __future__ import annotations

import io
import tokenize
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.judge import lexemes
from pipeline.judge.citations import split_lines
from pipeline.judge.lexemes import NotPython, scan

ROOT = Path(__file__).parents[2]
SOURCES = sorted((*ROOT.glob("pipeline/**/*.py"), *ROOT.glob("data/tasks/*/solutions/*.py")))


def find(text: str) -> list[str]:
    return [text[start:end] for kind, start, end in scan(text) if kind in ("comment", "string", "template")]


def find_by_python(text: str) -> list[str]:
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return [token.string for token in tokens if token.type in (tokenize.COMMENT, tokenize.STRING)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("x = 'a' # b", ["'a'", "# b"]),
        ("'# no comment'", ["'# no comment'"]),
        ("# 'no string'", ["# 'no string'"]),
        (r"'\'' '\\' # c", [r"'\''", r"'\\'", "# c"]),
        (r"r'\' # x'", [r"r'\' # x'"]),
        ("'''a'b''c\n# d''' '' \"\"", ["'''a'b''c\n# d'''", "''", '""']),
        ("'a\\\nb' # c", ["'a\\\nb'", "# c"]),
        ("Rb'x' bR'y' u'z' fr'w'", ["Rb'x'", "bR'y'", "u'z'", "fr'w'"]),
        ("bar'x' or'y'", ["'x'", "'y'"]),
    ],
)
def test_comments_and_strings_are_cut_out_whole(text: str, found: list[str]) -> None:
    assert find(text) == found


@pytest.mark.parametrize("text", ["'", "'a\nb'", '"""open', "'''a''", "x = 'a\\'"])
def test_a_string_without_an_end_is_not_python(text: str) -> None:
    with pytest.raises(NotPython):
        find(text)


@pytest.mark.parametrize("path", SOURCES[::4], ids=lambda path: str(path.relative_to(ROOT)))
def test_every_source_file_is_cut_as_pythons_tokenizer_cuts_it(path: Path) -> None:
    text = "\n".join(split_lines(path.read_text(encoding="utf-8")))
    assert "".join(find(text)) == "".join(find_by_python(text))


QUOTES = ("'", '"', "'''", '"""', "\\'", "f'", 'rb"', "u'", "b", "fr", "r")
OTHERS = (
    "\\",
    "\\\n",
    "#",
    ";",
    ":",
    ":=",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "=",
    "x",
    "1",
    "lambda",
    "if",
    "def",
    "é",
)
SPACES = ("\n", " ", "\t", "\f")


@given(st.lists(st.sampled_from(QUOTES + OTHERS + SPACES), max_size=14).map("".join))
def test_whatever_python_compiles_is_cut_as_its_tokenizer_cuts_it(text: str) -> None:
    try:
        compile(text, "kernel.py", "exec")
    except (SyntaxError, ValueError):
        return
    assert find(text) == find_by_python(text)


@pytest.mark.parametrize("text", ["f\"{g('#')}\"", "rf'{a[\"k\"]}'", 'F"""{x#c\n}"""', "t'{\"\"}'"])
def test_where_strings_may_nest_their_end_is_left_to_a_parser(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lexemes, "_NESTED_QUOTES", True)
    with pytest.raises(NotPython):
        find(text)


@pytest.mark.parametrize("text", ["f'{x}'", "b'{\"'", "'{\"#'", 'f"a # b"', 'f"""{x}"""'])
def test_strings_that_cannot_nest_are_found_on_every_python(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lexemes, "_NESTED_QUOTES", True)
    assert find(text) == [text]
