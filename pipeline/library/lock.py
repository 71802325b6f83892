"""The lock: SHA-256 of every published version, so that none is ever edited.

A root folder (``rubrics/`` or ``prompts/``) holds one folder per id with one file per version, ``v1.toml`` or
``v1.md``, and ``lock.toml`` with a table per id. ``python -m pipeline.library.lock`` adds versions that are
new; it never changes a line. A version that must still change is not in the lock yet, and cannot be loaded.

A version is its SHA-256, or a table that also says which version it follows and how it changes that::

    v1 = "566687f5..."
    v2 = { sha256 = "39258ae2...", after = "v1", change = "semantic" }
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from pipeline.library.errors import LibraryError
from pipeline.types import Fault, Owner

__all__ = [
    "Change",
    "Describe",
    "Kind",
    "list_versions",
    "lock_new_versions",
    "read_changes",
    "read_lock",
    "read_locked",
    "verify_lock",
]

_LOCK = "lock.toml"
_VERSION = re.compile(r"v([1-9][0-9]*)")
_HEADER = (
    "# SHA-256 of every published version. A published version is never edited: write the next one.\n"
    "# `make lock` adds new versions.\n"
)

#: ``editorial``: other words, the same meaning. ``semantic``: what was said under the version before is void.
Kind = Literal["editorial", "semantic"]


class Change(NamedTuple):
    """What a version is to an earlier one."""

    after: str
    """The earlier version."""
    kind: Kind


class _Entry(NamedTuple):
    sha256: str
    change: Change | None


Describe: TypeAlias = Callable[[str, str, Sequence[str], str], Change | None]
"""Says what a new version changes, or refuses it: given its id, itself, the versions before it, its text."""


def read_lock(root: Path) -> dict[str, dict[str, str]]:
    """Return the SHA-256 per id and version in the lock of `root`; empty when there is no lock yet.

    Raises:
        LibraryError: If the lock is no such table.
    """
    return {
        name: {version: entry.sha256 for version, entry in versions.items()}
        for name, versions in _read_entries(root).items()
    }


def read_changes(root: Path) -> dict[str, dict[str, Change]]:
    """Return what versions change, per id and version, as far as the lock of `root` says so.

    Raises:
        LibraryError: If the lock is no such table.
    """
    return {
        name: {version: entry.change for version, entry in versions.items() if entry.change is not None}
        for name, versions in _read_entries(root).items()
    }


def _read_entries(root: Path) -> dict[str, dict[str, _Entry]]:
    path = root / _LOCK
    if not path.exists():
        return {}
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise _refuse(
            "broken_lock", f"is no TOML: {error}", path, "restore it from version control"
        ) from None
    entries: dict[str, dict[str, _Entry]] = {}
    for name, versions in content.items():
        read = _read_versions(versions) if isinstance(versions, dict) else None
        if read is None:
            raise _refuse(
                "broken_lock",
                f"[{name}] must map versions such as v1 to a SHA-256, with or without what they change",
                path,
                "restore it from version control",
            )
        entries[name] = read
    return entries


def _read_versions(versions: dict[str, Any]) -> dict[str, _Entry] | None:
    """Return the entries of one table of the lock, or None if it is no such table."""
    read: dict[str, _Entry] = {}
    for version, said in versions.items():
        match said:
            case str(sha256):
                read[version] = _Entry(sha256, None)
            case {
                "sha256": str(sha256),
                "after": str(after),
                "change": ("editorial" | "semantic") as kind,
                **rest,
            } if not rest and after in versions:
                read[version] = _Entry(sha256, Change(after, kind))
            case _:
                return None
    if not all(map(_VERSION.fullmatch, read)):
        return None
    follows = all(
        entry.change is None or _number(entry.change.after) < _number(version)
        for version, entry in read.items()
    )
    return read if follows else None


def list_versions(root: Path, name: str) -> list[str]:
    """Return the locked versions of `name`, oldest first.

    Raises:
        LibraryError: If nothing called `name` is locked; the message lists what is.
    """
    lock = read_lock(root)
    if not lock.get(name):
        known = ", ".join(sorted(lock)) or "none"
        raise _refuse("unknown_id", f"{root.name} holds no {name!r}", root, f"known: {known}")
    return sorted(lock[name], key=_number)


def read_locked(root: Path, name: str, version: str | None, suffix: str) -> tuple[str, str, Path]:
    """Return the version (the newest locked one when None is asked for), the text and the path of a document.

    Raises:
        LibraryError: If the id or version is unknown or not locked, or its text is not the published one.
    """
    versions = list_versions(root, name)
    chosen = versions[-1] if version is None else version
    path = root / name / f"{chosen}{suffix}"
    if chosen not in versions:
        remedy = f"published: {', '.join(versions)}"
        if path.exists():
            remedy += "; `make lock` publishes new versions"
        raise _refuse("unknown_version", f"{name} has no published version {chosen!r}", root, remedy)
    data = _read(path)
    _compare(path, data, read_lock(root)[name][chosen])
    return chosen, data.decode("utf-8"), path


def verify_lock(root: Path, suffix: str) -> None:
    """Check that every published version is there and unchanged.

    Raises:
        LibraryError: Naming the first version that is missing or was edited.
    """
    for name, versions in read_lock(root).items():
        for version, digest in versions.items():
            path = root / name / f"{version}{suffix}"
            _compare(path, _read(path), digest)


def lock_new_versions(root: Path, suffix: str, describe: Describe | None = None) -> list[str]:
    """Add every version that is not locked yet, and return them as ``id/version``.

    Args:
        root: Folder with one folder per id.
        suffix: How files of versions end, such as ``.toml``.
        describe: Says what each new version changes; None where nothing is to be said.

    Raises:
        LibraryError: If a published version was edited or removed, or `describe` refuses one; then nothing
            is added.
    """
    verify_lock(root, suffix)
    lock = _read_entries(root)
    added: list[str] = []
    for path, name, version in _find_new(root, suffix, lock):
        data = _read(path)
        earlier = [known for known in _order(lock.get(name, {})) if _number(known) < _number(version)]
        change = describe(name, version, earlier, data.decode("utf-8")) if describe is not None else None
        lock.setdefault(name, {})[version] = _Entry(hashlib.sha256(data).hexdigest(), change)
        added.append(f"{name}/{version}")
    if added:
        tables = (
            f"[{name}]\n"
            + "".join(_write_entry(version, lock[name][version]) for version in _order(lock[name]))
            for name in sorted(lock)
        )
        (root / _LOCK).write_text(_HEADER + "\n" + "\n".join(tables), encoding="utf-8")
    return added


def _find_new(root: Path, suffix: str, lock: dict[str, dict[str, _Entry]]) -> list[tuple[Path, str, str]]:
    """Return what is not locked, by id and then oldest first."""
    new = []
    for path in root.glob(f"*/v*{suffix}"):
        name, version = path.parent.name, path.name.removesuffix(suffix)
        if not _VERSION.fullmatch(version):
            raise _refuse("bad_version", "a version is called v1, v2, ...", path, "rename the file")
        if version not in lock.get(name, {}):
            new.append((path, name, version))
    return sorted(new, key=lambda found: (found[1], _number(found[2])))


def _write_entry(version: str, entry: _Entry) -> str:
    if entry.change is None:
        return f'{version} = "{entry.sha256}"\n'
    after, kind = entry.change
    return f'{version} = {{ sha256 = "{entry.sha256}", after = "{after}", change = "{kind}" }}\n'


def _order(versions: dict[str, _Entry]) -> list[str]:
    return sorted(versions, key=_number)


def _number(version: str) -> int:
    return int(version.removeprefix("v"))


def _read(path: Path) -> bytes:
    try:
        data = path.read_bytes()
        data.decode("utf-8")
    except OSError as error:
        raise _refuse("missing_version", f"cannot be read: {error.strerror}", path, "restore it") from None
    except UnicodeDecodeError:
        raise _refuse("not_text", "is no UTF-8 text", path, "restore it from version control") from None
    return data


def _compare(path: Path, data: bytes, digest: str) -> None:
    if hashlib.sha256(data).hexdigest() != digest:
        raise _refuse(
            "published_version_changed",
            f"{path.parent.name} {path.stem} is published and was edited since",
            path,
            "restore it from version control and write the change as the next version",
        )


def _refuse(code: str, message: str, path: Path, remedy: str) -> LibraryError:
    where = "/".join(path.parts[-3:])
    return LibraryError(Fault(owner=Owner.GRADER, code=code, message=message, where=where, remedy=remedy))


def _main() -> None:
    import argparse
    import sys

    from pipeline.library.roots import policies_root, prompts_root, rubrics_root
    from pipeline.library.rubric_revisions import lock_rubrics, read_statements
    from pipeline.types.visible import show_controls

    parser = argparse.ArgumentParser(
        prog="python -m pipeline.library.lock",
        description="Publish new versions of prompts, policies and rubrics. A rubric's new version needs a"
        " word on what it changes.",
    )
    for kind in get_args(Kind):
        parser.add_argument(
            f"--{kind}",
            action="append",
            default=[],
            metavar="ID@vN",
            help=f"its change from the version before is {kind}; ID@vM..vN names the version it follows",
        )
    parser.add_argument("--rubrics", type=Path, metavar="DIR", help="folder of rubrics, in place of ours")
    asked = parser.parse_args()
    root = asked.rubrics or rubrics_root()
    if not root.is_dir():
        parser.error(f"{root} is no folder")
    try:
        said = read_statements(editorial=asked.editorial, semantic=asked.semantic)
        added = lock_rubrics(root, said, lambda line: print(show_controls(line)))
        print(f"{root.name}: {', '.join(added) if added else 'nothing new'}")
        if asked.rubrics is None:
            for other, suffix in ((prompts_root(), ".md"), (policies_root(), ".toml")):
                added = lock_new_versions(other, suffix)
                print(f"{other.name}: {', '.join(added) if added else 'nothing new'}")
    except LibraryError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    _main()
