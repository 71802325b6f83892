"""Submissions come in as files, folders and rows; whatever they hold is answered, and nothing is guessed."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pipeline.library.errors import LibraryError
from pipeline.library.submissions import CODE_BYTES, RESPONSE_BYTES, Received, collect
from pipeline.library.tasks import load_tasks
from pipeline.types import Owner, Rejection, Submission, Task, Verdict

TASKS_ROOT = Path(__file__).parents[2] / "data" / "tasks"
KERNEL = "import nki\n\n\n@nki.jit\ndef rmsnorm(x, gain):\n    return x\n"


@pytest.fixture(scope="module")
def tasks() -> dict[str, Task]:
    return load_tasks(TASKS_ROOT)


def received(
    paths: Sequence[Path] | Path, tasks: dict[str, Task], task_id: str | None = None
) -> list[Received | Rejection]:
    return list(collect([paths] if isinstance(paths, Path) else paths, tasks, task_id))


def one(path: Path, tasks: dict[str, Task], task_id: str | None = "rmsnorm") -> Submission:
    (result,) = received(path, tasks, task_id)
    assert isinstance(result, Received)
    return result.submission


def rejection(path: Path, tasks: dict[str, Task], task_id: str | None = None) -> Rejection:
    (result,) = received(path, tasks, task_id)
    assert isinstance(result, Rejection)
    assert result.fault.remedy
    assert "\n" not in str(result.fault)
    return result


def write(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def write_rows(path: Path, *rows: Any) -> Path:
    return write(path, "".join(row if isinstance(row, str) else json.dumps(row) + "\n" for row in rows))


# Files and folders.


def test_a_file_is_a_submission_with_the_path_as_origin(tmp_path: Path, tasks: dict[str, Task]) -> None:
    file = write(tmp_path / "mine.py", KERNEL)
    (result,) = received(file, tasks, "rmsnorm")
    assert isinstance(result, Received)
    assert result.origin == str(file)
    assert (result.submission.task_id, result.submission.code) == ("rmsnorm", KERNEL)
    assert (result.submission.received, result.submission.refusal, result.submission.expected) == (
        "",
        None,
        None,
    )


def test_the_same_bytes_for_the_same_task_are_the_same_submission(
    tmp_path: Path, tasks: dict[str, Task]
) -> None:
    first, second = write(tmp_path / "a.py", KERNEL), write(tmp_path / "b.py", KERNEL)
    assert one(first, tasks).id == one(second, tasks).id
    assert one(first, tasks).id != one(first, tasks, "softmax_rows").id
    assert one(first, tasks).id != one(write(tmp_path / "c.py", KERNEL + "\n"), tasks).id


def test_folders_are_read_recursively_in_a_stable_order(tmp_path: Path, tasks: dict[str, Task]) -> None:
    for name in ("b.py", "a.py", "deep/er/c.py", ".hidden/d.py", "__pycache__/e.py", "notes.txt"):
        write(tmp_path / name, KERNEL + f"# {name}\n")
    origins = [result.origin for result in received(tmp_path, tasks, "rmsnorm")]
    assert [os.path.relpath(origin, tmp_path) for origin in origins] == ["a.py", "b.py", "deep/er/c.py"]


def test_a_file_reached_twice_is_read_once(tmp_path: Path, tasks: dict[str, Task]) -> None:
    file = write(tmp_path / "a.py", KERNEL)
    assert len(received([tmp_path, file, tmp_path / "." / "a.py"], tasks, "rmsnorm")) == 1


def test_the_task_is_the_nearest_folder_called_like_one(tmp_path: Path, tasks: dict[str, Task]) -> None:
    for name in ("rmsnorm/solutions/a.py", "softmax_rows/b.py", "rmsnorm/softmax_rows/c.py"):
        write(tmp_path / name, KERNEL + f"# {name}\n")
    found = {
        Path(r.origin).name: r.submission.task_id
        for r in received(tmp_path, tasks)
        if isinstance(r, Received)
    }
    assert found == {"a.py": "rmsnorm", "b.py": "softmax_rows", "c.py": "softmax_rows"}


def test_a_given_task_wins_over_the_folder(tmp_path: Path, tasks: dict[str, Task]) -> None:
    assert one(write(tmp_path / "softmax_rows" / "a.py", KERNEL), tasks, "rmsnorm").task_id == "rmsnorm"


def test_a_file_of_no_known_task_is_rejected_with_both_ways_out(
    tmp_path: Path, tasks: dict[str, Task]
) -> None:
    fault = rejection(write(tmp_path / "a.py", KERNEL), tasks).fault
    assert fault.code == "no_task"
    assert "--task" in fault.remedy
    assert "folder" in fault.remedy


def test_of_a_task_folder_only_the_solutions_are_read_and_know_what_is_expected(
    tasks: dict[str, Task],
) -> None:
    results = received(TASKS_ROOT, tasks)
    assert len(results) == sum(len(task.solutions) for task in tasks.values())
    for result in results:
        assert isinstance(result, Received)
        origin = Path(result.origin)
        assert origin.parent.name == "solutions"
        assert origin.parent.parent.name == result.submission.task_id
        is_good = result.submission.expected is Verdict.CORRECT
        assert is_good == origin.name.startswith("good_")
        assert result.submission.expected is not None


def test_a_missing_path_is_an_error_before_anything_is_read(tmp_path: Path, tasks: dict[str, Task]) -> None:
    file = write(tmp_path / "a.py", KERNEL)
    with pytest.raises(LibraryError, match="nowhere: no such file or folder") as missing:
        collect([file, tmp_path / "nowhere"], tasks, "rmsnorm")
    assert missing.value.fault.owner is Owner.ENVIRONMENT


def test_an_unknown_given_task_is_an_error_that_names_the_closest(
    tmp_path: Path, tasks: dict[str, Task]
) -> None:
    with pytest.raises(LibraryError, match=r"unknown task 'rmsnrom' \(did you mean 'rmsnorm'\?\)"):
        collect([tmp_path], tasks, "rmsnrom")


def test_a_folder_without_submissions_is_rejected(tmp_path: Path, tasks: dict[str, Task]) -> None:
    write(tmp_path / "notes.txt", "nothing here")
    assert rejection(tmp_path, tasks).fault.code == "empty_folder"


def test_another_kind_of_file_is_rejected(tmp_path: Path, tasks: dict[str, Task]) -> None:
    assert (
        rejection(write(tmp_path / "kernel.cu", "int main;"), tasks, "rmsnorm").fault.code == "unknown_format"
    )


def test_a_pipe_or_a_broken_link_is_rejected_and_nobody_waits(tmp_path: Path, tasks: dict[str, Task]) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "link.py").symlink_to(tmp_path / "gone")
    write(tmp_path / "z.py", KERNEL)
    codes = [r.fault.code if isinstance(r, Rejection) else "" for r in received(tmp_path, tasks, "rmsnorm")]
    assert codes == ["no_file", "no_file", ""]


def test_a_name_that_is_no_text_can_be_told(tmp_path: Path, tasks: dict[str, Task]) -> None:
    write(Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.py")), KERNEL)
    (result,) = received(tmp_path, tasks, "rmsnorm")
    assert result.origin.endswith("caf?.py")


# What cannot be graded is a submission with a verdict, a reason and an owner.

REFUSED = {
    "empty": (b"", Verdict.COMPILE_ERROR, "the submission is empty"),
    "blank": (b" \n\t\n", Verdict.COMPILE_ERROR, "the submission is empty"),
    "binary": (b"\x7fELF\x00\x01", Verdict.COMPILE_ERROR, "the file is binary (it holds a NUL byte)"),
    "latin_1": (b"x = 1\n# caf\xe9\n", Verdict.COMPILE_ERROR, "line 2 is not UTF-8 text"),
    "too_large": (b"#" * (CODE_BYTES + 1), Verdict.TOO_LARGE, "the code is larger than the limit of 256 KiB"),
    "five_megabytes": (b"\0" * (5 << 20), Verdict.TOO_LARGE, "the code is larger than the limit of 256 KiB"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_file_that_cannot_be_graded_is_refused_by_name(
    name: str, tmp_path: Path, tasks: dict[str, Task]
) -> None:
    content, verdict, message = REFUSED[name]
    submission = one(write(tmp_path / "a.py", content), tasks)
    assert submission.code == ""
    assert submission.refusal is not None
    assert submission.refusal.verdict is verdict
    assert submission.refusal.fault.message == message
    assert submission.refusal.fault.owner is Owner.SUBMISSION
    assert submission.refusal.fault.remedy


def test_code_at_the_limit_is_admitted(tmp_path: Path, tasks: dict[str, Task]) -> None:
    content = "#" * CODE_BYTES
    assert one(write(tmp_path / "a.py", content), tasks).code == content


def test_a_byte_order_mark_is_no_part_of_the_code(tmp_path: Path, tasks: dict[str, Task]) -> None:
    assert one(write(tmp_path / "a.py", b"\xef\xbb\xbf" + KERNEL.encode()), tasks).code == KERNEL


# Rows of JSONL.


def test_rows_hold_code_or_a_response_that_is_kept_whole(tmp_path: Path, tasks: dict[str, Task]) -> None:
    response = f"Sure:\n```python\n{KERNEL}```\nDone.\n"
    file = write_rows(
        tmp_path / "rows.jsonl",
        {"task": "rmsnorm", "code": KERNEL, "model": "any"},
        "\n",
        {"task": "rmsnorm", "response": response},
    )
    first, second = received(file, tasks)
    assert isinstance(first, Received)
    assert isinstance(second, Received)
    assert (first.origin, second.origin) == (f"{file}:1", f"{file}:3")
    assert (first.submission.code, first.submission.received) == (KERNEL, "")
    assert (second.submission.code, second.submission.received) == (KERNEL, response)
    assert first.submission.id != second.submission.id


def test_a_response_without_a_kernel_is_refused_and_still_kept(
    tmp_path: Path, tasks: dict[str, Task]
) -> None:
    file = write_rows(tmp_path / "rows.jsonl", {"task": "rmsnorm", "response": "I would rather not."})
    submission = one(file, tasks, None)
    assert submission.received == "I would rather not."
    assert submission.refusal is not None
    assert submission.refusal.verdict is Verdict.COMPILE_ERROR
    assert submission.refusal.fault.code == "no_code_block"


def test_the_rows_task_comes_before_the_folders(tmp_path: Path, tasks: dict[str, Task]) -> None:
    rows = [{"task": "softmax_rows", "code": KERNEL}, {"code": KERNEL}]
    results = received(write_rows(tmp_path / "rmsnorm" / "rows.jsonl", *rows), tasks)
    assert [r.submission.task_id for r in results if isinstance(r, Received)] == ["softmax_rows", "rmsnorm"]


def test_an_author_is_who_the_row_names_else_who_was_given(tmp_path: Path, tasks: dict[str, Task]) -> None:
    rows = (
        {"code": KERNEL, "author": " model 7 "},
        {"response": KERNEL, "author": "é" * 200},
        {"code": KERNEL},
    )
    write_rows(tmp_path / "a.jsonl", *rows)
    write(tmp_path / "b.py", KERNEL)

    def authors(given: str) -> list[str]:
        found = collect([tmp_path], tasks, "rmsnorm", given)
        return [item.author for item in found if isinstance(item, Received)]

    assert authors("zoe") == ["model 7", "é" * 200, "zoe", "zoe"]
    assert authors("") == ["model 7", "é" * 200, "", ""]
    for given in (" ", "a" * 201, "a\u2028b"):
        with pytest.raises(LibraryError, match="--author: no name of 1 to 200 printable characters"):
            authors(given)


BAD_ROWS = {
    "no JSON": ("{'task': 1}\n", "bad_row"),
    "a list": ("[1]\n", "bad_row"),
    "nothing to grade": ({"task": "rmsnorm"}, "bad_row"),
    "both": ({"task": "rmsnorm", "code": "", "response": ""}, "bad_row"),
    "a number for code": ({"task": "rmsnorm", "code": 3}, "bad_row"),
    "no task": ({"code": KERNEL}, "no_task"),
    "an unknown task": ({"task": "no_such", "code": KERNEL}, "unknown_task"),
    "a task that is no text": ({"task": ["rmsnorm"], "code": KERNEL}, "unknown_task"),
    "an author who is no text": ({"task": "rmsnorm", "code": KERNEL, "author": 7}, "bad_row"),
    "an author of two lines": ({"task": "rmsnorm", "code": KERNEL, "author": "a\nb"}, "bad_row"),
    "an author that a terminal obeys": ({"task": "rmsnorm", "code": KERNEL, "author": "\x1b[2J"}, "bad_row"),
    "a blank author": ({"task": "rmsnorm", "code": KERNEL, "author": " "}, "bad_row"),
    "an endless author": ({"task": "rmsnorm", "code": KERNEL, "author": "a" * 201}, "bad_row"),
    "deep nesting": ("[" * 100_000 + "\n", "bad_row"),
    "an endless number": ('{"code": ' + "9" * 5000 + "}\n", "bad_row"),
}


@pytest.mark.parametrize("name", BAD_ROWS)
def test_a_bad_row_is_rejected_and_the_next_one_read(
    name: str, tmp_path: Path, tasks: dict[str, Task]
) -> None:
    row, code = BAD_ROWS[name]
    good = {"task": "rmsnorm", "code": KERNEL}
    bad, read = received(write_rows(tmp_path / "rows.jsonl", row, good), tasks)
    assert isinstance(bad, Rejection)
    assert bad.origin.endswith(":1")
    assert bad.fault.code == code
    assert bad.fault.remedy
    assert isinstance(read, Received)


def test_a_row_for_another_task_than_the_given_one_is_rejected(
    tmp_path: Path, tasks: dict[str, Task]
) -> None:
    file = write_rows(tmp_path / "rows.jsonl", {"task": "softmax_rows", "code": KERNEL})
    assert rejection(file, tasks, "rmsnorm").fault.code == "other_task"


def test_a_row_beyond_the_limit_is_rejected_and_the_next_one_read(
    tmp_path: Path, tasks: dict[str, Task]
) -> None:
    huge = json.dumps({"task": "rmsnorm", "code": "#" * (2 * RESPONSE_BYTES)}) + "\n"
    results = received(write_rows(tmp_path / "rows.jsonl", huge, {"task": "rmsnorm", "code": KERNEL}), tasks)
    assert isinstance(results[0], Rejection)
    assert results[0].fault.code == "row_size"
    assert isinstance(results[1], Received)
    assert results[1].origin.endswith(":2")


@pytest.mark.parametrize(
    ("code", "refusal"), [("x = '\ud800'", "not_utf8"), ("x = '\0'", "binary"), ("", "empty")]
)
def test_a_row_whose_code_is_no_text_is_refused(
    code: str, refusal: str, tmp_path: Path, tasks: dict[str, Task]
) -> None:
    submission = one(write_rows(tmp_path / "rows.jsonl", {"task": "rmsnorm", "code": code}), tasks, None)
    assert submission.refusal is not None
    assert submission.refusal.fault.code == refusal


def test_a_response_with_half_a_surrogate_pair_is_kept_readable(
    tmp_path: Path, tasks: dict[str, Task]
) -> None:
    response = f"\ud83d broken emoji\n```python\n{KERNEL}```\n"
    submission = one(
        write_rows(tmp_path / "rows.jsonl", {"task": "rmsnorm", "response": response}), tasks, None
    )
    assert submission.code == KERNEL
    assert submission.received.encode()


def test_a_link_that_leads_to_itself_is_rejected_and_its_neighbours_are_read(
    tmp_path: Path, tasks: dict[str, Task]
) -> None:
    write(tmp_path / "good.py", KERNEL)
    (tmp_path / "a.py").symlink_to("b.py")
    (tmp_path / "b.py").symlink_to("a.py")
    results = received(tmp_path, tasks, "rmsnorm")
    codes = [result.fault.code for result in results if isinstance(result, Rejection)]
    assert codes == ["no_file", "no_file"]
    assert [result.origin for result in results if isinstance(result, Received)] == [
        str(tmp_path / "good.py")
    ]


def test_a_folder_that_cannot_be_listed_is_rejected_by_name(
    tmp_path: Path, tasks: dict[str, Task], monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "good.py", KERNEL)
    write(tmp_path / "locked" / "x.py", KERNEL)
    listed = os.scandir

    def scandir(path: str | Path) -> Any:  # root, whom no permission stops, runs these tests too
        if Path(path).name == "locked":
            raise PermissionError(13, "Permission denied", str(path))
        return listed(path)

    monkeypatch.setattr(os, "scandir", scandir)
    results = received(tmp_path, tasks, "rmsnorm")
    (refused,) = [result for result in results if isinstance(result, Rejection)]
    assert refused.origin == str(tmp_path / "locked")
    assert refused.fault.code == "unreadable"
    assert len(results) == 2
