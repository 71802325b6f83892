"""A published version is never edited."""

import hashlib
from pathlib import Path

import pytest

from pipeline.library.errors import LibraryError
from pipeline.library.lock import (
    Change,
    list_versions,
    lock_new_versions,
    read_changes,
    read_lock,
    read_locked,
    verify_lock,
)
from pipeline.library.roots import prompts_root, rubrics_root
from pipeline.types import Owner


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "greeting").mkdir()
    for version in ("v1", "v2", "v10"):
        (tmp_path / "greeting" / f"{version}.md").write_text(f"hello {version}")
    lock_new_versions(tmp_path, ".md")
    return tmp_path


@pytest.mark.parametrize(("root", "suffix"), [(rubrics_root(), ".toml"), (prompts_root(), ".md")], ids=str)
def test_every_published_version_of_this_repository_is_unchanged(root: Path, suffix: str) -> None:
    verify_lock(root, suffix)
    on_disk = {(path.parent.name, path.stem) for path in root.glob(f"*/*{suffix}")}
    locked = {(name, version) for name, versions in read_lock(root).items() for version in versions}
    assert on_disk == locked


def test_the_lock_holds_the_sha256_of_each_version(root: Path) -> None:
    assert read_lock(root)["greeting"]["v2"] == hashlib.sha256(b"hello v2").hexdigest()


def test_versions_are_ordered_by_number_and_the_newest_is_the_default(root: Path) -> None:
    assert list_versions(root, "greeting") == ["v1", "v2", "v10"]
    assert read_locked(root, "greeting", None, ".md")[:2] == ("v10", "hello v10")
    assert read_locked(root, "greeting", "v1", ".md")[:2] == ("v1", "hello v1")


def test_an_edited_version_is_refused_by_name_and_is_the_graders_fault(root: Path) -> None:
    (root / "greeting" / "v2.md").write_text("hello v2!")
    with pytest.raises(LibraryError, match="greeting v2 is published and was edited since") as refusal:
        read_locked(root, "greeting", "v2", ".md")
    assert refusal.value.fault.owner is Owner.GRADER
    assert refusal.value.fault.where.endswith("greeting/v2.md")
    assert "next version" in refusal.value.fault.remedy
    with pytest.raises(LibraryError, match="greeting v2"):
        verify_lock(root, ".md")


def test_locking_adds_new_versions_and_changes_no_line(root: Path) -> None:
    before = (root / "lock.toml").read_text()
    assert lock_new_versions(root, ".md") == []
    assert (root / "lock.toml").read_text() == before
    (root / "greeting" / "v11.md").write_text("hello v11")
    assert lock_new_versions(root, ".md") == ["greeting/v11"]
    assert set(before.splitlines()) < set((root / "lock.toml").read_text().splitlines())


def test_a_lock_that_says_nothing_of_changes_still_holds(root: Path) -> None:
    assert "change" not in (root / "lock.toml").read_text()
    verify_lock(root, ".md")
    assert read_changes(root) == {"greeting": {}}


def test_what_a_new_version_changes_is_kept_beside_its_sha256_and_read_again(root: Path) -> None:
    (root / "greeting" / "v11.md").write_text("hello v11")
    lock_new_versions(root, ".md", lambda name, version, earlier, text: Change(earlier[-1], "editorial"))
    sha256 = hashlib.sha256(b"hello v11").hexdigest()
    entry = f'v11 = {{ sha256 = "{sha256}", after = "v10", change = "editorial" }}'
    assert entry in (root / "lock.toml").read_text().splitlines()
    assert read_changes(root) == {"greeting": {"v11": Change("v10", "editorial")}}
    assert read_lock(root)["greeting"]["v11"] == sha256
    verify_lock(root, ".md")
    assert lock_new_versions(root, ".md") == []
    (root / "greeting" / "v11.md").write_text("hello v12")
    with pytest.raises(LibraryError, match="greeting v11"):
        verify_lock(root, ".md")


def test_locking_adds_nothing_while_a_published_version_is_edited(root: Path) -> None:
    before = (root / "lock.toml").read_text()
    (root / "greeting" / "v1.md").write_text("bye")
    (root / "greeting" / "v11.md").write_text("hello v11")
    with pytest.raises(LibraryError, match="greeting v1"):
        lock_new_versions(root, ".md")
    assert (root / "lock.toml").read_text() == before


def test_a_missing_version_is_refused_by_name(root: Path) -> None:
    (root / "greeting" / "v1.md").unlink()
    with pytest.raises(LibraryError, match=r"greeting/v1\.md: cannot be read"):
        verify_lock(root, ".md")


def test_an_unpublished_version_cannot_be_loaded(root: Path) -> None:
    (root / "greeting" / "v11.md").write_text("draft")
    with pytest.raises(LibraryError, match=r"no published version 'v11'.*make lock"):
        read_locked(root, "greeting", "v11", ".md")


@pytest.mark.parametrize("version", ["v3", "../v1", "1", ""])
def test_an_unknown_version_is_refused_with_the_known_ones(root: Path, version: str) -> None:
    with pytest.raises(LibraryError, match=r"no published version.*v1, v2, v10"):
        read_locked(root, "greeting", version, ".md")


@pytest.mark.parametrize("name", ["nobody", "../greeting", ""])
def test_an_unknown_id_is_refused_with_the_known_ones(root: Path, name: str) -> None:
    with pytest.raises(LibraryError, match="known: greeting"):
        read_locked(root, name, None, ".md")


@pytest.mark.parametrize(
    "text",
    [
        "nonsense",
        "greeting = 1",
        "[greeting]\nfirst = 'x'",
        "[greeting]\nv1 = 1",
        "\xff",
        "[greeting]\nv1 = 'x'\nv2 = { sha256 = 'y', after = 'v1' }",
        "[greeting]\nv1 = 'x'\nv2 = { sha256 = 'y', after = 'v1', change = 'small' }",
        "[greeting]\nv1 = 'x'\nv2 = { sha256 = 'y', after = 'v1', change = 'semantic', by = 'me' }",
        "[greeting]\nv2 = { sha256 = 'y', after = 'v1', change = 'semantic' }",
        "[greeting]\nv3 = 'x'\nv2 = { sha256 = 'y', after = 'v3', change = 'editorial' }",
        "[greeting]\nv2 = { sha256 = 'y', after = 'v2', change = 'editorial' }",
    ],
)
def test_a_broken_lock_is_refused(root: Path, text: str) -> None:
    (root / "lock.toml").write_bytes(text.encode("latin-1"))
    with pytest.raises(LibraryError, match=r"lock\.toml"):
        read_lock(root)


def test_a_version_with_another_kind_of_name_is_refused(root: Path) -> None:
    (root / "greeting" / "v2b.md").write_text("x")
    with pytest.raises(LibraryError, match="a version is called v1, v2"):
        lock_new_versions(root, ".md")
