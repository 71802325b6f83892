"""Files that people asked for: written whole or not at all, and a clear word where they cannot be."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from pipeline.errors import GraderError
from pipeline.types import Fault, Owner

__all__ = ["check_output_path", "write_whole"]


def check_output_path(path: Path) -> None:
    """Make sure that a file could be written, before hours of work end in not being able to.

    Raises:
        GraderError: If the folder does not exist or may not be written to, or the path is a folder.
    """
    folder = path.resolve().parent
    if not folder.is_dir():
        raise _unwritable(path, f"there is no folder {folder}", "no_folder")
    try:
        is_folder = path.is_dir()
    except OSError as error:  # a name that is too long, for one
        raise _unwritable(path, f"it cannot be written: {error.strerror}", "no_folder") from error
    if is_folder:
        raise _unwritable(path, "this is a folder", "no_folder")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise _unwritable(path, f"the folder {folder} may not be written to", "unwritable")


@contextmanager
def write_whole(path: Path, what: str) -> Iterator[TextIO]:
    """Yield a file that takes the place of `path` once all is written; of anything less nothing is left.

    A device or a pipe is written into.

    Args:
        path: Where it goes.
        what: What it is, for the error, e.g. ``report``.

    Raises:
        GraderError: If it cannot be written, also because what is written inside fails for the system.
    """
    check_output_path(path)
    # A file in the place of /dev/null or a pipe would be one that everybody writes into.
    in_place = path.exists() and not path.is_file()
    unfinished = path if in_place else path.with_name(f".{path.name}.{os.getpid()}.unfinished")
    try:
        with unfinished.open("w", encoding="utf-8", newline="") as file:
            yield file
        if not in_place:
            unfinished.replace(path)
    except OSError as error:
        raise _unwritable(path, f"the {what} cannot be written: {error.strerror}", "unwritable") from error
    finally:
        if not in_place:
            unfinished.unlink(missing_ok=True)


def _unwritable(path: Path, message: str, code: str) -> GraderError:
    return GraderError(
        Fault(
            owner=Owner.ENVIRONMENT,
            code=code,
            message=message,
            where=str(path),
            remedy="give another path for it; a report without one stands beside its database",
        )
    )
