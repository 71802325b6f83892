from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from pipeline.cli.render import Cell, Screen, level_bar, print_json, say_command, show_overall


def test_a_plain_table_is_one_line_a_row_with_columns_two_spaces_apart(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Screen(plain=True).table(
        ["name", "verdict"], [["a", Cell("correct", "green")], ["long name", "two\nlines"]]
    )
    assert capsys.readouterr().out == ("name       verdict\na          correct\nlong name  two lines\n")


@pytest.mark.parametrize("plain", [True, False])
def test_control_characters_of_submissions_never_reach_the_terminal(
    plain: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    screen = Screen(plain=plain)
    attack = "\x1b]0;owned\x07\u202e"
    screen.line(attack)
    screen.fields({"name": attack})
    screen.table(["name"], [[attack]])
    screen.code(attack, [1])
    out = capsys.readouterr().out
    assert out.count("␛]0;owned␇⟦U+202E⟧") == 4
    assert "\x1b" not in out
    assert "\u202e" not in out


@pytest.mark.parametrize("rich", ["[bold]x[/bold]", ":smile:", "[link=http://x]y[/link]"])
def test_markup_in_submitted_text_is_text_on_a_styled_terminal_too(
    rich: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    Screen().line(rich)
    assert rich in capsys.readouterr().out


def test_code_is_shown_around_cited_lines_with_gaps_marked(capsys: pytest.CaptureFixture[str]) -> None:
    code = "\n".join(f"line {number}" for number in range(1, 13))
    Screen(plain=True).code(code, [2, 11, 99], context=1)
    assert capsys.readouterr().out.splitlines() == [
        "   1 │ line 1",
        ">  2 │ line 2",
        "   3 │ line 3",
        "     ⋮",
        "  10 │ line 10",
        "> 11 │ line 11",
        "  12 │ line 12",
    ]


def test_an_unscored_level_is_no_zero() -> None:
    assert level_bar(None) == "unscored"
    assert level_bar(0) == "○○○○ 0/4"
    assert level_bar(3) == "●●●○ 3/4"


def test_a_grade_below_a_pass_mark_never_reads_as_the_mark() -> None:
    assert show_overall(0.596154, False).text == "0.59 fail"
    assert show_overall(0.999999, True).text == "0.99 pass"
    # 0.29 * 100 is 28.999999999999996 in binary.
    assert show_overall(0.29, False).text == "0.29 fail"


def test_a_hint_calls_the_program_as_it_was_called(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None)
    monkeypatch.setattr("sys.argv", ["some where/nki-grader", "grade"])
    said = say_command("show ID", Path("my grades.duckdb"))
    assert said == "'some where/nki-grader' show ID --db 'my grades.duckdb'"
    monkeypatch.setattr("shutil.which", lambda name: "/bin/nki-grader")
    monkeypatch.setattr("sys.argv", ["/bin/nki-grader", "grade"])
    assert say_command("show ID", Path("nki-grader.duckdb")) == "nki-grader show ID"


def test_a_narrow_terminal_has_prose_below_its_row_and_ids_whole(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    Screen().table(
        ["id", "submission", "reason"],
        [["g-0123456789", "a_very_long_name_of_a_submission.py", "a sentence that is longer than the rest"]],
    )
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    # 40 columns less 12 of the id and 2 between leave 26.
    assert lines[-4:] == [
        "g-0123456789  a_very_long_name_of_a_subm",
        "              ission.py",
        "  a sentence that is longer than the",
        "  rest",
    ]


def test_an_overall_grade_without_a_number_is_a_dash() -> None:
    assert show_overall(None, None).text == "—"
    assert show_overall(0.5, False).text == "0.50 fail"
    assert show_overall(0.826, True).text == "0.82 pass"


def test_json_has_no_special_floats(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"a": [math.nan, math.inf, -math.inf, 1.5], "b": ("é", None)})
    out = capsys.readouterr().out
    assert out.isascii()
    assert json.loads(out, parse_constant=pytest.fail) == {
        "a": ["NaN", "Infinity", "-Infinity", 1.5],
        "b": ["é", None],
    }
