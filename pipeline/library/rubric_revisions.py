"""What a new version of a rubric changes: words alone, or what levels mean.

The lock says of every version after the first which one it follows, and whether the change is ``editorial``
or ``semantic``. An editorial change may touch titles, the purpose, questions and anchors, and nothing else:
labels under the old words then count under the new ones, once a lead signed it. What cannot be seen in the
text, such as an anchor that now asks for more, is for its author and the lead to call semantic.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pipeline.library.errors import LibraryError
from pipeline.library.lock import Change, Kind, list_versions, lock_new_versions, read_changes, read_lock
from pipeline.library.roots import rubrics_root
from pipeline.library.rubrics import list_rubrics, load_rubric, parse_rubric
from pipeline.types import Fault, Owner, Rubric

__all__ = [
    "Difference",
    "RubricRevision",
    "compare_rubrics",
    "describe_differences",
    "find_revision",
    "list_revisions",
    "load_revision",
    "lock_rubrics",
    "read_statements",
]

#: Keys whose text an editorial change may touch; every other key, also one that is yet to come, may not.
_WORDS: Final = frozenset({"title", "purpose", "question", "anchor"})
#: So many differences are named in a refusal.
_MOST: Final = 6

_STATEMENT: Final = re.compile(r"(?P<id>[a-z][a-z0-9_]*)@(?:(?P<after>v[1-9]\d*)\.\.)?(?P<version>v[1-9]\d*)")


@dataclass(frozen=True, slots=True)
class Difference:
    """One place where two versions differ.

    Attributes:
        key: Where, such as ``criteria.tiling.levels.3.anchor``.
        before: What the earlier version has there; empty where it has nothing.
        after: What the later one has.
        is_words: Whether an editorial change may touch it.
    """

    key: str
    before: str
    after: str
    is_words: bool


@dataclass(frozen=True, slots=True)
class RubricRevision:
    """One version of a rubric beside the one it follows.

    Attributes:
        before: The version it follows.
        after: The version itself.
        kind: What the lock says of the change; None where it was locked before the lock said so.
    """

    before: Rubric
    after: Rubric
    kind: Kind | None

    @property
    def differences(self) -> tuple[Difference, ...]:
        """Every place where they differ, in the order of the text."""
        return compare_rubrics(self.before, self.after)

    def require_editorial(self) -> None:
        """Refuse a change that is not editorial, or says that it is and is not.

        Raises:
            LibraryError: Naming the change, and what it touches.
        """
        name = f"{self.after.id} {self.after.version}"
        if self.kind != "editorial":
            said = "is semantic" if self.kind == "semantic" else "was locked without saying what it changes"
            raise _refuse(
                "invalid",
                f"the change from {self.before.version} to {name} {said}: it carries nothing over",
                "collect labels under the new version",
            )
        _require_words_alone(name, self.differences)


def compare_rubrics(before: Rubric, after: Rubric) -> tuple[Difference, ...]:
    """Return every place where two versions differ, their version numbers apart."""
    old, new = dict(_flatten(before)), dict(_flatten(after))
    keys = [*new, *(key for key in old if key not in new)]
    return tuple(
        Difference(key, old.get(key, ""), new.get(key, ""), key.rpartition(".")[2] in _WORDS)
        for key in keys
        if old.get(key) != new.get(key)
    )


def list_revisions(*, root: Path | None = None) -> list[RubricRevision]:
    """Return every published version that follows another, by rubric, oldest first.

    Raises:
        LibraryError: If the lock or a version is broken.
    """
    folder = root or rubrics_root()
    return [
        load_revision(name, version, root=folder)
        for name in list_rubrics(root=folder)
        for version in list_versions(folder, name)[1:]
    ]


def load_revision(id: str, version: str, *, root: Path | None = None) -> RubricRevision:
    """Return a published version beside the one it follows.

    Raises:
        LibraryError: If the rubric or version is unknown or broken, or the version is the first.
    """
    revision = find_revision(id, version, root=root)
    if revision is None:
        raise _refuse(
            "invalid", f"{id} {version} is the first version and follows none", "there is nothing to sign"
        )
    return revision


def find_revision(id: str, version: str, *, root: Path | None = None) -> RubricRevision | None:
    """Return a published version beside the one it follows, or None for the first.

    Raises:
        LibraryError: If the rubric or version is unknown or broken.
    """
    folder = root or rubrics_root()
    after = load_rubric(id, version, root=folder)
    versions = list_versions(folder, id)
    if version == versions[0]:
        return None
    change = read_changes(folder).get(id, {}).get(version)
    earlier = change.after if change is not None else versions[versions.index(version) - 1]
    return RubricRevision(load_rubric(id, earlier, root=folder), after, change.kind if change else None)


def describe_differences(differences: Iterable[Difference]) -> list[str]:
    """Return differences as lines: where, whether it is more than words, what was there, what is now."""
    lines = []
    for one in differences:
        lines.append(one.key if one.is_words else f"{one.key} (more than words)")
        lines += [f"  {sign} {text}" for sign, text in (("-", one.before), ("+", one.after)) if text]
    return lines


def lock_rubrics(
    root: Path,
    changes: Mapping[tuple[str, str], Change],
    show: Callable[[str], object] = lambda line: None,
) -> list[str]:
    """Lock the new versions of rubrics, and return them as ``id/version``.

    Args:
        root: Folder with one folder per rubric.
        changes: What each new version after a first one changes, by rubric and version; an empty ``after``
            stands for the version before it.
        show: Is given what each of them changes, line by line, before it is refused or not.

    Raises:
        LibraryError: If a version is broken or was edited after publication, if nothing or something untrue
            is said of a new one, or if something is said of a version that is not new; then nothing is
            locked.
    """
    _require_new(root, changes)

    def describe(name: str, version: str, earlier: Sequence[str], text: str) -> Change | None:
        after = parse_rubric(text, id=name, version=version, where=f"{root.name}/{name}/{version}.toml")
        said = changes.get((name, version))
        if not earlier:
            if said is not None:
                raise _refuse(
                    "invalid", f"{name} {version} is the first version and changes none", "leave it out"
                )
            return None
        followed = said.after if said is not None and said.after else earlier[-1]
        if followed not in earlier:
            known = ", ".join(earlier)
            raise _refuse(
                "unknown_version", f"{name} {version} is said to follow {followed}", f"it can follow {known}"
            )
        differences = compare_rubrics(_read(root, name, followed), after)
        for line in (f"{name} {version} beside {followed}:", *describe_differences(differences)):
            show(line)
        if said is None:
            raise _refuse(
                "unstated_change",
                f"nobody says whether {name} {version} changes the meaning of {followed} or its words alone",
                f"make lock SEMANTIC={name}@{version}, or make lock EDITORIAL={name}@{version}",
            )
        if said.kind == "editorial":
            _require_words_alone(f"{name} {version}", differences)
        return Change(followed, said.kind)

    return lock_new_versions(root, ".toml", describe)


def read_statements(*, editorial: Iterable[str], semantic: Iterable[str]) -> dict[tuple[str, str], Change]:
    """Return what is said of new versions, each as ``id@v3`` or, with the version it follows, ``id@v1..v3``.

    Raises:
        LibraryError: If one is no such statement, or two speak of the same version.
    """
    statements: dict[tuple[str, str], Change] = {}
    kinds: tuple[tuple[Kind, Iterable[str]], ...] = (("editorial", editorial), ("semantic", semantic))
    for kind, said in kinds:
        for text in said:
            match = _STATEMENT.fullmatch(text)
            if match is None:
                raise _refuse("invalid", f"{text!r} names no version of a rubric", "write it as ID@v3")
            key = match["id"], match["version"]
            if key in statements:
                raise _refuse("invalid", f"two things are said of {' '.join(key)}", "say one")
            statements[key] = Change(match["after"] or "", kind)
    return statements


def _require_new(root: Path, changes: Iterable[tuple[str, str]]) -> None:
    lock = read_lock(root)
    for name, version in changes:
        if version in lock.get(name, {}):
            raise _refuse(
                "invalid", f"{name} {version} is published: what it changes was said then", "leave it out"
            )
        if not (root / name / f"{version}.toml").is_file():
            raise _refuse(
                "unknown_version", f"{root.name} holds no {name}/{version}.toml", "write the version first"
            )


def _require_words_alone(name: str, differences: Iterable[Difference]) -> None:
    substance = [one for one in differences if not one.is_words]
    if substance:
        raise _refuse(
            "invalid",
            f"{name} is no editorial change, it touches more than words: {_say(substance)}",
            "call it semantic, or take that back",
        )


def _say(differences: Sequence[Difference]) -> str:
    shown = [
        one.key if one.is_words else f"{one.key} from {one.before or 'nothing'} to {one.after or 'nothing'}"
        for one in differences[:_MOST]
    ]
    more = len(differences) - len(shown)
    return "; ".join([*shown, *([f"and {more} more"] if more else [])]) or "nothing"


def _flatten(rubric: Rubric) -> Iterator[tuple[str, str]]:
    """Yield every text and number of a rubric under its key; criteria and levels go by their names."""
    content = rubric.model_dump()
    del content["id"], content["version"]
    criteria = content.pop("criteria")
    yield from _walk("", content)
    yield "criteria", ", ".join(criterion["id"] for criterion in criteria)
    for criterion in criteria:
        levels = criterion.pop("levels")
        key = f"criteria.{criterion.pop('id')}"
        yield from _walk(key, criterion)
        yield f"{key}.levels", ", ".join(str(level["level"]) for level in levels)
        for level in levels:
            yield from _walk(f"{key}.levels.{level.pop('level')}", level)


def _walk(key: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for name, part in value.items():
            yield from _walk(f"{key}.{name}" if key else str(name), part)
    elif isinstance(value, list | tuple):
        yield key, ", ".join(map(str, value))
    elif value is not None:
        yield key, str(value)


def _read(root: Path, name: str, version: str) -> Rubric:
    path = root / name / f"{version}.toml"
    where = "/".join(path.parts[-3:])
    return parse_rubric(path.read_text(encoding="utf-8"), id=name, version=version, where=where)


def _refuse(code: str, message: str, remedy: str) -> LibraryError:
    return LibraryError(Fault(owner=Owner.GRADER, code=code, message=message, remedy=remedy))
