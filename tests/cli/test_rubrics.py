"""``rubrics``: versions with what they change, and a lead's signature under an editorial one."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.library.lock import Change
from pipeline.library.rubric_revisions import load_revision, lock_rubrics
from pipeline.review.rubric_succession import find_signature, rubric_root
from pipeline.store import open_store
from tests.cli.terminal import Ended, run
from tests.library.test_rubrics import TEXT


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A rubric whose second version has other words, and whose third asks for more."""
    folder = tmp_path / "rubrics"
    (folder / "r").mkdir(parents=True)
    second = TEXT.replace('version = "v1"', 'version = "v2"').replace("How good?", "How well made?")
    third = TEXT.replace('version = "v1"', 'version = "v3"').replace("pass_mark = 0.5", "pass_mark = 0.6")
    for version, text in (("v1", TEXT), ("v2", second), ("v3", third)):
        (folder / "r" / f"{version}.toml").write_text(text)
    lock_rubrics(folder, {("r", "v2"): Change("", "editorial"), ("r", "v3"): Change("", "semantic")})
    return folder


@pytest.fixture
def database(empty_database: Path, tmp_path: Path) -> Path:
    path = tmp_path / "grades.duckdb"
    path.write_bytes(empty_database.read_bytes())
    for name, role in (("dora", "lead"), ("anna", "reviewer")):
        assert run("accounts", "add", name, "--role", role, "--no-password", "--db", path).code == 0
    return path


def sign(root: Path, database: Path, rubric: str, lead: str = "dora", reason: str = "clearer") -> Ended:
    return run(
        *("rubrics", "sign", rubric, "--by", lead, "--reason", reason),
        *("--rubrics", root, "--db", database),
    )


def test_the_list_names_every_version_its_change_and_who_signed(root: Path, database: Path) -> None:
    def lines() -> list[list[str]]:
        ended = run("rubrics", "list", "--rubrics", root, "--db", database)
        assert ended.code == 0, ended.err
        return [line.split() for line in ended.out.splitlines()]

    assert lines() == [
        ["rubric", "version", "follows", "change", "signed"],
        ["r", "v1", "none", "first", "nothing", "to", "sign"],
        ["r", "v2", "v1", "editorial", "not", "yet"],
        ["r", "v3", "v2", "semantic", "nothing", "to", "sign"],
    ]
    assert sign(root, database, "r@v2").code == 0
    assert lines()[2][:6] == ["r", "v2", "v1", "editorial", "by", "dora"]
    listed = run("rubrics", "list", "--rubrics", root, "--db", database, "--json").data
    assert [(row["version"], row["after"], row["change"], bool(row["signed"])) for row in listed] == [
        ("v1", None, None, False),
        ("v2", "v1", "editorial", True),
        ("v3", "v2", "semantic", False),
    ]


def test_the_shipped_ones_are_listed_where_there_is_no_database(tmp_path: Path) -> None:
    ended = run("rubrics", "list", "--db", tmp_path / "none.duckdb")
    assert ended.code == 0, ended.err
    assert "numerical_correctness  v2       v1       semantic" in ended.out
    assert not (tmp_path / "none.duckdb").exists()


def test_show_says_what_changed_word_for_word_and_how_to_sign(root: Path, database: Path) -> None:
    shown = run("rubrics", "show", "r@v2", "--rubrics", root, "--db", database)
    assert shown.code == 0, shown.err
    assert "criteria.taste.question\n  - How good?\n  + How well made?\n" in shown.out
    assert (
        f"Nothing carries over until a lead signs: nki-grader rubrics sign r@v2 --by LEAD --rubrics {root}"
        f" --db {database}\n"
    ) in shown.out
    newest = run("rubrics", "show", "r", "--rubrics", root, "--db", database).out
    assert "overall.pass_mark (more than words)\n  - 0.5\n  + 0.6\n" in newest
    assert "sign" not in newest
    first = run("rubrics", "show", "r@v1", "--rubrics", root, "--json").data
    assert (first["version"], first["after"], first["differences"]) == ("v1", None, [])


def test_a_signature_is_kept_with_name_and_reason_and_connects_the_versions(
    root: Path, database: Path
) -> None:
    ended = sign(root, database, "r@v2")
    assert ended.code == 0, ended.err
    assert ended.out.splitlines()[-1] == "Signed: r v2 means what v1 means, says dora"
    revision = load_revision("r", "v2", root=root)
    with open_store(database) as store:
        signed = find_signature(store, revision)
        assert signed is not None
        assert (signed.lead, signed.reason) == ("dora", "clearer")
        assert rubric_root(store, revision.after.content_hash()) == revision.before.content_hash()
    shown = run("rubrics", "show", "r@v2", "--rubrics", root, "--db", database)
    assert f"Signed: by dora on {signed.at:%Y-%m-%d}: clearer" in shown.out


@pytest.mark.parametrize(
    ("rubric", "lead", "said"),
    [
        ("r@v3", "dora", "the change from v2 to r v3 is semantic: it carries nothing over"),
        ("r@v1", "dora", "r v1 is the first version and follows none"),
        ("r@v9", "dora", "r has no published version 'v9'"),
        ("q@v2", "dora", "holds no 'q' (known: r)"),
        ("r@2", "dora", "'2' is no version"),
        ("r", "dora", "say which version"),
        ("r@v2", "anna", "anna is a reviewer; only a lead signs"),
        ("r@v2", "nobody", "there is no account 'nobody'"),
    ],
)
def test_what_cannot_be_signed_is_refused_in_one_line(
    root: Path, database: Path, rubric: str, lead: str, said: str
) -> None:
    ended = sign(root, database, rubric, lead)
    assert ended.code == 2
    (line,) = ended.err.splitlines()
    assert line.startswith("error: ")
    assert said in line
    assert ended.out == ""


def test_a_reason_that_is_too_long_is_refused_in_one_line(root: Path, database: Path) -> None:
    ended = sign(root, database, "r@v2", reason="x" * 2001)
    assert (ended.code, ended.out) == (2, "")
    (line,) = ended.err.splitlines()
    assert line.startswith("error: the reason has 2001 characters; at most 2000 are kept")
    assert sign(root, database, "r@v2", reason="x" * 2000).code == 0


def test_a_second_signature_is_refused_and_names_the_first(root: Path, database: Path) -> None:
    assert sign(root, database, "r@v2").code == 0
    again = sign(root, database, "r@v2")
    assert again.code == 2
    assert "r v2 was signed already, by dora on" in again.err


def test_signing_makes_no_database(root: Path, tmp_path: Path) -> None:
    ended = sign(root, tmp_path / "none.duckdb", "r@v2")
    assert ended.code == 2
    assert "there is no database" in ended.err
