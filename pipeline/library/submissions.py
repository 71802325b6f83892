"""Take submissions in: files, folders and rows of JSONL, whatever they hold.

Which task a submission is for: the task named by the caller; else the ``task`` of its JSONL row; else the
nearest folder above the file that is called like a task (``.../<task id>/solutions/x.py``). Nothing else is
guessed. What is no submission at all, or of no known task, is a `Rejection`; a submission that cannot be
graded for what it holds is a `Submission` with a refusal, so that its author gets a verdict and a reason.
"""

from __future__ import annotations

import dataclasses
import difflib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pipeline.library.errors import LibraryError
from pipeline.library.markdown import KernelNotFound, extract_kernel
from pipeline.types import Admission, Fault, Owner, Rejection, Submission, Task, Verdict

__all__ = [
    "CODE_BYTES",
    "RESPONSE_BYTES",
    "Received",
    "admit_author",
    "admit_code",
    "admit_response",
    "collect",
]

#: Largest kernel source that is admitted.
CODE_BYTES: Final = 256 << 10
#: Largest model response, and so the largest row of a JSONL file.
RESPONSE_BYTES: Final = 4 << 20
#: Longest name of an author, in characters.
_AUTHOR_LENGTH: Final = 200

_NO_AUTHOR: Final = f"no name of 1 to {_AUTHOR_LENGTH} printable characters on one line"

_SUFFIXES: Final = (".py", ".jsonl")


@dataclass(frozen=True, slots=True)
class Received:
    """A submission and where it came from.

    Attributes:
        origin: The path as given, with ``:<line>`` for a row of a JSONL file.
        submission: What was handed in.
        author: The model or person that wrote it; empty where nobody said.
    """

    origin: str
    submission: Submission
    author: str = ""


def collect(
    paths: Sequence[Path], tasks: Mapping[str, Task], task_id: str | None = None, author: str = ""
) -> Iterator[Received | Rejection]:
    """Read every submission under `paths`, in a stable order, one at a time.

    Folders are searched for ``*.py`` and ``*.jsonl``; hidden folders are passed over, and in a task's own
    folder only ``solutions/`` is searched. A file reached twice is read once.

    Args:
        paths: Files and folders.
        tasks: Every known task by id.
        task_id: The task of all of them; a row that names another one is rejected.
        author: Who wrote those that name nobody; empty where it is not known.

    Raises:
        LibraryError: At once, before anything is read, if a path does not exist, `task_id` is unknown or
            `author` is no name.
    """
    author = admit_author(author, where="--author")
    if task_id is not None and task_id not in tasks:
        message, remedy = _unknown_task(task_id, tasks)
        raise LibraryError(_fault("unknown_task", message, remedy, where="--task", owner=Owner.ENVIRONMENT))
    for path in paths:
        if not path.exists():
            remedy = "check the path; folders and .py or .jsonl files are read"
            raise LibraryError(
                _fault("missing_path", "no such file or folder", remedy, str(path), Owner.ENVIRONMENT)
            )
    return (
        dataclasses.replace(item, author=author) if isinstance(item, Received) and not item.author else item
        for item in _collect(paths, tasks, task_id)
    )


def admit_author(name: str, where: str) -> str:
    """Return the name of an author as it is kept: without blanks around it; an empty one names nobody.

    Raises:
        LibraryError: If it is too long or holds more than one printable line.
    """
    if name and not _is_author(name):
        remedy = "give the name of a model or person"
        raise LibraryError(_fault("bad_author", _NO_AUTHOR, remedy, where, Owner.ENVIRONMENT))
    return name.strip()


def admit_code(task: Task, content: bytes) -> Submission:
    """Return the submission of kernel source `content`; one that cannot be graded carries its refusal.

    Args:
        task: What it is for.
        content: The whole file, or its first ``CODE_BYTES + 1`` bytes: more is refused anyway.
    """
    identity = Submission.identify(task.id, content)
    if len(content) > CODE_BYTES:
        message = f"the code is larger than the limit of {CODE_BYTES >> 10} KiB"
        refusal = _refusal("code_size", message, "hand in the kernel only, without data", Verdict.TOO_LARGE)
        return Submission(id=identity, task_id=task.id, code="", refusal=refusal)
    if b"\0" in content:
        refusal = _refusal("binary", "the file is binary (it holds a NUL byte)", "hand in Python source text")
        return Submission(id=identity, task_id=task.id, code="", refusal=refusal)
    try:
        # A byte order mark is no part of the program, and Python refuses it in text.
        code = content.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        refusal = _refusal("not_utf8", f"line {line} is not UTF-8 text", "save the file as UTF-8", line=line)
        return Submission(id=identity, task_id=task.id, code="", refusal=refusal)
    if not code.strip():
        refusal = _refusal("empty", "the submission is empty", f"define the function {task.entry}()")
        return Submission(id=identity, task_id=task.id, code="", refusal=refusal)
    expected = next((s.expected for s in task.solutions if s.code.encode() == content), None)
    return Submission(id=identity, task_id=task.id, code=code, expected=expected)


def admit_response(task: Task, response: str) -> Submission:
    """Return the submission whose kernel stands in a model's `response`, which is kept whole beside it.

    The kernel is found as `pipeline.library.markdown` says; a response without exactly one is refused.
    """
    content = response.encode("utf-8", errors="surrogatepass")
    try:
        admitted = admit_code(task, _encode(extract_kernel(response, task.entry)))
    except KernelNotFound as error:
        refusal = _refusal(error.code, str(error), error.remedy)
        admitted = Submission(id="", task_id=task.id, code="", refusal=refusal)
    kept = response.encode("utf-8", errors="replace").decode()
    return admitted.model_copy(
        update={
            "id": Submission.identify(task.id, b"response\n" + content),
            "received": kept,
            "expected": None,
        }
    )


def _collect(
    paths: Sequence[Path], tasks: Mapping[str, Task], task_id: str | None
) -> Iterator[Received | Rejection]:
    seen: set[Path] = set()
    for path in paths:
        unreadable: list[OSError] = []
        files = list(_files(path, unreadable)) if path.is_dir() else [path]
        for error in unreadable:
            yield _reject_unreadable(Path(str(error.filename)), error)
        if not files and not unreadable:
            remedy = "name another folder"
            yield _reject(_name(path), "empty_folder", "the folder holds no .py or .jsonl file", remedy)
        for file in files:
            # Not Path.resolve, which gives up on a link that leads to itself: reading it is what fails.
            resolved = Path(os.path.realpath(file))
            if resolved in seen:
                continue
            seen.add(resolved)
            try:
                yield from _read_file(file, tasks, task_id, _task_above(resolved, tasks))
            except OSError as error:
                yield _reject_unreadable(file, error)


def _reject_unreadable(path: Path, error: OSError) -> Rejection:
    reason = error.strerror or type(error).__name__
    return _reject(_name(path), "unreadable", f"cannot be read: {reason}", "check its permissions")


def _files(folder: Path, unreadable: list[OSError]) -> Iterator[Path]:
    """Yield the files to read; folders that cannot be listed are put into `unreadable`."""
    root = folder / "solutions" if (folder / "task.toml").is_file() else folder
    for parent, folders, names in os.walk(root, onerror=unreadable.append):
        is_task = "task.toml" in names
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith((".", "__pycache__")) and (not is_task or name == "solutions")
        )
        if not is_task:
            yield from (Path(parent, name) for name in sorted(names) if name.endswith(_SUFFIXES))


def _task_above(file: Path, tasks: Mapping[str, Task]) -> str | None:
    return next((folder.name for folder in file.parents if folder.name in tasks), None)


def _read_file(
    file: Path, tasks: Mapping[str, Task], given: str | None, above: str | None
) -> Iterator[Received | Rejection]:
    origin = _name(file)
    task_id = given or above
    if file.suffix not in _SUFFIXES:
        yield _reject(origin, "unknown_format", "neither a .py nor a .jsonl file", "rename or convert it")
    elif not file.is_file():
        # Reading a pipe or a device could wait for ever.
        yield _reject(origin, "no_file", "not a regular file", "hand in a file")
    elif file.suffix == ".jsonl":
        yield from _read_rows(file, tasks, given, above)
    elif task_id is None:
        remedy = "name the task with --task, or put the file into a folder called like its task"
        yield _reject(origin, "no_task", "its task is not known", remedy)
    else:
        with file.open("rb") as stream:
            yield Received(origin, admit_code(tasks[task_id], stream.read(CODE_BYTES + 1)))


def _read_rows(
    file: Path, tasks: Mapping[str, Task], given: str | None, above: str | None
) -> Iterator[Received | Rejection]:
    with file.open("rb") as stream:
        number = 0
        while row := stream.readline(RESPONSE_BYTES + 1):
            number += 1
            origin = f"{_name(file)}:{number}"
            if len(row) > RESPONSE_BYTES:
                while row and not row.endswith(b"\n"):
                    row = stream.readline(RESPONSE_BYTES)
                message = f"the row is larger than the limit of {RESPONSE_BYTES >> 20} MiB"
                yield _reject(origin, "row_size", message, "hand in one response per row")
            elif row.strip():
                yield _read_row(row, origin, tasks, given, above)


def _read_row(
    row: bytes, origin: str, tasks: Mapping[str, Task], given: str | None, above: str | None
) -> Received | Rejection:
    wanted = 'a row is {"task": ..., "code": ...} or {"task": ..., "response": ...}'
    try:
        document = json.loads(row)
    except (ValueError, RecursionError):
        return _reject(origin, "bad_row", "not a JSON object in UTF-8", wanted)
    if not isinstance(document, dict):
        return _reject(origin, "bad_row", "not a JSON object", wanted)
    texts = {key: document[key] for key in ("code", "response") if key in document}
    if len(texts) != 1:
        found = "both 'code' and 'response'" if texts else "neither 'code' nor 'response'"
        return _reject(origin, "bad_row", f"the row has {found}", wanted)
    [(key, text)] = texts.items()
    if not isinstance(text, str):
        return _reject(origin, "bad_row", f"'{key}' is no string", wanted)
    named = document.get("task", given or above)
    if named is None:
        return _reject(
            origin, "no_task", "its task is not known", "add 'task' to the row, or name it with --task"
        )
    if not isinstance(named, str) or named not in tasks:
        message, remedy = _unknown_task(str(named)[:80], tasks)
        return _reject(origin, "unknown_task", message, remedy)
    if given is not None and named != given:
        message = f"the row is for task '{named}', but was handed in for '{given}'"
        return _reject(origin, "other_task", message, "leave --task out, or move the row")
    author = document.get("author", "")
    if "author" in document and not _is_author(author):
        return _reject(
            origin, "bad_row", f"'author' is {_NO_AUTHOR}", "name the author, or leave the key out"
        )
    admitted = (
        admit_response(tasks[named], text) if key == "response" else admit_code(tasks[named], _encode(text))
    )
    return Received(origin, admitted, author.strip())


def _is_author(name: object) -> bool:
    return isinstance(name, str) and name.isprintable() and 1 <= len(name.strip()) <= _AUTHOR_LENGTH


def _name(path: Path) -> str:
    """Return `path` as text that can be stored and printed, whatever bytes its name holds."""
    return str(path).encode("utf-8", errors="replace").decode()


def _encode(text: str) -> bytes:
    # JSON can spell half a surrogate pair; as bytes it is what it is, text that is not UTF-8.
    return text.encode("utf-8", errors="surrogatepass")


def _unknown_task(name: str, tasks: Mapping[str, Task]) -> tuple[str, str]:
    near = difflib.get_close_matches(name, tasks, n=1)
    remedy = f"did you mean '{near[0]}'?" if near else f"known tasks: {', '.join(tasks) or 'none'}"
    return f"unknown task '{name}'", remedy


def _refusal(
    code: str, message: str, remedy: str, verdict: Verdict = Verdict.COMPILE_ERROR, line: int | None = None
) -> Admission:
    fault = Fault(owner=Owner.SUBMISSION, code=code, message=message, remedy=remedy, line=line)
    return Admission(verdict=verdict, fault=fault)


def _reject(origin: str, code: str, message: str, remedy: str) -> Rejection:
    return Rejection(origin=origin, fault=_fault(code, message, remedy, origin))


def _fault(code: str, message: str, remedy: str, where: str, owner: Owner = Owner.SUBMISSION) -> Fault:
    return Fault(owner=owner, code=code, message=message, where=where, remedy=remedy)
