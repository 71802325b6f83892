"""The lock: SHA-256 of every published version, so that none is ever edited.

A root folder (``rubrics/`` or ``prompts/``) holds one folder per id with one file per version, ``v1.toml`` or
``v1.md``, and ``lock.toml`` with a table per id. ``python -m pipeline.library.lock`` adds versions that are
new; it never changes a line. A version that must still change is not in the lock yet, and cannot be loaded.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from pathlib import Path

from pipeline.library.errors import LibraryError
from pipeline.types import Fault, Owner

__all__ = ["list_versions", "lock_new_versions", "read_lock", "read_locked", "verify_lock"]

_LOCK = "lock.toml"
_VERSION = re.compile(r"v([1-9][0-9]*)")
_HEADER = (
    "# SHA-256 of every published version. A published version is never edited: write the next one.\n"
    "# `make lock` adds new versions.\n"
)


def read_lock(root: Path) -> dict[str, dict[str, str]]:
    """Return the SHA-256 per id and version in the lock of `root`; empty when there is no lock yet.

    Raises:
        LibraryError: If the lock is no such table.
    """
    path = root / _LOCK
    if not path.exists():
        return {}
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise _refuse(
            "broken_lock", f"is no TOML: {error}", path, "restore it from version control"
        ) from None
    for name, versions in content.items():
        if not isinstance(versions, dict) or not all(
            _VERSION.fullmatch(version) and isinstance(digest, str) for version, digest in versions.items()
        ):
            raise _refuse(
                "broken_lock",
                f"[{name}] must map versions such as v1 to a SHA-256",
                path,
                "restore it from version control",
            )
    return content


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


def lock_new_versions(root: Path, suffix: str) -> list[str]:
    """Add every version that is not locked yet, and return them as ``id/version``.

    Raises:
        LibraryError: If a published version was edited or removed; then nothing is added.
    """
    verify_lock(root, suffix)
    lock = read_lock(root)
    added: list[str] = []
    for path in sorted(root.glob(f"*/v*{suffix}")):
        name, version = path.parent.name, path.name.removesuffix(suffix)
        if not _VERSION.fullmatch(version):
            raise _refuse("bad_version", "a version is called v1, v2, ...", path, "rename the file")
        if version not in lock.get(name, {}):
            lock.setdefault(name, {})[version] = hashlib.sha256(_read(path)).hexdigest()
            added.append(f"{name}/{version}")
    if added:
        tables = (
            f"[{name}]\n"
            + "".join(f'{version} = "{lock[name][version]}"\n' for version in sorted(lock[name], key=_number))
            for name in sorted(lock)
        )
        (root / _LOCK).write_text(_HEADER + "\n" + "\n".join(tables), encoding="utf-8")
    return added


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
    from pipeline.library.roots import prompts_root, rubrics_root

    for root, suffix in ((rubrics_root(), ".toml"), (prompts_root(), ".md")):
        added = lock_new_versions(root, suffix)
        print(f"{root.name}: {', '.join(added) if added else 'nothing new'}")


if __name__ == "__main__":
    _main()
