"""What a sandbox shows, and what it leaves out of what it shows."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.execute.sandbox import Level, Limits
from pipeline.execute.sandbox.process import Zygote
from pipeline.execute.sandbox.view import describe_view
from pipeline.execute.sandbox.watch import BoundedLog

ATTACKS = Path(__file__).parent / "attacks"
REPOSITORY = Path(__file__).parents[3]


def test_view_holds_the_interpreter_and_nothing_of_the_repository_but_the_package():
    view = describe_view()
    assert view.interpreter.exists()
    assert not view.interpreter.is_symlink()
    inside = [path for path in view.readable if path.is_relative_to(REPOSITORY)]
    assert all("pipeline" in path.parts or path.name.endswith("-packages") for path in inside)


def test_nothing_is_listed_twice():
    readable = describe_view((ATTACKS, ATTACKS)).readable
    assert not [(a, b) for a in readable for b in readable if a != b and a.is_relative_to(b)]


def test_added_paths_come_first():
    assert describe_view((ATTACKS,)).import_paths[0] == ATTACKS.resolve()


def test_hash_seed_is_fixed_so_that_sets_iterate_alike(sandbox, level):
    again = Zygote(level, describe_view((ATTACKS,)), ("attacks",))
    try:
        other = json.loads(again.run("attacks:describe", b"[]", Limits()).reply)["hash"]
    finally:
        again.stop()
    assert json.loads(sandbox.run("attacks:describe", b"[]", Limits()).reply)["hash"] == other


def test_hidden_folder_inside_a_readable_one_cannot_be_read(level, open_folder):
    if level is Level.LIMITS:
        pytest.skip("limits alone do not hide files; such results go to a person")
    shown, hidden = open_folder / "package" / "code.py", open_folder / "package" / "bundle" / "reference.py"
    hidden.parent.mkdir(parents=True)
    shown.write_text("shown")
    hidden.write_text("secret")
    view = describe_view((ATTACKS, open_folder))
    zygote = Zygote(level, replace(view, hidden=(hidden.parent,)), ("attacks",))
    try:
        outcome = zygote.run("attacks:read_each", json.dumps([str(shown), str(hidden)]).encode(), Limits())
    finally:
        zygote.stop()
    contents = json.loads(outcome.reply)
    assert contents[0] == "shown"
    assert contents[1] in ("FileNotFoundError", "PermissionError")


def test_a_short_log_is_kept_whole():
    log = BoundedLog(10)
    for part in (b"abc", b"defg", b"hij"):
        log.append(part)
    assert log.text() == "abcdefghij"


def test_a_long_log_loses_its_middle():
    log = BoundedLog(4)
    for part in (b"a", b"bcdefgh", b"ij"):
        log.append(part)
    assert log.text() == "ab\n[... 6 bytes not kept ...]\nij"


def test_the_standard_library_is_inside_the_view():
    library = Path(sys.base_prefix).resolve() / "lib"
    assert any(library.is_relative_to(path) for path in describe_view().readable)
