"""What a version changes is said when it is locked, and an editorial change touches words alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.library.errors import LibraryError
from pipeline.library.lock import Change, read_changes, read_lock
from pipeline.library.rubric_revisions import (
    compare_rubrics,
    describe_differences,
    find_revision,
    list_revisions,
    load_revision,
    lock_rubrics,
    read_statements,
)
from pipeline.library.rubrics import parse_rubric
from tests.library.test_rubrics import TEXT

V2 = TEXT.replace('version = "v1"', 'version = "v2"')
V3 = TEXT.replace('version = "v1"', 'version = "v3"')
EDITORIAL, SEMANTIC = Change("", "editorial"), Change("", "semantic")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / "v1.toml").write_text(TEXT)
    assert lock_rubrics(tmp_path, {}) == ["r/v1"]
    return tmp_path


def test_every_shipped_version_after_the_first_says_what_it_changes_and_editorial_ones_hold_to_it() -> None:
    kinds = {(one.after.id, one.after.version): one.kind for one in list_revisions()}
    assert None not in kinds.values()
    # Both moved the steps of their scales: from a tenth, a quarter and a half to higher shares.
    assert kinds["migration_fidelity", "v2"] == kinds["numerical_correctness", "v2"] == "semantic"
    for revision in list_revisions():
        if revision.kind == "editorial":
            revision.require_editorial()


def test_a_new_version_of_which_nobody_says_what_it_changes_is_not_locked(root: Path) -> None:
    (root / "r" / "v2.toml").write_text(V2.replace("How fast?", "How quick?"))
    shown: list[str] = []
    with pytest.raises(LibraryError, match=r"nobody says whether r v2 .* v1 .*make lock SEMANTIC=r@v2"):
        lock_rubrics(root, {}, shown.append)
    assert shown == ["r v2 beside v1:", "criteria.speed.question", "  - How fast?", "  + How quick?"]
    assert "v2" not in read_lock(root)["r"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('title = "R"', 'title = "R anew"'),
        ("To test.", "To try."),
        ('title = "Speed"', 'title = "Pace"'),
        ("How good?", "How well made?"),
        ('3 = "three"', '3 = "nearly four"'),
        ("", ""),
    ],
)
def test_a_change_of_words_can_be_editorial(root: Path, old: str, new: str) -> None:
    (root / "r" / "v2.toml").write_text(V2.replace(old, new, 1))
    assert lock_rubrics(root, {("r", "v2"): EDITORIAL}) == ["r/v2"]
    assert read_changes(root)["r"] == {"v2": Change("v1", "editorial")}
    load_revision("r", "v2", root=root).require_editorial()


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ('id = "taste"', 'id = "style"', "criteria from speed, taste to speed, style"),
        ("weight = 2", "weight = 3", "criteria.speed.weight from 2.0 to 3.0"),
        ('source = "judge"', 'source = "check:correct"', "criteria.taste.source"),
        ('evidence = ["code"]', 'evidence = ["code", "source"]', "criteria.taste.evidence"),
        ("2 = 3, 1 = 4 }", "2 = 3, 1 = 5 }", "criteria.speed.scale.steps.1 from 4.0 to 5.0"),
        ('direction = "at_most"\nsteps = { 4 = 1, 3 = 2, 2 = 3, 1 = 4 }',
         'direction = "at_least"\nsteps = { 4 = 4, 3 = 3, 2 = 2, 1 = 1 }', "criteria.speed.scale.direction"),
        ('gates = ["correct"]', 'gates = ["correct", "legal"]', "gates from correct to correct, legal"),
        ("pass_mark = 0.5", "pass_mark = 0.6", "overall.pass_mark from 0.5 to 0.6"),
        ("minimum_scored_weight = 0.5", "minimum_scored_weight = 0.6", "overall.minimum_scored_weight"),
        ("[criteria.scale]\nfact = \"profile.hbm_traffic_ratio\"\ndirection = \"at_most\"\n"
         "steps = { 4 = 1, 3 = 2, 2 = 3, 1 = 4 }\n", "", "criteria.speed.scale.fact"),
    ],
)  # fmt: skip
def test_a_change_of_more_than_words_is_refused_as_editorial_by_its_key_and_locked_as_semantic(
    root: Path, old: str, new: str, key: str
) -> None:
    assert old in V2
    (root / "r" / "v2.toml").write_text(V2.replace(old, new, 1))
    with pytest.raises(LibraryError) as refusal:
        lock_rubrics(root, {("r", "v2"): EDITORIAL})
    assert "r v2 is no editorial change" in str(refusal.value)
    assert key in str(refusal.value)
    assert "v2" not in read_lock(root)["r"]
    assert lock_rubrics(root, {("r", "v2"): SEMANTIC}) == ["r/v2"]
    with pytest.raises(LibraryError, match="is semantic: it carries nothing over"):
        load_revision("r", "v2", root=root).require_editorial()


def test_another_order_of_criteria_is_more_than_words() -> None:
    rubric = parse_rubric(TEXT, id="r", version="v1", where="r")
    turned = rubric.model_copy(update={"criteria": rubric.criteria[::-1]})
    (one,) = compare_rubrics(rubric, turned)
    assert (one.key, one.before, one.after, one.is_words) == (
        "criteria",
        "speed, taste",
        "taste, speed",
        False,
    )
    assert describe_differences([one]) == [
        "criteria (more than words)",
        "  - speed, taste",
        "  + taste, speed",
    ]


def test_a_version_can_follow_an_older_one_than_the_last(root: Path) -> None:
    (root / "r" / "v2.toml").write_text(V2.replace("weight = 2", "weight = 3"))
    (root / "r" / "v3.toml").write_text(V3.replace("How fast?", "How quick?"))
    said = read_statements(editorial=["r@v1..v3"], semantic=["r@v2"])
    assert lock_rubrics(root, said) == ["r/v2", "r/v3"]
    assert load_revision("r", "v3", root=root).before.version == "v1"
    load_revision("r", "v3", root=root).require_editorial()


def test_a_version_that_was_locked_before_locks_said_so_carries_nothing_over(root: Path) -> None:
    (root / "r" / "v2.toml").write_text(V2)
    lock_rubrics(root, {("r", "v2"): SEMANTIC})
    lock = root / "lock.toml"
    sha256 = read_lock(root)["r"]["v2"]
    first = lock.read_text().partition("v2 =")[0]
    lock.write_text(f'{first}v2 = "{sha256}"\n')
    revision = load_revision("r", "v2", root=root)
    assert (revision.before.version, revision.kind) == ("v1", None)
    with pytest.raises(LibraryError, match="without saying what it changes"):
        revision.require_editorial()


def test_the_first_version_follows_none(root: Path) -> None:
    assert find_revision("r", "v1", root=root) is None
    with pytest.raises(LibraryError, match="r v1 is the first version and follows none"):
        load_revision("r", "v1", root=root)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({("r", "v1"): EDITORIAL}, "r v1 is published"),
        ({("r", "v9"): EDITORIAL}, r"holds no r/v9\.toml"),
        ({("r", "v2"): Change("v9", "editorial")}, r"said to follow v9 \(it can follow v1\)"),
        ({("r", "v2"): Change("v2", "editorial")}, "said to follow v2"),
        ({("s", "v1"): SEMANTIC}, r"holds no s/v1\.toml"),
    ],
    ids=str,
)
def test_what_is_said_of_no_new_version_is_refused(
    root: Path, changes: dict[tuple[str, str], Change], said: str
) -> None:
    (root / "r" / "v2.toml").write_text(V2)
    with pytest.raises(LibraryError, match=said):
        lock_rubrics(root, changes)
    assert list(read_lock(root)["r"]) == ["v1"]


@pytest.mark.parametrize("text", ["r", "r@2", "r@v0", "r@v1..", "R@v2", "r@v1...v2", "r@v2;rm", ""])
def test_a_statement_that_names_no_version_is_refused(text: str) -> None:
    with pytest.raises(LibraryError, match="names no version of a rubric"):
        read_statements(editorial=[], semantic=[text])


def test_two_statements_of_one_version_are_refused() -> None:
    with pytest.raises(LibraryError, match="two things are said of r v2"):
        read_statements(editorial=["r@v2"], semantic=["r@v2"])


def test_the_lock_command_shows_the_change_refuses_silence_and_takes_a_word(root: Path) -> None:
    (root / "r" / "v2.toml").write_text(V2.replace("weight = 2", "weight = 3"))

    def lock(*options: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "pipeline.library.lock", "--rubrics", str(root), *options]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    silent = lock()
    assert silent.returncode == 1
    assert silent.stdout.splitlines() == [
        "r v2 beside v1:",
        "criteria.speed.weight (more than words)",
        "  - 2.0",
        "  + 3.0",
    ]
    (line,) = silent.stderr.splitlines()
    assert line.startswith("error: nobody says whether r v2 changes the meaning of v1")
    assert "is no editorial change" in lock("--editorial", "r@v2").stderr
    assert lock("--semantic", "r@v2").stdout.splitlines()[-1].endswith(": r/v2")
    assert read_changes(root)["r"] == {"v2": Change("v1", "semantic")}
    text = V2.replace('version = "v2"', 'version = "v3"').replace(
        'title = "', 'title = "\\u001b[2J\\u202e', 1
    )
    (root / "r" / "v3.toml").write_text(text)
    hostile = lock("--semantic", "r@v3")
    assert hostile.returncode == 0, hostile.stderr
    assert "␛[2J⟦U+202E⟧" in hostile.stdout
    assert not {"\x1b", "\u202e"} & set(hostile.stdout)
    missing = lock("--rubrics", str(root / "missing"))
    assert missing.returncode == 2
    assert missing.stderr.endswith("missing is no folder\n")
